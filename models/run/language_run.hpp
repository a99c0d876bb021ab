// A run of `attend pretrain --objective causal` loaded for use: its options, its tokenizer and its model.
#pragma once

#include <filesystem>
#include <string>

#include "data/tokenizer/tokenizer.hpp"
#include "models/language/language_options.hpp"

namespace attend {

struct LanguageRun {
  LanguageOptions options;
  Tokenizer tokenizer;
  LanguageModel model;

  static LanguageRun load(const std::filesystem::path& path, const std::string& checkpoint = "auto",
                          torch::Device device = torch::kCPU);
};

// Throws UserError naming `file` if the tokenizer has no piece that ends a text.
void check_ends_texts(const Tokenizer& tokenizer, const std::filesystem::path& file);

}  // namespace attend
