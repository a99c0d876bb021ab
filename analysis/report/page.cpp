#include "analysis/report/page.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "analysis/report/characters.hpp"
#include "analysis/report/page_files.hpp"
#include "analysis/report/sections.hpp"
#include "analysis/report/sentence_data.hpp"
#include "core/error.hpp"

namespace attend {
namespace {

constexpr std::size_t kStaticSentences = 10;
constexpr std::size_t kRowsBeside = 12;

std::string element(std::string_view name, std::string_view text) {
  return fmt::format("<{0} dir=\"auto\">{1}</{0}>\n", name, escaped(text));
}

std::string html_of(const Cell& cell, const Column& column, bool is_head) {
  std::string inside = escaped(cell.text);
  if (cell.sentence) inside = fmt::format("<a href=\"#s={}\">{}</a>", *cell.sentence, inside);
  if (is_head) return fmt::format("<th scope=\"row\" dir=\"auto\">{}</th>", inside);
  return column.is_number ? fmt::format("<td class=\"number\">{}</td>", inside)
                          : fmt::format("<td dir=\"auto\">{}</td>", inside);
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
  for (const std::vector<Cell>& row : table.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size() && c < table.columns.size(); ++c) {
      out += html_of(row[c], table.columns[c], c == 0 && !table.columns[c].is_number);
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
  std::vector<std::string> legends;
  for (const Chart& chart : figure.charts) legends.push_back(legend(chart));
  const bool is_shared = std::ranges::adjacent_find(legends, std::ranges::not_equal_to{}) == legends.end();
  if (is_shared && !legends.empty()) out += legends.front();
  out += "<div class=\"charts\">\n";
  for (std::size_t c = 0; c < figure.charts.size(); ++c) {
    const std::string drawn = svg(figure.charts[c]);
    if (drawn.empty()) continue;
    out += fmt::format("<div class=\"scroll\">{}{}</div>\n", is_shared ? "" : legends[c], drawn);
  }
  // One chart leaves room for a short table beside it.
  if (figure.charts.size() == 1 && figure.numbers.rows.size() <= kRowsBeside) {
    return out + html_of(figure.numbers) + "</div>\n</figure>\n";
  }
  return out + "</div>\n<details><summary>The numbers as a table</summary>\n" + html_of(figure.numbers) +
         "</details>\n</figure>\n";
}

std::string html_of(const Section& section) {
  std::string out = fmt::format("<section id=\"{}\">\n{}", section.id, element("h2", section.title));
  if (!section.how_to_read.empty()) out += "<p class=\"how\">" + escaped(section.how_to_read) + "</p>\n";
  for (const Block& block : section.blocks) out += std::visit([](const auto& it) { return html_of(it); }, block);
  return out + "</section>\n";
}

using Values = std::vector<std::pair<std::string_view, std::string_view>>;

// The template with each {{name}} replaced once: what is inserted is not looked at again.
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

struct SentenceView {
  std::string title;
  std::string how_to_read;
  std::string without_attention;  // in words
  Table first;                    // for readers without a script
  PackedSentences packed;
};

std::string html_of(const SentenceView& view) {
  return filled(page_files::kSentencesHtml, {{"title", escaped(view.title)},
                                             {"how", escaped(view.how_to_read)},
                                             {"without", escaped(view.without_attention)},
                                             {"first", html_of(view.first)},
                                             {"texts", view.packed.texts},
                                             {"weights", view.packed.weights}});
}

std::string whole(const std::string& title, const std::string& navigation, const std::string& content,
                  const std::string& foot) {
  return filled(page_files::kReportHtml, {{"title", escaped(title)},
                                          {"style", page_files::kReportCss},
                                          {"navigation", navigation},
                                          {"content", content},
                                          {"foot", escaped(foot)},
                                          {"script", page_files::kReportJs}});
}

constexpr std::string_view kHowToRead =
    "Rows are target pieces, columns source pieces: the stronger the colour of a cell, the more of the row's attention "
    "goes to "
    "its column (the shade is the square root of the weight). The arrow keys go to the previous and the next sentence.";

// Says what the budget left out; nothing where all is there.
std::string left_out(const PackedSentences& pack, std::size_t sentences, const std::string& remedy) {
  if (pack.without_for_budget == 0) {
    return pack.with_attention == 0 ? "There are no attention weights to the source in this page." : "";
  }
  return fmt::format(
      "The page holds the attention of {} of {} sentences, to remain small; {} shows that of the others.",
      pack.with_attention, sentences, remedy);
}

}  // namespace

std::string comparison_page(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const System& system : comparison.systems) names.push_back(system.name);
  std::string title = "attend compare: ";
  for (std::size_t s = 0; s < names.size(); ++s) title += (s > 0 ? ", " : "") + names[s];

  std::string navigation, content;
  for (const Section& section : sections_of(comparison)) {
    navigation += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id, escaped(section.title));
    content += html_of(section);
  }
  navigation += "<li><a href=\"#sentences\">8. Sentences</a></li>\n";

  std::vector<ShownSentence> sentences;
  for (const Sentence& sentence : comparison.sentences) {
    ShownSentence shown{sentence.source, sentence.reference, {}, {}};
    for (std::size_t s = 0; s < sentence.systems.size(); ++s) {
      const SystemSentence& system = sentence.systems[s];
      shown.outputs.push_back({system.text, system.bleu, system.chrf, system.log_prob});
      if (system.reference) shown.maps.push_back({s, 0, &*system.reference});
      if (system.own) shown.maps.push_back({s, 1, &*system.own});
    }
    sentences.push_back(std::move(shown));
  }
  if (sentences.empty()) {
    content +=
        "<section id=\"sentences\"><h2>8. Sentences</h2>\n<p>This comparison holds no sentences.</p></section>\n";
  } else {
    SentenceView view{"8. Sentences", std::string(kHowToRead), "", sentence_table(comparison, kStaticSentences),
                      packed(names, {"the reference", "its own translation"}, sentences)};
    view.without_attention = left_out(view.packed, sentences.size(), "attend attention RUN");
    content += html_of(view);
  }
  return whole(title, navigation, content, fmt::format("Made by attend {}, {}.", comparison.attend, comparison.made));
}

std::string sentence_page(const AttentionPage& page) {
  Table first{"The first sentences", {{"sentence"}, {"source", false}, {"target", false}}, {}};
  std::vector<ShownSentence> sentences;
  for (const AttentionPage::Sentence& sentence : page.sentences) {
    ShownSentence shown{sentence.source, "", {}, {}};
    if (!sentence.target.empty())
      shown.outputs.push_back({.text = sentence.target, .bleu = {}, .chrf = {}, .log_prob = {}});
    for (std::size_t v = 0; v < sentence.maps.size(); ++v) {
      if (sentence.maps[v]) shown.maps.push_back({0, v, &*sentence.maps[v]});
    }
    sentences.push_back(std::move(shown));
    if (first.rows.size() < kStaticSentences) {
      first.rows.push_back({std::to_string(first.rows.size() + 1), sentence.source, sentence.target});
    }
  }
  SentenceView view{"Sentences", std::string(kHowToRead), "", std::move(first),
                    packed({page.title}, page.views, sentences)};
  view.without_attention = left_out(view.packed, sentences.size(), "the same command with fewer sentences");
  std::string content = element("p", page.description);
  content +=
      page.sentences.empty() ? "<section id=\"sentences\"><p>There are no sentences.</p></section>\n" : html_of(view);
  return whole("Attention of " + page.title, "", content,
               fmt::format("Made by attend {}, {}: {}", page.attend, page.made, page.command));
}

}  // namespace attend
