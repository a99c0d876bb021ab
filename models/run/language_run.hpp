// A run of `attend pretrain --objective causal` loaded for use: its options, its tokenizer and its model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "data/corpus/instances.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/language/language_options.hpp"

namespace attend {

struct LanguageRun {
  LanguageOptions options;
  Tokenizer tokenizer;
  LanguageModel model;
  std::int64_t length = InstanceConfig{}.length;  // of the segments of training

  // The tokens of a text that the model reads at once: no two are farther apart than in training. nullopt: all, of a
  // recurrent model.
  std::optional<std::int64_t> window() const;

  static LanguageRun load(const std::filesystem::path& path, const std::string& checkpoint = "auto",
                          torch::Device device = torch::kCPU);
};

// Throws UserError naming `file` if the tokenizer has no piece that ends a text.
void check_ends_texts(const Tokenizer& tokenizer, const std::filesystem::path& file);

}  // namespace attend
