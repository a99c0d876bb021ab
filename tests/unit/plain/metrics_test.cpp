// BLEU, chrF and TER against what sacreBLEU says of fixtures/metrics.json (tests/parity/make_fixtures_metrics.py),
// ROUGE against what rouge-score says of fixtures/rouge.json (make_fixtures_rouge.py), and the registry of metrics.
// ATTEND_METRICS_FIXTURE names another file that the script wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "eval/metrics/ngram_metrics.hpp"
#include "eval/metrics/ter.hpp"
#include "eval/metrics/tokenizers.hpp"
#include "eval/metrics/translation_metrics.hpp"

namespace attend::metrics {
namespace {

using nlohmann::json;

const json& metrics_fixture() {
  static const json content = [] {
    const char* other = std::getenv("ATTEND_METRICS_FIXTURE");
    return read_json(other != nullptr ? other : ATTEND_SOURCE_DIR "/tests/parity/fixtures/metrics.json");
  }();
  return content;
}

template <class E>
E named(const std::string& name) {
  for (const auto& [value, its_name] : kEnumNames<E>) {
    if (its_name == name) return value;
  }
  throw std::logic_error("no such name: " + name);
}

std::unique_ptr<Metric> make_metric(const json& result) {
  const json& options = result.at("options");
  const bool lowercase = options.value("lowercase", false);
  if (result.at("metric") == "bleu") {
    return std::make_unique<Bleu>(BleuOptions{.tokenize = named<Tokenization>(options.value("tokenize", "13a")),
                                              .smoothing = named<BleuSmoothing>(options.value("smooth_method", "exp")),
                                              .lowercase = lowercase,
                                              .effective_order = options.value("effective_order", false)});
  }
  if (result.at("metric") == "chrf") {
    return std::make_unique<Chrf>(ChrfOptions{.word_order = options.value("word_order", 0), .lowercase = lowercase});
  }
  return std::make_unique<Ter>(TercomOptions{.normalized = options.value("normalized", false),
                                             .no_punct = options.value("no_punct", false),
                                             .asian_support = options.value("asian_support", false),
                                             .case_sensitive = options.value("case_sensitive", false)});
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

TEST(Metrics, EqualSacreBleu) {
  for (const json& corpus : metrics_fixture().at("cases")) {
    const auto hypotheses = corpus.at("hypotheses").get<std::vector<std::string>>();
    const auto references = corpus.at("references").get<std::vector<std::vector<std::string>>>();
    for (const json& result : corpus.at("results")) {
      SCOPED_TRACE(corpus.at("name").get<std::string>() + ", " + result.at("metric").get<std::string>() + " " +
                   result.at("options").dump());
      const std::unique_ptr<Metric> metric = make_metric(result);
      const Tally tally = evaluate(*metric, hypotheses, references);
      EXPECT_NEAR(tally.value(), result.at("score").get<double>(), 1e-9);

      // Our signature names our version before theirs.
      std::string line = tally.line();
      const std::size_t version = line.find("version:") + 8;
      line.erase(version, line.find("+sb") + 3 - version);
      EXPECT_EQ(line, result.at("line").get<std::string>());

      if (const auto* bleu = dynamic_cast<const Bleu*>(metric.get())) {
        const auto precisions = result.at("precisions").get<std::vector<double>>();
        for (std::size_t n = 0; n < precisions.size(); ++n) {
          EXPECT_NEAR(bleu->score(tally.sum()).precisions[n], precisions[n], 1e-9);
        }
      }
      if (!result.contains("rows")) continue;
      ASSERT_EQ(tally.size(), result.at("rows").size());
      for (std::size_t i = 0; i < tally.size(); ++i) {
        const std::vector<double> row(tally.row(i).begin(), tally.row(i).end());
        EXPECT_EQ(row, result.at("rows")[i].get<std::vector<double>>()) << hypotheses[i];
        EXPECT_NEAR(metric->segment_value(tally.row(i)), result.at("segments")[i].get<double>(), 1e-9) << hypotheses[i];
      }
    }
  }
}

TEST(Metrics, TokenizeAsSacreBleu) {
  for (const json& tokenized : metrics_fixture().at("tokenized")) {
    const auto tokenization = named<Tokenization>(tokenized.at("tokenize"));
    for (const json& pair : tokenized.at("lines")) {
      const std::string line = pair.at(0);
      EXPECT_EQ(joined(split_words(tokenize(line, tokenization))), pair.at(1).get<std::string>())
          << name_of(tokenization) << ": " << line;
    }
  }
}

TEST(Metrics, TercomNormalisesAsSacreBleu) {
  for (const json& normalised : metrics_fixture().at("tercom")) {
    const json& options = normalised.at("options");
    const TercomOptions tercom{.normalized = options.at("normalized"),
                               .no_punct = options.at("no_punct"),
                               .asian_support = options.at("asian_support"),
                               .case_sensitive = options.at("case_sensitive")};
    for (const json& pair : normalised.at("lines")) {
      const std::string line = pair.at(0);
      EXPECT_EQ(joined(split_words(tokenize_tercom(line, tercom))), pair.at(1).get<std::string>())
          << options.dump() << ": " << line;
    }
  }
}

// The parts of a corpus, scored apart and merged, are the corpus.
TEST(Metrics, MergeIsTheWhole) {
  const std::vector<std::string> hypotheses = {"a b c d e", "", "x y z", "c d a b", "b c"};
  const std::vector<std::vector<std::string>> references = {{"a b c d f", "q", "x z", "a b c d", "b"},
                                                            {"a c d e", "", "x y y z", "a", "c c c"},
                                                            {"b", "", "y", "d c b a", "b c c"}};
  for (const std::unique_ptr<Metric>& metric :
       {std::unique_ptr<Metric>(new Bleu), std::unique_ptr<Metric>(new Chrf), std::unique_ptr<Metric>(new Ter)}) {
    const Tally whole = evaluate(*metric, hypotheses, references);
    for (const int num_threads : {2, 3, 8}) {
      const Tally parts = evaluate(*metric, hypotheses, references, num_threads);
      EXPECT_EQ(parts.value(), whole.value());
      ASSERT_EQ(parts.size(), whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(std::ranges::equal(parts.row(i), whole.row(i)));
      EXPECT_EQ(parts.line(), whole.line());
    }
  }
}

TEST(Metrics, EverySegmentHasAsManyReferences) {
  const Bleu bleu;
  Tally tally(bleu);
  tally.add("a", {"b"});
  EXPECT_THROW(tally.add("a", {"b", "c"}), std::logic_error);
}

// Bytes that are no UTF-8 are scored, not fatal: a model may put out anything.
TEST(Metrics, InvalidUtf8IsScored) {
  const std::string broken = "a \xC3 \xE2\x80 b\xFF";
  for (const std::unique_ptr<Metric>& metric :
       {std::unique_ptr<Metric>(new Bleu({.tokenize = Tokenization::character, .lowercase = true})),
        std::unique_ptr<Metric>(new Chrf({.word_order = 2, .lowercase = true}))}) {
    Tally tally(*metric);
    tally.add(broken, {broken});
    EXPECT_NEAR(tally.value(), 100, 1e-9);
  }
}

// A long line takes memory in proportion to it, and time.
TEST(Metrics, LongLines) {
  std::string line;
  for (int i = 0; i < 20000; ++i) line += "word" + std::to_string(i) + " ";
  const Ter ter;
  Tally tally(ter);
  tally.add(line + "end", {line});
  tally.add("end", {line});
  tally.add(line, {"end"});
  EXPECT_EQ(std::vector<double>(tally.sum().begin(), tally.sum().end()), (std::vector<double>{40001, 40001}));
}

// To the last digit.
TEST(Metrics, EqualRougeScore) {
  const json pairs = read_json(ATTEND_SOURCE_DIR "/tests/parity/fixtures/rouge.json");
  ASSERT_EQ(pairs.size(), 200U);
  const TranslationMetrics options{.choice = {.metrics = {"rouge1", "rouge2", "rougeL"}}};
  const std::vector<std::unique_ptr<Metric>> rouge = options.make();
  for (std::size_t m = 0; m < rouge.size(); ++m) {
    Tally tally(*rouge[m]);
    double sum = 0;
    for (const json& pair : pairs) {
      const double expected = pair.at(options.choice.metrics[m]).get<double>();
      tally.add(pair.at("hypothesis").get<std::string>(), {pair.at("reference").get<std::string>()});
      EXPECT_EQ(tally.row(tally.size() - 1)[0], expected) << options.choice.metrics[m] << ": " << pair.dump();
      sum += expected;
    }
    EXPECT_DOUBLE_EQ(tally.value(), 100 * sum / 200) << "the mean of the pairs";
  }
}

TEST(Metrics, RougeTakesTheBestOfSeveralReferences) {
  const auto rouge = TranslationMetrics{.choice = {.metrics = {"rougeL"}}}.make();
  Tally tally(*rouge[0]);
  tally.add("a red ring", {"a dog", "the red ring", "cats"});
  EXPECT_DOUBLE_EQ(tally.value(), 100 * 2.0 / 3);
  EXPECT_TRUE(tally.line().starts_with("ROUGE-L|nrefs:3|case:lc|stem:no|version:")) << tally.line();
  EXPECT_NE(tally.line().find("+rouge-score0.1.2 = 66.7"), std::string::npos) << tally.line();
}

TEST(Metrics, EveryRegisteredMetricSaysWhichWayIsBetter) {
  MetricChoice all{.metrics = {}};
  for (const TextMetric& row : text_metrics()) all.metrics.emplace_back(row.key);
  all.validate({});
  const std::vector<std::unique_ptr<Metric>> made = TranslationMetrics{.choice = all}.make();
  for (std::size_t m = 0; m < made.size(); ++m) {
    const TextMetric& row = text_metrics()[m];
    SCOPED_TRACE(std::string(row.key));
    EXPECT_EQ(find_text_metric(row.key), &row);
    Tally equal(*made[m]), other(*made[m]);
    equal.add("the dog found a red ring", {"the dog found a red ring"});
    other.add("the dog lost one red ring", {"the dog found a red ring"});
    EXPECT_NEAR(equal.value(), row.lower_is_better ? 0 : 100, 1e-9);
    EXPECT_EQ(other.value() > equal.value(), row.lower_is_better);
  }
  EXPECT_EQ(find_text_metric("rougel"), nullptr);
}

}  // namespace
}  // namespace attend::metrics
