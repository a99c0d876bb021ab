#include "analysis/report/page.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "analysis/report/characters.hpp"
#include "analysis/report/section_parts.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace attend {

// The files of page/, embedded at build time (embed.cmake); the hash is hexadecimal.
namespace page_files {
extern const std::string_view kReportHtml, kSentencesHtml, kReportCss, kReportJs, kReportJsSha256;
}

namespace {

constexpr std::size_t kRowsBeside = 12;
constexpr std::size_t kRowsOpen = 30;

std::string element(std::string_view name, std::string_view text) {
  return fmt::format("<{0} dir=\"auto\">{1}</{0}>\n", name, escaped(text));
}

// The range of the values by which a table's cells are shaded.
struct HeatRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  explicit HeatRange(const Table& table) {
    for (const std::vector<TableCell>& row : table.rows) {
      for (const TableCell& cell : row) {
        if (!cell.heat) continue;
        low = std::min(low, *cell.heat);
        high = std::max(high, *cell.heat);
      }
    }
  }
  // At most 45 % of the colour, on which the text is readable in both schemes.
  double percent(double value) const { return high > low ? 45 * (value - low) / (high - low) : 22; }
};

std::string html_of(const TableCell& cell, const Column& column, bool is_head, const HeatRange& range) {
  std::string inside = escaped(cell.text);
  // An interval stands below its value.
  if (const std::size_t open = inside.find(" ("); column.is_number && open != std::string::npos) {
    inside = fmt::format("{} <small>{}</small>", inside.substr(0, open), inside.substr(open + 1));
  }
  if (cell.is_best) inside = "<strong>" + inside + "</strong>";
  if (cell.sentence) inside = fmt::format("<a href=\"#s={}\">{}</a>", *cell.sentence, inside);
  if (is_head) return fmt::format("<th scope=\"row\" dir=\"auto\">{}</th>", inside);
  std::string classes = column.is_number ? " class=\"number" : "", heat;
  if (cell.heat) {
    classes += column.is_number ? " heat" : " class=\"heat";
    heat = fmt::format(" style=\"--share:{:.0f}%\"", range.percent(*cell.heat));
  }
  if (!classes.empty()) classes += '"';
  return fmt::format("<td{}{}{}>{}</td>", column.is_number ? "" : " dir=\"auto\"", classes, heat, inside);
}

std::string html_of(const Table& table) {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\n<caption "
      "dir=\"auto\">{0}</caption>\n<thead><tr>",
      escaped(table.caption));
  for (const Column& column : table.columns) {
    out += fmt::format("<th scope=\"col\" dir=\"auto\"{}>{}</th>", column.is_number ? " class=\"number\"" : "",
                       escaped(column.name));
  }
  out += "</tr></thead>\n<tbody>\n";
  const HeatRange range(table);
  for (const std::vector<TableCell>& row : table.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size() && c < table.columns.size(); ++c) {
      out += html_of(row[c], table.columns[c], c == 0 && !table.columns[c].is_number, range);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string html_of(const Paragraph& paragraph) { return element("p", paragraph.text); }

std::string html_of(const Items& items) {
  std::string out = "<ul>\n";
  for (const std::string& text : items.texts) out += element("li", text);
  return out + "</ul>\n";
}

std::string html_of(const Figure& figure) {
  std::string out = "<figure>\n" + element("h3", figure.title) + element("p", figure.how_to_read);
  const std::string folded = (figure.numbers.columns.empty() ? ""
                                                             : "<details><summary>The numbers as a table</summary>\n" +
                                                                   html_of(figure.numbers) + "</details>\n") +
                             "</figure>\n";
  if (figure.charts.empty()) {
    return out + (figure.numbers.rows.size() > kRowsOpen ? folded : html_of(figure.numbers) + "</figure>\n");
  }
  std::vector<std::string> legends;
  for (const Chart& chart : figure.charts) legends.push_back(legend(chart));
  const bool is_shared = std::ranges::adjacent_find(legends, std::ranges::not_equal_to{}) == legends.end();
  if (is_shared) out += legends.front();
  // One chart leaves room for a short table beside it.
  const bool is_beside =
      figure.charts.size() == 1 && !figure.numbers.rows.empty() && figure.numbers.rows.size() <= kRowsBeside;
  out += is_beside ? "<div class=\"beside\">\n" : "<div class=\"charts\">\n";
  for (std::size_t c = 0; c < figure.charts.size(); ++c) {
    const std::string drawn = svg(figure.charts[c]);
    if (drawn.empty()) continue;
    out += fmt::format("<div class=\"scroll\">{}{}</div>\n", is_shared ? "" : legends[c], drawn);
  }
  return out + (is_beside ? html_of(figure.numbers) + "</div>\n</figure>\n" : "</div>\n" + folded);
}

std::string html_of(const Section& section) {
  std::string out = fmt::format("<section id=\"{}\">\n{}", section.id, element("h2", section.title));
  if (!section.how_to_read.empty()) out += "<p class=\"how\">" + escaped(section.how_to_read) + "</p>\n";
  for (const Block& block : section.blocks) out += std::visit([](const auto& it) { return html_of(it); }, block);
  return out + "</section>\n";
}

using Values = std::vector<std::pair<std::string_view, std::string_view>>;

// The template with each {{name}} replaced; inserted text is not searched.
std::string filled(std::string_view page, const Values& values) {
  std::string out;
  while (true) {
    const std::size_t open = page.find("{{");
    if (open == std::string_view::npos) return out.append(page);
    const std::size_t close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    const auto found = std::ranges::find(values, name, &Values::value_type::first);
    ensure(found != values.end(), "every name in the page's template has a value");
    out.append(page.substr(0, open)).append(found->second);
    page.remove_prefix(close + 2);
  }
}

std::string bytes_of_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) bytes += static_cast<char>(std::stoi(digits.substr(i, 2), {}, 16));
  return bytes;
}

std::string whole(const std::string& title, const std::string& navigation, const std::string& content,
                  const std::string& foot) {
  return filled(page_files::kReportHtml,
                {{"title", escaped(title)},
                 {"style", page_files::kReportCss},
                 {"navigation", navigation},
                 {"content", content},
                 {"foot", escaped(foot)},
                 {"script", page_files::kReportJs},
                 {"script-hash", base64(bytes_of_hex(std::string(page_files::kReportJsSha256)))}});
}

// The sentences with their attention, for report.js.
std::string html_of(const SentenceSection& section) {
  constexpr std::string_view kHowToRead =
      "Rows are target pieces, columns source pieces. The stronger the colour of a cell, the more of its row's "
      "attention goes to its column; the shade is the square root of the weight. The arrow keys go to the previous and "
      "the next sentence.";
  const std::size_t sentences = section.shown.sentences.size();
  if (sentences == 0) {
    return fmt::format("<section id=\"sentences\"><h2>{}</h2>\n<p>This comparison has no sentences.</p></section>\n",
                       section.title);
  }
  const PackedSentences pack = packed(section.shown);
  std::string without;
  if (section.left_out + pack.without_for_budget > 0) {
    without =
        fmt::format("The page holds the attention of {} of {} sentences, to remain small; {} shows that of the others.",
                    pack.with_attention, sentences, section.remedy);
  } else if (pack.with_attention == 0) {
    without = "This page has no attention weights.";
  }
  return filled(page_files::kSentencesHtml, {{"title", escaped(section.title)},
                                             {"how", escaped(kHowToRead)},
                                             {"without", escaped(without)},
                                             {"first", html_of(section.first)},
                                             {"texts", pack.texts},
                                             {"weights", pack.weights}});
}

}  // namespace

std::string report_page(const SectionReport& report) {
  std::string navigation, content;
  const auto add = [&](const std::string& id, const auto& section) {
    navigation += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", id, escaped(section.title));
    content += html_of(section);
  };
  for (const Section& section : report.sections) add(section.id, section);
  if (report.sentences) add("sentences", *report.sentences);
  return whole(report.title, navigation, content, report.foot);
}

std::string sentence_page(const AttentionPage& page) {
  SentenceSection section{.title = "Sentences",
                          .shown = {.systems = {{.name = page.title}}, .views = page.views},
                          .first = {"The first sentences", {{"Sentence"}, {"Source", false}, {"Target", false}}},
                          .remedy = "the same command with fewer sentences"};
  ShownSystem& model = section.shown.systems.front();
  for (const AttentionPage::Sentence& sentence : page.sentences) {
    ShownSentence& shown = section.shown.sentences.emplace_back(ShownSentence{sentence.source, ""});
    if (!sentence.target.empty()) shown.outputs.push_back({.text = sentence.target, .scores = {}, .log_prob = {}});
    for (std::size_t v = 0; v < sentence.maps.size(); ++v) {
      if (!sentence.maps[v]) continue;
      shown.maps.push_back({0, v, &*sentence.maps[v]});
      model.layer = std::max(model.layer, sentence.maps[v]->layers - 1);
    }
    std::vector<std::vector<TableCell>>& rows = section.first.rows;
    if (rows.size() == kFirstSentences) continue;
    rows.push_back({std::to_string(rows.size() + 1), sentence.source, sentence.target});
  }
  const std::string content = page.sentences.empty()
                                  ? "<section id=\"sentences\"><p>There are no sentences.</p></section>\n"
                                  : html_of(section);
  return whole("Attention of " + page.title, "", element("p", page.description) + content,
               made_by(page.making) + ": " + page.making.command);
}

}  // namespace attend
