// report.json, the page and the Markdown of a report on attention heads.
#include "analysis/report/head_report.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/report/json.hpp"
#include "analysis/report/page.hpp"
#include "analysis/report/sections.hpp"
#include "core/json.hpp"

namespace attend {
namespace {

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

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part;
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

}  // namespace
}  // namespace attend
