// attend export: a BERT run as a directory of Hugging Face's transformers.
#include <array>
#include <filesystem>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "data/tokenizer/bert_vocabulary.hpp"
#include "data/tokenizer/tokenizer_json.hpp"
#include "data/tokenizer/wordpiece_json.hpp"
#include "models/bert/hf.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/run.hpp"
#include "models/run/text_run.hpp"

namespace attend {

enum class ExportFormat { hf };
template <>
struct EnumNames<ExportFormat> {
  static constexpr std::array names{std::pair{ExportFormat::hf, std::string_view("hf")}};
};

namespace {

namespace fs = std::filesystem;

struct ExportConfig {
  std::string run;
  ExportFormat format = ExportFormat::hf;
  std::string output;
  std::string checkpoint = "best";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "a run of attend pretrain or finetune", .placeholder = "DIR", .required = true, .positional = true});
    visit("format", self.format,
          {.help = "hf: config.json, model.safetensors and tokenizer.json of transformers, for BERT that pools "
                   "[CLS]"});
    visit("output", self.output, {.help = "directory that is made", .placeholder = "DIR", .required = true});
    visit("checkpoint", self.checkpoint, {.help = "best, last, or the path of a checkpoint"});
  }
};

void write(const fs::path& output, const torch::nn::Module& model, const BertOptions& options,
           const Tokenizer& tokenizer, const LabelledTask* task) {
  StagedDirectory staged(output);
  HfConfig theirs{
      .options = options, .vocabulary = tokenizer.size(), .pad = tokenizer.special().pad, .task = {}, .labels = {}};
  if (task != nullptr) {
    theirs.task = task->kind;
    theirs.labels = task->labels;
  }
  const std::int64_t positions = bert_config(options, tokenizer.size()).max_length;
  write_file_atomic(staged.path() / "config.json", to_hf_config(theirs));
  save_tensors(staged.path() / "model.safetensors", to_hf(model, theirs), {{"format", "pt"}});
  write_file_atomic(staged.path() / "tokenizer.json", to_tokenizer_json(tokenizer));
  if (!is_wordpiece_json(tokenizer.bytes())) write_file_atomic(staged.path() / kSentencePieceFile, tokenizer.bytes());
  write_file_atomic(staged.path() / "tokenizer_config.json", to_tokenizer_config_json(tokenizer, positions));
  staged.commit();
}

void run(const ExportConfig& config, const OptionOrigins& /*origins*/) {
  refuse_existing(config.output, "--output");
  const fs::path run = run_of_best_seed(config.run);
  if (kind_of_run(run) == RunKind::finetune) {
    const TextRun trained = TextRun::load(run, config.checkpoint);
    if (trained.options.model != TextEncoderKind::bert) {
      throw UserError(run.string() + ": an LSTM, which Hugging Face's transformers do not have",
                      "export a run whose --model is bert");
    }
    if (const Pooling pooling = trained.options.pooling_of_run(); pooling != Pooling::cls) {
      throw UserError(run.string() + ": its labels are told from " + std::string(name_of(pooling)) +
                          ", those of Hugging Face's transformers from [CLS]",
                      "export a run that is fine-tuned with --pooling cls");
    }
    write(config.output, *trained.model, trained.options.encoder, trained.tokenizer, &trained.task);
  } else {
    const BertRun trained = BertRun::load(run, config.checkpoint);
    write(config.output, *trained.model, trained.options, trained.tokenizer, nullptr);
  }
  log::info("{} is in {}", config.run, config.output);
}

}  // namespace

Command export_command() { return make_command<ExportConfig>("export", "write a BERT run for other programs", run); }

}  // namespace attend
