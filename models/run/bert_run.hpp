// A run of `attend pretrain` loaded for use: its options, its tokenizer and its encoder with the heads of pretraining.
#pragma once

#include <filesystem>
#include <string>

#include "core/safetensors.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/bert/bert.hpp"
#include "models/bert/bert_config.hpp"

namespace attend {

// What weights belong to, as their file says it.
TensorMetadata identity_of(const BertOptions& options, const Tokenizer& tokenizer);

struct BertRun {
  BertOptions options;
  Tokenizer tokenizer;
  BertForPretraining model;

  // As Run::load (run.hpp).
  static BertRun load(const std::filesystem::path& path, const std::string& checkpoint = "auto",
                      torch::Device device = torch::kCPU);
};

// RUN/tokenizer/joint.model.
Tokenizer load_run_tokenizer(const std::filesystem::path& run);
void save_run_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& run);

}  // namespace attend
