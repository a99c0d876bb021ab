// report.json, the page and the Markdown of a comparison. ATTEND_REPORT_DIR=DIR writes those of the synthetic
// comparison there, for people and for tests/browser.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "analysis/report/characters.hpp"
#include "analysis/report/chart.hpp"
#include "analysis/report/json.hpp"
#include "analysis/report/page.hpp"
#include "analysis/report/sections.hpp"
#include "analysis/report/sentence_data.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "tests/support/comparison.hpp"

namespace attend {
namespace {

const Comparison& synthetic() {
  static const SyntheticComparison made;
  return made.value();
}

std::string from_base64(const std::string& text) {
  std::string bytes;
  std::uint32_t block = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit =
        std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(c);
    EXPECT_NE(digit, std::string_view::npos);
    block = block << 6 | static_cast<std::uint32_t>(digit);
    if ((bits += 6) >= 8) bytes += static_cast<char>(block >> (bits -= 8) & 255);
  }
  return bytes;
}

std::string inflated(std::string_view stream) {
  std::string bytes(std::size_t{1} << 24, '\0');
  uLongf size = bytes.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(stream.data()),
                       stream.size()),
            Z_OK);
  bytes.resize(size);
  return bytes;
}

// The content of the <script> with this id.
std::string script_of(const std::string& page, const std::string& id) {
  const std::size_t open = page.find("id=\"" + id + "\">");
  EXPECT_NE(open, std::string::npos) << id;
  const std::size_t begin = page.find('>', open) + 1;
  return page.substr(begin, page.find('<', begin) - begin);
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

AttentionPage encoder_page() {
  AttentionPage page{.title = "runs/encoder",
                     .description = "An encoder of texts.",
                     .making = {.attend = "0.1.0", .command = "attend attention", .made = "2026-11-24"},
                     .views = {"Self-attention of the encoder"},
                     .sentences = {}};
  const SyntheticComparison made({.sentences = 8, .layers = 4, .heads = 6});
  for (const Sentence& sentence : made.value().sentences) {
    page.sentences.push_back({.source = sentence.source, .target = "", .maps = {sentence.systems[2].own}});
  }
  return page;
}

TEST(Report, WritesPagesToLookAt) {
  const char* directory = std::getenv("ATTEND_REPORT_DIR");
  if (directory == nullptr) GTEST_SKIP() << "ATTEND_REPORT_DIR names no directory";
  const std::filesystem::path to = directory;
  make_directories(to);
  write_file_atomic(to / "index.html", report_page(section_report(synthetic())));
  write_file_atomic(to / "report.md", report_markdown(section_report(synthetic())));
  write_file_atomic(to / "report.json", report_json(synthetic()));
  write_file_atomic(to / "encoder.html", sentence_page(encoder_page()));
  Comparison least = synthetic();
  Comparison empty;
  empty.metrics = least.metrics;
  empty.systems = {least.systems[1]};
  write_file_atomic(to / "empty.html", report_page(section_report(empty)));
  write_file_atomic(to / "four.html", report_page(section_report(SyntheticComparison({.systems = 4}).value())));
}

TEST(Report, Base64IsThatOfTheRfc) {
  const std::map<std::string, std::string> cases = {
      {"", ""},        {"f", "Zg=="},          {"fo", "Zm8="},
      {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}, {std::string("\xff\xfe\x00", 3), "//4A"}};
  for (const auto& [bytes, text] : cases) EXPECT_EQ(base64(bytes), text);
}

TEST(Report, JsonHoldsEveryNumberAsItIs) {
  const Comparison& it = synthetic();
  const nlohmann::json saved = parse_json(report_json(it), "report.json");
  EXPECT_EQ(saved["systems"][0]["runs"][1]["quality"]["bleu"]["value"], it.systems[0].runs[1].quality.scores[0].value);
  EXPECT_EQ(saved["systems"][2]["runs"][0]["curve"][5]["seconds"], it.systems[2].runs[0].curve[5].seconds);
  EXPECT_TRUE(saved["systems"][0]["runs"][0]["curve"][0]["bleu"].is_null()) << "not measured";
  EXPECT_TRUE(saved["probe"]["systems"][0]["reach"][0]["by_distance"].back().is_null()) << "not a number";
  EXPECT_TRUE(saved["cross_scores"]["log_prob"][2][3].is_null());
  EXPECT_EQ(saved["differences"][2]["part"], "conditions");
  EXPECT_EQ(saved["tests"][1]["p_holm"], 0.002);
  EXPECT_EQ(saved["tests"][1]["seeds"]["p_holm"], 0.06);
  EXPECT_TRUE(saved["tests"][0]["seeds"].is_null());
  const nlohmann::json& contrast = saved["contrasts"][0];
  EXPECT_EQ(contrast["file"], "pairs <i>&.tsv");
  EXPECT_EQ(contrast["all"]["pairs"], 400);
  EXPECT_EQ(contrast["kinds"]["agreement"]["values"][2]["value"], 94);
  EXPECT_EQ(contrast["distances"]["9"]["values"][0]["low"], 67);
  EXPECT_EQ(contrast["tests"][1]["only_b"], 50);
  EXPECT_EQ(contrast["tests"][2]["p_holm"], 0.00012);
  EXPECT_EQ(saved["sentences"][1]["source"], hostile_texts()[0]);
  const AttentionMaps& maps = *it.sentences[3].systems[2].own;
  const nlohmann::json& written = saved["sentences"][3]["systems"][2]["own"];
  EXPECT_EQ(from_base64(written["weights"]), as_text(maps.weights));
  EXPECT_EQ(written["target"].size(), maps.target.size());
}

// A metric needs no place of its own in the report: its facts come with the comparison.
TEST(Report, ShowsTheMetricsOfTheComparison) {
  Comparison it = synthetic();
  it.metrics = {{"wer", "WER", true, "edits of words"}};
  for (System& system : it.systems) {
    for (MeasuredRun& run : system.runs) {
      run.quality.scores.resize(1);
      for (CurvePoint& point : run.curve) point.scores = {{"wer", 12.5}, {"bleu", 1}};
    }
  }
  for (Sentence& sentence : it.sentences) {
    for (SystemSentence& system : sentence.systems) system.scores.resize(1);
  }
  it.systems[0].runs[0].quality.scores[0].value = 3.5;
  const nlohmann::json saved = parse_json(report_json(it), "report.json");
  EXPECT_EQ(saved["metrics"][0]["name"], "WER");
  EXPECT_EQ(saved["systems"][0]["runs"][0]["quality"]["wer"]["value"], 3.5);
  EXPECT_EQ(saved["systems"][0]["runs"][0]["curve"][0]["wer"], 12.5);
  EXPECT_FALSE(saved["systems"][0]["runs"][0]["curve"][0].contains("bleu"));
  EXPECT_EQ(saved["beams"][0][0]["wer"], 32.1);
  EXPECT_EQ(saved["sentences"][0]["systems"][0]["wer"], it.sentences[0].systems[0].scores[0]);
  const std::string page = report_page(section_report(it));
  EXPECT_NE(page.find("<strong>3.5 <small>("), std::string::npos) << "the lowest is the best";
  for (const char* text : {"Lower is better for WER (edits of words) and perplexity.", "WER (lower is better)",
                           "WER by beam", "Validation WER by updates", "differences in sentence WER"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  const nlohmann::json texts = parse_json(inflated(from_base64(script_of(page, "sentence-texts"))), "the page");
  EXPECT_EQ(texts["metrics"], nlohmann::json::parse(R"([{"name": "WER", "lower_is_better": true, "decimals": 1}])"));
}

// Of a file of minimal pairs: charts by kind and by distance, and the tests; a system without a model has a dash.
TEST(Report, ShowsTheAccuracyOnMinimalPairs) {
  Comparison it = synthetic();
  ContrastSet& set = it.contrasts[0];
  for (auto& [distance, accuracy] : set.distances) accuracy.values[1].reset();
  for (const Section& section : section_report(it).sections) {
    if (section.id != "where") continue;
    ASSERT_GE(section.blocks.size(), 3U);
    const auto& by_kind = std::get<Figure>(section.blocks[section.blocks.size() - 3]);
    const auto& by_distance = std::get<Figure>(section.blocks[section.blocks.size() - 2]);
    const auto& tests = std::get<Table>(section.blocks.back());
    const auto& points = std::get<PointChart>(by_kind.charts.at(0));
    EXPECT_EQ(points.groups, (std::vector<std::string>{"All", "Agreement", "Verb_position"}));
    EXPECT_EQ(points.rows[2].values[1]->value, 94);
    const auto& lines = std::get<LineChart>(by_distance.charts.at(0));
    ASSERT_EQ(lines.series.size(), 3U);
    EXPECT_EQ(lines.series[2].points[1].x, 2);
    EXPECT_EQ(lines.series[0].points[2].y, 74);
    EXPECT_TRUE(std::isnan(lines.series[1].points[2].y));
    EXPECT_EQ(by_distance.numbers.rows[0][3].text, "–");
    EXPECT_EQ(by_distance.numbers.rows[2][4].text, "94.0 (90.2 to 97.8)");
    EXPECT_EQ(tests.rows[1].back().text, it.systems[2].name);
    EXPECT_TRUE(tests.rows[1].back().is_best);
  }
  set.tests[0].p_holm = 0.2;
  set.tests.resize(1);
  const Section where = section_report(it).sections[5];
  EXPECT_EQ(where.id, "where");
  const auto& alone = std::get<Table>(where.blocks.back());
  EXPECT_EQ(alone.columns.size(), 5U) << "one pair of systems needs no correction";
  EXPECT_EQ(alone.rows[0].back().text, "–") << "no significant difference";
}

TEST(Report, JsonTakesTextThatIsNotUtf8) {
  Comparison it = synthetic();
  it.sentences[0].source = "a\xff";
  EXPECT_EQ(parse_json(report_json(it), "report.json")["sentences"][0]["source"], "a\xEF\xBF\xBD");
}

TEST(Report, PageHasEverySectionWithContent) {
  const std::string page = report_page(section_report(synthetic()));
  std::size_t last = 0;
  for (const std::string id :
       {"compared", "differences", "quality", "cost", "curves", "where", "why", "probes", "sentences"}) {
    const std::size_t at = page.find("<section id=\"" + id + "\"");
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_GT(at, last) << id;
    last = at;
  }
  EXPECT_GE(count(page, "<svg class=\"chart\""), 18U);
  for (std::size_t at = page.find("<figure>"); at != std::string::npos; at = page.find("<figure>", at + 1)) {
    const std::string figure = page.substr(at, page.find("</figure>", at) - at);
    const bool are_above = figure.find("BLEU, chrF and TER with 95 % intervals") != std::string::npos;
    EXPECT_EQ(count(figure, "<table>"), are_above ? 0U : 1U) << "numbers of the chart: " << figure.substr(0, 80);
  }
  EXPECT_NE(page.find("the difference of 0.40 is not significant"), std::string::npos);
  EXPECT_NE(page.find("is better by 1.60"), std::string::npos) << "TER: lower is better";
  EXPECT_NE(page.find("transformer is better by 1.60"), std::string::npos);
  EXPECT_NE(page.find("one test finds it significant"), std::string::npos);
  EXPECT_NE(page.find("the mean of transformer is better by 2.61, which is not significant"), std::string::npos);
  EXPECT_NE(page.find("href=\"#s="), std::string::npos);
}

TEST(Report, SectionsWithoutDataSayWhy) {
  Comparison it;
  it.metrics = synthetic().metrics;
  it.systems = {synthetic().systems[1]};
  it.systems[0].runs[0].curve.clear();
  it.systems[0].runs[0].cost.by_length.clear();
  for (const Section& section : section_report(it).sections) {
    ASSERT_FALSE(section.blocks.empty()) << section.id;
    for (const Block& block : section.blocks) {
      const Table* table = std::get_if<Table>(&block);
      if (const auto* figure = std::get_if<Figure>(&block)) table = &figure->numbers;
      if (table != nullptr && !table->columns.empty()) {
        EXPECT_FALSE(table->rows.empty()) << section.id << ", " << table->caption;
      }
    }
  }
  const std::string page = report_page(section_report(it));
  EXPECT_NE(page.find("pass --probe to attend compare"), std::string::npos);
  EXPECT_NE(page.find("has no sentences"), std::string::npos);
}

// A system without a model has its metrics; what needs one is missing, and the sections say so.
TEST(Report, TranslationsWithoutAModelAreShownAsSuch) {
  Comparison it = synthetic();
  it.systems[1].only_text = true;
  MeasuredRun& run = it.systems[1].runs[0];
  run.facts.seed = std::nullopt;
  run.quality.perplexity_piece = run.quality.perplexity_word = std::nullopt;
  run.cost = {};
  run.curve.clear();
  it.cross_scores->log_prob[1].clear();
  it.cross_scores->search_errors[1] = {};
  it.attention[1].clear();
  for (Sentence& sentence : it.sentences) {
    SystemSentence& translation = sentence.systems[1];
    translation.log_prob = std::nullopt;
    translation.own = translation.reference = std::nullopt;
  }
  const std::string markdown = report_markdown(section_report(it));
  for (const char* section : {"## 1. ", "## 3. ", "## 4. ", "## 6. ", "## 7. "}) {
    const std::size_t begin = markdown.find(section), end = markdown.find("\n## ", begin + 1);
    EXPECT_NE(markdown.substr(begin, end - begin).find("Compared by their translations alone: bahdanau"),
              std::string::npos)
        << section;
  }
  EXPECT_EQ(markdown.find("Without attention to the source"), std::string::npos) << "nothing is known of its attention";
  EXPECT_EQ(markdown.find("nan"), std::string::npos);
  const nlohmann::json saved = parse_json(report_json(it), "report.json");
  EXPECT_TRUE(saved["systems"][1]["only_text"]);
  EXPECT_TRUE(saved["systems"][1]["runs"][0]["cost"]["parameters"].is_null());
  EXPECT_TRUE(saved["cross_scores"]["search_errors"][1]["ranked"].is_null());
  EXPECT_FALSE(report_page(section_report(it)).empty());
  Comparison without_attention = synthetic();
  without_attention.attention[1].clear();
  EXPECT_NE(report_markdown(section_report(without_attention)).find("Without attention to the source: bahdanau"),
            std::string::npos);
}

// Pieces of two vocabularies are no unit.
TEST(Report, CostsAreBySentenceWhereVocabulariesDiffer) {
  Comparison it = synthetic();
  for (const char* by_token : {"ranslation: target tokens per second", "forward pass per target token"}) {
    EXPECT_NE(report_markdown(section_report(it)).find(by_token), std::string::npos);
  }
  it.equal_vocabularies = false;
  const std::string markdown = report_markdown(section_report(it));
  EXPECT_EQ(markdown.find("ranslation: target tokens per second"), std::string::npos);
  EXPECT_EQ(markdown.find("forward pass per target token"), std::string::npos);
  EXPECT_NE(markdown.find("ranslation: sentences per second"), std::string::npos);
  EXPECT_NE(markdown.find("forward pass per sentence"), std::string::npos);
}

TEST(Report, MarksNoPerplexityByPieceWhereVocabulariesDiffer) {
  Comparison it = synthetic();
  for (const bool equal : {true, false}) {
    it.equal_vocabularies = equal;
    const Section quality = section_report(it).sections[2];
    const auto& scores = std::get<Table>(quality.blocks.front());
    const auto column =
        std::ranges::find(scores.columns, "Perplexity by piece", &Column::name) - scores.columns.begin();
    const auto is_marked = [&](const std::vector<TableCell>& row) { return row.at(column).is_best; };
    EXPECT_EQ(std::ranges::any_of(scores.rows, is_marked), equal);
  }
}

TEST(Report, SaysOfHowManySentencesTheAttentionWasLeftOut) {
  Comparison it = synthetic();
  for (std::size_t i = 10; i < it.sentences.size(); ++i) {
    for (SystemSentence& system : it.sentences[i].systems) system.own = system.reference = std::nullopt;
  }
  EXPECT_EQ(report_page(section_report(it)).find("The page holds the attention of"), std::string::npos);
  it.attention_left_out = std::ssize(it.sentences) - 10;
  EXPECT_NE(report_page(section_report(it)).find("The page holds the attention of 10 of 40 sentences"),
            std::string::npos);
}

TEST(Report, TextsOfUsersStayTexts) {
  const std::string page = report_page(section_report(synthetic()));
  EXPECT_EQ(count(page, "<script"), 3U) << "two of data and one of the page itself";
  EXPECT_EQ(count(page, "</script"), 3U);
  EXPECT_EQ(page.find("<b>&"), std::string::npos);
  EXPECT_NE(page.find("bahdanau &lt;b&gt;&amp;"), std::string::npos);
  EXPECT_NE(page.find("{{style}} {{nothing}}"), std::string::npos) << "what is inserted is no template";
  EXPECT_EQ(escaped("<a href=\"x\" b='y'>&\x01"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;\xEF\xBF\xBD");
  const std::string markdown = report_markdown(section_report(synthetic()));
  EXPECT_EQ(markdown.find("<script"), markdown.find("\\<script") + 1);
  EXPECT_NE(markdown.find("a\\</i\\> \\| b"), std::string::npos) << "a bar in a cell divides no cell";
}

// Neither a source nor a link to another place: the page asks nothing of a network.
TEST(Report, PageIsOneFile) {
  const std::string page = report_page(section_report(synthetic()));
  for (const std::string what : {" src=", "url(", "@import", "<link", "href=\"http", "fetch("})
    EXPECT_EQ(count(page, what), 0U) << what;
}

TEST(Report, MarkdownHasTheTablesOfThePage) {
  const std::string markdown = report_markdown(section_report(synthetic()));
  std::size_t lines = 2 + 10;  // names, rule and rows of the table of sentences
  for (const Section& section : section_report(synthetic()).sections) {
    EXPECT_NE(markdown.find("## " + section.title), std::string::npos);
    for (const Block& block : section.blocks) {
      const Table* table = std::get_if<Table>(&block);
      if (const auto* figure = std::get_if<Figure>(&block)) table = &figure->numbers;
      if (table == nullptr || table->columns.empty()) continue;
      for (const auto& row : table->rows) EXPECT_EQ(row.size(), table->columns.size()) << table->caption;
      lines += 2 + table->rows.size();
    }
  }
  EXPECT_EQ(count(markdown, "\n|"), lines);
  EXPECT_EQ(count(markdown, "\nScores of the first run:\n"), 1U);
}

// The best rate differs between families, and no run records how its own was chosen.
TEST(Report, LearningRatesOfSeveralFamiliesAreAPossibleCause) {
  Comparison it = synthetic();
  const auto markdown = [&] { return report_markdown(section_report(it)); };
  it.learning_rates = {{"a", "luong", "0.001"}, {"b", "luong", "0.003"}};
  EXPECT_EQ(markdown().find("Learning rate"), std::string::npos) << "one family";
  it.learning_rates[1].family = "transformer";
  const std::size_t found = markdown().find("Learning rate: 0.001 (a) and 0.003 (b). The best rate differs");
  EXPECT_GT(found, markdown().find("## 6. Possible causes"));
  EXPECT_LT(found, markdown().find("## 7. "));
  it.learning_rates[1].rate = "0.001";
  EXPECT_NE(markdown().find("Learning rate: 0.001 for all. The best rate differs"), std::string::npos);
}

// A table that gives two different losses the same digits contradicts the table of levels.
TEST(Report, LossesAreToldFromTheLevels) {
  Comparison it = synthetic();
  it.levels = {{.loss = 1.28586, .first = {std::nullopt, std::nullopt, std::nullopt}}};
  EXPECT_NE(report_markdown(section_report(it)).find("\n| 1.286 | Not reached |"), std::string::npos);
  it.systems[1].runs[0].curve[3].loss = 1.2861;
  const std::string markdown = report_markdown(section_report(it));
  EXPECT_NE(markdown.find("| 1.2861 |"), std::string::npos);
  EXPECT_NE(markdown.find("\n| 1.2859 | Not reached |"), std::string::npos);
}

TEST(Report, TheLeastPThatResamplesCanGiveIsABound) {
  Comparison it = synthetic();
  it.tests[1].p_holm = 6 / 1001.0;
  const auto markdown = [&] { return report_markdown(section_report(it)); };
  EXPECT_NE(markdown().find("| 0.006 |"), std::string::npos);
  EXPECT_EQ(markdown().find("≤"), std::string::npos);
  it.tests[1].p_is_least = true;
  EXPECT_NE(markdown().find("| ≤ 0.006 |"), std::string::npos);
  EXPECT_NE(markdown().find("≤ marks the least p"), std::string::npos);
}

TEST(Report, ChartsLeaveOutWhatIsMissing) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(svg(LineChart{"t", "x", "y", {{"a", 0, 0, {{1, kNaN}}}}}), "");
  EXPECT_EQ(svg(PointChart{"t", "x", {"g"}, {{"a", 0, {std::nullopt}}}}), "");
  const std::string chart = svg(LineChart{"t", "x", "y", {{"a<b", 0, 1, {{1, 2}, {2, kNaN}, {3, 4}}}}});
  EXPECT_EQ(count(chart, "<circle"), 2U);
  EXPECT_NE(chart.find("<title>a&lt;b\nx: 1.000\ny: 2.000</title>"), std::string::npos);
  EXPECT_EQ(chart.find("nan"), std::string::npos);
  // Of whole numbers, such as layers, no halves; a label at the right end is not cut.
  const std::string layers = svg(LineChart{"t", "Layer", "y", {{"a", 0, 0, {{0, 2}, {1, 2.5}, {2, 3}}}}});
  EXPECT_EQ(layers.find(">0.5<"), std::string::npos);
  EXPECT_NE(layers.find(">2<"), std::string::npos);
  const std::string updates = svg(LineChart{"t", "x", "y", {{"a", 0, 0, {{0, 1}, {1500, 2}}}}});
  EXPECT_NE(updates.find("<text x=\"422.0\" y=\"262.0\" text-anchor=\"middle\">1,500<"), std::string::npos);
  // One point alone, and equal values, have axes all the same.
  EXPECT_EQ(svg(LineChart{"t", "x", "y", {{"a", 0, 0, {{0, 5}}}}}).find("inf"), std::string::npos);
}

TEST(Report, TextsOfThePageBeginWithCapitals) {
  const std::string page = report_page(section_report(synthetic()));
  for (const std::string opening :
       {"<th scope=\"col\" dir=\"auto\">", "<th scope=\"col\" dir=\"auto\" class=\"number\">", "<caption dir=\"auto\">",
        "<h2 dir=\"auto\">", "<h3 dir=\"auto\">", "<p dir=\"auto\">", "class=\"label\">", "<option value=\"head\">"}) {
    ASSERT_NE(page.find(opening), std::string::npos) << opening;
    for (std::size_t at = page.find(opening); at != std::string::npos; at = page.find(opening, at + 1)) {
      const std::string text =
          page.substr(at + opening.size(), page.find('<', at + opening.size()) - at - opening.size());
      const bool is_name = text.starts_with("luong") || text.starts_with("bahdanau") ||
                           text.starts_with("transformer") || text == "chrF" || text.starts_with("chrF (") ||
                           text == "attend version" || text == "p" || text.starts_with("p, ");  // of a probability
      EXPECT_TRUE(is_name || text.empty() || text[0] < 'a' || text[0] > 'z') << text;
    }
  }
}

TEST(Report, TheBestScoreIsMarked) {
  const std::string page = report_page(section_report(synthetic()));
  const auto& systems = synthetic().systems;
  double best = 0;
  for (const System& system : systems) best = std::max(best, system.runs[0].quality.scores[0].value);
  EXPECT_NE(page.find("<strong>" + fixed(best, 1) + " <small>("), std::string::npos);
  EXPECT_EQ(page.find("<strong>" + fixed(systems[0].runs[0].quality.scores[0].value, 1) + " <small>("),
            std::string::npos);
  EXPECT_NE(report_markdown(section_report(synthetic())).find("| **" + fixed(best, 1) + " ("), std::string::npos);
  Comparison it = synthetic();
  it.systems[0].runs[0].quality.scores[2].value = std::numeric_limits<double>::quiet_NaN();
  it.systems[1].runs[0].quality.scores[2].value = 40.06;
  it.systems[2].runs[0].quality.scores[2].value = 50;
  EXPECT_NE(report_page(section_report(it)).find("<strong>40.1 <small>("), std::string::npos)
      << "beside a value that was not measured";
}

TEST(Report, TestsOfManyPairsAreATableAlone) {
  const std::string sentence = "a significant difference on this test set",
                    better = "<td dir=\"auto\"><strong>transformer<";
  const std::string three = report_page(section_report(synthetic())),
                    four = report_page(section_report(SyntheticComparison({.systems = 4}).value()));
  EXPECT_EQ(count(three, sentence), 2U);
  EXPECT_EQ(count(four, sentence), 0U);
  EXPECT_EQ(count(three, better), 4U);  // in quality, and in minimal pairs
  EXPECT_EQ(count(four, better), 4U);
  EXPECT_EQ(count(four, "<td dir=\"auto\"><strong>transformer-2<"), 2U);
}

TEST(Report, ShadesOfATableShareOneScale) {
  Comparison it = synthetic();
  it.cross_scores->log_prob = {{-10, -20, -15}, {-20, -12.5, std::nullopt}};
  const std::string page = report_page(section_report(it));
  EXPECT_NE(page.find("style=\"--share:45%\">−10.00<"), std::string::npos);
  EXPECT_NE(page.find("style=\"--share:0%\">−20.00<"), std::string::npos);
  EXPECT_EQ(page.find("%\">–<"), std::string::npos) << "a missing value has no shade";
}

// The head of the lowest error; without gold links the last layer's mean.
TEST(Report, SentencesOpenAtTheHeadThatTheTextNames) {
  Comparison it = synthetic();
  it.attention[2][7].alignment_error = 3;  // layer 1: mean, 0, 1, 2
  const auto opening = [](const Comparison& comparison) {
    const std::string page = report_page(section_report(comparison));
    return parse_json(inflated(from_base64(script_of(page, "sentence-texts"))), "the page")["systems"][2];
  };
  EXPECT_EQ(opening(it)["layer"], 1);
  EXPECT_EQ(opening(it)["head"], 1);
  EXPECT_NE(report_page(section_report(it)).find("Section 8 opens at the head with the lowest AER"), std::string::npos);
  for (auto& heads : it.attention) {
    for (HeadStatistics& head : heads) head.alignment_error.reset();
  }
  EXPECT_EQ(opening(it)["layer"], 1);
  EXPECT_EQ(opening(it)["head"], -1);
  EXPECT_NE(report_page(section_report(it)).find("Section 8 opens at the mean of the last layer"), std::string::npos);
}

TEST(Report, SentencesComeBackAsTheyWere) {
  const Comparison& it = synthetic();
  const std::string page = report_page(section_report(it));
  const nlohmann::json texts = parse_json(inflated(from_base64(script_of(page, "sentence-texts"))), "the page");
  const std::string weights = from_base64(script_of(page, "sentence-weights"));
  ASSERT_EQ(texts["sentences"].size(), it.sentences.size());
  for (const std::size_t i : {std::size_t{1}, std::size_t{17}}) {
    const nlohmann::json& sentence = texts["sentences"][i];
    EXPECT_EQ(sentence["source"], it.sentences[i].source);
    EXPECT_NEAR(sentence["outputs"][1]["scores"][0], it.sentences[i].systems[1].scores[0], 0.0005);
    const std::string maps = inflated(std::string_view(weights).substr(sentence["at"][0], sentence["at"][1]));
    std::string expected;
    for (const SystemSentence& system : it.sentences[i].systems) {
      expected.append(as_text(system.reference->weights)).append(as_text(system.own->weights));
    }
    EXPECT_TRUE(maps == expected) << "sentence " << i;
    const nlohmann::json& last = sentence["maps"].back();
    EXPECT_EQ(last["system"], 2);
    EXPECT_EQ(sentence["pieces"][last["target"].get<std::size_t>()], it.sentences[i].systems[2].own->target);
  }
}

// Three systems: below 3 MB however many sentences there are, and heads for each; the page says what it leaves out.
TEST(Report, PageStaysSmall) {
  for (const SyntheticSize& size : {SyntheticSize{.sentences = 1000, .layers = 2, .heads = 4},
                                    SyntheticSize{.sentences = 300, .layers = 6, .heads = 8}}) {
    const std::string page = report_page(section_report(SyntheticComparison(size).value()));
    EXPECT_LT(page.size(), 3'000'000U);
    EXPECT_NE(page.find("of " + std::to_string(size.sentences) + " sentences, to remain small; attend attention RUN"),
              std::string::npos);
  }
}

TEST(Report, EncoderHasAPageOfItsOwn) {
  const std::string page = sentence_page(encoder_page());
  const nlohmann::json texts = parse_json(inflated(from_base64(script_of(page, "sentence-texts"))), "the page");
  EXPECT_EQ(texts["views"], nlohmann::json({"Self-attention of the encoder"}));
  EXPECT_EQ(texts["systems"][0]["layer"], 3) << "opens at the last layer, as on a terminal";
  EXPECT_EQ(texts["sentences"][0]["maps"][0]["layers"], 4);
  EXPECT_TRUE(texts["sentences"][0]["outputs"].empty());
}

}  // namespace
}  // namespace attend
