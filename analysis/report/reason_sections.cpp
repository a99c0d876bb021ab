// Where the systems differ, signs of why, and probes.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "analysis/report/section_parts.hpp"

namespace attend {
namespace {

constexpr std::size_t kDifferentSentences = 15;

// "a, b and c"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

class Reasons : public SectionMaker {
 public:
  using SectionMaker::SectionMaker;

  std::vector<Section> sections() const { return {where(), why(), probes()}; }

 private:
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
    HeatChart map{"Mean log-probability of a text under a model", "scored by", "text of", {}, {}, {}, 1};
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
      HeatChart map{"Entropy of " + name(s), "layer", name(s) + ": head", {}, {}, {}, 2};
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
        "Norm of the gradient of a target piece's log-probability with respect to source pieces by their distance, "
        "relative to distance 0: "
        "a curve "
        "that falls fast is a model that learns little from far pieces.",
        {},
        {"Reach of the gradient", {{"system", false}, {"checkpoint", false}, {"distance"}, {"relative norm"}}, {}}};
    Figure steps{"Time of an update by length",
                 "A recurrent model makes its steps one after the other, so more threads help it little.",
                 {},
                 {"Time of an update", {{"system", false}, {"threads"}, {"pieces"}, {"milliseconds"}}, {}}};
    LineChart last{"Reach of the gradient, last checkpoints", "distance in pieces", "relative norm", {}};
    std::vector<Chart> growth;
    LineChart times{"Time of an update", "pieces of source and target", "milliseconds", {}};
    for (std::size_t s = 0; s < probe.systems.size() && s < systems().size(); ++s) {
      const SystemProbe& system = probe.systems[s];
      LineChart all{"Reach of the gradient of " + name(s), name(s) + ": distance in pieces", "relative norm", {}};
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
};

}  // namespace

std::vector<Section> reason_sections(const Comparison& comparison) { return Reasons(comparison).sections(); }

}  // namespace attend
