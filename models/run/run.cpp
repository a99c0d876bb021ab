#include "models/run/run.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "data/corpus/document_corpus.hpp"
#include "models/layers/layers.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/translation/factory.hpp"

namespace attend {

namespace fs = std::filesystem;

namespace {

struct ObjectiveOption {
  PretrainingKind objective = PretrainingKind::masked;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("objective", self.objective, {.help = "what is predicted"});
  }
};

// What is loaded, and how.
struct RunSource {
  const fs::path& run;
  const std::string& checkpoint;
  torch::Device device;

  template <class Options>
  Options options() const {
    return read_config<Options>(run / "config.toml", UnknownKeys::ignore);
  }

  // The model that `make` builds from the options, with the weights that `load` reads.
  template <class Make, class Load>
  auto model(const TensorMetadata& identity, const Make& make, const Load& load) const {
    const fs::path weights = find_weights(run, checkpoint);
    check_identity(weights, identity, run);
    auto model = [&] {
      try {
        return make();
      } catch (const UserError& error) {  // the options of an intact run are valid
        throw UserError((run / "config.toml").string() + ": " + error.what(),
                        "it was truncated or edited; restore the original");
      }
    }();
    load(weights, *model);
    model->to(device);
    model->eval();
    return model;
  }
};

TranslationRun load_translation(const RunSource& from) {
  const auto options = from.options<ModelConfig>();
  auto tokenizers = TokenizerPair::load(from.run / "tokenizer");
  if (options.reverse_target) tokenizers.tgt = tokenizers.tgt.reversed();
  const auto make = [&] { return make_seq2seq(options, sizes_of(tokenizers), std::nullopt); };
  return {.options = options,
          .tokenizers = tokenizers,
          .model = from.model(identity_of(options, tokenizers), make, load_weights)};
}

BertRun load_bert(const RunSource& from) {
  const auto options = from.options<StackOptions>();
  const Tokenizer tokenizer = load_run_tokenizer(from.run);
  const PretrainingKind objective = objective_of_run(from.run);
  const auto make = [&] { return make_bert(options, tokenizer, objective); };
  NamedTensors weights;
  const BertForPretraining model =
      from.model(identity_of(options, tokenizer), make,
                 [&](const fs::path& file, const BertForPretrainingImpl& of) { weights = load_pretrained(file, of); });
  return {.options = options, .tokenizer = tokenizer, .model = model, .weights = weights};
}

LanguageRun load_language(const RunSource& from) {
  const auto options = from.options<LanguageOptions>();
  const fs::path file = from.run / "tokenizer" / kJointTokenizer;
  const Tokenizer tokenizer = Tokenizer::load(file);
  check_ends_texts(tokenizer, file);
  const PretrainingKind objective = objective_of_run(from.run);
  const auto make = [&] { return make_language_model(options, tokenizer.size(), objective); };
  LanguageRun run{.options = options,
                  .tokenizer = tokenizer,
                  .model = from.model(identity_of(options, tokenizer), make, load_weights)};
  if (!options.is_recurrent()) {
    run.window = run.model->longest().value_or(from.options<InstanceConfig>().length + options.memory);
  }
  return run;
}

TextRun load_text(const RunSource& from) {
  const auto options = from.options<TextModelOptions>();
  const LabelledTask task = load_run_task(from.run);
  const Tokenizer tokenizer = load_run_tokenizer(from.run);
  const auto samples = from.options<SampleConfig>();
  if (!samples.length || *samples.length > options.longest()) {
    throw UserError((from.run / "config.toml").string() + ": length is " +
                        (samples.length ? std::to_string(*samples.length) : "auto") + ", expected at most " +
                        std::to_string(options.longest()),
                    "it was edited; restore the original");
  }
  const auto make = [&] { return TextModel(options, task, tokenizer.size()); };
  return {.options = options,
          .task = task,
          .samples = samples,
          .tokenizer = tokenizer,
          .model = from.model(identity_of(options, task, tokenizer), make, load_weights)};
}

// The names of a run's tables, the default one first.
std::vector<EmbeddingTable> tables_of(const AnyOptions& run) {
  using enum EmbeddingTable;
  return std::visit(overloaded{[](const ModelConfig&) {
                                 return std::vector{source, target, output};
                               },
                               [](const TextModelOptions&) { return std::vector{input}; },
                               [](const auto& /*pretrained*/) {
                                 return std::vector{input, output};
                               }},
                    run);
}

PieceVectors vectors_of(const Tokenizer& tokenizer, const ops::Weight& table) {
  return {.tokenizer = tokenizer, .table_VE = table.master().detach()};
}

}  // namespace

AnyRun load_run(const fs::path& path, const std::string& checkpoint, torch::Device device) {
  const fs::path run = run_of_best_seed(path);
  const RunSource from{.run = run, .checkpoint = checkpoint, .device = device};
  switch (kind_of_run(run)) {
    case RunKind::train: return load_translation(from);
    case RunKind::pretrain: return load_bert(from);
    case RunKind::language: return load_language(from);
    case RunKind::finetune: break;
  }
  return load_text(from);
}

AnyRun load_run(const fs::path& path, const ModelOptions& use) {
  AnyRun loaded = load_run(path, use.checkpoint, device_named(use.device));
  std::visit([&](const auto& run) { freeze(*run.model, use.precision); }, loaded);
  return loaded;
}

AnyOptions options_of_run(const fs::path& path) {
  const fs::path run = run_of_best_seed(path), file = run / "config.toml";
  switch (kind_of_run(run)) {
    case RunKind::train: return read_config<ModelConfig>(file, UnknownKeys::ignore);
    case RunKind::pretrain: return read_config<StackOptions>(file, UnknownKeys::ignore);
    case RunKind::language: return read_config<LanguageOptions>(file, UnknownKeys::ignore);
    case RunKind::finetune: break;
  }
  return read_config<TextModelOptions>(file, UnknownKeys::ignore);
}

PieceVectors load_embedding_table(const fs::path& path, const std::string& checkpoint,
                                  std::optional<EmbeddingTable> table) {
  const std::vector<EmbeddingTable> tables = tables_of(options_of_run(path));
  if (table && std::ranges::find(tables, *table) == tables.end()) {
    std::string names;
    for (const EmbeddingTable one : tables) names += (names.empty() ? "" : ", ") + std::string(name_of(one));
    throw UserError("--table " + std::string(name_of(*table)) + ": the tables of " + path.string() + " are: " + names,
                    "choose one of them");
  }
  return std::visit(
      overloaded{[&](const TranslationRun& run) {
                   const bool of_source = table.value_or(EmbeddingTable::source) == EmbeddingTable::source;
                   return of_source ? vectors_of(run.tokenizers.src, run.model->source_table())
                                    : vectors_of(run.tokenizers.tgt, run.model->output_table());
                 },
                 [](const BertRun& run) { return vectors_of(run.tokenizer, run.model->bert->table()); },
                 [](const LanguageRun& run) { return vectors_of(run.tokenizer, run.model->output_table()); },
                 [](const TextRun& run) { return vectors_of(run.tokenizer, run.model->encoder().table()); }},
      load_run(path, checkpoint));
}

bool BertRun::fills_masks() const {
  return std::ranges::any_of(weights, [](const auto& weight) { return weight.first.starts_with("predictions."); });
}

void BertRun::check_fills_masks(const fs::path& path) const {
  if (fills_masks()) return;
  throw UserError(path.string() + ": an encoder imported without a head for masked tokens",
                  "import a model with this head, such as a BertForMaskedLM");
}

void LanguageRun::check_reads_both_sides(const fs::path& path) const {
  if (model->is_hybrid()) return;
  throw UserError(path.string() +
                      ": a run of attend pretrain --objective causal, expected one of attend pretrain "
                      "--objective masked, permuted or hybrid",
                  "give the RUN directory of such a training");
}

PretrainingKind objective_of_run(const fs::path& run) {
  const RunKind kind = kind_of_run(run);
  if (kind != RunKind::pretrain && kind != RunKind::language) return PretrainingKind::masked;
  const auto recorded = read_config<ObjectiveOption>(run / "config.toml", UnknownKeys::ignore).objective;
  const bool reads_ahead = kind == RunKind::pretrain || recorded == PretrainingKind::hybrid;
  return reads_ahead ? recorded : PretrainingKind::causal;  // an imported run has no record
}

BertForPretraining make_bert(const StackOptions& options, const Tokenizer& tokenizer, PretrainingKind objective) {
  if (objective == PretrainingKind::masked) return BertForPretraining(options, tokenizer.size());
  return BertForPretraining(options, tokenizer.size(), tokenizer.special().mask);
}

NamedTensors without_absent_heads(const BertForPretrainingImpl& model,
                                  const std::function<bool(const std::string&)>& is_there) {
  NamedTensors weights = weights_of(model);
  for (const std::string_view head : {"pooler.", "predictions.", "seq_relationship."}) {
    const auto of_head = [head](const auto& parameter) { return parameter.first.starts_with(head); };
    const auto is_present = [&](const auto& parameter) { return of_head(parameter) && is_there(parameter.first); };
    if (std::ranges::none_of(weights, is_present)) std::erase_if(weights, of_head);
  }
  return weights;
}

NamedTensors load_pretrained(const fs::path& weights, const BertForPretrainingImpl& model) {
  const SafetensorsFile file(weights);
  NamedTensors present =
      without_absent_heads(model, [&](const std::string& name) { return file.find(name) != nullptr; });
  load_tensors(weights, present);
  refresh_weights(model);
  return present;
}

Tokenizer load_run_tokenizer(const fs::path& run) {
  return load_encoder_tokenizer(run / "tokenizer" / kJointTokenizer);
}

void save_run_tokenizer(const Tokenizer& tokenizer, const fs::path& run) {
  make_directories(run / "tokenizer");
  write_file_atomic(run / "tokenizer" / kJointTokenizer, tokenizer.bytes());
}

void check_ends_texts(const Tokenizer& tokenizer, const fs::path& file) {
  if (tokenizer.special().eos >= 0) return;
  throw UserError(
      file.string() + ": no piece that ends a text, which language models need",
      "use a SentencePiece model with \"</s>\", such as those of attend vocab, or the tokenizer of a GPT-2");
}

LabelledTask load_run_task(const fs::path& run) {
  const fs::path file = run / "task.toml";
  if (!fs::exists(file)) {
    throw UserError(run.string() + ": not a run of attend finetune, task.toml is missing",
                    "give the RUN directory of attend finetune");
  }
  auto task = read_config<LabelledTask>(file);
  task.validate(file.string());
  return task;
}

void save_run_task(const LabelledTask& task, const fs::path& run) {
  make_directories(run);
  write_file_atomic(run / "task.toml", to_toml(task));
}

}  // namespace attend
