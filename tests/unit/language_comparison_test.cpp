// The measurements of a comparison of language models, on models whose answers are known: one that sees the last token
// alone, Transformers that see a window, and models that read step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compared_inputs.hpp"
#include "analysis/context_loss.hpp"
#include "analysis/pair_tests.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "eval/metrics/significance.hpp"
#include "eval/score.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/families.hpp"
#include "tests/support/small_run.hpp"

namespace attend {
namespace {

constexpr std::int64_t kComparedVocabulary = 23;
constexpr std::int32_t kComparedEnd = 2;

LanguageModel compared_language_model(const LanguageOptions& options) {
  const LanguageModel model = make_language_model(options, kComparedVocabulary);
  initialise(*model, 5);
  model->eval();
  return model;
}

LanguageOptions compared_language_options(LanguageCell cell) {
  LanguageOptions options{.cell = cell};
  options.stack.layers = 2;
  options.stack.width = 8;
  options.stack.block.heads = 2;
  options.stack.block.feed_forward = 12;
  options.stack.block.positions = PositionKind::rotary;
  options.stack.initial_deviation = 0.5;
  return options;
}

std::vector<std::int32_t> compared_tokens(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::int32_t> tokens(count);
  for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random.below(kComparedVocabulary));
  return tokens;
}

// log p of every token of a text from the model's steps.
std::vector<double> compared_steps(const LanguageModelImpl& model, const std::vector<std::int32_t>& text) {
  const torch::NoGradGuard no_grad;
  Pass pass = Pass::inference();
  const auto state = model.start(1);
  std::int64_t previous = kComparedEnd;
  std::vector<double> log_probs;
  for (const std::int32_t token : text) {
    const torch::Tensor logits_1V = model.step(*state, torch::full({1}, previous, torch::kLong), pass);
    log_probs.push_back(torch::log_softmax(logits_1V, 1)[0][token].item<double>());
    previous = token;
  }
  return log_probs;
}

void expect_compared_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << i;
}

// Texts of several lengths, one of them of several segments: a recurrent model remembers the segments before.
TEST(TextLogProbs, AreThoseOfSteps) {
  const std::vector<std::vector<std::int32_t>> texts = {
      compared_tokens(3, 1), compared_tokens(1100, 2), compared_tokens(600, 3), {}, compared_tokens(1, 4)};
  for (const LanguageCell cell : {LanguageCell::lstm, LanguageCell::gru, LanguageCell::transformer}) {
    const LanguageModel model = compared_language_model(compared_language_options(cell));
    const std::optional<std::int64_t> window =
        cell == LanguageCell::transformer ? std::optional<std::int64_t>(1100) : std::nullopt;
    const auto found = text_log_probs(*model, texts, kComparedEnd, window);
    ASSERT_EQ(found.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      expect_compared_near(found[i], compared_steps(*model, texts[i]), 1e-4);
    }
  }
}

// In windows of 8, the eleventh token is predicted in the second, which begins with the fourth.
TEST(TextLogProbs, OfATransformerAreThoseOfItsWindows) {
  LanguageOptions options = compared_language_options(LanguageCell::transformer);
  options.stack.block.positions = PositionKind::learned;
  options.stack.max_positions = 8;
  const LanguageModel model = compared_language_model(options);
  const std::vector<std::int32_t> text = compared_tokens(20, 6);
  const std::vector<double> found = text_log_probs(*model, std::span(&text, 1), kComparedEnd, 8)[0];
  ASSERT_EQ(found.size(), 20U);
  Sequences window;
  window.ids_M = torch::tensor(std::vector<std::int64_t>(text.begin() + 3, text.begin() + 10));
  window.layout.append(7);
  const torch::Tensor next_1 = next_log_probs(*model, window, torch::tensor({std::int64_t{text[10]}}));
  EXPECT_NEAR(found[10], next_1[0].item<double>(), 1e-5);
}

// log p(next | last) alone: a model that does not look at what is before the last token.
class ComparedOrderOne : public LanguageModelImpl {
 public:
  ComparedOrderOne()
      : table_(register_parameter(
            "table",
            torch::linspace(-1, 1, kComparedVocabulary * 4).reshape({4, kComparedVocabulary}).t().contiguous())) {}
  torch::Tensor forward(const Sequences& tokens, Pass& /*pass*/, Carried* /*carried*/) const override {
    return table_.master().index_select(0, tokens.ids_M);
  }
  std::unique_ptr<DecoderState> start(std::int64_t /*rows*/) const override { return nullptr; }
  torch::Tensor step(DecoderState& /*state*/, const torch::Tensor& previous_R, Pass& /*pass*/) const override {
    return ops::logits(table_.master().index_select(0, previous_R), table_, {});
  }
  const ops::Weight& output_table() const override { return table_; }

 private:
  ops::Weight table_;
};

// Words of one, two and three tokens, and an end.
TokenStream compared_stream(std::size_t tokens) {
  TokenStream stream{.ids = {kComparedEnd}, .words = {}};
  const std::vector<std::int32_t> text = compared_tokens(tokens, 9);
  stream.ids.insert(stream.ids.end(), text.begin(), text.end());
  for (std::size_t begin = 1; begin < stream.ids.size();) {
    const std::size_t end = std::min(begin + 1 + stream.words.size() % 3, stream.ids.size());
    stream.words.push_back({.begin = begin, .end = end});
    begin = end;
  }
  return stream;
}

TEST(ContextLosses, OfAModelThatSeesOneTokenAreTheSame) {
  const ComparedOrderOne model;
  const TokenStream stream = compared_stream(120);
  const std::vector<std::size_t> words = draw_words(std::span(&stream, 1), 32, 20);
  const torch::Tensor logits = torch::matmul(model.output_table().master(), model.output_table().master().t());
  const torch::Tensor log_probs = torch::log_softmax(logits, 1);
  std::vector<double> expected;
  for (const std::size_t word : words) {
    double& loss = expected.emplace_back(0);
    for (std::size_t at = stream.words[word].begin; at < stream.words[word].end; ++at) {
      loss -= log_probs[stream.ids[at - 1]][stream.ids[at]].item<double>();
    }
  }
  for (const std::int64_t context : {1, 8, 16, 32}) {
    expect_compared_near(losses_after(model, stream, words, context), expected, 1e-5);
  }
}

// Two layers with windows of three tokens before each see six tokens before the last one: what is farther away does not
// matter, and what is nearer does.
TEST(ContextLosses, OfAWindowStopToFallWhereItEnds) {
  LanguageOptions options = compared_language_options(LanguageCell::transformer);
  options.stack.block.self_window = 3;
  const LanguageModel model = compared_language_model(options);
  const TokenStream stream = compared_stream(120);
  const std::vector<std::size_t> words = draw_words(std::span(&stream, 1), 64, 12);
  const std::vector<double> seen = losses_after(*model, stream, words, 7);
  for (const std::int64_t context : {8, 16, 64}) {
    expect_compared_near(losses_after(*model, stream, words, context), seen, 1e-4);
  }
  const std::vector<double> less = losses_after(*model, stream, words, 5);
  double difference = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) difference = std::max(difference, std::abs(less[i] - seen[i]));
  EXPECT_GT(difference, 1e-3);
}

TEST(ContextLosses, AreOfWordsThatHaveTheLongestContext) {
  const std::array<TokenStream, 2> streams = {compared_stream(90), compared_stream(90)};
  const std::vector<std::size_t> words = draw_words(streams, 40, 5);
  EXPECT_EQ(words.size(), 5U);
  EXPECT_TRUE(std::ranges::is_sorted(words));
  for (const std::size_t word : words) EXPECT_GE(streams[0].words[word].begin, 40U);
  EXPECT_EQ(words, draw_words(streams, 40, 5));
  const auto has_context = [](const TokenStream::Word& word) { return word.begin >= 40; };
  const auto with_context = std::ranges::count_if(streams[0].words, has_context);
  EXPECT_EQ(std::ssize(draw_words(streams, 40, 1000)), with_context);

  using Longest = std::vector<std::optional<std::int64_t>>;
  EXPECT_EQ(context_lengths(streams, Longest{std::nullopt, 16}), (std::vector<std::int64_t>{8, 16, 32}));
  EXPECT_EQ(context_lengths(streams, Longest{16, 16}), (std::vector<std::int64_t>{8, 16}));
  const TokenStream brief = compared_stream(10);
  EXPECT_TRUE(context_lengths(std::span(&brief, 1), Longest{std::nullopt}).empty());
}

TEST(AttentionByDistance, SumsToOneAndEndsWithTheWindow) {
  LanguageOptions options = compared_language_options(LanguageCell::transformer);
  options.stack.block.self_window = 3;
  const std::vector<std::int32_t> ids = compared_tokens(40, 8);
  const std::vector<std::vector<std::int64_t>> texts = {{ids.begin(), ids.end()}, {1, 2, 3}};
  const auto layers = attention_by_distance(*compared_language_model(options), texts, 40);
  ASSERT_EQ(layers.size(), 2U);
  for (const DistanceShares& layer : layers) {
    ASSERT_EQ(layer.shares.size(), 7U) << "0, 1, 2 to 3, … 32 to 63";
    EXPECT_NEAR(std::accumulate(layer.shares.begin(), layer.shares.end(), 0.0), 1, 1e-9);
    for (std::size_t near = 0; near < 3; ++near) EXPECT_GT(layer.shares[near], 0.01);
    for (std::size_t far = 3; far < 7; ++far) EXPECT_EQ(layer.shares[far], 0);
  }
  const LanguageModel recurrent = compared_language_model(compared_language_options(LanguageCell::lstm));
  EXPECT_TRUE(attention_by_distance(*recurrent, texts, 40).empty());
  EXPECT_EQ(distance_names(4), (std::vector<std::string>{"0", "1", "2 to 3", "4 to 7"}));
}

TEST(TestDocuments, AreReadInWordsAndPieces) {
  const TemporaryDirectory directory;
  const std::string file = directory / "documents";
  std::ofstream(file) << "the dog sees a cat\n7  birds\n\n\nthe cat sees\n";
  const std::vector<TestDocument> documents = read_test_documents({file});
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[0].words, (std::vector<std::string>{"the", "dog", "sees", "a", "cat", "7", "birds"}));
  EXPECT_EQ(documents[0].bytes, 19 + 9);
  EXPECT_EQ(documents[1].bytes, 13);
  const Tokenizer tokenizer = small_run(families(0)[0].config, 1).tokenizers.src;
  for (const TestDocument& document : documents) {
    const DocumentPieces pieces = pieces_of(document, tokenizer);
    ASSERT_EQ(pieces.ids.size(), pieces.word.size());
    EXPECT_EQ(pieces.ids.back(), tokenizer.special().eos);
    EXPECT_EQ(pieces.word.back(), document.words.size());
    EXPECT_TRUE(std::ranges::is_sorted(pieces.word));
    for (std::size_t word = 0; word < document.words.size(); ++word) {
      std::vector<std::int32_t> ids;
      for (std::size_t i = 0; i < pieces.ids.size(); ++i) {
        if (pieces.word[i] == word) ids.push_back(pieces.ids[i]);
      }
      EXPECT_EQ(tokenizer.decode(ids), document.words[word]);
    }
  }
  EXPECT_EQ(by_word({.ids = {5, 6, 2}, .word = {0, 0, 1}}, {1, 2, 4}, 2), (std::vector<double>{3, 4}));
  std::ofstream(file) << "\n\n";
  EXPECT_THROW(read_test_documents({file}), UserError);
}

TEST(LanguageMeasures, AreDefinedByTheirSums) {
  EXPECT_DOUBLE_EQ(kPerplexityByWord.value(std::array{std::log(2.0) * 6, 3.0}), 4);
  EXPECT_DOUBLE_EQ(kBitsPerByte.value(std::array{std::log(2.0) * 6, 3.0}), 2);
}

// Of 66 pairs, each of which differs by the same amount in every document.
TEST(LanguageMeasures, DifferAmongManySystems) {
  std::vector<SystemRuns> systems;
  std::vector<std::vector<ScoredOutput>> scored;
  const metrics::Resamples samples = resamples_for(16, pairs_among(12));
  for (std::size_t s = 0; s < 12; ++s) {
    systems.push_back({.name = std::to_string(s), .description = {}, .runs = {s}});
    metrics::Rows rows(kMean);
    for (int document = 0; document < 16; ++document) rows.append(std::array{document + static_cast<double>(s), 1.0});
    scored.push_back({with_resamples(rows, samples)});
  }
  const std::vector<PairTest> tests =
      test_pairs(systems, scored, {{.key = "loss", .name = kMean.name(), .lower_is_better = true, .meaning = {}}});
  ASSERT_EQ(tests.size(), 66U);
  for (const PairTest& test : tests) {
    EXPECT_LT(test.p_holm, 0.05) << test.a << ' ' << test.b;
    EXPECT_TRUE(test.p_is_least) << "no resample and no trial contradicts it";
  }
}

// Identical documents have no interval, and identical runs no difference.
TEST(LanguageMeasures, FindNoDifferenceWhereThereIsNone) {
  const std::vector<ComparedMetric> compared = {
      {.key = "perplexity_word", .name = kPerplexityByWord.name(), .lower_is_better = true, .meaning = {}}};
  const std::vector<SystemRuns> systems = {{.name = "a", .description = {}, .runs = {0}},
                                           {.name = "b", .description = {}, .runs = {1}}};
  const metrics::Resamples samples = metrics::draw_resamples(12);
  for (const bool identical : {true, false}) {
    metrics::Rows rows(kPerplexityByWord);
    for (int document = 0; document < 12; ++document) rows.append(std::array{identical ? 20.0 : 15.0 + document, 8.0});
    const std::vector<double> resampled = metrics::resampled(rows, samples);
    const metrics::Interval interval = metrics::interval_of(resampled, 12);
    EXPECT_EQ(std::isnan(interval.low), identical);
    const ScoredOutput scored{.value = rows.value(), .segments = rows.size(), .resampled = resampled, .rows = rows};
    const std::vector<PairTest> tests = test_pairs(systems, {{scored}, {scored}}, compared);
    ASSERT_EQ(tests.size(), 1U);
    EXPECT_EQ(tests[0].difference.value, 0);
    EXPECT_EQ(tests[0].p_bootstrap, 1);
    EXPECT_EQ(tests[0].p_randomisation, 1);
    EXPECT_EQ(tests[0].p_holm, 1);
    EXPECT_FALSE(tests[0].p_is_least);
  }
}

}  // namespace
}  // namespace attend
