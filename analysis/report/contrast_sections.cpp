// Part of section 5: the accuracy on minimal pairs, by kind of error and by distance.
#include <spdlog/fmt/fmt.h>

#include "analysis/report/section_parts.hpp"

namespace attend {
namespace {

class ContrastSections : public SectionMaker {
 public:
  using SectionMaker::SectionMaker;

  void add_to(Section& section) const {
    for (const ContrastSet& set : it_.contrasts) {
      section.add(by_kind(set));
      if (!set.distances.empty()) section.add(by_distance(set));
      if (!set.tests.empty()) section.add(tests(set));
    }
  }

 private:
  Figure by_kind(const ContrastSet& set) const {
    const std::string title = "Accuracy on the minimal pairs of " + set.file;
    std::vector<BreakdownGroup> groups = {{"all", set.all.pairs, set.all.values}};
    for (const auto& [kind, accuracy] : set.kinds) groups.push_back({kind, accuracy.pairs, accuracy.values});
    return by_group(title,
                    "The share of pairs whose better text has the higher probability; guessing gives 50 %. Wilson's "
                    "95 % intervals, as if the pairs were independent.",
                    "Accuracy in percent", {title + ", in percent", {{"Kind", false}, {"Pairs"}}}, groups, 1);
  }

  Figure by_distance(const ContrastSet& set) const {
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

  Table tests(const ContrastSet& set) const {
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
};

}  // namespace

void add_contrasts(Section& section, const ComparedSystems& compared) { ContrastSections(compared).add_to(section); }

}  // namespace attend
