// Parts shared by the makers of sections: numbers with intervals, columns by system.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/report/sections.hpp"
#include "core/text.hpp"

namespace attend {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

std::string interval(const std::optional<Estimate>& estimate, int decimals);  // "33.1 (31.8 to 34.4)"
// Both numbers times a factor: "33.1 (± 0.4)".
std::string with_deviation(const Spread& spread, double factor, int decimals);
std::string comparison_title(const ComparedSystems& compared);
std::string made_by(const Making& making);  // "Made by attend 1.2, 2026-11-26"
// "0.012", "< 0.001"; "≤ 0.024" for the least p that the resamples of a test can give.
std::string p_value(double p, bool is_least = false);
inline constexpr std::string_view kLeastP = " \u2264 marks the least p that the resamples can give.";
std::string listed(const std::vector<std::string>& names);  // "a, b and c"

template <class T>
std::string fixed_or_dash(const std::optional<T>& value, int decimals) {
  return value ? fixed(static_cast<double>(*value), decimals) : "–";
}

// ---- tables, described: a column is its heading, a member or a function of the row, and the format of numbers
//
//   table_of(it.heads, "Heads", {{"Layer", &HeadHabits::layer},
//                                {"Previous word, %", &HeadHabits::previous, percent()},
//                                {"Gate", &HeadHabits::gate, decimals(2), {.when = has_gates}}})
//
// A number that is missing is a dash. Columns of numbers are aligned to the right, those of texts to the left.

inline auto decimals(int count) {
  return [=](double value) { return fixed(value, count); };
}
inline auto percent(int count = 0) {
  return [=](double share) { return fixed(100 * share, count); };
}
inline auto with_interval(int count, double factor = 1) {
  return [=](const Estimate& it) {
    return interval(Estimate{factor * it.value, factor * it.low, factor * it.high}, count);
  };
}
inline constexpr auto kGrouped = [](std::int64_t count) { return fixed(count); };
inline constexpr auto kP = [](double p) { return p_value(p); };

struct Digits {
  std::string text;  // of a number, as it is shown
};

struct Plain {
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const Digits& number) const { return number.text; }
  std::string operator()(std::integral auto number) const { return std::to_string(number); }
};

template <class Row>
struct Marks {
  std::function<bool(const Row&)> best_if = {};
  bool when = true;  // else the table is without the column
};

template <class Row>
struct ColumnOf {
  Column heading;
  std::function<std::string(const Row&)> text;
  Marks<Row> marks;

  template <class Of, class Format>
  ColumnOf(std::string name, Of of, Format format, Marks<Row> its_marks = {})
      : heading{std::move(name)},
        text([=](const Row& row) { return text_of(std::invoke(of, row), format); }),
        marks(std::move(its_marks)) {}
  template <class Of>
  ColumnOf(std::string name, Of of, Marks<Row> its_marks = {})
      : ColumnOf(std::move(name), std::move(of), Plain(), std::move(its_marks)) {
    heading.is_number = !std::convertible_to<std::invoke_result_t<Of, const Row&>, std::string>;
  }

 private:
  static std::string text_of(const auto& value, const auto& format) { return format(value); }
  template <class T>
  static std::string text_of(const std::optional<T>& value, const auto& format) {
    return value ? format(*value) : "–";
  }
};

template <class Row>
Table table_of(const std::vector<Row>& rows, std::string caption, const std::vector<ColumnOf<Row>>& columns) {
  Table table{std::move(caption), {}, std::vector<std::vector<TableCell>>(rows.size())};
  for (const ColumnOf<Row>& column : columns) {
    if (!column.marks.when) continue;
    table.columns.push_back(column.heading);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      TableCell& cell = table.rows[i].emplace_back(column.text(rows[i]));
      cell.is_best = column.marks.best_if && column.marks.best_if(rows[i]);
    }
  }
  return table;
}

class SectionMaker {
 public:
  explicit SectionMaker(const ComparedSystems& compared) : it_(compared) {}

 protected:
  const std::vector<System>& systems() const { return it_.systems; }
  const std::string& name(std::size_t s) const { return it_.systems[s].name; }
  const std::string& metric() const { return it_.metrics[0].name; }  // the main one
  // These columns, then one for each system.
  std::vector<Column> by_system(std::vector<Column> first, bool is_number = true) const;

  // Names the systems without a model, if there are any, and the `consequence`.
  void add_only_texts(Section& section, const std::string& consequence) const;
  std::size_t num_models() const;
  // Of section 6: a sentence if families of models differ, since runs do not record how their rates were chosen.
  void add_learning_rates(Section& section) const;

  // Of section 6: the reliability of the probabilities of each likeliest `thing`, over `of_what`.
  void add_calibration(Section& section, const std::vector<std::optional<Calibration>>& calibration,
                       const std::string& thing, const std::string& of_what) const;

  // A row with one number of the cost of each system's first run; without `decimals`, it is compact().
  template <class T>
  void add_cost(Table& table, const std::string& what, std::optional<T> Cost::*cost,
                std::optional<int> decimals = {}) const {
    std::vector<TableCell> row{what};
    for (const System& system : systems()) {
      const std::optional<T>& number = system.runs.front().cost.*cost;
      row.emplace_back(number && !decimals ? compact(static_cast<double>(*number))
                                           : fixed_or_dash(number, decimals.value_or(0)));
    }
    table.rows.push_back(std::move(row));
  }
  void add_training_costs(Table& table) const;
  Figure figure_of(const Breakdown& breakdown, int decimals) const;
  // Groups as points with intervals, and as a table. `numbers` has its columns before those of the systems: the name of
  // a group and, if there are two, its count.
  Figure by_group(const std::string& title, const std::string& how_to_read, const std::string& measure, Table numbers,
                  const std::vector<BreakdownGroup>& groups, int decimals) const;

  // Of section 5: the accuracy on minimal pairs, if any, by kind of error and by distance.
  void add_contrasts(Section& section) const;

  const ComparedSystems& it_;

 private:
  Figure accuracy_by_kind(const ContrastSet& set) const;
  Figure accuracy_by_distance(const ContrastSet& set) const;
  Table accuracy_tests(const ContrastSet& set) const;
};

// The facts, with a sentence about the test set, sections 1 to 4, of which the third is `cost`, and the `rest`. `later`
// names the sections that describe first runs: "5 to 8".
std::vector<Section> measured_sections(const ComparedSystems& compared, const std::string& test_set,
                                       const std::string& later, Section cost, const std::vector<Section>& rest);

// The result of a test between two systems, in words.

inline constexpr double kSignificant = 0.05;  // p-values below it

// "BLEU of luong and fixed: luong is better by 1.20, a significant difference on this test set. Over seeds, …": first
// the tests of sentences of the first runs, then the test over seeds, each with its own direction and size.
std::string verdict_of(const PairTest& test, const std::string& a, const std::string& b);

}  // namespace attend
