// A run of `attend pretrain --objective masked` or `permuted` loaded for use: its options, its tokenizer, and its
// encoder with the pretraining heads.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "data/corpus/masking.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/bert/bert.hpp"
#include "models/bert/bert_config.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {

struct BertRun {
  BertOptions options;
  Tokenizer tokenizer;
  BertForPretraining model;
  NamedTensors weights;  // those that the run has: an imported encoder may lack heads

  // True if the run has the head for masked tokens.
  bool fills_masks() const;
  // True if it predicts them by queries.
  bool is_permuted() const { return model->bert->config().query.has_value(); }
  // Throws UserError naming `path`, the run, if it lacks this head.
  void check_fills_masks(const std::filesystem::path& path) const;

  static BertRun load(const std::filesystem::path& path, const std::string& checkpoint = "auto",
                      torch::Device device = torch::kCPU);
};

// The objective of a run of `attend pretrain`; masked, if it was imported or is another kind of run. Throws UserError
// as kind_of_run.
PretrainingKind objective_of_run(const std::filesystem::path& run);

// The config of a model for the objective masked, or permuted with [MASK] as the query. Throws UserError as
// bert_config.
BertConfig pretraining_config(const BertOptions& options, const Tokenizer& tokenizer, PretrainingKind objective);

// The weights of a pretrained model, without those heads (pooler, predictions, seq_relationship) for all of whose
// parameters `is_there` is false.
NamedTensors without_absent_heads(const BertForPretrainingImpl& model,
                                  const std::function<bool(const std::string&)>& is_there);

// Loads the weights of a run; returns those found, without absent heads. Throws UserError as load_tensors.
NamedTensors load_pretrained(const std::filesystem::path& weights, const BertForPretrainingImpl& model);

// Loads RUN/tokenizer/joint.model.
Tokenizer load_run_tokenizer(const std::filesystem::path& run);
void save_run_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& run);

}  // namespace attend
