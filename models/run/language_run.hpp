// A run of `attend pretrain --objective causal` loaded for use: its options, its tokenizer and its model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "data/tokenizer/tokenizer.hpp"
#include "models/language/language_options.hpp"

namespace attend {

struct LanguageRun {
  LanguageOptions options;
  Tokenizer tokenizer;
  LanguageModel model;
  // The tokens of a text that the model reads at once; nullopt: all, of a recurrent model. load(): the table of
  // positions, or without one so many that no two are farther apart than in training.
  std::optional<std::int64_t> window = {};

  static LanguageRun load(const std::filesystem::path& path, const std::string& checkpoint = "auto",
                          torch::Device device = torch::kCPU);
};

// Throws UserError naming `file` if the tokenizer has no piece that ends a text.
void check_ends_texts(const Tokenizer& tokenizer, const std::filesystem::path& file);

}  // namespace attend
