// Neighbours, analogies and similarity of words: vectors made by hand, the words of every kind of tokenizer, and what
// gensim says of fixtures/neighbours.json (tests/parity/make_fixtures_neighbours.py).
#include "eval/neighbours.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "data/tokenizer/wordpiece.hpp"
#include "tests/support/small_run.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// man, king and woman are at right angles. To king + woman - man, throne is nearer than queen, since it is very near to
// king, but the product asks for a word that is near to both.
WordTable royal_table() {
  return {.name = "by hand",
          .words = {"man", "king", "woman", "throne", "queen", "nothing"},
          .vectors_VE = torch::tensor({{2.F, 0.F, 0.F, 0.F},
                                       {0.F, 0.5F, 0.F, 0.F},
                                       {0.F, 0.F, 1.F, 0.F},
                                       {0.F, 3.F, 0.F, 1.F},
                                       {1.F, 5.F, 5.F, 7.F},
                                       {0.F, 0.F, 0.F, 0.F}}),
          .other = {}};
}

std::vector<std::string> words_of_neighbours(const std::vector<Neighbour>& neighbours) {
  std::vector<std::string> words;
  for (const Neighbour& neighbour : neighbours) words.push_back(neighbour.word);
  return words;
}

TEST(Neighbours, AreSortedByCosineWithoutTheWord) {
  const WordSpace space(royal_table(), false);
  const auto found = space.nearest("king", 2);
  EXPECT_EQ(words_of_neighbours(found), (std::vector<std::string>{"throne", "queen"}));
  EXPECT_NEAR(found[0].score, 0.9486833, 1e-6);
  EXPECT_NEAR(found[1].score, 0.5, 1e-6);
  const auto all = space.nearest("queen", 100);
  EXPECT_EQ(all.size(), 5U);
  EXPECT_EQ(all.back().score, 0);  // a zero vector is near to nothing
}

TEST(Neighbours, AnswerAnalogiesByEitherMethod) {
  const WordSpace space(royal_table(), false);
  const Analogy question{.a = "man", .b = "king", .c = "woman"};
  const auto sum = space.analogy(question, AnalogyMethod::add, 10);
  EXPECT_EQ(words_of_neighbours(sum), (std::vector<std::string>{"throne", "queen", "nothing"}));
  EXPECT_NEAR(sum[0].score, 0.5477226, 1e-6);  // 0.9487 / √3
  EXPECT_NEAR(sum[1].score, 0.5196152, 1e-6);  // 0.9 / √3
  const auto product = space.analogy(question, AnalogyMethod::multiply, 10);
  EXPECT_EQ(words_of_neighbours(product), (std::vector<std::string>{"queen", "throne", "nothing"}));
  EXPECT_NEAR(product[0].score, 0.75 * 0.75 / 0.551, 1e-6);
  EXPECT_NEAR(product[1].score, 0.97434165 * 0.5 / 0.501, 1e-6);
  const std::vector<AnalogyQuestion> questions = {{"man", "king", "woman", "queen"},
                                                  {"man", "king", "woman", "throne"},
                                                  {"man", "king", "woman", "woman"},
                                                  {"man", "king", "woman", "princess"}};
  for (const AnalogyMethod method : {AnalogyMethod::add, AnalogyMethod::multiply}) {
    const AnalogyTally tally = space.answer(questions, method);
    EXPECT_EQ(tally.correct, 1);
    EXPECT_EQ(tally.questions, 3);
    EXPECT_EQ(tally.left_out, 1);
    EXPECT_EQ(space.answer({questions[0]}, method).correct, method == AnalogyMethod::multiply);
  }
}

TEST(Neighbours, ThatDifferInCaseAreOneWordIfAsked) {
  WordTable table{.name = "two kings",
                  .words = {"King", "king", "duke"},
                  .vectors_VE = torch::tensor({{1.F, 0.F}, {0.F, 1.F}, {1.F, 2.F}}),
                  .other = {}};
  const WordSpace apart(table, false), together(table, true);
  EXPECT_EQ(words_of_neighbours(apart.nearest("king", 9)), (std::vector<std::string>{"duke", "King"}));
  const auto found = together.nearest("king", 9);
  EXPECT_EQ(words_of_neighbours(found), (std::vector<std::string>{"duke"}));
  EXPECT_NEAR(found[0].score, 0.4472136, 1e-6);  // to King, the first of them
  EXPECT_EQ(words_of_neighbours(together.nearest("duke", 9)), std::vector<std::string>{"King"});
  EXPECT_EQ(words_of_neighbours(together.nearest("duke", 1)), std::vector<std::string>{"King"}) << "king is nearer";
  EXPECT_THROW(apart.nearest("KING", 9), UserError);
  EXPECT_EQ(together.nearest("KING", 9).size(), 1U);
}

TEST(Neighbours, NameAWordWithoutAVector) {
  const WordSpace space(royal_table(), false);
  EXPECT_EQ(user_error_of([&] { space.analogy({.a = "man", .b = "kong", .c = "woman"}, AnalogyMethod::add, 1); }),
            "\"kong\" has no vector in by hand");
}

TEST(Neighbours, RateThePairsThatTheyKnow) {
  const WordSpace space(royal_table(), false);
  const SimilarityScore score = space.rate({{.first = "king", .second = "throne", .score = 9},
                                            {.first = "king", .second = "kong", .score = 8},
                                            {.first = "king", .second = "queen", .score = 7},
                                            {.first = "man", .second = "queen", .score = 8},
                                            {.first = "man", .second = "king", .score = 1}});
  EXPECT_NEAR(score.spearman, 0.8, 1e-12);  // ranks 4 3 2 1 and 4 2 3 1
  EXPECT_EQ(score.pairs, 4);
  EXPECT_EQ(score.left_out, 1);
  EXPECT_THROW(space.rate({{.first = "king", .second = "kong", .score = 8}}), UserError);
}

// The table whose row k is k in one column and 1 in the other.
torch::Tensor numbered_rows(const Tokenizer& tokenizer) {
  const torch::Tensor numbers_V = at::arange(tokenizer.size(), torch::kFloat32);
  return at::stack({numbers_V, at::ones_like(numbers_V)}, 1);
}

// The piece whose row a word of the table has; -1: it is not in the table.
std::int64_t piece_of_word(const WordTable& table, const std::string& word) {
  const auto found = std::ranges::find(table.words, word);
  return found == table.words.end() ? -1 : table.vectors_VE[found - table.words.begin()][0].item<std::int64_t>();
}

TEST(WordsOfARun, AreThePiecesOfSentencePieceThatBeginAWord) {
  const Tokenizer tokenizer = small_tokenizer({.size = 64});
  const WordTable table = table_of(tokenizer, numbered_rows(tokenizer), 1000, "run");
  for (const std::string& word : table.words) {
    EXPECT_FALSE(word.empty());
    EXPECT_EQ(piece_of_word(table, word), tokenizer.id_of("▁" + word)) << word;
  }
  std::size_t num_pieces = 0;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string& piece = tokenizer.piece(id);
    num_pieces += piece.starts_with(kSpaceMark) && piece != kSpaceMark;
  }
  EXPECT_EQ(table.words.size(), num_pieces);
  EXPECT_GT(num_pieces, 5U);
  for (const char* word : {"</s>", "<unk>", "⁇", "[MASK]"}) EXPECT_EQ(piece_of_word(table, word), -1) << word;
  EXPECT_EQ(table_of(tokenizer, numbered_rows(tokenizer), 2, "run").words,
            (std::vector{table.words[0], table.words[1]}));
}

TEST(WordsOfARun, OfSeveralPiecesAreTheirMean) {
  const Tokenizer tokenizer = small_tokenizer({.size = 64});
  const torch::Tensor rows_VE = numbered_rows(tokenizer);
  const WordTable table = table_of(tokenizer, rows_VE, 1000, "run");
  const std::vector<std::int32_t> pieces = tokenizer.encode("dogcat");
  ASSERT_GT(pieces.size(), 1U);
  double sum = 0;
  for (const std::int32_t piece : pieces) sum += piece;
  const auto word = table.other("dogcat");
  ASSERT_TRUE(word);
  EXPECT_EQ(word->spelling, "dogcat");
  EXPECT_EQ(word->pieces, std::ssize(pieces));
  EXPECT_NEAR(word->vector_E[0].item<double>(), sum / static_cast<double>(pieces.size()), 1e-5);
  EXPECT_FALSE(table.other("犬"));
  EXPECT_FALSE(table.other(""));
}

TEST(WordsOfARun, AreSpelledAsTheVocabularySpellsThem) {
  const std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",     "[MASK]", "dog",
                                           "##s",   "cat",   "[",     "[unused1]", "un",     "]"};
  const Tokenizer tokenizer = Tokenizer::from_bytes(
      to_wordpiece_json(WordPiece(std::vector<std::string>(pieces), {.lower_case = true, .strip_accents = true}, "a")));
  WordTable table = table_of(tokenizer, numbered_rows(tokenizer), 1000, "run");
  EXPECT_EQ(table.words, (std::vector<std::string>{"dog", "cat", "[", "un", "]"}));
  const auto found = WordSpace(table, false).nearest("Dog", 9);
  EXPECT_EQ(found.size(), 4U);                                       // without dog
  EXPECT_EQ(WordSpace(table, false).nearest("dogs", 9).size(), 5U);  // no piece of it is excluded
}

TEST(WordsOfARun, BeginWithASpaceInByteLevelBpe) {
  const Tokenizer tokenizer =
      Tokenizer::load(std::filesystem::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures/gpt2/model/tokenizer.json");
  const WordTable table = table_of(tokenizer, numbered_rows(tokenizer), 1000, "run");
  EXPECT_EQ(piece_of_word(table, "the"), tokenizer.id_of("Ġthe"));
  EXPECT_EQ(piece_of_word(table, "tree"), tokenizer.id_of("Ġtree"));
  EXPECT_EQ(piece_of_word(table, ""), -1);
  for (const std::string& word : table.words) {
    EXPECT_EQ(tokenizer.piece(static_cast<std::int32_t>(piece_of_word(table, word))), "Ġ" + word);
  }
}

const nlohmann::json& gensim_fixture() {
  static const nlohmann::json content = read_json(ATTEND_SOURCE_DIR "/tests/parity/fixtures/neighbours.json");
  return content;
}

class NeighboursParity : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name) {
    return directory_.write(name, gensim_fixture().at(name).get<std::string>());
  }
  WordSpace space(bool ignore_case = false, std::int64_t most = 1000) {
    return WordSpace(table_of(read_word_vectors(write("vectors"), most), "vectors"), ignore_case);
  }

 private:
  TemporaryDirectory directory_;
};

void expect_neighbours(const std::vector<Neighbour>& ours, const nlohmann::json& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].word, theirs[i][0].get<std::string>());
    EXPECT_NEAR(ours[i].score, theirs[i][1].get<double>(), 2e-6) << ours[i].word;
  }
}

TEST_F(NeighboursParity, AreThoseOfGensim) {
  const WordSpace words = space();
  for (const auto& [word, theirs] : gensim_fixture().at("neighbours").items()) {
    expect_neighbours(words.nearest(word, 10), theirs);
  }
  for (const auto& one : gensim_fixture().at("analogies")) {
    const Analogy analogy{.a = one.at("a"), .b = one.at("b"), .c = one.at("c")};
    expect_neighbours(words.analogy(analogy, AnalogyMethod::add, 5), one.at("add"));
    expect_neighbours(words.analogy(analogy, AnalogyMethod::multiply, 5), one.at("multiply"));
  }
}

TEST_F(NeighboursParity, ScoreAsInGensim) {
  const auto sections = read_analogies(write("questions"));
  const auto pairs = read_rated_pairs(write("pairs"));
  for (const auto& test : gensim_fixture().at("tests")) {
    const WordSpace words = space(test.at("ignore_case"), test.at("limit"));
    ASSERT_EQ(sections.size(), test.at("sections").size());
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const AnalogyTally tally = words.answer(sections[i].questions, AnalogyMethod::add);
      const auto& [name, correct, questions] = test.at("sections")[i].get<std::tuple<std::string, int, int>>();
      EXPECT_EQ(sections[i].name, name);
      EXPECT_EQ(tally.correct, correct) << name;
      EXPECT_EQ(tally.questions, questions) << name;
      EXPECT_EQ(tally.questions + tally.left_out, std::ssize(sections[i].questions)) << name;
    }
    const SimilarityScore score = words.rate(pairs);
    EXPECT_NEAR(score.spearman, test.at("spearman").get<double>(), 1e-6);
    EXPECT_EQ(score.left_out, test.at("pairs_left_out").get<std::int64_t>());
  }
  AnalogyTally total;
  for (const AnalogySection& section : sections) total += space().answer(section.questions, AnalogyMethod::multiply);
  EXPECT_EQ(total.correct, gensim_fixture().at("multiply_correct").get<std::int64_t>());
}

}  // namespace
}  // namespace attend
