// The texts that a comparison reads, and scores of them that were made elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/word_alignment.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/metrics/metric.hpp"

namespace attend {

// The texts that a comparison reads: the test set, gold links, and translations that were made elsewhere.

// A system of which only the translations are known: NAME=FILE.
struct GivenSystem {
  std::string name;
  std::string file;
  std::vector<std::string> lines = {};
};

// What words NAME=FILE of an option name, such as the systems of --hypothesis; their lines are not read yet. UserError,
// with an example, for a word that is not NAME=FILE, or a name that is given twice.
std::vector<GivenSystem> parse_named_files(std::string_view option, std::string_view example,
                                           const std::vector<std::string>& words);

struct ComparedInputs {
  std::vector<std::string> sources;
  std::vector<std::string> references;
  std::vector<SentenceLinks> gold = {};  // of every line, or empty
  std::int64_t source_words = 0;
  std::int64_t target_words = 0;
  std::vector<GivenSystem> given;
};

// UserError naming the file for texts that are empty or do not have one line for each source sentence.
ComparedInputs read_compared_inputs(const std::vector<std::string>& test, const GoldConfig& gold,
                                    const std::vector<std::string>& hypotheses);

// Scores of sentences by a metric that attend lacks, or by people: COMET, adequacy. A score of a test set is their
// mean.
//
//   COMET of two systems and three sentences, in a file of --scores COMET=FILE:
//
//     0.81 0.79
//     0.64 0.70
//     0.92 0.88       0.79 and 0.79: no difference
class GivenScores {
 public:
  // Reads lines of a number for each output, between white space. UserError naming the file and the line for other
  // lines, numbers that are not finite, and a number of lines that is not `sentences`.
  GivenScores(const std::string& file, std::size_t outputs, std::size_t sentences);

  // Rows (score, 1) of one output's sentences.
  metrics::Rows rows(std::size_t output) const;
  // So many that scores up to 1 keep four digits: 2, or 4.
  int decimals() const;

 private:
  std::vector<std::vector<double>> scores_;  // [sentence][output]
};

// The test text of a comparison of language models: documents in words, which models of all vocabularies share, and in
// the pieces of one vocabulary.

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
