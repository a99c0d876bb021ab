// Queries of word vectors: the neighbours of a word, analogies and similarity, all by the cosines of vectors.
//
//   nearest   cos(d, a)
//   add       cos(d, b - a + c)                               3CosAdd (Mikolov et al. 2013, aclanthology.org/N13-1090)
//   multiply  cos'(d, b) cos'(d, c) / (cos'(d, a) + 0.001)    3CosMul (Levy and Goldberg 2014, W14-1618, eq. 4)
//
// with a, b and c of length 1, and cos' = (1 + cos) / 2. Accuracy and correlation are defined as in gensim's
// evaluate_word_analogies and evaluate_word_pairs.
//
// Legend: docs/architecture.md; Q questions, V words, E width of their vectors.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/options.hpp"
#include "data/text/word_vectors.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// A word as its vocabulary spells it, with its vector [E].
struct SpelledWord {
  std::string spelling = {};
  torch::Tensor vector_E = {};
  std::int64_t pieces = 1;  // whose mean the vector is
};

struct WordTable {
  std::string name = {};                // of a run or file, for messages
  std::vector<std::string> words = {};  // V
  torch::Tensor vectors_VE = {};        // fp32
  // A word that is not among them, which is never an answer; nullopt if it has no vector. May be empty.
  std::function<std::optional<SpelledWord>(const std::string&)> other = {};
};

WordTable table_of(WordVectors vectors, const std::string& name);

// The word that is encoded as this piece alone; empty if there is none.
std::string whole_word(const Tokenizer& tokenizer, std::int32_t id);

// The words of a run whose table [V, E] has a row for each piece: the first `most` pieces that are a word on their own.
// Another word has the mean of the rows of its pieces, and no vector if one of them is unknown. Throws UserError naming
// `name` if no piece is a word.
WordTable table_of(const Tokenizer& tokenizer, const torch::Tensor& table_VE, std::int64_t most,
                   const std::string& name);

enum class AnalogyMethod { add, multiply };
template <>
inline constexpr auto kEnumNames<AnalogyMethod> =
    std::to_array<EnumName<AnalogyMethod>>({{AnalogyMethod::add, "add"}, {AnalogyMethod::multiply, "multiply"}});

// a is to b as c is to …
struct Analogy {
  std::string a = {}, b = {}, c = {};
};

struct Neighbour {
  std::string word = {};
  double score = 0;
};

// The questions whose four words are in the table, those whose best answer is right, and those left out.
struct AnalogyTally {
  std::int64_t correct = 0, questions = 0, left_out = 0;

  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(questions); }
  AnalogyTally& operator+=(const AnalogyTally& other);
};

// Spearman's correlation of cosines with the scores of pairs, NaN if one side is constant; the number of these pairs,
// and of those left out because a word has no vector.
struct SimilarityScore {
  double spearman = 0;
  std::int64_t pairs = 0, left_out = 0;
};

class WordSpace {
 public:
  // With `ignore_case`, words that differ only in case are one word, whose vector is that of the first.
  WordSpace(WordTable table, bool ignore_case);

  // The `count` nearest words or best answers, without the words given. Throws UserError naming a word that has no
  // vector.
  std::vector<Neighbour> nearest(const std::string& word, std::int64_t count) const;
  std::vector<Neighbour> analogy(const Analogy& analogy, AnalogyMethod method, std::int64_t count) const;

  // As in gensim, any spelling of a word that differs only in case may be the best answer. Throws Interrupted when a
  // signal requests a stop.
  AnalogyTally answer(const std::vector<AnalogyQuestion>& questions, AnalogyMethod method) const;

  // Throws UserError if every pair is left out.
  SimilarityScore rate(const std::vector<RatedPair>& pairs) const;

 private:
  using Rows = std::vector<std::int64_t>;

  std::string key_of(const std::string& word) const;
  const Rows* rows_of(const std::string& word) const;  // the rows of a word, or nullptr
  std::optional<SpelledWord> find(const std::string& word) const;
  SpelledWord require(const std::string& word) const;
  // The scores of all words as answers to Q questions, from unit vectors [Q, E]: [Q, V].
  torch::Tensor answers(const torch::Tensor& a_QE, const torch::Tensor& b_QE, const torch::Tensor& c_QE,
                        AnalogyMethod method) const;
  // The words with the highest scores [V], without the given ones.
  std::vector<Neighbour> best(torch::Tensor scores_V, const std::vector<std::string>& without,
                              std::int64_t count) const;

  WordTable table_;
  bool ignore_case_;
  torch::Tensor unit_VE_;  // the vectors, each of length 1; a zero vector stays
  std::unordered_map<std::string, Rows> rows_;
};

}  // namespace attend
