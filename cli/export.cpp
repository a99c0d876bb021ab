// attend export: writes a run as a directory for Hugging Face transformers: an encoder as BERT, a language model as
// GPT-2, a translation model as MarianMT.
#include <filesystem>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "data/tokenizer/hugging_face_vocabulary.hpp"
#include "data/tokenizer/tokenizer_json.hpp"
#include "models/exchange/bert.hpp"
#include "models/exchange/gpt2.hpp"
#include "models/exchange/marian.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

struct ExportConfig {
  std::string run;
  std::string output;
  std::string checkpoint = "auto";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "a run of attend train, pretrain or finetune",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("output", self.output,
          {.help = "new directory for config.json, model.safetensors and the files of the tokenizers",
           .placeholder = "DIR",
           .required = true});
    ModelOptions::visit_checkpoint(self.checkpoint, visit);
  }
};

// Writes the files of a tokenizer, for texts of at most `positions` pieces.
void write_tokenizer(const fs::path& directory, const Tokenizer& tokenizer, std::int64_t positions, TextsFor use) {
  write_file_atomic(directory / "tokenizer.json", to_tokenizer_json(tokenizer, use));
  if (!is_tokenizer_json(tokenizer.bytes())) write_file_atomic(directory / kSentencePieceFile, tokenizer.bytes());
  write_file_atomic(directory / "tokenizer_config.json", to_tokenizer_config_json(tokenizer, positions, use));
}

void write(const fs::path& output, const NamedTensors& weights, const HfConfig& theirs, const Tokenizer& tokenizer) {
  StagedDirectory staged(output);
  const std::int64_t positions = theirs.options.max_positions;
  write_file_atomic(staged.path() / "config.json", to_hf_config(theirs));
  save_tensors(staged.path() / "model.safetensors", to_hf(weights, theirs), {{"format", "pt"}});
  write_tokenizer(staged.path(), tokenizer, positions, TextsFor::encoder);
  staged.commit();
}

void write(const fs::path& output, const LanguageRun& trained) {
  const Tokenizer& tokenizer = trained.tokenizer;
  const Gpt2Config theirs{.options = trained.options, .vocabulary = tokenizer.size(), .eos = tokenizer.special().eos};
  StagedDirectory staged(output);
  write_file_atomic(staged.path() / "config.json", to_gpt2_config(theirs));
  save_tensors(staged.path() / "model.safetensors", to_gpt2(parameters_of(*trained.model)), {{"format", "pt"}});
  write_tokenizer(staged.path(), tokenizer, theirs.options.stack.max_positions, TextsFor::language_model);
  staged.commit();
}

void write(const fs::path& output, const TranslationRun& trained) {
  StagedDirectory staged(output);
  const MarianOrder order = export_marian_tokenizers(trained.tokenizers, staged.path());
  const MarianConfig theirs{.model = trained.options,
                            .vocabulary = {.src = std::ssize(order.src), .tgt = std::ssize(order.tgt)},
                            .ids = order.ids};
  write_file_atomic(staged.path() / "config.json", to_marian_config(theirs));
  write_file_atomic(staged.path() / "generation_config.json", to_marian_generation_config(theirs));
  save_tensors(staged.path() / "model.safetensors", to_marian(parameters_of(*trained.model), theirs, order),
               {{"format", "pt"}});
  staged.commit();
}

void write(const fs::path& output, const TextRun& trained) {
  write(output, parameters_of(*trained.model),
        {.options = trained.options.encoder,
         .vocabulary = trained.tokenizer.size(),
         .pad = trained.tokenizer.special().pad,
         .task = trained.task.kind,
         .labels = trained.task.labels},
        trained.tokenizer);
}

void write(const fs::path& output, const BertRun& trained) {
  write(output, trained.weights,
        {.options = trained.options,
         .vocabulary = trained.tokenizer.size(),
         .pad = trained.tokenizer.special().pad,
         .task = {},
         .labels = {},
         .heads = trained.fills_masks()},
        trained.tokenizer);
}

// Throws UserError for a model that Hugging Face transformers lacks, before its weights are read.
void check_form(const LanguageOptions& options, const fs::path& /*run*/) { check_gpt2_form(options); }
void check_form(const ModelConfig& options, const fs::path& /*run*/) { check_marian_form(options); }
void check_form(const TextModelOptions& options, const fs::path& run) {
  if (options.model != TextEncoderKind::bert) {
    throw UserError(run.string() + ": --model " + std::string(name_of(options.model)) +
                        ", which attend export does not write with the head of a task",
                    "export a run of --model bert");
  }
  if (const Pooling pooling = options.pooling_of_run(); pooling != Pooling::cls) {
    throw UserError(run.string() + ": its head reads --pooling " + std::string(name_of(pooling)) +
                        ", but heads of Hugging Face transformers read [CLS]",
                    "fine-tune again with --pooling cls, from an encoder pretrained with a --sequence-objective, which "
                    "trains [CLS], and export that run");
  }
}
void check_form(const StackOptions& /*options*/, const fs::path& run) {
  if (objective_of_run(run) == PretrainingKind::permuted) {
    throw UserError(run.string() + ": a run of --objective permuted, whose queries Hugging Face's BERT does not have",
                    "fine-tune it, and export that run");
  }
}

void run(const ExportConfig& config, const OptionOrigins& /*origins*/) {
  refuse_existing(config.output, "--output");
  const fs::path path = run_of_best_seed(config.run);
  std::visit([&](const auto& options) { check_form(options, path); }, options_of_run(path));
  const AnyRun loaded = load_run(path, config.checkpoint);
  std::visit([&](const auto& trained) { write(config.output, trained); }, loaded);
  log::info("exported {} to {}", config.run, config.output);
}

}  // namespace

Command export_command() {
  return make_command<ExportConfig>("export", "export a run to Hugging Face transformers", run,
                                    "runs/tiny --output hf");
}

}  // namespace attend
