// A run of `attend pretrain` loaded for use: its options, its tokenizer and its encoder with the heads of pretraining.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "data/tokenizer/tokenizer.hpp"
#include "models/bert/bert.hpp"
#include "models/bert/bert_config.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {

struct BertRun {
  BertOptions options;
  Tokenizer tokenizer;
  BertForPretraining model;
  NamedTensors weights;  // those parameters of the model that the run has: an imported encoder may lack heads

  // Whether the head for masked tokens is among them.
  bool fills_masks() const;

  static BertRun load(const std::filesystem::path& path, const std::string& checkpoint = "auto",
                      torch::Device device = torch::kCPU);
};

// The parameters of a pretrained model but for those of its heads (pooler, predictions, seq_relationship) of which
// nothing `is_there`.
NamedTensors without_absent_heads(const BertForPretrainingImpl& model,
                                  const std::function<bool(const std::string&)>& is_there);

// The same of the weights in a run's file, which are loaded. UserError as of load_tensors.
NamedTensors load_pretrained(const std::filesystem::path& weights, const BertForPretrainingImpl& model);

// RUN/tokenizer/joint.model.
Tokenizer load_run_tokenizer(const std::filesystem::path& run);
void save_run_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& run);

}  // namespace attend
