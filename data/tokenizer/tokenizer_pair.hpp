// The tokenizers of a translation run, and the labels of its source words as ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/text/parallel.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// The labels of source words (data/text/parallel.hpp) as ids beside the pieces of a line: every piece has the labels of
// its word.
//
//   "a dogfish"   tags "DET NOUN"   pieces ▁a ▁dog fish   labels {2, 3, 3} with DET = 2, NOUN = 3
//
// A directory stores the labels as source-factors.json, a list of labels for each factor, the most frequent first.

// Copies share their labels. All members are thread-safe.
class SourceFactors {
 public:
  // Ids of every factor. Those of its labels follow, from 2.
  static constexpr std::int32_t kUnknown = 0;  // a label that the training text lacks
  static constexpr std::int32_t kEnd = 1;      // beside the end of a sentence

  SourceFactors() = default;  // no factors
  // The labels of each factor, in the order of their ids.
  explicit SourceFactors(std::vector<std::vector<std::string>> labels);

  // The labels in each file, the most frequent first, equally frequent ones in the order of their bytes.
  static SourceFactors from_files(const std::vector<std::string>& files);
  // No factors if the directory has none. Throws UserError if the file is damaged.
  static SourceFactors load(const std::filesystem::path& directory);
  void save(const std::filesystem::path& directory) const;

  std::size_t count() const;
  // The number of ids of each factor.
  std::vector<std::int64_t> sizes() const;
  // XXH3 of the labels; empty without factors.
  std::string hash() const;

  // The labels beside the pieces of a line: for each piece, an id of each factor. A piece has the labels of the word
  // that it begins in, or else of the next one.
  std::vector<std::int32_t> ids_of(const SourceLine& line, std::span<const Piece> pieces) const;

 private:
  struct Content;
  std::shared_ptr<const Content> content_;  // null without factors
};

// The pieces of a source line and the ids of their labels, as ids_of() gives them.
struct SourcePieces {
  std::vector<std::int32_t> ids = {};
  std::vector<std::int32_t> labels = {};
  bool cut = false;  // there are more
};

// At most the first `most` pieces of a line, with its labels if there are factors.
SourcePieces encode_source(const Tokenizer& tokenizer, const SourceFactors& factors, const SourceLine& line,
                           std::optional<std::size_t> most = {});

// The tokenizers of a translation run: one for both languages, or one per side, and the labels of its source factors. A
// directory stores the tokenizers as joint.model, or as src.model and tgt.model.

// File name of a joint tokenizer in the tokenizer directory of a run.
inline constexpr const char* kJointTokenizer = "joint.model";

struct TokenizerPair {
  Tokenizer src;
  Tokenizer tgt;  // shares src's model if joint
  SourceFactors factors = {};

  // From one file or two. Throws UserError for another number, as Tokenizer::load does, and if bos or eos is missing.
  static TokenizerPair from_files(const std::vector<std::string>& files);
  static TokenizerPair load(const std::filesystem::path& directory);
  void save(const std::filesystem::path& directory) const;

  bool joint() const { return src.hash() == tgt.hash(); }
  bool operator==(const TokenizerPair& other) const {
    return src.hash() == other.src.hash() && tgt.hash() == other.tgt.hash() && factors.hash() == other.factors.hash();
  }
};

}  // namespace attend
