// A run directory (kind.hpp) loaded for use: one struct for each kind of run, with the options of its model, its
// tokenizers and its model. Commands that use several kinds visit AnyRun.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "data/corpus/masking.hpp"
#include "data/task/labelled_task.hpp"
#include "data/task/samples.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/bert/bert.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/device.hpp"
#include "models/run/kind.hpp"
#include "models/text/text_model.hpp"
#include "models/translation/config.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

// attend train.
struct TranslationRun {
  static constexpr RunKind kKind = RunKind::train;
  ModelConfig options;
  TokenizerPair tokenizers;
  Seq2Seq model;
};

// attend pretrain --objective masked or permuted: an encoder with the pretraining heads.
struct BertRun {
  static constexpr RunKind kKind = RunKind::pretrain;
  StackOptions options;
  Tokenizer tokenizer;
  BertForPretraining model;
  NamedTensors weights;  // those that the run has: an imported encoder may lack heads

  // True if the run has the head for masked tokens.
  bool fills_masks() const;
  // True if it predicts them by queries.
  bool is_permuted() const { return model->bert->query().has_value(); }
  // Throws UserError naming `path`, the run, if it lacks this head.
  void check_fills_masks(const std::filesystem::path& path) const;
};

// attend pretrain --objective causal or hybrid.
struct LanguageRun {
  static constexpr RunKind kKind = RunKind::language;
  LanguageOptions options;
  Tokenizer tokenizer;
  LanguageModel model;
  // The tokens of a text that the model reads at once; nullopt: all, of a recurrent model. Of a loaded run: the table
  // of positions, or without one so many that no two are farther apart than in training.
  std::optional<std::int64_t> window = {};

  // Throws UserError naming `path`, the run, unless it is a hybrid, which is an encoder, too.
  void check_reads_both_sides(const std::filesystem::path& path) const;
};

// attend finetune.
struct TextRun {
  static constexpr RunKind kKind = RunKind::finetune;
  TextModelOptions options;
  LabelledTask task;
  SampleConfig samples;
  Tokenizer tokenizer;
  TextModel model;
};

using AnyRun = std::variant<TranslationRun, BertRun, LanguageRun, TextRun>;

// The function for std::visit that lambdas make together.
template <class... Functions>
struct overloaded : Functions... {
  using Functions::operator()...;
};

// Loads a run of any kind, of several seeds the best one, as a model that can be differentiated. `checkpoint` is auto,
// best, last or a path, see find_weights. Throws UserError naming the file that is missing, damaged, edited or from
// another run.
AnyRun load_run(const std::filesystem::path& path, const std::string& checkpoint = "auto",
                torch::Device device = torch::kCPU);
// The same frozen, on the device and in the precision of these options.
AnyRun load_run(const std::filesystem::path& path, const ModelOptions& use);

// A run of one kind, loaded as by load_run. Throws UserError if it is of another one.
template <class SomeRun>
SomeRun load_run_as(const std::filesystem::path& path, const auto&... how) {
  const RunKind found = kind_of_run(run_of_best_seed(path));
  if (found != SomeRun::kKind) refuse_kind(path, found, SomeRun::kKind);
  return std::get<SomeRun>(load_run(path, how...));
}

// The options of a run's model, which say what kind of run it is before it is loaded.
using AnyOptions = std::variant<ModelConfig, StackOptions, LanguageOptions, TextModelOptions>;
AnyOptions options_of_run(const std::filesystem::path& path);

// The tables of a run that have a row for each piece of a vocabulary.
//
//   attend train      source; target and output, which are one table; with tied embeddings, all three are one
//   attend pretrain   input and output, which are one table
//   attend finetune   input
enum class EmbeddingTable { source, target, input, output };
template <>
inline constexpr auto kEnumNames<EmbeddingTable> =
    std::to_array<EnumName<EmbeddingTable>>({{EmbeddingTable::source, "source"},
                                             {EmbeddingTable::target, "target"},
                                             {EmbeddingTable::input, "input"},
                                             {EmbeddingTable::output, "output"}});

// The rows of pieces, fp32.
struct PieceVectors {
  Tokenizer tokenizer;
  torch::Tensor table_VE = {};
};

// A table of the run at `path`; nullopt: source or input. Throws UserError naming the tables of the run if it has no
// such table, and as load_run.
PieceVectors load_embedding_table(const std::filesystem::path& path, const std::string& checkpoint,
                                  std::optional<EmbeddingTable> table);

// The objective of a run of `attend pretrain`; if it was imported, masked or causal by its kind; masked of another kind
// of run. Throws UserError as kind_of_run.
PretrainingKind objective_of_run(const std::filesystem::path& run);

// A model for the objective masked, or permuted with [MASK] as the query. Throws UserError as resolve_stack.
BertForPretraining make_bert(const StackOptions& options, const Tokenizer& tokenizer, PretrainingKind objective);

// The weights of a pretrained model, without those heads (pooler, predictions, seq_relationship) for all of whose
// parameters `is_there` is false.
NamedTensors without_absent_heads(const BertForPretrainingImpl& model,
                                  const std::function<bool(const std::string&)>& is_there);

// Loads the weights of a run; returns those found, without absent heads. Throws UserError as load_tensors.
NamedTensors load_pretrained(const std::filesystem::path& weights, const BertForPretrainingImpl& model);

// RUN/tokenizer/joint.model, with the pieces that encoders need.
Tokenizer load_run_tokenizer(const std::filesystem::path& run);
void save_run_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& run);

// Throws UserError naming `file` if the tokenizer has no piece that ends a text.
void check_ends_texts(const Tokenizer& tokenizer, const std::filesystem::path& file);

LabelledTask load_run_task(const std::filesystem::path& run);
void save_run_task(const LabelledTask& task, const std::filesystem::path& run);

}  // namespace attend
