// The test text of a comparison of language models: documents in words, which models of all vocabularies share, and in
// the pieces of one vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

struct TestDocument {
  std::vector<std::string> sentences;
  std::vector<std::string> words;  // between white space
  std::int64_t bytes = 0;          // of its lines, with their line breaks
};

// The documents of the files that have words, split into sentences as for pretraining. UserError for files that cannot
// be read, or have none.
std::vector<TestDocument> read_test_documents(const std::vector<std::string>& files);

// The pieces of a document's sentences, and the end token. Each belongs to a word; the end is a word of its own, the
// last one.
//
//   "A dog."   ids ▁A ▁dog . </s>   word 0 1 1 2
struct DocumentPieces {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> word;  // of each piece, ascending
};
DocumentPieces pieces_of(const TestDocument& document, const Tokenizer& tokenizer);

// Sums of the numbers of the pieces of each word.
std::vector<double> by_word(const DocumentPieces& pieces, const std::vector<double>& numbers, std::size_t num_words);

}  // namespace attend
