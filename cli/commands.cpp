// The list of all commands, and what several of them begin with.
#include <ATen/Parallel.h>

#include "cli/command.hpp"
#include "core/process.hpp"

namespace attend {

Command attention_command();
Command compare_command();
Command average_command();
Command embed_command();
Command evaluate_command();
Command export_command();
Command faithfulness_command();
Command finetune_command();
Command generate_command();
Command heads_command();
Command import_command();
Command info_command();
Command neighbours_command();
Command predict_command();
Command pretrain_command();
Command probe_command();
Command score_command();
Command tokenize_command();
Command toy_command();
Command train_command();
Command translate_command();
Command vocab_command();

std::vector<Command> all_commands() {
  return {toy_command(),      vocab_command(),     tokenize_command(),   train_command(),    translate_command(),
          compare_command(),  attention_command(), heads_command(),      probe_command(),    faithfulness_command(),
          evaluate_command(), score_command(),     generate_command(),   pretrain_command(), finetune_command(),
          predict_command(),  embed_command(),     neighbours_command(), export_command(),   import_command(),
          average_command(),  info_command()};
}

void begin_work(std::int64_t threads) {
  signals::install();
  at::set_num_threads(static_cast<int>(threads));
}

}  // namespace attend
