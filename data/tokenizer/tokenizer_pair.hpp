// The tokenizers of a translation run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// The tokenizers of a translation run: one for both languages, or one per side. A directory stores them as joint.model,
// or as src.model and tgt.model.

// File name of a joint tokenizer in the tokenizer directory of a run.
inline constexpr const char* kJointTokenizer = "joint.model";

struct TokenizerPair {
  Tokenizer src;
  Tokenizer tgt;  // shares src's model if joint

  // From one file or two. Throws UserError for another number, as Tokenizer::load does, and if bos or eos is missing.
  static TokenizerPair from_files(const std::vector<std::string>& files);
  static TokenizerPair load(const std::filesystem::path& directory);
  void save(const std::filesystem::path& directory) const;

  bool joint() const { return src.hash() == tgt.hash(); }
  bool operator==(const TokenizerPair& other) const {
    return src.hash() == other.src.hash() && tgt.hash() == other.tgt.hash();
  }
};

}  // namespace attend
