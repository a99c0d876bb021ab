#include "analysis/report/sections.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

namespace attend {
namespace {

constexpr double kSignificant = 0.05;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kDifferentSentences = 15;

std::string interval(const Estimate& it, int decimals) {
  const std::string value = fixed(it.value, decimals);
  if (!std::isfinite(it.low) || !std::isfinite(it.high)) return value;
  return fmt::format("{} ({} to {})", value, fixed(it.low, decimals), fixed(it.high, decimals));
}

template <class T>
std::string fixed_or_dash(const std::optional<T>& value, int decimals) {
  return value ? fixed(static_cast<double>(*value), decimals) : "–";
}

std::string p_value(double p) { return !std::isfinite(p) ? "–" : p < 0.001 ? "< 0.001" : fixed(p, 3); }

std::string plural(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", fixed(static_cast<double>(count), 0), noun, count == 1 ? "" : "s");
}

// "a, b and c"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

// Makes the sections of one Comparison.
class Report {
 public:
  explicit Report(const Comparison& comparison) : it_(comparison) {}

  std::vector<Section> sections() const {
    return {compared(), differences(), quality(), cost(), curves(), where(), why(), probes()};
  }

 private:
  const std::vector<System>& systems() const { return it_.systems; }
  const std::string& name(std::size_t s) const { return it_.systems[s].name; }

  // First columns that hold text, then one for each system.
  std::vector<Column> by_system(std::vector<Column> first, bool is_number = true) const {
    for (const System& system : systems()) first.push_back({system.name, is_number});
    return first;
  }

  std::string run_name(const System& system, const MeasuredRun& run) const {
    return system.runs.size() == 1 ? system.name : fmt::format("{}, seed {}", system.name, run.facts.seed);
  }

  Section compared() const {
    Section section{"compared", "What was compared", "", {}};
    if (!it_.notes.empty()) section.blocks.push_back(Items{it_.notes});
    Table runs{"The runs",
               {{"system", false},
                {"what it is", false},
                {"run", false},
                {"seed"},
                {"weights", false},
                {"trained", false},
                {"by attend", false}},
               {}};
    for (const System& system : systems()) {
      for (const MeasuredRun& run : system.runs) {
        const RunFacts& facts = run.facts;
        runs.rows.push_back({system.name, system.description, facts.path, std::to_string(facts.seed), facts.checkpoint,
                             facts.started, facts.attend});
      }
    }
    section.blocks.push_back(std::move(runs));
    const TestSet& test = it_.test;
    section.blocks.push_back(Paragraph{
        fmt::format("Test set: {} and {}, {} with {} source words and {} reference words. {}", test.source, test.target,
                    plural(test.sentences, "sentence"), fixed(static_cast<double>(test.source_words), 0),
                    fixed(static_cast<double>(test.target_words), 0),
                    test.gold.empty() ? "There are no gold links, so no alignment error rate."
                                      : "Gold links between words: " + test.gold + ".")});
    section.blocks.push_back(
        Paragraph{"Where a system has several runs, sections 5 to 8 and every interval are those of the first."});
    section.blocks.push_back(
        Paragraph{fmt::format("Made by attend {}, {}, on {}: {}", it_.attend, it_.made,
                              it_.processor.empty() ? "an unknown processor" : it_.processor, it_.command)});
    return section;
  }

  Section differences() const {
    Section section{
        "differences",
        "1. What differs",
        "Options in which the systems differ. Only the upper table is what the comparison is about; each row of the "
        "lower one is another possible reason for a difference in the sections below.",
        {}};
    for (const OptionPart part : {OptionPart::architecture, OptionPart::conditions}) {
      const bool is_architecture = part == OptionPart::architecture;
      Table table{
          is_architecture ? "Architecture" : "Conditions of training", by_system({{"option", false}}, false), {}};
      for (const OptionDifference& difference : it_.differences) {
        if (difference.part != part) continue;
        std::vector<Cell> row{difference.option};
        for (const std::string& value : difference.values) row.emplace_back(value);
        table.rows.push_back(std::move(row));
      }
      if (table.rows.empty()) {
        section.blocks.push_back(Paragraph{is_architecture
                                               ? "The architectures are the same."
                                               : "The conditions of training are the same, apart from seeds."});
      } else {
        section.blocks.push_back(std::move(table));
      }
    }
    return section;
  }

  // Mean and standard deviation of a number over the runs of a system.
  static std::string over_seeds(const System& system, const std::function<double(const MeasuredRun&)>& number,
                                int decimals) {
    if (system.runs.size() < 2) return "–";
    double sum = 0, squares = 0;
    for (const MeasuredRun& run : system.runs) sum += number(run);
    const double count = static_cast<double>(system.runs.size()), mean = sum / count;
    for (const MeasuredRun& run : system.runs) squares += (number(run) - mean) * (number(run) - mean);
    return fmt::format("{} ± {}", fixed(mean, decimals), fixed(std::sqrt(squares / (count - 1)), decimals));
  }

  struct Measure {
    std::string name;
    Estimate Quality::*estimate;
    std::string note;
  };
  static std::vector<Measure> measures() {
    return {{"BLEU", &Quality::bleu, "higher is better"},
            {"chrF", &Quality::chrf, "higher is better"},
            {"TER", &Quality::ter, "lower is better"}};
  }

  Section quality() const {
    Section section{
        "quality",
        "2. Quality",
        "BLEU and chrF are better when higher, TER and perplexity when lower; in parentheses the 95 % interval of the "
        "first run under resampling of the test sentences, which says nothing of other seeds.",
        {}};
    Table scores{"Scores of the first run",
                 {{"system", false}, {"BLEU"}, {"chrF"}, {"TER"}, {"perplexity by piece"}, {"perplexity by word"}},
                 {}};
    Table seeds{
        "Mean ± standard deviation over seeds",
        {{"system", false}, {"seeds"}, {"BLEU"}, {"chrF"}, {"TER"}, {"perplexity by piece"}, {"perplexity by word"}},
        {}};
    bool has_seeds = false;
    for (const System& system : systems()) {
      const Quality& first = system.runs.front().quality;
      scores.rows.push_back({system.name, interval(first.bleu, 1), interval(first.chrf, 1), interval(first.ter, 1),
                             fixed(first.perplexity_piece, 2), fixed(first.perplexity_word, 2)});
      std::vector<Cell> row{system.name, std::to_string(system.runs.size())};
      for (const Measure& measure : measures()) {
        row.emplace_back(over_seeds(
            system, [&](const MeasuredRun& run) { return (run.quality.*measure.estimate).value; }, 2));
      }
      row.emplace_back(over_seeds(
          system, [](const MeasuredRun& run) { return run.quality.perplexity_piece; }, 2));
      row.emplace_back(over_seeds(
          system, [](const MeasuredRun& run) { return run.quality.perplexity_word; }, 2));
      seeds.rows.push_back(std::move(row));
      has_seeds = has_seeds || system.runs.size() > 1;
    }
    Figure figure{"BLEU, chrF and TER with 95 % intervals",
                  "One mark for each system, its interval as a line: intervals may overlap although a pair test finds "
                  "a difference, "
                  "since the test compares the systems sentence by sentence.",
                  {},
                  scores};
    for (const Measure& measure : measures()) {
      PointChart chart{measure.name, measure.name + " (" + measure.note + ")", {measure.name}, {}};
      for (std::size_t s = 0; s < systems().size(); ++s) {
        chart.rows.push_back({name(s), s, {systems()[s].runs.front().quality.*measure.estimate}});
      }
      figure.charts.emplace_back(std::move(chart));
    }
    section.blocks.push_back(std::move(scores));
    if (has_seeds)
      section.blocks.push_back(std::move(seeds));
    else
      section.blocks.push_back(
          Paragraph{"Every system was trained with one seed: how much of a difference is due to the seed is unknown."});
    section.blocks.push_back(std::move(figure));
    add_tests(section);
    return section;
  }

  static bool is_significant(const PairTest& test) {
    return test.p_bootstrap < kSignificant && test.p_randomisation < kSignificant;
  }

  void add_tests(Section& section) const {
    if (it_.tests.empty()) {
      section.blocks.push_back(Paragraph{"No pair of systems was tested for significance."});
      return;
    }
    Items words;
    Table table{
        "Tests of pairs",
        {{"pair", false}, {"metric", false}, {"difference"}, {"p, bootstrap"}, {"p, randomisation"}, {"p, seeds"}},
        {}};
    for (const PairTest& test : it_.tests) {
      const std::string a = name(static_cast<std::size_t>(test.a)), b = name(static_cast<std::size_t>(test.b));
      table.rows.push_back({b + " − " + a, test.metric, interval(test.difference, 2), p_value(test.p_bootstrap),
                            p_value(test.p_randomisation), test.p_seeds ? p_value(*test.p_seeds) : "–"});
      std::string text = fmt::format("{} of {} and {}: ", test.metric, a, b);
      const std::string size = fixed(std::abs(test.difference.value), 2);
      if (is_significant(test)) {
        const bool b_is_better = (test.difference.value > 0) == (test.metric != "TER");
        text +=
            fmt::format("{} is better by {}, a significant difference on this test set.", b_is_better ? b : a, size);
      } else if (test.p_bootstrap < kSignificant || test.p_randomisation < kSignificant) {
        text += fmt::format(
            "the difference of {} is not certain: one test finds it significant and the other does not.", size);
      } else {
        text +=
            fmt::format("the difference of {} is not significant; this test set does not show which is better.", size);
      }
      if (test.p_seeds) {
        text += *test.p_seeds < kSignificant ? " Over seeds it is significant." : " Over seeds it is not significant.";
      }
      words.texts.push_back(std::move(text));
    }
    section.blocks.push_back(std::move(words));
    section.blocks.push_back(Paragraph{fmt::format(
        "A difference is called significant where both tests of sentences give p < {}. One in twenty tests of "
        "systems without a true difference gives that by chance; here are {}.",
        kSignificant, plural(static_cast<std::int64_t>(it_.tests.size()), "test"))});
    section.blocks.push_back(std::move(table));
  }

  Section cost() const {
    Section section{
        "cost",
        "3. Cost",
        "What the first run of each system took. Times depend on the machine and on what else it did; parameters and "
        "operations do not.",
        {}};
    Table table{"Cost of training and translating", by_system({{"", false}}), {}};
    const auto add = [&](const std::string& what, const std::function<std::string(const Cost&)>& number) {
      std::vector<Cell> row{what};
      for (const System& system : systems()) row.emplace_back(number(system.runs.front().cost));
      table.rows.push_back(std::move(row));
    };
    add("parameters", [](const Cost& cost) { return fixed(static_cast<double>(cost.parameters), 0); });
    add("operations of a forward pass per target token",
        [](const Cost& cost) { return compact(cost.flops_per_token); });
    add("training: updates", [](const Cost& cost) { return fixed_or_dash(cost.updates, 0); });
    add("training: target tokens", [](const Cost& cost) { return fixed_or_dash(cost.tokens, 0); });
    add("training: seconds", [](const Cost& cost) { return fixed_or_dash(cost.train_seconds, 0); });
    add("training: target tokens per second",
        [](const Cost& cost) { return fixed_or_dash(cost.train_tokens_per_second, 0); });
    add("training: peak memory in MB", [](const Cost& cost) { return fixed_or_dash(cost.train_memory_mb, 0); });
    add("translation: target tokens per second",
        [](const Cost& cost) { return fixed(cost.translation_tokens_per_second, 0); });
    section.blocks.push_back(std::move(table));

    std::vector<std::string> lengths;
    for (const System& system : systems()) {
      for (const LengthTime& time : system.runs.front().cost.by_length) {
        if (std::ranges::find(lengths, time.length) == lengths.end()) lengths.push_back(time.length);
      }
    }
    if (lengths.empty()) {
      section.blocks.push_back(Paragraph{"The time of single sentences was not measured."});
      return section;
    }
    PointChart chart{"Time of a sentence by its length", "milliseconds per sentence, batch of one", lengths, {}};
    Table numbers{"Milliseconds per sentence, batch of one", by_system({{"source words", false}}), {}};
    for (const std::string& length : lengths) numbers.rows.push_back({length});
    for (std::size_t s = 0; s < systems().size(); ++s) {
      PointChart::Row row{name(s), s, {}};
      const auto& times = systems()[s].runs.front().cost.by_length;
      for (std::size_t l = 0; l < lengths.size(); ++l) {
        const auto found = std::ranges::find(times, lengths[l], &LengthTime::length);
        row.values.push_back(found == times.end() ? std::nullopt
                                                  : std::optional(Estimate{found->milliseconds, kMissing, kMissing}));
        numbers.rows[l].emplace_back(found == times.end() ? "–" : fixed(found->milliseconds, 1));
      }
      chart.rows.push_back(std::move(row));
    }
    section.blocks.push_back(Figure{"Time of a sentence by its length",
                                    "How the time of one translation grows with its source sentence.",
                                    {chart},
                                    numbers});
    return section;
  }

  Section curves() const {
    Section section{"curves",
                    "4. Curves",
                    "Validation during training: a lower loss or a higher BLEU further to the left is learning faster, "
                    "in updates, in "
                    "target tokens or in time. Several runs of a system differ in their dashes.",
                    {}};
    Table numbers{"Points of the curves",
                  {{"run", false}, {"update"}, {"target tokens"}, {"seconds"}, {"loss in nats per piece"}, {"BLEU"}},
                  {}};
    for (const System& system : systems()) {
      for (const MeasuredRun& run : system.runs) {
        for (const CurvePoint& point : run.curve) {
          numbers.rows.push_back({run_name(system, run), fixed(static_cast<double>(point.update), 0),
                                  fixed(point.tokens, 0), fixed(point.seconds, 0), fixed_or_dash(point.loss, 3),
                                  fixed_or_dash(point.bleu, 1)});
        }
      }
    }
    if (numbers.rows.empty()) {
      section.blocks.push_back(Paragraph{"The logs of these runs hold no validation, so there are no curves."});
      return section;
    }
    Figure figure{"Validation loss and BLEU",
                  "Above the loss in nats per piece, below BLEU where training measured it.",
                  {},
                  numbers};
    for (const bool is_loss : {true, false}) {
      const std::string y = is_loss ? "validation loss" : "validation BLEU";
      const auto add = [&](const std::string& x, const std::function<double(const CurvePoint&)>& at) {
        LineChart chart{y + " by " + x, x, y, {}};
        for (std::size_t s = 0; s < systems().size(); ++s) {
          for (std::size_t r = 0; r < systems()[s].runs.size(); ++r) {
            const MeasuredRun& run = systems()[s].runs[r];
            Series series{run_name(systems()[s], run), s, r, {}};
            for (const CurvePoint& point : run.curve) {
              series.points.push_back({at(point), (is_loss ? point.loss : point.bleu).value_or(kMissing)});
            }
            chart.series.push_back(std::move(series));
          }
        }
        figure.charts.emplace_back(std::move(chart));
      };
      add("updates", [](const CurvePoint& point) { return static_cast<double>(point.update); });
      add("target tokens", [](const CurvePoint& point) { return point.tokens; });
      add("seconds", [](const CurvePoint& point) { return point.seconds; });
    }
    section.blocks.push_back(std::move(figure));
    if (it_.levels.empty()) return section;
    Table levels{
        "What the first run of each system needed to reach a validation loss: updates / target tokens / seconds",
        by_system({{"loss", false}}),
        {}};
    for (const LevelReached& level : it_.levels) {
      std::vector<Cell> row{fixed(level.loss, 2)};
      for (const auto& first : level.first) {
        row.emplace_back(first ? fmt::format("{} / {} / {} s", fixed(static_cast<double>(first->update), 0),
                                             compact(first->tokens), fixed(first->seconds, 0))
                               : "not reached");
      }
      levels.rows.push_back(std::move(row));
    }
    section.blocks.push_back(std::move(levels));
    return section;
  }

  Figure figure_of(const Breakdown& breakdown) const {
    PointChart chart{breakdown.title, breakdown.measure, {}, {}};
    Table numbers{breakdown.title + ": " + breakdown.measure, by_system({{"group", false}, {breakdown.unit}}), {}};
    for (std::size_t s = 0; s < systems().size(); ++s) chart.rows.push_back({name(s), s, {}});
    for (const BreakdownGroup& group : breakdown.groups) {
      chart.groups.push_back(group.name);
      std::vector<Cell> row{group.name, fixed(static_cast<double>(group.count), 0)};
      for (std::size_t s = 0; s < systems().size(); ++s) {
        const std::optional<Estimate> value = s < group.values.size() ? group.values[s] : std::nullopt;
        chart.rows[s].values.push_back(value);
        row.emplace_back(value ? interval(*value, 1) : "–");
      }
      numbers.rows.push_back(std::move(row));
    }
    return {breakdown.title,
            fmt::format("By group ({}), with 95 % intervals; a group of few {} has a wide one.", breakdown.measure,
                        breakdown.unit),
            {chart},
            numbers};
  }

  Section where() const {
    Section section{"where",
                    "5. Where",
                    "Where the systems differ: the same measure by groups of sentences or words, then the n-grams and "
                    "the sentences "
                    "in which they differ most.",
                    {}};
    for (const Breakdown& breakdown : it_.where) section.blocks.push_back(figure_of(breakdown));
    if (it_.where.empty()) section.blocks.push_back(Paragraph{"The test set was not divided into groups."});
    if (it_.ngrams.empty()) {
      section.blocks.push_back(Paragraph{"No n-gram of the references is found by some systems and missed by others."});
    } else {
      Table ngrams{"N-grams of the references that some systems produce and others miss: how often each matches",
                   by_system({{"n-gram", false}, {"in the references"}}),
                   {}};
      for (const NgramDifference& ngram : it_.ngrams) {
        std::vector<Cell> row{ngram.text, fixed(static_cast<double>(ngram.in_reference), 0)};
        for (const std::int64_t matched : ngram.matched) row.emplace_back(fixed(static_cast<double>(matched), 0));
        ngrams.rows.push_back(std::move(row));
      }
      section.blocks.push_back(std::move(ngrams));
    }
    add_different_sentences(section);
    return section;
  }

  void add_different_sentences(Section& section) const {
    const auto spread = [&](std::size_t i) {
      const auto [low, high] = std::ranges::minmax(it_.sentences[i].systems, {}, &SystemSentence::bleu);
      return high.bleu - low.bleu;
    };
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < it_.sentences.size(); ++i) {
      if (it_.sentences[i].systems.size() > 1 && spread(i) > 0) order.emplace_back(-spread(i), i);
    }
    if (order.empty()) {
      section.blocks.push_back(Paragraph{"No sentence has outputs of different BLEU."});
      return;
    }
    std::ranges::sort(order);
    Table table{"The sentences that differ most in sentence BLEU", by_system({{"sentence"}, {"source", false}}), {}};
    for (std::size_t k = 0; k < std::min(order.size(), kDifferentSentences); ++k) {
      const std::size_t i = order[k].second;
      std::vector<Cell> row{Cell(static_cast<std::int64_t>(i) + 1), it_.sentences[i].source};
      for (const SystemSentence& system : it_.sentences[i].systems) row.emplace_back(fixed(system.bleu, 1));
      table.rows.push_back(std::move(row));
    }
    section.blocks.push_back(std::move(table));
  }

  Section why() const {
    Section section{"why",
                    "6. Why",
                    "Signs of the reasons: whether a better text was there and the search missed it, whether a model "
                    "is as sure as it "
                    "may be, and what its attention looks at. None of them proves a cause.",
                    {}};
    add_cross_scores(section);
    add_beams(section);
    add_calibration(section);
    add_attention(section);
    return section;
  }

  void add_cross_scores(Section& section) const {
    if (!it_.cross_scores) {
      section.blocks.push_back(Paragraph{"Texts were not scored by the other systems."});
      return;
    }
    const CrossScores& cross = *it_.cross_scores;
    HeatMap map{"Mean log-probability of a text under a model", "scored by", "text of", {}, {}, {}, 1};
    Table table{"Mean log-probability per sentence, in nats", by_system({{"scored by", false}}), {}};
    for (const System& system : systems()) map.columns.push_back(system.name);
    map.columns.emplace_back("reference");
    table.columns.push_back({"reference"});
    if (!cross.search_errors.empty()) table.columns.push_back({"search errors in %"});
    for (std::size_t s = 0; s < cross.log_prob.size() && s < systems().size(); ++s) {
      map.rows.push_back(name(s));
      map.values.push_back(cross.log_prob[s]);
      std::vector<Cell> row{name(s)};
      for (const auto& value : cross.log_prob[s]) row.emplace_back(fixed_or_dash(value, 2));
      if (s < cross.search_errors.size()) row.emplace_back(fixed(cross.search_errors[s], 1));
      table.rows.push_back(std::move(row));
    }
    section.blocks.push_back(Figure{"Each model's opinion of each text",
                                    "A row is a model, a column whose text it scores: higher is likelier. A model that "
                                    "finds another's translation likelier than "
                                    "its own missed it in the search; a search error is a sentence whose reference is "
                                    "likelier than the model's own output.",
                                    {map},
                                    table});
  }

  void add_beams(Section& section) const {
    LineChart bleu{"BLEU by beam", "beam", "BLEU", {}};
    LineChart log_prob{"Log-probability by beam", "beam", "nats per sentence", {}};
    Table table{"Beams", {{"system", false}, {"beam"}, {"BLEU"}, {"log-probability in nats per sentence"}}, {}};
    for (std::size_t s = 0; s < it_.beams.size() && s < systems().size(); ++s) {
      Series scores{name(s), s, 0, {}}, probs{name(s), s, 0, {}};
      for (const BeamPoint& point : it_.beams[s]) {
        scores.points.push_back({static_cast<double>(point.beam), point.bleu});
        probs.points.push_back({static_cast<double>(point.beam), point.log_prob});
        table.rows.push_back({name(s), std::to_string(point.beam), fixed(point.bleu, 1), fixed(point.log_prob, 2)});
      }
      if (scores.points.empty()) continue;
      bleu.series.push_back(std::move(scores));
      log_prob.series.push_back(std::move(probs));
    }
    if (table.rows.empty()) {
      section.blocks.push_back(Paragraph{"Only one width of the beam was tried."});
      return;
    }
    section.blocks.push_back(
        Figure{"Wider beams",
               "Where the log-probability rises with the beam and BLEU does not, the search is good enough and the "
               "model prefers worse texts.",
               {bleu, log_prob},
               table});
  }

  void add_calibration(Section& section) const {
    LineChart chart{"Calibration", "probability of the likeliest piece", "how often it is right", {}, true};
    Table table{"Calibration", {{"system", false}, {"mean probability"}, {"share that is right"}, {"pieces"}}, {}};
    Table errors{"Expected calibration error (ECE)", {{"system", false}, {"ECE"}}, {}};
    for (std::size_t s = 0; s < it_.calibration.size() && s < systems().size(); ++s) {
      if (!it_.calibration[s]) continue;
      Series series{name(s), s, 0, {}};
      for (const CalibrationBin& bin : it_.calibration[s]->bins) {
        if (bin.count == 0) continue;
        series.points.push_back({bin.confidence, bin.accuracy});
        table.rows.push_back(
            {name(s), fixed(bin.confidence, 3), fixed(bin.accuracy, 3), fixed(static_cast<double>(bin.count), 0)});
      }
      chart.series.push_back(std::move(series));
      errors.rows.push_back({name(s), fixed(it_.calibration[s]->expected_error, 3)});
    }
    if (errors.rows.empty()) {
      section.blocks.push_back(Paragraph{"Calibration was not measured."});
      return;
    }
    section.blocks.push_back(
        Figure{"Calibration",
               "Over the reference, piece by piece: below the diagonal a model is surer than it may be, above it "
               "less sure.",
               {chart},
               table});
    section.blocks.push_back(std::move(errors));
  }

  void add_attention(Section& section) const {
    Table table{"Attention to the source by layer and head",
                {{"system", false},
                 {"layer"},
                 {"head"},
                 {"entropy in nats"},
                 {"coverage"},
                 {"distance in pieces"},
                 {"monotonicity"}},
                {}};
    std::set<bool> has_error;
    for (const auto& heads : it_.attention) {
      for (const HeadStatistics& head : heads) has_error.insert(head.alignment_error.has_value());
    }
    const bool with_error = has_error.contains(true);
    if (with_error) table.columns.push_back({"AER in %"});
    std::vector<std::string> without;
    Figure figure{
        "Entropy by layer and head", "0 is attention to one piece; the more, the wider it is spread.", {}, {}};
    for (std::size_t s = 0; s < it_.attention.size() && s < systems().size(); ++s) {
      if (it_.attention[s].empty()) without.push_back(name(s));
      HeatMap map{"Entropy of " + name(s), "layer", name(s) + ": head", {}, {}, {}, 2};
      for (const HeadStatistics& head : it_.attention[s]) {
        std::vector<Cell> row{name(s),
                              std::to_string(head.layer),
                              head.head < 0 ? "mean" : std::to_string(head.head),
                              fixed(head.entropy, 2),
                              fixed(head.coverage, 2),
                              fixed(head.distance, 2),
                              fixed(head.monotonicity, 2)};
        if (with_error) row.emplace_back(fixed_or_dash(head.alignment_error, 1));
        table.rows.push_back(std::move(row));
        if (head.head < 0) continue;
        const auto layer = static_cast<std::size_t>(head.layer), column = static_cast<std::size_t>(head.head);
        while (map.rows.size() <= layer) map.rows.push_back(std::to_string(map.rows.size()));
        while (map.columns.size() <= column) map.columns.push_back(std::to_string(map.columns.size()));
        map.values.resize(map.rows.size());
        map.values[layer].resize(std::max(map.values[layer].size(), column + 1));
        map.values[layer][column] = head.entropy;
      }
      if (map.columns.size() > 1) figure.charts.emplace_back(std::move(map));
    }
    if (table.rows.empty()) {
      section.blocks.push_back(
          Paragraph{"None of these systems has attention to the source, or it was not looked at."});
      return;
    }
    if (!without.empty())
      section.blocks.push_back(Paragraph{"Without attention to the source: " + listed(without) + "."});
    section.blocks.push_back(
        Paragraph{"Over the references. Entropy: how wide attention is spread. Coverage: how much of the source is "
                  "looked at. Distance: from the "
                  "diagonal. Monotonicity: the share of steps that do not go back." +
                  std::string(with_error ? " AER: disagreement with the gold links, lower is better." : "")});
    if (!figure.charts.empty()) {
      figure.numbers = table;
      section.blocks.push_back(std::move(figure));
    } else {
      section.blocks.push_back(std::move(table));
    }
  }

  Section probes() const {
    Section section{"probes",
                    "7. Probes",
                    "Measurements of the weaknesses of recurrent models for which attention and Transformers were "
                    "made: reach of the "
                    "gradient, steps that wait for each other, words that agree across a distance.",
                    {}};
    if (!it_.probe) {
      section.blocks.push_back(Paragraph{"Not measured; attend compare --probe measures it."});
      return section;
    }
    const Probe& probe = *it_.probe;
    Figure reach{
        "Reach of the gradient",
        "Norm of the gradient of a target word with respect to source words by their distance, relative to distance 0: "
        "a curve "
        "that falls fast is a model that learns little from far words.",
        {},
        {"Reach of the gradient", {{"system", false}, {"checkpoint", false}, {"distance"}, {"relative norm"}}, {}}};
    Figure steps{"Time of an update by length",
                 "A recurrent model makes its steps one after the other, so more threads help it little.",
                 {},
                 {"Time of an update", {{"system", false}, {"threads"}, {"pieces"}, {"milliseconds"}}, {}}};
    LineChart last{"Reach of the gradient, last checkpoints", "distance in words", "relative norm", {}};
    std::vector<Chart> growth;
    LineChart times{"Time of an update", "pieces of source and target", "milliseconds", {}};
    for (std::size_t s = 0; s < probe.systems.size() && s < systems().size(); ++s) {
      const SystemProbe& system = probe.systems[s];
      LineChart all{"Reach of the gradient of " + name(s), name(s) + ": distance in words", "relative norm", {}};
      for (std::size_t c = 0; c < system.reach.size(); ++c) {
        Series series{system.reach[c].checkpoint, c, 0, {}};
        for (std::size_t d = 0; d < system.reach[c].by_distance.size(); ++d) {
          const double norm = system.reach[c].by_distance[d];
          series.points.push_back({static_cast<double>(d), norm});
          reach.numbers.rows.push_back({name(s), system.reach[c].checkpoint, std::to_string(d), fixed(norm, 4)});
        }
        if (c + 1 == system.reach.size()) last.series.push_back({name(s), s, 0, series.points});
        all.series.push_back(std::move(series));
      }
      if (system.reach.size() > 1) growth.emplace_back(std::move(all));
      std::vector<std::int64_t> threads;
      for (const StepTime& time : system.step_time) {
        if (std::ranges::find(threads, time.threads) == threads.end()) {
          threads.push_back(time.threads);
          times.series.push_back(
              {fmt::format("{}, {}", name(s), plural(time.threads, "thread")), s, threads.size() - 1, {}});
        }
        const auto at = static_cast<std::size_t>(std::ranges::find(threads, time.threads) - threads.begin());
        times.series[times.series.size() - threads.size() + at].points.push_back(
            {static_cast<double>(time.length), time.milliseconds});
        steps.numbers.rows.push_back(
            {name(s), std::to_string(time.threads), std::to_string(time.length), fixed(time.milliseconds, 1)});
      }
    }
    reach.charts.emplace_back(std::move(last));
    std::ranges::move(growth, std::back_inserter(reach.charts));
    steps.charts.emplace_back(std::move(times));
    if (!reach.numbers.rows.empty())
      section.blocks.push_back(std::move(reach));
    else
      section.blocks.push_back(Paragraph{"The reach of the gradient was not measured."});
    if (!steps.numbers.rows.empty())
      section.blocks.push_back(std::move(steps));
    else
      section.blocks.push_back(Paragraph{"The time of updates by length was not measured."});
    for (const Breakdown& breakdown : probe.by_distance) section.blocks.push_back(figure_of(breakdown));
    if (probe.by_distance.empty())
      section.blocks.push_back(Paragraph{"Quality by distance of the words that agree was not measured."});
    return section;
  }

  const Comparison& it_;
};

}  // namespace

std::vector<Section> sections_of(const Comparison& comparison) { return Report(comparison).sections(); }

Table sentence_table(const Comparison& comparison, std::size_t most) {
  Table table{"The first sentences", {{"sentence"}, {"source", false}, {"reference", false}}, {}};
  for (const System& system : comparison.systems) table.columns.push_back({system.name, false});
  for (std::size_t i = 0; i < std::min(most, comparison.sentences.size()); ++i) {
    const Sentence& sentence = comparison.sentences[i];
    std::vector<Cell> row{std::to_string(i + 1), sentence.source, sentence.reference};
    for (const SystemSentence& system : sentence.systems) row.emplace_back(system.text);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace attend
