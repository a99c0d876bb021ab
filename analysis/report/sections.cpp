#include "analysis/report/sections.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "analysis/report/characters.hpp"
#include "analysis/report/section_parts.hpp"
#include "core/process.hpp"

namespace attend {

void record_making(Making& making) {
  making.attend = version();
  making.made = now_utc().substr(0, 10);
}

namespace {

// Scores that are equal may differ by the rounding of their sums.
bool is_zero(double difference) { return std::abs(difference) < 1e-9; }

}  // namespace

std::string made_by(const Making& making) { return fmt::format("Made by attend {}, {}", making.attend, making.made); }

std::string comparison_title(const ComparedSystems& compared) {
  std::string title;
  for (const System& system : compared.systems) title += (title.empty() ? "Comparison of " : ", ") + system.name;
  return title;
}

Spread spread_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.mean = mean, .deviation = values.size() > 1 ? std::sqrt(squares / (n - 1)) : kNotMeasured};
}

std::string with_deviation(const Spread& spread, double factor, int decimals) {
  const std::string mean = fixed(factor * spread.mean, decimals);
  if (!std::isfinite(spread.deviation)) return mean;
  return fmt::format("{} (± {})", mean, fixed(factor * spread.deviation, decimals));
}

std::string interval(const std::optional<Estimate>& estimate, int decimals) {
  if (!estimate) return "–";
  const std::string value = fixed(estimate->value, decimals);
  if (!std::isfinite(estimate->low) || !std::isfinite(estimate->high)) return value;
  return fmt::format("{} ({} to {})", value, fixed(estimate->low, decimals), fixed(estimate->high, decimals));
}

std::string p_value(double p, bool is_least) {
  return !std::isfinite(p) ? "–" : p < 0.001 ? "< 0.001" : (is_least ? "≤ " : "") + fixed(p, 3);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

void SectionMaker::add_only_texts(Section& section, const std::string& consequence) const {
  std::vector<std::string> names;
  for (const System& system : systems()) {
    if (system.only_text) names.push_back(system.name);
  }
  if (names.empty()) return;
  section.add(
      Paragraph{fmt::format("Compared by their {} alone: {}. {}.",
                            it_.units.predicts_pieces ? "translations" : "predictions", listed(names), consequence)});
}

std::size_t SectionMaker::num_models() const { return std::ranges::count(systems(), false, &System::only_text); }

void SectionMaker::add_learning_rates(Section& section) const {
  std::set<std::string> families, rates;
  std::vector<std::string> named;
  for (const auto& [system, family, rate] : it_.learning_rates) {
    families.insert(family);
    rates.insert(rate);
    named.push_back(fmt::format("{} ({})", rate, system));
  }
  if (families.size() < 2) return;
  section.add(Paragraph{
      fmt::format("Learning rate: {}. The best rate differs between families of models, and runs do not record how "
                  "theirs was chosen. Unless each family was tuned alike, by its held-out loss, a difference between "
                  "the systems may be due to the learning rate.",
                  rates.size() == 1 ? *rates.begin() + " for all" : listed(named))});
}

void SectionMaker::add_calibration(Section& section, const std::vector<std::optional<Calibration>>& calibration,
                                   const std::string& thing, const std::string& of_what) const {
  LineChart chart{"Calibration", "Probability of the likeliest " + thing, "Accuracy", {}, true};
  Table table{"Calibration", {{"System", false}, {"Mean probability"}, {"Accuracy"}, {capitalised(thing) + "s"}}};
  Table errors{"Expected calibration error (ECE)", {{"System", false}, {"ECE"}}};
  for (std::size_t s = 0; s < calibration.size() && s < systems().size(); ++s) {
    if (!calibration[s]) continue;
    Series series{name(s), s, 0};
    for (const CalibrationBin& bin : calibration[s]->bins) {
      if (bin.count == 0) continue;
      series.points.push_back({bin.confidence, bin.accuracy});
      table.rows.push_back({name(s), fixed(bin.confidence, 3), fixed(bin.accuracy, 3), fixed(bin.count)});
    }
    chart.series.push_back(std::move(series));
    errors.rows.push_back({name(s), fixed(calibration[s]->expected_error, 3)});
  }
  if (errors.rows.empty()) {
    section.add(Paragraph{"Calibration was not measured."});
    return;
  }
  section.add(Figure{"Calibration",
                     fmt::format("Over {}. A model on the diagonal is well calibrated, one below it is overconfident, "
                                 "one above it underconfident.",
                                 of_what),
                     {chart},
                     table});
  section.add(std::move(errors));
}

void SectionMaker::add_training_costs(Table& table) const {
  const std::string tokens = "Training: " + it_.units.token + "s";
  add_cost(table, "Training: updates", &Cost::updates, 0);
  add_cost(table, tokens, &Cost::tokens, 0);
  add_cost(table, "Training: seconds", &Cost::train_seconds, 0);
  add_cost(table, tokens + " per second", &Cost::train_tokens_per_second, 0);
  add_cost(table, "Training: peak memory in MB", &Cost::train_memory_mb, 0);
}

Figure SectionMaker::figure_of(const Breakdown& breakdown, int decimals) const {
  const std::string title = capitalised(breakdown.title), measure = capitalised(breakdown.measure);
  return by_group(title,
                  fmt::format("{} by group, with 95 % intervals; groups of fewer than 10 {}s have none.", measure,
                              it_.units.segment),
                  measure, {title + ": " + breakdown.measure, {{"Group", false}, {capitalised(breakdown.unit)}}},
                  breakdown.groups, decimals);
}

Figure SectionMaker::by_group(const std::string& title, const std::string& how_to_read, const std::string& measure,
                              Table numbers, const std::vector<BreakdownGroup>& groups, int decimals) const {
  const bool has_counts = numbers.columns.size() > 1;
  numbers.columns = by_system(std::move(numbers.columns));
  PointChart chart{title, measure};
  for (std::size_t s = 0; s < systems().size(); ++s) chart.rows.push_back({name(s), s});
  for (const BreakdownGroup& group : groups) {
    chart.groups.push_back(capitalised(group.name));
    std::vector<TableCell> row{capitalised(group.name)};
    if (has_counts) row.emplace_back(fixed(group.count));
    for (std::size_t s = 0; s < systems().size(); ++s) {
      const std::optional<Estimate> value = s < group.values.size() ? group.values[s] : std::nullopt;
      chart.rows[s].values.push_back(value);
      row.emplace_back(interval(value, decimals));
    }
    numbers.rows.push_back(std::move(row));
  }
  return {title, how_to_read, {std::move(chart)}, std::move(numbers)};
}

std::vector<Column> SectionMaker::by_system(std::vector<Column> first, bool is_number) const {
  for (const System& system : systems()) first.push_back({system.name, is_number});
  return first;
}

void SectionMaker::add_contrasts(Section& section) const {
  for (const ContrastSet& set : it_.contrasts) {
    section.add(accuracy_by_kind(set));
    if (!set.distances.empty()) section.add(accuracy_by_distance(set));
    if (!set.tests.empty()) section.add(accuracy_tests(set));
  }
}

Figure SectionMaker::accuracy_by_kind(const ContrastSet& set) const {
  const std::string title = "Accuracy on the minimal pairs of " + set.file;
  std::vector<BreakdownGroup> groups = {{"all", set.all.pairs, set.all.values}};
  for (const auto& [kind, accuracy] : set.kinds) groups.push_back({kind, accuracy.pairs, accuracy.values});
  return by_group(title,
                  "The share of pairs whose better text has the higher probability; guessing gives 50 %. Wilson's "
                  "95 % intervals, as if the pairs were independent.",
                  "Accuracy in percent", {title + ", in percent", {{"Kind", false}, {"Pairs"}}}, groups, 1);
}

Figure SectionMaker::accuracy_by_distance(const ContrastSet& set) const {
  const std::string title = "Accuracy by distance on the minimal pairs of " + set.file;
  LineChart chart{title, "Distance", "Accuracy in percent"};
  Table numbers{title + ", in percent", by_system({{"Distance"}, {"Pairs"}})};
  for (std::size_t s = 0; s < systems().size(); ++s) chart.series.push_back({name(s), s});
  for (const auto& [distance, accuracy] : set.distances) {
    std::vector<TableCell> row{std::to_string(distance), fixed(accuracy.pairs)};
    for (std::size_t s = 0; s < systems().size(); ++s) {
      const std::optional<Estimate>& value = accuracy.values[s];
      chart.series[s].points.push_back({static_cast<double>(distance), value ? value->value : kNotMeasured});
      row.emplace_back(interval(value, 1));
    }
    numbers.rows.push_back(std::move(row));
  }
  return {title,
          "A curve that falls to the right: the model loses what must agree over a distance. Pairs of all kinds "
          "count, and distances may have different kinds; a file of one kind compares like with like.",
          {chart},
          numbers};
}

Table SectionMaker::accuracy_tests(const ContrastSet& set) const {
  using Test = ContrastTest;
  const auto differ = [](const Test& test) { return test.p_holm < kSignificant; };
  const auto better = [&](const Test& test) {
    return !differ(test) ? "–" : name(test.only_a > test.only_b ? test.a : test.b);
  };
  return table_of(set.tests, fmt::format("McNemar's tests on the minimal pairs of {}", set.file),
                  {{"Systems", [&](const Test& test) { return name(test.a) + ", " + name(test.b); }},
                   {"Only the first is right", &Test::only_a, kGrouped},
                   {"Only the second is right", &Test::only_b, kGrouped},
                   {"p", &Test::p, kP},
                   {"p, corrected", &Test::p_holm, kP, {.when = set.tests.size() > 1}},
                   {"Better", better, {.best_if = differ}}});
}

std::string verdict_of(const PairTest& test, const std::string& a, const std::string& b) {
  const auto better = [&](double difference) { return (difference > 0) != test.lower_is_better ? b : a; };
  const auto size_of = [&](double difference) { return fixed(std::abs(difference), test.decimals); };
  const double difference = test.difference.value;
  const auto [least, greatest] = test.p_range();
  std::string text = fmt::format("{} of {} and {}: ", test.metric, a, b);
  if (!std::isfinite(difference)) {
    text += "not compared, since a score is not a finite number.";
  } else if (is_zero(difference)) {
    text += "the scores are equal.";
  } else if (test.p_holm < kSignificant) {
    text += fmt::format("{} is better by {}, a significant difference on this test set.", better(difference),
                        size_of(difference));
  } else if (greatest < kSignificant) {
    text += fmt::format("the difference of {} is not significant after correction for the number of pairs.",
                        size_of(difference));
  } else if (least < kSignificant) {
    text += fmt::format("the difference of {} is not certain: one test finds it significant and the other does not.",
                        size_of(difference));
  } else {
    text += fmt::format("the difference of {} is not significant; this test set does not show which is better.",
                        size_of(difference));
  }
  if (!test.seeds || !std::isfinite(test.seeds->difference)) return text;
  const SeedTest& seeds = *test.seeds;
  if (is_zero(seeds.difference)) return text + " Over seeds, the means are equal.";
  return text + fmt::format(" Over seeds, the mean of {} is better by {}, {}.", better(seeds.difference),
                            size_of(seeds.difference),
                            seeds.p_holm < kSignificant ? "a significant difference" : "which is not significant");
}

void Section::add(Block block) { blocks.push_back(std::move(block)); }

void Section::add(Table table, const std::string& why_none) {
  add(table.rows.empty() ? Block(Paragraph{why_none}) : Block(std::move(table)));
}

void Section::add(Figure figure, const std::string& why_none) {
  add(figure.numbers.rows.empty() ? Block(Paragraph{why_none}) : Block(std::move(figure)));
}

namespace {

// `text` on one line, with its Markdown and HTML escaped.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\`*_{}[]<>#|~!&").find(c) != std::string_view::npos) out += '\\';
    const bool is_control = static_cast<unsigned char>(c) < 0x20;
    out += is_control ? ' ' : c;
  }
  return out;
}

std::string markdown_of(const Paragraph& paragraph) { return plain(paragraph.text) + "\n\n"; }

std::string markdown_of(const Items& items) {
  std::string out;
  for (const std::string& text : items.texts) out += "- " + plain(text) + "\n";
  return out + "\n";
}

std::string markdown_of(const Table& table) {
  std::string out = plain(table.caption) + ":\n\n|", rule = "|";
  for (const Column& column : table.columns) {
    out += " " + plain(column.name) + " |";
    rule += column.is_number ? "---:|" : "---|";
  }
  out += "\n" + rule + "\n";
  for (const std::vector<TableCell>& row : table.rows) {
    out += "|";
    for (const TableCell& cell : row)
      out += (cell.is_best ? " **" : " ") + plain(cell.text) + (cell.is_best ? "** |" : " |");
    out += "\n";
  }
  return out + "\n";
}

std::string markdown_of(const Figure& figure) {
  return "### " + plain(figure.title) + "\n\n" + plain(figure.how_to_read) + "\n\n" +
         (figure.numbers.columns.empty() ? "" : markdown_of(figure.numbers));
}

}  // namespace

std::string report_markdown(const SectionReport& report) {
  std::string out = "# " + plain(report.title) + "\n\n";
  for (const Section& section : report.sections) {
    out += "## " + section.title + "\n\n";
    if (!section.how_to_read.empty()) out += section.how_to_read + "\n\n";
    for (const Block& block : section.blocks) out += std::visit([](const auto& it) { return markdown_of(it); }, block);
  }
  if (!report.sentences) return out;
  out += "## " + report.sentences->title + "\n\n";
  if (report.sentences->first.rows.empty()) return out + "This comparison has no sentences.\n";
  return out + "index.html shows all sentences, and attention.\n\n" + markdown_of(report.sentences->first);
}

}  // namespace attend
