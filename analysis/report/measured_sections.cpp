// The systems compared, and sections 1 to 4: differences, quality, cost and curves.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>
#include <set>

#include "analysis/report/characters.hpp"
#include "analysis/report/section_parts.hpp"

namespace attend {
namespace {

constexpr std::size_t kMostInWords = 3;  // systems; the tests of more pairs are only a table

class Measured : public SectionMaker {
 public:
  using SectionMaker::SectionMaker;

  std::vector<Section> sections(const std::string& test_set, const std::string& later, Section cost) const {
    return {compared(test_set, later), differences(), quality(), std::move(cost), curves()};
  }

 private:
  std::string tokens() const { return it_.units.token + "s"; }
  std::string loss() const { return it_.units.predicts_pieces ? "loss in nats per piece" : "loss"; }

  std::string run_name(const System& system, const MeasuredRun& run) const {
    return system.runs.size() == 1 ? system.name : fmt::format("{}, seed {}", system.name, run.facts.seed.value_or(0));
  }

  Section compared(const std::string& test_set, const std::string& later) const {
    Section section{"compared", "Systems and test set", ""};
    if (!it_.notes.empty()) section.add(Items{it_.notes});
    struct Row : RunFacts {
      std::string system, description;
    };
    std::vector<Row> rows;
    for (const System& system : systems()) {
      for (const MeasuredRun& run : system.runs) rows.push_back({run.facts, system.name, system.description});
    }
    section.add(table_of(rows, "Runs",
                         {{"System", &Row::system},
                          {"Description", &Row::description},
                          {"Run", &Row::path},
                          {"Seed", &Row::seed},
                          {"Weights", &Row::checkpoint},
                          {"Trained", &Row::started},
                          {"attend version", &Row::attend}}));
    section.add(Paragraph{test_set});
    section.add(Paragraph{
        fmt::format("Where a system has several runs, all intervals and sections {} describe its first run.", later)});
    section.add(Paragraph{fmt::format("{}, on {}: {}", made_by(it_),
                                      it_.processor.empty() ? "an unknown processor" : it_.processor, it_.command)});
    return section;
  }

  Section differences() const {
    Section section{
        "differences", "1. Differences",
        "Options in which the systems differ. The comparison is about those of the architecture; every difference in "
        "the conditions of training is another possible cause of the differences below."};
    add_only_texts(section, "Their architecture and training are not shown");
    if (num_models() < it_.systems.size() && num_models() < 2) return section;
    for (const OptionPart part : {OptionPart::architecture, OptionPart::conditions}) {
      const bool is_architecture = part == OptionPart::architecture;
      Table table{is_architecture ? "Architecture" : "Conditions of training", by_system({{"Option", false}}, false)};
      for (const OptionDifference& difference : it_.differences) {
        if (difference.part != part) continue;
        std::vector<TableCell> row{difference.option};
        for (const std::string& value : difference.values) row.emplace_back(value);
        table.rows.push_back(std::move(row));
      }
      section.add(std::move(table), is_architecture ? "The architectures are the same."
                                                    : "The conditions of training are the same, apart from seeds.");
    }
    return section;
  }

  // Mean and standard deviation of a number over the runs of a system.
  static std::string over_seeds(const System& system, const std::function<double(const MeasuredRun&)>& number,
                                int decimals) {
    if (system.runs.size() < 2) return "–";
    std::vector<double> values;
    for (const MeasuredRun& run : system.runs) values.push_back(number(run));
    const Spread spread = spread_of(values);
    return fmt::format("{} ± {}", fixed(spread.mean, decimals), fixed(spread.deviation, decimals));
  }

  bool is_metric(const char* key) const {
    return std::ranges::find(it_.metrics, key, &ComparedMetric::key) != it_.metrics.end();
  }

  // A column of section 2: a metric, with its interval, or a perplexity.
  struct Measure {
    std::string name;
    bool lower_is_better;
    int decimals;
    std::function<Estimate(const MeasuredRun&)> estimate;
    bool is_comparable = true;  // between all systems
  };
  std::vector<Measure> measures() const {
    std::vector<Measure> all;
    for (std::size_t m = 0; m < it_.metrics.size(); ++m) {
      all.push_back({it_.metrics[m].name, it_.metrics[m].lower_is_better, it_.metrics[m].decimals,
                     [m](const MeasuredRun& run) { return run.quality.scores[m]; }});
    }
    const auto add = [&](const char* key, const char* column, std::optional<double> Quality::*perplexity,
                         bool is_comparable) {
      if (is_metric(key) || !it_.units.predicts_pieces) return;
      all.push_back({column, true, 2,
                     [perplexity](const MeasuredRun& run) {
                       return Estimate{(run.quality.*perplexity).value_or(kNotMeasured), kNotMeasured, kNotMeasured};
                     },
                     is_comparable});
    };
    add("perplexity_piece", "Perplexity by piece", &Quality::perplexity_piece, it_.equal_vocabularies);
    add("perplexity_word", "Perplexity by word", &Quality::perplexity_word, true);
    return all;
  }

  // Marks the best of `values`, which are parallel to the rows, in column `column`; none if all are equal. Values that
  // are not finite are ignored.
  static void mark_best(Table& table, std::size_t column, const std::vector<double>& values, bool higher_is_better) {
    std::vector<double> measured;
    std::ranges::copy_if(values, std::back_inserter(measured), [](double value) { return std::isfinite(value); });
    if (measured.empty()) return;
    const auto [least, greatest] = std::ranges::minmax(measured);
    if (!(least < greatest)) return;
    const double best = higher_is_better ? greatest : least;
    for (std::size_t row = 0; row < values.size(); ++row) table.rows[row][column].is_best = values[row] == best;
  }

  Section quality() const {
    std::vector<std::string> names, higher, lower;
    for (const ComparedMetric& metric : it_.metrics) {
      names.push_back(metric.name);
      (metric.lower_is_better ? lower : higher).push_back(metric.name + " (" + metric.meaning + ")");
    }
    if (it_.units.predicts_pieces) {
      lower.emplace_back(is_metric("perplexity_word") ? "perplexity by piece" : "perplexity");
    }
    Section section{"quality", "2. Quality",
                    fmt::format("{}{}The best score of a column is marked{}. The 95 % intervals are those of "
                                "resampling the test {}s of the first run; they do not cover other seeds.",
                                higher.empty() ? "" : "Higher is better for " + listed(higher) + ". ",
                                lower.empty() ? "" : "Lower is better for " + listed(lower) + ". ",
                                it_.equal_vocabularies || !it_.units.predicts_pieces
                                    ? ""
                                    : ", but for perplexities by piece, since the vocabularies differ",
                                it_.units.segment)};
    Table scores{"Scores of the first run", {{"System", false}}};
    Table seeds{"Mean ± standard deviation over seeds", {{"System", false}, {"Seeds"}}};
    bool has_seeds = false;
    for (const System& system : systems()) {
      scores.rows.push_back({system.name});
      seeds.rows.push_back({system.name, std::to_string(system.runs.size())});
      has_seeds = has_seeds || system.runs.size() > 1;
    }
    Figure figure{listed(names) + " with 95 % intervals",
                  fmt::format("Intervals of two systems may overlap although a test finds a difference between them: "
                              "the test compares them {0} by {0}.",
                              it_.units.segment)};
    for (const Measure& measure : measures()) {
      scores.columns.push_back({measure.name});
      seeds.columns.push_back({measure.name});
      PointChart chart{measure.name,
                       fmt::format("{} ({} is better)", measure.name, measure.lower_is_better ? "lower" : "higher"),
                       {measure.name}};
      std::vector<double> values;
      for (std::size_t s = 0; s < systems().size(); ++s) {
        const Estimate first = measure.estimate(systems()[s].runs.front());
        values.push_back(first.value);
        chart.rows.push_back({name(s), s, {first}});
        scores.rows[s].emplace_back(interval(first, measure.decimals));
        seeds.rows[s].emplace_back(over_seeds(
            systems()[s], [&](const MeasuredRun& run) { return measure.estimate(run).value; },
            std::max(measure.decimals, 2)));
      }
      if (measure.is_comparable) mark_best(scores, scores.columns.size() - 1, values, !measure.lower_is_better);
      if (figure.charts.size() < names.size()) figure.charts.emplace_back(std::move(chart));
    }
    section.add(std::move(scores));
    if (has_seeds)
      section.add(std::move(seeds));
    else
      section.add(
          Paragraph{"Every system has one run, so the share of a difference that is due to the seed is unknown."});
    section.add(std::move(figure));
    add_tests(section);
    return section;
  }

  void add_tests(Section& section) const {
    if (it_.tests.empty()) {
      section.add(Paragraph{"No pair of systems was tested for significance."});
      return;
    }
    const bool has_pairs = systems().size() > 2;
    const bool has_seeds = std::ranges::any_of(it_.tests, [](const PairTest& test) { return test.seeds.has_value(); });
    using Test = PairTest;
    const auto has = [&](std::optional<double> Test::*p) {
      return std::ranges::any_of(it_.tests, [p](const Test& test) { return (test.*p).has_value(); });
    };
    const auto differ = [](const Test& test) { return test.p_holm < kSignificant; };
    const auto better = [&](const Test& test) {
      return !differ(test) ? "–" : name((test.difference.value > 0) != test.lower_is_better ? test.b : test.a);
    };
    Table table = table_of(
        it_.tests, "Tests of pairs",
        {{"Pair", [&](const Test& test) { return name(test.b) + " − " + name(test.a); }},
         {"Metric", &Test::metric},
         {"Difference", [](const Test& test) { return Digits{interval(test.difference, test.decimals)}; }},
         {"p, bootstrap", &Test::p_bootstrap, kP, {.when = has(&Test::p_bootstrap)}},
         {"p, randomisation", &Test::p_randomisation, kP, {.when = has(&Test::p_randomisation)}},
         {"p, McNemar", &Test::p_mcnemar, kP, {.when = has(&Test::p_mcnemar)}},
         {"p, corrected",
          [](const Test& test) { return Digits{p_value(test.p_holm, test.p_is_least)}; },
          {.when = has_pairs}},
         {"Difference of means over seeds",
          [](const Test& test) { return Digits{test.seeds ? fixed(test.seeds->difference, test.decimals) : "–"}; },
          {.when = has_seeds}},
         {"p, seeds", &Test::seeds, [](const SeedTest& seeds) { return p_value(seeds.p); }, {.when = has_seeds}},
         {"p, seeds, corrected",
          &Test::seeds,
          [](const SeedTest& seeds) { return p_value(seeds.p_holm); },
          {.when = has_seeds && has_pairs}},
         {"Better", better, {.best_if = differ}}});
    if (systems().size() <= kMostInWords) {
      Items words;
      for (const Test& test : it_.tests) words.texts.push_back(verdict_of(test, name(test.a), name(test.b)));
      section.add(std::move(words));
    }
    std::string rule = fmt::format("A difference is called significant where {} of {}s give{} p < {}",
                                   has(&Test::p_randomisation) ? "both tests" : "the test", it_.units.segment,
                                   has(&Test::p_randomisation) ? "" : "s", kSignificant);
    rule += has_pairs
                ? fmt::format(" after Holm's correction for the {} pairs of a metric.", pairs_among(systems().size()))
                : ".";
    rule += " Without a true difference that happens on at most one test set in twenty.";
    if (has_pairs && std::ranges::any_of(it_.tests, &PairTest::p_is_least)) rule += kLeastP;
    section.add(Paragraph{std::move(rule)});
    section.add(std::move(table));
  }

  // At least 3, and so many that a loss above a level is shown as such.
  int decimals_of_losses() const {
    int decimals = 3;
    const auto looks_reached = [&](double loss) {
      return std::ranges::any_of(it_.levels, [&](const LevelReached& level) {
        return loss > level.loss && fixed(loss, decimals) == fixed(level.loss, decimals);
      });
    };
    constexpr int kMost = 8;
    for (const System& system : systems()) {
      for (const CurvePoint& point : system.runs.front().curve) {
        while (point.loss && decimals < kMost && looks_reached(*point.loss)) ++decimals;
      }
    }
    return decimals;
  }

  Section curves() const {
    Section section{
        "curves", "4. Curves",
        fmt::format("Validation during training, by updates, {} and time. A curve that reaches the same value further "
                    "to the left learns faster. Runs of one system have different dash patterns.",
                    tokens())};
    add_only_texts(section, "Their training is not shown, and they have no curves");
    if (num_models() == 0) return section;
    // The names and keys of the loss and of the metrics that validations computed.
    std::vector<std::pair<std::string, std::string>> shown = {{"loss", ""}};
    std::set<std::string> computed;
    for (const System& system : systems()) {
      for (const MeasuredRun& run : system.runs) {
        for (const CurvePoint& point : run.curve)
          std::ranges::copy(std::views::keys(point.scores), std::inserter(computed, computed.end()));
      }
    }
    for (const ComparedMetric& metric : it_.metrics) {
      if (computed.contains(metric.key)) shown.emplace_back(metric.name, metric.key);
    }
    const auto value_of = [](const CurvePoint& point, const std::string& key) {
      if (key.empty()) return point.loss;
      const auto found = point.scores.find(key);
      return found == point.scores.end() ? std::nullopt : std::optional(found->second);
    };
    Table numbers{"Points of the curves",
                  {{"Run", false}, {"Update"}, {capitalised(tokens())}, {"Seconds"}, {capitalised(loss())}}};
    for (std::size_t v = 1; v < shown.size(); ++v) numbers.columns.push_back({shown[v].first});
    const int loss_decimals = decimals_of_losses();
    for (const System& system : systems()) {
      for (const MeasuredRun& run : system.runs) {
        for (const CurvePoint& point : run.curve) {
          std::vector<TableCell>& row = numbers.rows.emplace_back(
              std::vector<TableCell>{run_name(system, run), fixed(point.update), fixed(point.tokens, 0),
                                     fixed(point.seconds, 0), fixed_or_dash(point.loss, loss_decimals)});
          for (std::size_t v = 1; v < shown.size(); ++v)
            row.emplace_back(fixed_or_dash(value_of(point, shown[v].second), 1));
        }
      }
    }
    if (numbers.rows.empty()) {
      section.add(Paragraph{"The logs of these runs record no validation, so there are no curves."});
      return section;
    }
    std::vector<std::string> names;
    std::ranges::copy(std::views::keys(shown), std::back_inserter(names));
    Figure figure{"Validation " + listed(names),
                  fmt::format("The {}{}.", loss(),
                              shown.size() == 1           ? ""
                              : it_.units.predicts_pieces ? ", and the scores of greedy translations where training "
                                                            "measured them"
                                                          : ", and the scores in percent"),
                  {},
                  numbers};
    for (const auto& [value, key] : shown) {
      const std::string y = "Validation " + value;
      const auto add = [&, &of = key](const std::string& x, const std::function<double(const CurvePoint&)>& at) {
        LineChart chart{y + " by " + x, capitalised(x), y};
        for (std::size_t s = 0; s < systems().size(); ++s) {
          for (std::size_t r = 0; r < systems()[s].runs.size(); ++r) {
            const MeasuredRun& run = systems()[s].runs[r];
            Series series{run_name(systems()[s], run), s, r};
            for (const CurvePoint& point : run.curve) {
              series.points.push_back({at(point), value_of(point, of).value_or(kNotMeasured)});
            }
            chart.series.push_back(std::move(series));
          }
        }
        figure.charts.emplace_back(std::move(chart));
      };
      add("updates", [](const CurvePoint& point) { return static_cast<double>(point.update); });
      add(tokens(), [](const CurvePoint& point) { return point.tokens; });
      add("seconds", [](const CurvePoint& point) { return point.seconds; });
    }
    section.add(std::move(figure));
    if (it_.levels.empty()) return section;
    Table levels{
        fmt::format("Updates / {} / seconds that the first run of each system needed to reach a validation loss",
                    tokens()),
        by_system({{"Loss", false}})};
    for (const LevelReached& level : it_.levels) {
      std::vector<TableCell> row{fixed(level.loss, loss_decimals)};
      for (const auto& first : level.first) {
        row.emplace_back(first ? fmt::format("{} / {} / {} s", fixed(first->update), compact(first->tokens),
                                             fixed(first->seconds, 0))
                         : systems()[row.size() - 1].only_text ? "–"
                                                               : "Not reached");
      }
      levels.rows.push_back(std::move(row));
    }
    section.add(std::move(levels));
    return section;
  }
};

}  // namespace

std::vector<Section> measured_sections(const ComparedSystems& compared, const std::string& test_set,
                                       const std::string& later, Section cost, const std::vector<Section>& rest) {
  std::vector<Section> all = Measured(compared).sections(test_set, later, std::move(cost));
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace attend
