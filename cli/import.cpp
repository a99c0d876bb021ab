// attend import: converts a Hugging Face BERT, GPT-2 or MarianMT to a run.
#include <algorithm>
#include <filesystem>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/safetensors.hpp"
#include "data/text/conll.hpp"
#include "data/tokenizer/hugging_face_vocabulary.hpp"
#include "models/exchange/bert.hpp"
#include "models/exchange/gpt2.hpp"
#include "models/exchange/hf_config.hpp"
#include "models/exchange/marian.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/new_run.hpp"
#include "models/run/run.hpp"
#include "models/text/pooling.hpp"
#include "models/translation/factory.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOtherModel = "use a config.json and model.safetensors of the same model";

struct ImportConfig {
  std::string directory;
  std::string run;
  std::string task;
  bool allow_missing = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("directory", self.directory,
          {.help = "directory of a BERT, with config.json, model.safetensors, and vocab.txt or tokenizer.json; of a "
                   "GPT-2, with config.json, model.safetensors, and tokenizer.json or vocab.json and merges.txt; of a "
                   "MarianMT, with config.json, model.safetensors, source.spm, target.spm and vocab.json; or one "
                   "written by attend export",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("run", self.run, {.help = "directory of the new run", .placeholder = "DIR", .required = true});
    visit("task", self.task,
          {.help = "task of a fine-tuned model, by name or file; none: classification of single texts, with the labels "
                   "of config.json",
           .placeholder = "NAME|FILE"});
    visit("allow-missing", self.allow_missing, {.help = "initialise missing weights randomly"});
  }
};

void check_report(const WeightReport& report, const fs::path& file, bool allow_missing) {
  const auto list = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += "\n  " + name;
    return text;
  };
  std::vector<std::string> layers = report.unused;
  std::erase_if(layers, [](const std::string& name) {
    return name.find("encoder.layer.") == std::string::npos && name.find("coder.layers.") == std::string::npos &&
           name.find("transformer.h.") == std::string::npos && !name.starts_with("h.");
  });
  if (!layers.empty()) {
    throw UserError(file.string() + ": more layers than described in config.json" + list(layers), kOtherModel);
  }
  if (!report.unused.empty()) log::info("{}: unused{}", file.string(), list(report.unused));
  if (!report.mismatched.empty()) {
    throw UserError(file.string() + ": unexpected type or shape" + list(report.mismatched), kOtherModel);
  }
  if (report.missing.empty()) return;
  if (!allow_missing) {
    throw UserError(file.string() + ": missing" + list(report.missing),
                    "check the file, or initialise these randomly with --allow-missing");
  }
  log::warn("{}: missing, initialised randomly{}", file.string(), list(report.missing));
}

// Throws UserError if --task is given. `what` is the reason why the model has no task.
void refuse_task(const ImportConfig& config, const std::string& what, const std::string& remedy = "leave it out") {
  if (config.task.empty()) return;
  throw UserError("--task " + config.task + ": the model in " + config.directory + what, remedy);
}

void check_vocabulary_size(const fs::path& directory, const Tokenizer& tokenizer, std::int64_t vocabulary) {
  if (tokenizer.size() == vocabulary) return;
  throw UserError(directory.string() + ": the tokenizer has " + std::to_string(tokenizer.size()) +
                      " pieces, but the vocab_size of config.json is " + std::to_string(vocabulary),
                  "use the tokenizer of this model");
}

// The task of a fine-tuned model: that of this name, else one with the labels of config.json, `file`.
LabelledTask task_of(const HfConfig& config, const std::string& name, const fs::path& file) {
  LabelledTask task = name.empty() ? LabelledTask() : find_task(name);
  if (name.empty()) task.kind = *config.task;
  if (task.kind != *config.task) {
    throw UserError("--task " + name + " is a task of " + std::string(name_of(task.kind)) + ", but the model is for " +
                        std::string(name_of(*config.task)),
                    "name the task that the model was fine-tuned on");
  }
  if (!task.labels.empty() && task.labels.size() != config.labels.size()) {
    throw UserError("--task " + name + " has " + std::to_string(task.labels.size()) + " labels, but the model has " +
                        std::to_string(config.labels.size()),
                    "name the task that the model was fine-tuned on");
  }
  if (task.kind == TaskKind::spans || task.kind == TaskKind::regression) return task;
  if (task.labels.empty() || std::ranges::is_permutation(task.labels, config.labels)) {
    task.labels = config.labels;  // in the order of its outputs
    if (name.empty() && task.kind == TaskKind::tags) task.chunks = std::ranges::all_of(task.labels, marks_chunk);
  } else {
    for (std::size_t i = 0; i < task.labels.size(); ++i) {
      log::warn("the model's label {} is taken to mean {}", config.labels[i], task.labels[i]);
    }
  }
  task.validate(file.string());
  return task;
}

// The parameters of the encoder and of the heads in the file; heads may be missing.
NamedTensors parameters_in(const fs::path& weights, const BertForPretrainingImpl& model, const HfConfig& config) {
  const SafetensorsFile file(weights);
  NamedTensors present =
      without_absent_heads(model, [&](const std::string& name) { return has_hf_weight(file, name, config); });
  if (present.size() < parameters_of(model).size()) {
    log::info("{}: some pretraining heads are missing; they are initialised when the run is trained", weights.string());
  }
  return present;
}

void import_marian(const ImportConfig& config) {
  const fs::path directory = config.directory, file = directory / "config.json";
  MarianConfig theirs = read_marian_config(file);
  refuse_task(config, " translates");
  const MarianTokenizers tokenizers = import_marian_tokenizers(directory, theirs.ids);
  const auto check_size = [&](const char* side, std::int64_t pieces, std::int64_t expected) {
    if (pieces == expected) return;
    throw UserError(fmt::format("{}: the vocabulary of the {} has {} pieces, but that of config.json {}",
                                directory.string(), side, pieces, expected),
                    "use the vocabulary of this model");
  };
  check_size("source", tokenizers.src_vocabulary, theirs.vocabulary.src);
  check_size("target", tokenizers.tgt_vocabulary, theirs.vocabulary.tgt);
  const TensorDirectory tensors(directory);
  refuse_larger_model(least_weights(theirs), tensors.bytes(), tensors.path(), file);
  const Tokenizer &src = tokenizers.pair.src, &tgt = tokenizers.pair.tgt;
  theirs.model.output_bias = has_marian_bias(tensors) || tgt.size() > theirs.vocabulary.tgt;
  const Seq2Seq model = make_seq2seq(theirs.model, {.src = src.size(), .tgt = tgt.size()}, 1);
  const VocabularySizes unk{.src = src.special().unk, .tgt = tgt.special().unk};
  check_report(load_marian_weights(tensors, *model, theirs, unk), tensors.path(), config.allow_missing);
  StagedDirectory staged(config.run);
  tokenizers.pair.save(staged.path() / "tokenizer");
  write_file_atomic(staged.path() / "config.toml", to_toml(theirs.model));
  write_only_checkpoint(staged.path(), parameters_of(*model), identity_of(theirs.model, tokenizers.pair));
  write_run_record(staged.path(), record_of_kind(RunKind::train));
  staged.commit();
}

void import_gpt2(const ImportConfig& config) {
  const fs::path directory = config.directory, file = directory / "config.json";
  const Gpt2Config theirs = read_gpt2_config(file);
  refuse_task(config, " is a language model");
  const Tokenizer tokenizer = import_gpt2_tokenizer(directory);
  check_ends_texts(tokenizer, directory);
  check_vocabulary_size(directory, tokenizer, theirs.vocabulary);
  if (const std::int32_t eos = tokenizer.special().eos; eos != theirs.eos) {
    throw UserError(fmt::format("{}: \"{}\" ends a text and has the id {}, but the eos_token_id of config.json is {}",
                                directory.string(), tokenizer.piece(eos), eos, theirs.eos),
                    "use the tokenizer of this model");
  }
  const TensorDirectory tensors(directory);
  refuse_larger_model(least_weights(theirs.options.stack, theirs.vocabulary), tensors.bytes(), tensors.path(), file);
  const LanguageModel model = make_language_model(theirs.options, tokenizer.size());
  initialise(*model, 1);
  check_report(load_gpt2_weights(tensors, *model), tensors.path(), config.allow_missing);
  StagedDirectory staged(config.run);
  save_run_tokenizer(tokenizer, staged.path());
  write_file_atomic(staged.path() / "config.toml", to_toml(theirs.options));
  write_only_checkpoint(staged.path(), parameters_of(*model), identity_of(theirs.options, tokenizer));
  write_run_record(staged.path(), record_of_kind(RunKind::language));
  staged.commit();
}

void import_bert(const ImportConfig& config) {
  const fs::path directory = config.directory, file = directory / "config.json";
  const fs::path weights = directory / "model.safetensors";
  const HfConfig theirs = read_hf_config(file);
  const Tokenizer tokenizer = import_bert_tokenizer(directory);
  check_vocabulary_size(directory, tokenizer, theirs.vocabulary);
  if (!theirs.task) {
    refuse_task(config, " has no task head", "leave it out, and fine-tune the run with attend finetune --init-from");
  }
  refuse_larger_model(least_weights(theirs.options, theirs.vocabulary), fs::file_size(weights), weights, file);
  StagedDirectory staged(config.run);
  save_run_tokenizer(tokenizer, staged.path());
  if (theirs.task) {
    const LabelledTask task = task_of(theirs, config.task, file);
    if (task.kind == TaskKind::spans && config.task.empty()) {
      log::info("{} answers every question; import it with --task squad2 to allow no answer", config.run);
    }
    const TextModelOptions options{.encoder = theirs.options};
    const TextModel model(options, task, tokenizer.size());
    initialise(*model, 1);
    check_report(load_hf_weights(weights, *model, parameters_of(*model), theirs), weights, config.allow_missing);
    SampleConfig samples;
    samples.length = theirs.options.max_positions;
    write_file_atomic(staged.path() / "config.toml", to_toml(options) + to_toml(samples));
    save_run_task(task, staged.path());
    write_only_checkpoint(staged.path(), parameters_of(*model), identity_of(options, task, tokenizer));
  } else {
    const BertForPretraining model(theirs.options, tokenizer.size());
    initialise(*model, 1);
    const NamedTensors present = parameters_in(weights, *model, theirs);
    check_report(load_hf_weights(weights, *model, present, theirs), weights, config.allow_missing);
    write_file_atomic(staged.path() / "config.toml", to_toml(theirs.options));
    if (const auto sentence = read_sentence_transformer(directory, tokenizer, theirs.options.max_positions)) {
      write_file_atomic(staged.path() / kEmbedFile, to_toml(*sentence));
    }
    write_only_checkpoint(staged.path(), present, identity_of(theirs.options, tokenizer));
  }
  write_run_record(staged.path(), record_of_kind(theirs.task ? RunKind::finetune : RunKind::pretrain));
  staged.commit();
}

void run(const ImportConfig& config, const OptionOrigins& /*origins*/) {
  refuse_existing(config.run, "--run");
  const fs::path file = fs::path(config.directory) / "config.json";
  const auto type = HfConfigFile(file, {}).get<std::string>("model_type");
  (type == "marian" ? import_marian : type == "gpt2" ? import_gpt2 : import_bert)(config);
  log::info("imported {} to {}", config.directory, config.run);
}

}  // namespace

Command import_command() {
  return make_command<ImportConfig>("import", "import a Hugging Face BERT, GPT-2 or MarianMT as a run", run,
                                    "bert-base-uncased --run runs/bert");
}

}  // namespace attend
