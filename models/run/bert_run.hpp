// A run of `attend pretrain` loaded for use: its options, its tokenizer, and its encoder with the pretraining heads, of
// which that for masked tokens reads queries if they are predicted in a permuted order.
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
  NamedTensors weights;  // the model parameters that the run has: an imported encoder may lack heads

  // True if the run has the head for masked tokens.
  bool fills_masks() const;
  // True if it does so by queries.
  bool is_permuted() const { return model->bert->config().query.has_value(); }
  // Throws UserError naming `path`, from which the run was loaded, if it has not.
  void check_fills_masks(const std::filesystem::path& path) const;

  static BertRun load(const std::filesystem::path& path, const std::string& checkpoint = "auto",
                      torch::Device device = torch::kCPU);
};

// What a run of `attend pretrain` learns or learnt; masked tokens, if it was imported or is another kind of run. Throws
// UserError as kind_of_run.
PretrainingKind objective_of_run(const std::filesystem::path& run);

// The model that learns them, masked or permuted; a query begins as [MASK] does. Throws UserError as bert_config.
BertConfig pretraining_config(const BertOptions& options, const Tokenizer& tokenizer, PretrainingKind objective);

// The weights of a pretrained model except those of heads (pooler, predictions, seq_relationship) for which
// `is_there` returns false for every one.
NamedTensors without_absent_heads(const BertForPretrainingImpl& model,
                                  const std::function<bool(const std::string&)>& is_there);

// Loads the weights of a run; returns those found, without absent heads. Throws UserError as load_tensors.
NamedTensors load_pretrained(const std::filesystem::path& weights, const BertForPretrainingImpl& model);

// Loads RUN/tokenizer/joint.model.
Tokenizer load_run_tokenizer(const std::filesystem::path& run);
void save_run_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& run);

}  // namespace attend
