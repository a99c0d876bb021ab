// The report of attend probe.
#include "analysis/report/probe_sections.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/report/json.hpp"
#include "analysis/report/page.hpp"
#include "analysis/report/sections.hpp"

namespace attend {
namespace {

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
  for (const char* text : {"75.0 <small>(± 1.0)</small>", ">62.5<", "0.813", "43.2", "1,234 sentences",
                           "Tense of verbs: not measured.", "Accuracy by layer", "--data &lt;trees&gt;", "<svg"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  for (const char* text : {"# Probes of run", "75.0 (± 1.0)", "## 2. Trees", "The most frequent label is Sing"}) {
    EXPECT_NE(markdown.find(text), std::string::npos) << text;
  }
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

}  // namespace
}  // namespace attend
