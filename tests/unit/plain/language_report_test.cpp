// report.json, the page and the Markdown of a comparison of language models. ATTEND_REPORT_DIR=DIR writes the page
// there, for people and for tests/browser.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "analysis/report/json.hpp"
#include "analysis/report/page.hpp"
#include "analysis/report/sections.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "tests/support/language_comparison.hpp"

namespace attend {
namespace {

bool language_report_has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(LanguageReport, WritesAPageToLookAt) {
  const char* directory = std::getenv("ATTEND_REPORT_DIR");
  if (directory == nullptr) GTEST_SKIP() << "ATTEND_REPORT_DIR names no directory";
  make_directories(directory);
  write_file_atomic(std::filesystem::path(directory) / "language.html",
                    report_page(section_report(synthetic_language_comparison())));
}

TEST(LanguageReport, JsonHoldsEveryNumber) {
  const LanguageComparison it = synthetic_language_comparison();
  const nlohmann::json json = parse_json(report_json(it), "report.json");
  for (const char* member :
       {"attend", "command", "made", "processor", "test", "notes", "metrics", "systems", "differences", "tests",
        "levels", "where", "contrasts", "context_words", "contexts", "distances", "attention", "equal_vocabularies"}) {
    EXPECT_TRUE(json.contains(member)) << member;
  }
  EXPECT_EQ(json["test"]["documents"], 120);
  EXPECT_EQ(json["metrics"][1]["key"], "bits_per_byte");
  const nlohmann::json& quality = json["systems"][1]["runs"][0]["quality"];
  EXPECT_EQ(quality["perplexity_word"]["value"], it.systems[1].runs[0].quality.scores[0].value) << "with its interval";
  EXPECT_EQ(quality["bits_per_byte"]["high"], it.systems[1].runs[0].quality.scores[1].high);
  EXPECT_EQ(quality["perplexity_piece"], 18.5);
  EXPECT_EQ(json["contrasts"][0]["all"]["values"][2]["value"], 70);
  EXPECT_TRUE(json["contrasts"][0]["kinds"].empty());
  EXPECT_EQ(json["contexts"][1]["tokens"], 16);
  EXPECT_EQ(json["contexts"][1]["loss"][1]["value"], 4.4);
  EXPECT_TRUE(json["contexts"][2]["loss"][2].is_null()) << "it cannot read that many tokens";
  EXPECT_EQ(json["attention"][0][1]["shares"][3], 0.35);
  EXPECT_TRUE(json["attention"][1].empty());
}

TEST(LanguageReport, PageHasItsSectionsAndNoSentences) {
  const std::string page = report_page(section_report(synthetic_language_comparison()));
  std::size_t last = 0;
  for (const std::string id : {"compared", "differences", "quality", "cost", "curves", "where", "why"}) {
    const std::size_t at = page.find("<section id=\"" + id + "\"");
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_GT(at, last) << id;
    EXPECT_TRUE(language_report_has(page, "<a href=\"#" + id + "\">")) << id;
    last = at;
  }
  EXPECT_FALSE(language_report_has(page, "id=\"sentences\""));
  for (const char* text : {"120 documents with 9,876 words and 54,321 bytes", "resampling the test documents",
                           "Perplexity by piece", "lm is better by 0.104", "Training: tokens per second",
                           "Pieces per word of the test text", "1.114 <small>(", "Loss by length of context",
                           "Accuracy on the minimal pairs of english.tsv", "Attention of lm by distance, in percent",
                           "Without attention: lstm &lt;b&gt;&amp;", "sections 5 and 6 describe"}) {
    EXPECT_TRUE(language_report_has(page, text)) << text;
  }
  for (const char* text : {"sentence", "translation", "target token", "nan", "inf\""}) {
    const std::string body = page.substr(page.find("<main>"), page.find("</main>") - page.find("<main>"));
    EXPECT_FALSE(language_report_has(body, text)) << text;
  }
  EXPECT_FALSE(language_report_has(page, "Accuracy by distance")) << "the file has no distances";
}

// Neither a script but the page's own nor anything of another place.
TEST(LanguageReport, PageIsOneFile) {
  const std::string page = report_page(section_report(synthetic_language_comparison()));
  EXPECT_EQ(page.find("<script"), page.rfind("<script"));
  for (const char* what : {" src=", "url(", "@import", "<link", "href=\"http", "fetch("}) {
    EXPECT_FALSE(language_report_has(page, what)) << what;
  }
  EXPECT_FALSE(language_report_has(page, "lstm <b>"));
}

TEST(LanguageReport, MarkdownHasTheSectionsOfThePage) {
  const LanguageComparison it = synthetic_language_comparison();
  const std::string markdown = report_markdown(section_report(it));
  for (const Section& section : section_report(it).sections) {
    EXPECT_TRUE(language_report_has(markdown, "## " + section.title)) << section.title;
    EXPECT_FALSE(section.blocks.empty()) << section.title;
    for (const Block& block : section.blocks) {
      const Table* table = std::get_if<Table>(&block);
      if (const auto* figure = std::get_if<Figure>(&block)) table = &figure->numbers;
      if (table == nullptr || table->columns.empty()) continue;
      EXPECT_FALSE(table->rows.empty()) << table->caption;
      for (const auto& row : table->rows) EXPECT_EQ(row.size(), table->columns.size()) << table->caption;
    }
  }
  EXPECT_FALSE(language_report_has(markdown, "8. Sentences"));
}

TEST(LanguageReport, SectionsWithoutDataSayWhy) {
  LanguageComparison it = synthetic_language_comparison();
  it.contexts.clear();
  it.where.clear();
  it.attention = {{}, {}, {}};
  const std::string markdown = report_markdown(section_report(it));
  EXPECT_TRUE(language_report_has(markdown, "too short for the loss by length of context"));
  EXPECT_TRUE(language_report_has(markdown, "were not divided into groups"));
  EXPECT_TRUE(language_report_has(markdown, "Without attention: lm, lstm"));
}

}  // namespace
}  // namespace attend
