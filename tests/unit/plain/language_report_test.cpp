// Reports other than that of translation models.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "analysis/report/head_report.hpp"
#include "analysis/report/json.hpp"
#include "analysis/report/page.hpp"
#include "analysis/report/probe_sections.hpp"
#include "analysis/report/section_parts.hpp"
#include "analysis/report/sections.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "eval/metrics/significance.hpp"
#include "tests/support/other_comparisons.hpp"

namespace attend {
namespace {

// report.json, the page and the Markdown of a comparison of language models. ATTEND_REPORT_DIR=DIR writes the page
// there, for people and for tests/browser.

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part;
}
void expect_no_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_EQ(text.find(part), std::string::npos) << part;
}

void write_page_to_look_at(const char* name, const SectionReport& report) {
  const char* directory = std::getenv("ATTEND_REPORT_DIR");
  if (directory == nullptr) GTEST_SKIP() << "ATTEND_REPORT_DIR names no directory";
  make_directories(directory);
  write_file_atomic(std::filesystem::path(directory) / name, report_page(report));
}

TEST(LanguageReport, WritesAPageToLookAt) {
  write_page_to_look_at("language.html", section_report(synthetic_language_comparison()));
}

TEST(LanguageReport, JsonHoldsEveryNumber) {
  const LanguageComparison it = synthetic_language_comparison();
  const nlohmann::json saved = parse_json(report_json(it), "report.json");
  for (const char* member :
       {"attend", "command", "made", "processor", "test", "notes", "metrics", "systems", "differences", "tests",
        "levels", "where", "contrasts", "context_words", "contexts", "distances", "attention", "equal_vocabularies"}) {
    EXPECT_TRUE(saved.contains(member)) << member;
  }
  EXPECT_EQ(saved["test"]["documents"], 120);
  EXPECT_EQ(saved["metrics"][1]["key"], "bits_per_byte");
  const nlohmann::json& quality = saved["systems"][1]["runs"][0]["quality"];
  EXPECT_EQ(quality["perplexity_word"]["value"], it.systems[1].runs[0].quality.scores[0].value) << "with its interval";
  EXPECT_EQ(quality["bits_per_byte"]["high"], it.systems[1].runs[0].quality.scores[1].high);
  EXPECT_EQ(quality["perplexity_piece"], 18.5);
  EXPECT_EQ(saved["contrasts"][0]["all"]["values"][2]["value"], 70);
  EXPECT_TRUE(saved["contrasts"][0]["kinds"].empty());
  EXPECT_EQ(saved["contexts"][1]["tokens"], 16);
  EXPECT_EQ(saved["contexts"][1]["loss"][1]["value"], 4.4);
  EXPECT_TRUE(saved["contexts"][2]["loss"][2].is_null()) << "it cannot read that many tokens";
  EXPECT_EQ(saved["attention"][0][1]["shares"][3], 0.35);
  EXPECT_TRUE(saved["attention"][1].empty());
}

TEST(LanguageReport, PageHasItsSectionsAndNoSentences) {
  const std::string page = report_page(section_report(synthetic_language_comparison()));
  std::size_t last = 0;
  for (const std::string id : {"compared", "differences", "quality", "cost", "curves", "where", "why"}) {
    const std::size_t at = page.find("<section id=\"" + id + "\"");
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_GT(at, last) << id;
    expect_parts(page, {"<a href=\"#" + id + "\">"});
    last = at;
  }
  expect_no_parts(page, {"id=\"sentences\""});
  expect_parts(page, {"120 documents with 9,876 words and 54,321 bytes", "resampling the test documents",
                      "Perplexity by piece", "lm is better by 0.104", "Training: tokens per second",
                      "Pieces per word of the test text", "1.114 <small>(", "Loss by length of context",
                      "Accuracy on the minimal pairs of english.tsv", "Attention of lm by distance, in percent",
                      "Without attention: lstm &lt;b&gt;&amp;", "sections 5 and 6 describe"});
  expect_no_parts(page.substr(page.find("<main>"), page.find("</main>") - page.find("<main>")),
                  {"sentence", "translation", "target token", "nan", "inf\""});
  expect_no_parts(page, {"Accuracy by distance"});  // the file has no distances
}

// The same of a comparison of fine-tuned runs.

TEST(TaskReport, WritesAPageToLookAt) {
  write_page_to_look_at("tasks.html", section_report(synthetic_task_comparison()));
}

TEST(TaskReport, JsonHoldsEveryNumber) {
  const nlohmann::json saved = parse_json(report_json(synthetic_task_comparison()), "report.json");
  EXPECT_EQ(saved["test"]["records"], 872);
  EXPECT_EQ(saved["tests"][0]["p_mcnemar"], 0.0004);
  EXPECT_TRUE(saved["tests"][0]["p_bootstrap"].is_null() && saved["tests"][1]["p_mcnemar"].is_null());
  EXPECT_EQ(saved["systems"][0]["runs"][1]["curve"][0]["accuracy"].get<double>(), 85 - 10 * std::exp(-1));
  EXPECT_EQ(saved["systems"][0]["runs"][0]["cost"]["texts_per_second"], 812);
  EXPECT_EQ(saved["confusions"][1]["counts"], (std::vector<int>{64, 90, 103}));
  EXPECT_TRUE(saved["calibration"][2].is_null());
  EXPECT_EQ(saved["texts"][1]["systems"][0]["weights"]["layers"], 2);
  EXPECT_EQ(saved["disagreements"], 123);
}

TEST(TaskReport, PageAndMarkdownHaveTheNumbers) {
  const TaskComparison it = synthetic_task_comparison();
  const SectionReport report = section_report(it);
  const std::string page = report_page(report), markdown = report_markdown(report);
  const std::string body = page.substr(page.find("<main>"), page.find("</main>") - page.find("<main>"));
  expect_parts(body, {"dev.tsv, classification: 872 texts with 17,046 words", "p, McNemar", "p, bootstrap",
                      "where the test of texts", "<small>(15.0 %)</small>", "Confusion of labels",
                      "Over the labels of the test set", "Texts answered per second",
                      "7. Texts on which systems disagree", "Compared by their predictions alone: other",
                      "Validation loss and Accuracy", "a &lt;i&gt;fine film&lt;/i&gt;", "Expected calibration error"});
  expect_no_parts(body, {"erplexity", "ranslation", "randomisation", "nan", "lstm <b>", "nats per piece"});
  expect_parts(markdown, {"| negative | positive | 64 (15.0 %) | 90 (21.0 %) | 103 (24.1 %) |", "| 1 | 3 |"});
}

// Neither a script but the page's own nor anything of another place.
TEST(LanguageReport, PageIsOneFile) {
  const std::string page = report_page(section_report(synthetic_language_comparison()));
  EXPECT_EQ(page.find("<script"), page.rfind("<script"));
  expect_no_parts(page, {" src=", "url(", "@import", "<link", "href=\"http", "fetch(", "lstm <b>"});
}

TEST(LanguageReport, MarkdownHasTheSectionsOfThePage) {
  const LanguageComparison it = synthetic_language_comparison();
  const std::string markdown = report_markdown(section_report(it));
  for (const Section& section : section_report(it).sections) {
    expect_parts(markdown, {"## " + section.title});
    EXPECT_FALSE(section.blocks.empty()) << section.title;
    for (const Block& block : section.blocks) {
      const Table* table = std::get_if<Table>(&block);
      if (const auto* figure = std::get_if<Figure>(&block)) table = &figure->numbers;
      if (table == nullptr || table->columns.empty()) continue;
      EXPECT_FALSE(table->rows.empty()) << table->caption;
      for (const auto& row : table->rows) EXPECT_EQ(row.size(), table->columns.size()) << table->caption;
    }
  }
  expect_no_parts(markdown, {"8. Sentences"});
}

TEST(LanguageReport, SectionsWithoutDataSayWhy) {
  LanguageComparison it = synthetic_language_comparison();
  it.contexts.clear();
  it.where.clear();
  it.attention = {{}, {}, {}};
  const std::string markdown = report_markdown(section_report(it));
  expect_parts(markdown, {"too short for the loss by length of context", "were not divided into groups",
                          "Without attention: lm, lstm"});
}

// report.json, the page and the Markdown of a report on attention heads.

std::string head_page(const HeadReport& report) { return report_page(section_report(report)); }
std::string head_markdown(const HeadReport& report) { return report_markdown(section_report(report)); }

HeadReport head_report() {
  HeadReport it;
  it.attend = "0.1.0 (1a2b3c4)";
  it.command = "attend heads run --data <trees>.conllu --output report";
  it.made = "2026-11-26";
  it.run = "run <b>";
  it.place = "encoder";
  it.data = "<trees>.conllu";
  it.sentences = 120;
  it.words = 1'234;
  it.notes = {"2 of 1234 words are left out."};
  it.heads = {{.layer = 0, .head = 0, .entropy = 1.25, .previous = 0.95, .rarest = 0.1, .roles = {"previous word"}},
              {.layer = 0, .head = 1, .entropy = 2.5, .distance = 3.75, .outside = 0.4, .roles = {}}};
  it.rare_relations = 7;
  it.relations.emplace_back();
  it.relations[0].relation = "nsubj";
  it.relations[0].to_head = false;
  it.relations[0].instances = 50;
  it.relations[0].by_head = {0.2, 0.8};
  it.relations[0].chosen = 1;
  it.relations[0].offset = -2;
  it.relations[0].baseline = 0.3;
  it.relations[0].accuracy = {0.78, 0.65, 0.87};
  it.relations[0].p_holm = 0.0004;
  Silencing& silencing = it.silencing.emplace();
  silencing.of = "the pieces of test.de";
  silencing.sentences = 100;
  silencing.pieces = 2'000;
  silencing.loss = 1.5;
  silencing.heads.emplace_back();
  silencing.heads[0].place = "cross";
  silencing.heads[0].head = 1;
  silencing.heads[0].importance = 0.125;
  silencing.heads[0].change = {0.25, 0.2, 0.3};
  silencing.pruning = {{.removed = 3, .share = 0.25, .loss = 1.75, .change = {0.25, 0.2, 0.3}}};
  it.pruned = {"cross.0.1"};
  return it;
}

TEST(HeadReport, JsonHoldsEveryNumber) {
  const nlohmann::json saved = parse_json(report_json(head_report()), "report.json");
  EXPECT_EQ(saved["heads"][1]["distance"], 3.75);
  EXPECT_TRUE(saved["heads"][1]["rarest"].is_null()) << "not measured";
  EXPECT_EQ(saved["heads"][0]["roles"][0], "previous word");
  EXPECT_EQ(saved["relations"][0]["by_head"][1], 0.8);
  EXPECT_EQ(saved["relations"][0]["chosen"], 1);
  EXPECT_EQ(saved["relations"][0]["to_head"], false);
  EXPECT_EQ(saved["relations"][0]["accuracy"]["low"], 0.65);
  EXPECT_EQ(saved["rare_relations"], 7);
  EXPECT_EQ(saved["silencing"]["heads"][0]["change"]["value"], 0.25);
  EXPECT_EQ(saved["silencing"]["loss"], 1.5);
  EXPECT_EQ(saved["silencing"]["heads"][0]["importance"], 0.125);
  EXPECT_EQ(saved["silencing"]["pruning"][0]["loss"], 1.75);
  EXPECT_EQ(saved["pruned"][0], "cross.0.1");
}

TEST(HeadReport, PageHasItsSectionsAndEscapesNames) {
  const std::string page = head_page(head_report());
  expect_parts(page, {"<section id=\"measured\"", "<section id=\"roles\"", "<section id=\"relations\"",
                      "<section id=\"silencing\"", "run &lt;b&gt;", "&lt;trees&gt;.conllu", "head to dependent",
                      "78.0 <small>(65.0 to 87.0)</small>", "&lt; 0.001", "Change of the loss without a head: cross",
                      "Left out: 7 pairs of relation and direction", "Loss without the least important heads",
                      "Left out of the pruned run: cross.0.1."});
  EXPECT_EQ(page.find("<trees>"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

TEST(HeadReport, GatesAreAColumnOfRunsThatHaveThem) {
  HeadReport it = head_report();
  EXPECT_EQ(head_markdown(it).find("Gate"), std::string::npos);
  it.heads[1].gate = 0.25;
  it.silencing->heads[0].gate = 0;
  expect_parts(head_markdown(it), {"| Outside words, % | Gate |", "| 40 | 0.25 |", "| p | Gate |", "| 0.00 |"});
  EXPECT_EQ(parse_json(report_json(it), "report.json")["heads"][1]["gate"], 0.25);
}

TEST(HeadReport, BleuWithoutAHeadStandsBesideItsLoss) {
  HeadReport it = head_report();
  EXPECT_EQ(head_markdown(it).find("BLEU"), std::string::npos);
  it.silencing->bleu = 31.25;
  it.silencing->bleu_signature = "nrefs:1|case:mixed";
  it.silencing->heads[0].bleu = {.change = {-1.5, -2, -1}, .p = 0.001, .p_holm = 0.02, .p_is_least = true};
  expect_parts(head_markdown(it), {"BLEU of the whole model: 31.2, of greedy translations (beam 1), nrefs:1",
                                   "| −1.5 (−2.0 to −1.0) | ≤ 0.020 |", "≤ marks the least p"});
  const nlohmann::json saved = parse_json(report_json(it), "report.json");
  EXPECT_EQ(saved["silencing"]["bleu"], 31.25);
  EXPECT_EQ(saved["silencing"]["heads"][0]["bleu"]["p_holm"], 0.02);
}

TEST(HeadReport, OfRecurrentAttentionHasOnlyWhatReplacesIt) {
  HeadReport it;
  it.run = "runs/luong";
  it.sentences = 100;
  it.replacement = Replacement{.source = "test.en",
                               .target = "test.de",
                               .alignment = "gold",
                               .sentences = 100,
                               .pieces = 2'000,
                               .linked_pieces = 1'500,
                               .loss = 1.5,
                               .bleu = 30,
                               .bleu_signature = "nrefs:1",
                               .weights = {}};
  it.replacement->weights.resize(2);
  ReplacedAttention &uniform = it.replacement->weights[0], &given = it.replacement->weights[1];
  uniform.weights = "uniform";
  uniform.loss = 2.25;
  uniform.loss_change = {.change = {0.75, 0.5, 1}, .p = 0.002, .p_holm = 0.004};
  uniform.bleu = 10;
  uniform.bleu_change = {.change = {-20, -22, -18}, .p = 0.01, .p_holm = 0.03};
  given.weights = "given alignment";
  expect_parts(head_markdown(it),
               {"# Attention of runs/luong", "100 pairs of test.en and test.de",
                "gold links 1,500 of the pieces of test.de", "| the model's own | 1.5000 | – | – | 30.0 | – | – |",
                "| uniform | 2.2500 | 0.7500 (0.5000 to 1.0000) | 0.004 | 10.0 | −20.0 (−22.0 to −18.0) | 0.030 |",
                "| given alignment | 0.0000 |", "| – | – | – |"});
  const std::string page = head_page(it);
  expect_parts(page, {"<section id=\"measured\"", "<section id=\"replaced\""});
  EXPECT_EQ(page.find("<section id=\"roles\""), std::string::npos);
  const nlohmann::json saved = parse_json(report_json(it), "report.json");
  EXPECT_EQ(saved["replacement"]["weights"][0]["loss_change"]["change"]["high"], 1);
  EXPECT_TRUE(saved["replacement"]["weights"][1]["bleu"].is_null());
  EXPECT_EQ(saved["replacement"]["linked_pieces"], 1500);
}

TEST(HeadReport, SectionsWithoutDataSayWhy) {
  HeadReport it = head_report();
  it.relations.clear();
  it.silencing.reset();
  const std::string markdown = head_markdown(it);
  expect_parts(markdown,
               {"# Attention heads of run \\<b\\>", "No relation is frequent enough", "No head was silenced"});
  expect_parts(head_markdown(head_report()), {"| nsubj | head to dependent | 50 | 0 | 1 | **78.0 (65.0 to 87.0)** |"});
}

// The report of attend probe.

Probing synthetic_probing() {
  const auto nan = std::nan("");
  Probing probing;
  probing.attend = "1.0";
  probing.command = "attend probe run --data <trees>";
  probing.made = "2026-01-01";
  probing.run = "run";
  probing.checkpoint = "run/checkpoints/step-9";
  probing.model = "a BERT";
  probing.data = "trees.conllu";
  probing.sentences = 1234;
  probing.seeds = 3;
  probing.not_measured = {"Tense of verbs: not measured."};
  probing.left_neighbour_attachment = 0.4321;
  probing.tasks.push_back({.id = "number",
                           .title = "Number",
                           .labels = 2,
                           .most_frequent = "Sing",
                           .most_frequent_accuracy = 0.625,
                           .layers = {{.accuracy = {0.75, 0.01}, .random = {0.5, nan}, .bits = 99, .compression = 2.5},
                                      {.accuracy = {0.875, 0.02}, .random = {nan, nan}, .bits = 88}}});
  probing.structure = {{.attachment = {0.5, 0.01}, .distance_correlation = {0.8126, nan}}, {}};
  probing.random_structure = {{}, {}};
  return probing;
}

TEST(ProbeSections, SpreadIsTheSampleDeviation) {
  const Spread spread = spread_of({1, 2, 4.5});
  EXPECT_DOUBLE_EQ(spread.mean, 2.5);
  EXPECT_NEAR(spread.deviation, std::sqrt((2.25 + 0.25 + 4) / 2), 1e-12);
  EXPECT_TRUE(std::isnan(spread_of({3}).deviation));
}

TEST(ProbeSections, PageAndMarkdownHaveTheNumbers) {
  const SectionReport report = section_report(synthetic_probing());
  const std::string page = report_page(report), markdown = report_markdown(report);
  expect_parts(page, {"75.0 <small>(± 1.0)</small>", ">62.5<", "0.813", "43.2", "1,234 sentences",
                      "Tense of verbs: not measured.", "Accuracy by layer", "--data &lt;trees&gt;", "<svg"});
  expect_parts(markdown, {"# Probes of run", "75.0 (± 1.0)", "## 2. Trees", "The most frequent label is Sing"});
  EXPECT_EQ(markdown.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("<trees>"), std::string::npos);
}

TEST(ProbeSections, JsonHasTheFields) {
  const auto saved = nlohmann::json::parse(report_json(synthetic_probing()));
  EXPECT_EQ(saved["tasks"][0]["layers"][1]["accuracy"]["mean"], 0.875);
  EXPECT_TRUE(saved["tasks"][0]["layers"][1]["random"]["mean"].is_null());
  EXPECT_EQ(saved["structure"][0]["attachment"]["mean"], 0.5);
  EXPECT_EQ(saved["random_structure"].size(), 2u);
  EXPECT_EQ(saved["left_neighbour_attachment"], 0.4321);
}

// Sentences on tests of pairs: which system they call better, and by how much.

bool says(const PairTest& test, const std::string& text) {
  const bool found = verdict_of(test, "one", "two").find(text) != std::string::npos;
  if (!found) ADD_FAILURE() << verdict_of(test, "one", "two");
  return found;
}

PairTest pair_test(const std::string& metric, double difference, double p_bootstrap, double p_randomisation) {
  return {.a = 0,
          .b = 1,
          .metric = metric,
          .lower_is_better = metric == "TER",
          .difference = {.value = difference, .low = 0, .high = 0},
          .p_bootstrap = p_bootstrap,
          .p_randomisation = p_randomisation,
          .p_holm = std::max(p_bootstrap, p_randomisation),
          .seeds = {}};
}

TEST(Verdict, NamesTheBetterSystem) {
  EXPECT_TRUE(says(pair_test("BLEU", 1.25, 0.01, 0.02), "BLEU of one and two: two is better by 1.25, a significant"));
  EXPECT_TRUE(says(pair_test("BLEU", -1.25, 0.01, 0.02), ": one is better by 1.25, a significant"));
  EXPECT_TRUE(says(pair_test("TER", 1.25, 0.01, 0.02), ": one is better by 1.25, a significant"));
  EXPECT_TRUE(says(pair_test("TER", -1.25, 0.01, 0.02), ": two is better by 1.25, a significant"));
  EXPECT_TRUE(says(pair_test("BLEU", 1.25, 0.06, 0.04), "one test finds it significant and the other does not"));
  EXPECT_TRUE(says(pair_test("BLEU", 1.25, 0.06, 0.07), "the difference of 1.25 is not significant"));
  EXPECT_TRUE(says(pair_test("BLEU", 0, 1, 1), "the scores are equal"));
  EXPECT_TRUE(says(pair_test("Perplexity", std::nan(""), 1, 1), "not compared, since a score is not a finite number"));
}

TEST(Verdict, CorrectsForTheNumberOfPairs) {
  PairTest test = pair_test("BLEU", 1.25, 0.01, 0.02);
  test.p_holm = 0.06;
  EXPECT_TRUE(says(test, "1.25 is not significant after correction for the number of pairs"));
}

// The first runs favour two by 0.4, the means of five seeds favour one by 1.52: both directions are named.
TEST(Verdict, SeedsHaveTheirOwnDirection) {
  const std::vector<double> one{30, 31, 31.1, 31.2, 31.3}, two{30.4, 29, 29.1, 29.2, 29.3};
  const auto mean = [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0) / 5; };
  const double p = metrics::permutation_test(one, two);
  EXPECT_NEAR(p, 4.0 / 252, 1e-12);
  for (const bool is_error : {false, true}) {
    PairTest test = pair_test(is_error ? "TER" : "BLEU", two[0] - one[0], 0.01, 0.02);
    test.seeds = SeedTest{.difference = mean(two) - mean(one), .p = p, .p_holm = p};
    const std::string first = is_error ? "one" : "two", over_seeds = is_error ? "two" : "one";
    EXPECT_TRUE(says(test, ": " + first + " is better by 0.40, a significant difference on this test set."));
    EXPECT_TRUE(says(test, " Over seeds, the mean of " + over_seeds + " is better by 1.52, a significant difference."));
    test.seeds->p_holm = 0.2;
    EXPECT_TRUE(says(test, " is better by 1.52, which is not significant."));
    test.seeds->difference = 0;
    EXPECT_TRUE(says(test, " Over seeds, the means are equal."));
  }
}

}  // namespace
}  // namespace attend
