// The sections of a comparison of translation runs.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <ranges>

#include "analysis/report/characters.hpp"
#include "analysis/report/section_parts.hpp"

namespace attend {
namespace {

constexpr std::size_t kDifferentSentences = 15;
constexpr std::size_t kChartedCheckpoints = 5;  // in the chart of the gradient's reach, by system
constexpr std::array<std::size_t, 10> kShownDistances = {1, 2, 3, 5, 7, 10, 15, 20, 25, 30};  // in its table

// ---- gradients and hidden states by depth: layers, and the time steps of an RNN, on one axis

// The first or the last; a single one is the last.
template <class T>
const T* end_of(const std::vector<T>& all, bool last) {
  if (all.empty() || (!last && all.size() == 1)) return nullptr;
  return last ? &all.back() : &all.front();
}

// The values at depths from 0 to 1; a single one is at the top.
std::vector<Point> by_depth(const std::vector<double>& values) {
  std::vector<Point> points;
  const double steps = static_cast<double>(values.size()) - 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    points.push_back({steps > 0 ? static_cast<double>(i) / steps : 1, values[i]});
  }
  return points;
}

// The reach of the gradient from the farthest distance that was measured to 0; empty if it was not probed.
std::vector<double> over_time_steps(const std::optional<Probe>& probe, std::size_t s, bool last) {
  if (!probe || s >= probe->systems.size()) return {};
  const GradientReach* reach = end_of(probe->systems[s].reach, last);
  if (reach == nullptr) return {};
  std::vector<double> steps(reach->by_distance.rbegin(), reach->by_distance.rend());
  steps.erase(steps.begin(), std::ranges::find_if(steps, [](double value) { return std::isfinite(value); }));
  return steps;
}

Figure depth_figure(const Comparison& comparison) {
  Figure figure{
      "Gradients and hidden states by depth",
      "Gradient: its norm by layer, relative to the top layer; depth 0 is the lowest layer of the encoder or decoder, "
      "1 the top one. Time steps: the reach of the gradient (section 7, with --probe), from the farthest source piece, "
      "0, to the nearest, 1: the depth of a recurrent network in time. Distance from rank one: from the embedded "
      "input, 0, to the top layer, 1; at a distance of 0 all tokens of a sentence have the same hidden state. Numbers "
      "of each system's first run.",
      {},
      {"Watched updates",
       {{"System", false},
        {"Stack", false},
        {"Update"},
        {"Layer"},
        {"Relative gradient"},
        {"Distance from rank one"}}}};
  for (const bool last : {false, true}) {
    const std::string when = last ? "last watched update" : "first watched update";
    LineChart gradient{"Gradient by depth, " + when, "Depth", "Relative norm"};
    LineChart rank_one{"Distance from rank one by depth, " + when, "Depth", "Distance"};
    for (std::size_t s = 0; s < comparison.systems.size(); ++s) {
      const System& system = comparison.systems[s];
      const WatchedUpdate* update = end_of(system.runs[0].watched, last);
      if (update == nullptr) continue;
      for (std::size_t k = 0; k < update->stacks.size(); ++k) {
        const WatchedStack& stack = update->stacks[k];
        std::vector<double> norms = stack.gradient;
        for (double& norm : norms) norm /= stack.gradient.back();
        gradient.series.push_back({system.name + ", " + stack.place, s, k, by_depth(norms)});
        rank_one.series.push_back({system.name + ", " + stack.place, s, k, by_depth(stack.rank_one)});
        norms.insert(norms.begin(), kNotMeasured);  // the input has no parameters of its own
        norms.resize(stack.rank_one.size(), kNotMeasured);
        for (std::size_t layer = 0; layer < norms.size(); ++layer) {
          figure.numbers.rows.push_back({system.name, capitalised(stack.place), std::to_string(update->update),
                                         layer == 0 ? "Input" : std::to_string(layer), fixed(norms[layer], 3),
                                         fixed(stack.rank_one[layer], 3)});
        }
      }
      Series steps{system.name + ", time steps", s, 2, by_depth(over_time_steps(comparison.probe, s, last))};
      if (!steps.points.empty()) gradient.series.push_back(std::move(steps));
    }
    if (gradient.series.empty()) continue;
    figure.charts.emplace_back(std::move(gradient));
    figure.charts.emplace_back(std::move(rank_one));
  }
  return figure;
}

class TranslationSections : public SectionMaker {
 public:
  explicit TranslationSections(const Comparison& comparison) : SectionMaker(comparison), all_(comparison) {}

  std::vector<Section> sections() const {
    const TestSet& test = all_.test;
    return measured_sections(
        all_,
        fmt::format("Test set: {} and {}, {} with {} source words and {} reference words. {}", test.source, test.target,
                    counted(test.sentences, "sentence"), fixed(test.source_words), fixed(test.target_words),
                    test.gold ? "Gold links between words: " + *test.gold + "."
                              : "There are no gold links, so no alignment error rate."),
        "5 to 8", cost(), {where(), why(), probes()});
  }

  SentenceSection sentences() const {
    SentenceSection section{.title = "8. Sentences",
                            .shown = {.views = {"The reference", "Its own translation"}, .metrics = it_.metrics},
                            .first = {"The first sentences", {{"Sentence"}, {"Source", false}, {"Reference", false}}},
                            .left_out = static_cast<std::size_t>(all_.attention_left_out),
                            .remedy = "attend attention RUN"};
    for (std::size_t s = 0; s < systems().size(); ++s) {
      section.first.columns.push_back({name(s), false});
      ShownSystem& shown = section.shown.systems.emplace_back(ShownSystem{.name = name(s)});
      if (s >= all_.attention.size()) continue;
      if (const HeadStatistics* head = opening_head(all_.attention[s])) {
        shown.layer = head->layer;
        shown.head = head->head;
      }
    }
    for (const Sentence& sentence : all_.sentences) {
      ShownSentence& shown = section.shown.sentences.emplace_back(ShownSentence{sentence.source, sentence.reference});
      std::vector<TableCell> row{std::to_string(section.shown.sentences.size()), sentence.source, sentence.reference};
      for (std::size_t s = 0; s < sentence.systems.size(); ++s) {
        const SystemSentence& system = sentence.systems[s];
        row.emplace_back(system.text);
        shown.outputs.push_back({system.text, system.scores, system.log_prob});
        if (system.reference) shown.maps.push_back({s, 0, &*system.reference});
        if (system.own) shown.maps.push_back({s, 1, &*system.own});
      }
      if (section.first.rows.size() < kFirstSentences) section.first.rows.push_back(std::move(row));
    }
    return section;
  }

 private:
  // The head at which section 8 opens: the one with the lowest alignment error rate or, without gold links, the mean of
  // the last layer's heads. Null without attention.
  static const HeadStatistics* opening_head(const std::vector<HeadStatistics>& heads) {
    if (heads.empty()) return nullptr;
    const auto error = [](const HeadStatistics& head) {
      return head.alignment_error.value_or(std::numeric_limits<double>::infinity());
    };
    const HeadStatistics& best = *std::ranges::min_element(heads, {}, error);
    if (best.alignment_error) return &best;
    const std::int64_t layer = std::ranges::max(heads, {}, &HeadStatistics::layer).layer;
    const auto is_mean = [&](const HeadStatistics& head) { return head.layer == layer && head.head < 0; };
    const auto mean = std::ranges::find_if(heads, is_mean);
    return mean == heads.end() ? &heads.back() : &*mean;  // a layer with one head has no mean
  }

  Section cost() const {
    Section section{
        "cost", "3. Cost",
        "Cost of the first run of each system. Times depend on the machine and on its other load; parameters and "
        "operations do not."};
    Table table{"Cost of training and translation", by_system({{"Quantity", false}})};
    add_cost(table, "Parameters", &Cost::parameters, 0);
    if (it_.equal_vocabularies) {
      add_cost(table, "Operations of a forward pass per target token", &Cost::flops_per_token);
    } else {
      add_cost(table, "Operations of a forward pass per sentence", &Cost::flops_per_sentence);
      add_cost(table, "Target pieces per word of the references", &Cost::pieces_per_word, 2);
    }
    add_training_costs(table);
    if (it_.equal_vocabularies) {
      add_cost(table, "Translation: target tokens per second", &Cost::translation_tokens_per_second, 0);
    } else {
      add_cost(table, "Translation: sentences per second", &Cost::translation_sentences_per_second, 1);
    }
    section.add(std::move(table));
    if (!it_.equal_vocabularies) {
      section.add(
          Paragraph{"The vocabularies differ: a target token is a piece of the system's own vocabulary, so numbers of "
                    "tokens and tokens per second cannot be compared between systems."});
    }
    add_only_texts(section, "Their cost is not measured");

    std::vector<BreakdownGroup> lengths;
    for (std::size_t s = 0; s < systems().size(); ++s) {
      for (const LengthTime& time : systems()[s].runs.front().cost.by_length) {
        auto group = std::ranges::find(lengths, time.length, &BreakdownGroup::name);
        if (group == lengths.end()) group = lengths.insert(group, BreakdownGroup{.name = time.length});
        group->values.resize(systems().size());
        group->values[s] = Estimate{time.milliseconds, kNotMeasured, kNotMeasured};
      }
    }
    const std::string measure = "Milliseconds per sentence, batch of one";
    section.add(by_group("Translation time by source length",
                         "The growth of the translation time with the length of the source sentence.", measure,
                         {measure, {{"Source words", false}}}, lengths, 1),
                "The translation time of single sentences was not measured.");
    return section;
  }

  Section where() const {
    Section section{"where", "5. Breakdown",
                    "One measure by groups of sentences or words, then the n-grams and the sentences in which the "
                    "systems differ most."};
    for (const Breakdown& breakdown : it_.where) section.add(figure_of(breakdown, 1));
    if (it_.where.empty()) section.add(Paragraph{"The test set was not divided into groups."});
    Table ngrams{"Matches of the n-grams that some systems produce and others miss",
                 by_system({{"N-gram", false}, {"In the references"}})};
    for (const NgramDifference& ngram : all_.ngrams) {
      std::vector<TableCell> row{ngram.text, fixed(ngram.in_reference)};
      for (const std::int64_t matched : ngram.matched) row.emplace_back(fixed(matched));
      ngrams.rows.push_back(std::move(row));
    }
    section.add(std::move(ngrams), "Every n-gram of the references is matched equally often by all systems.");
    add_different_sentences(section);
    add_contrasts(section);
    return section;
  }

  void add_different_sentences(Section& section) const {
    const auto spread = [&](std::size_t i) {
      const auto score = [](const SystemSentence& system) { return system.scores[0]; };
      const auto [low, high] = std::ranges::minmax(all_.sentences[i].systems, {}, score);
      return score(high) - score(low);
    };
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < all_.sentences.size(); ++i) {
      if (all_.sentences[i].systems.size() > 1 && spread(i) > 0) order.emplace_back(-spread(i), i);
    }
    std::ranges::sort(order);
    Table table{"Sentences with the greatest differences in sentence " + metric(),
                by_system({{"Sentence"}, {"Source", false}})};
    for (std::size_t k = 0; k < std::min(order.size(), kDifferentSentences); ++k) {
      const std::size_t i = order[k].second;
      std::vector<TableCell> row{TableCell(static_cast<std::int64_t>(i) + 1), all_.sentences[i].source};
      for (const SystemSentence& system : all_.sentences[i].systems) row.emplace_back(fixed(system.scores[0], 1));
      table.rows.push_back(std::move(row));
    }
    section.add(std::move(table), "The outputs of every sentence have equal " + metric() + ".");
  }

  Section why() const {
    Section section{"why", "6. Possible causes",
                    "Translations that the search missed, probabilities that are badly calibrated, the distribution of "
                    "attention, and gradients and hidden states by depth. None of these numbers proves a cause."};
    add_only_texts(section, "Their probabilities, search and attention are not measured");
    if (num_models() == 0) return section;
    add_learning_rates(section);
    add_cross_scores(section);
    add_beams(section);
    add_calibration(section, all_.calibration, "piece", "the pieces of the references");
    add_attention(section);
    section.add(depth_figure(all_), "Nothing was recorded by depth (attend train --watch).");
    return section;
  }

  void add_cross_scores(Section& section) const {
    if (!all_.cross_scores) {
      section.add(Paragraph{"The texts were not scored by the models."});
      return;
    }
    const CrossScores& cross = *all_.cross_scores;
    Table table{"Mean log-probability per sentence, in nats", by_system({{"Scored by", false}})};
    table.columns.push_back({"Reference"});
    table.columns.push_back({"Search errors in %"});
    table.columns.push_back({"References of higher log p in %"});
    for (std::size_t s = 0; s < cross.log_prob.size() && s < systems().size(); ++s) {
      if (systems()[s].only_text) continue;
      std::vector<TableCell> row{name(s)};
      for (const auto& value : cross.log_prob[s]) row.emplace_back(fixed_or_dash(value, 2), value);
      const SearchErrors errors = s < cross.search_errors.size() ? cross.search_errors[s] : SearchErrors{};
      row.emplace_back(fixed_or_dash(errors.ranked, 1));
      row.emplace_back(fixed_or_dash(errors.likelier, 1));
      table.rows.push_back(std::move(row));
    }
    section.add(Figure{
        "Log-probability of each text under each model",
        fmt::format("Each row is a model, each column the author of the texts that it scores. The higher the "
                    "number and the stronger its shade, the likelier. Search ranks by log p / length^{}. A search "
                    "error is a sentence whose reference ranks above the model's own output. The last column "
                    "compares log p itself: with an exponent above 0, search may prefer a longer output of lower "
                    "log p, which is not a search error. Outputs cut at the maximum length and references that "
                    "exceed it are left out of both; a dash stands where another rule chose the outputs.",
                    cross.length_penalty),
        {},
        table});
  }

  void add_beams(Section& section) const {
    LineChart quality{metric() + " by beam", "Beam", metric()};
    LineChart log_prob{"Log-probability by beam", "Beam", "Nats per sentence"};
    Table table{"Beams", {{"System", false}, {"Beam"}, {metric()}, {"Log-probability in nats per sentence"}}};
    for (std::size_t s = 0; s < all_.beams.size() && s < systems().size(); ++s) {
      Series scores{name(s), s, 0}, probs{name(s), s, 0};
      for (const BeamPoint& point : all_.beams[s]) {
        scores.points.push_back({static_cast<double>(point.beam), point.score});
        probs.points.push_back({static_cast<double>(point.beam), point.log_prob});
        table.rows.push_back({name(s), std::to_string(point.beam), fixed(point.score, 1), fixed(point.log_prob, 2)});
      }
      if (scores.points.empty()) continue;
      quality.series.push_back(std::move(scores));
      log_prob.series.push_back(std::move(probs));
    }
    section.add(
        Figure{"Wider beams",
               "Search ranks by log p / length^alpha; the chart shows log p, which may fall with the beam if alpha is "
               "above 0. If it rises with the beam and the quality does not, the search is not the problem: the model "
               "prefers worse translations.",
               {quality, log_prob},
               table},
        "Only one beam size was tried.");
  }

  // The entropy of each head of a system with several, a row for each layer.
  static Table entropy_by_head(const std::string& system, const std::vector<HeadStatistics>& heads) {
    Table table{"Entropy of " + system + " in nats", {{"Layer"}}};
    for (const HeadStatistics& head : heads) {
      if (head.head < 0) continue;
      const auto layer = static_cast<std::size_t>(head.layer), column = static_cast<std::size_t>(head.head) + 1;
      while (table.rows.size() <= layer) table.rows.push_back({std::to_string(table.rows.size())});
      while (table.columns.size() <= column) {
        table.columns.push_back({fmt::format("Head {}", table.columns.size() - 1)});
      }
      table.rows[layer].emplace_back(fixed(head.entropy, 2), head.entropy);
    }
    return table;
  }

  void add_attention(Section& section) const {
    Figure figure{
        "Attention to the source by layer and head",
        "Over the references. Entropy: 0 is attention to one piece, and the wider it is spread, the higher. Coverage: "
        "the mean over source pieces of the attention that each receives, at most 1. Distance: from the diagonal, in "
        "pieces. Monotonicity: the share of steps that do not go back."};
    struct Row : HeadStatistics {
      std::string system;
      bool opens;  // section 8
    };
    std::vector<Row> rows;
    std::vector<std::string> without;
    std::vector<Table> entropies;
    for (std::size_t s = 0; s < all_.attention.size() && s < systems().size(); ++s) {
      const std::vector<HeadStatistics>& heads = all_.attention[s];
      if (heads.empty() && !systems()[s].only_text) without.push_back(name(s));
      const HeadStatistics* opens = opening_head(heads);
      for (const HeadStatistics& head : heads) rows.push_back({head, name(s), &head == opens});
      if (std::ranges::any_of(heads, [](const HeadStatistics& head) { return head.head > 0; })) {
        entropies.push_back(entropy_by_head(name(s), heads));
      }
    }
    const bool with_error = std::ranges::any_of(rows, [](const Row& row) { return row.alignment_error.has_value(); });
    figure.how_to_read += with_error ? " AER: disagreement with the gold links; lower is better. Section 8 opens at "
                                       "the head with the lowest AER of each system, which is marked."
                                     : " Section 8 opens at the mean of the last layer's heads, which is marked.";
    if (!without.empty()) figure.how_to_read += " Without attention to the source: " + listed(without) + ".";
    const auto number = [](const Row& row) { return Digits{row.head < 0 ? "Mean" : std::to_string(row.head)}; };
    figure.numbers =
        table_of(rows, "Attention to the source",
                 {{"System", &Row::system},
                  {"Layer", &Row::layer, {.best_if = &Row::opens}},
                  {"Head", number, {.best_if = &Row::opens}},
                  {"Entropy", &Row::entropy, decimals(2)},
                  {"Coverage", &Row::coverage, decimals(2)},
                  {"Distance", &Row::distance, decimals(2)},
                  {"Monotonicity", &Row::monotonicity, decimals(2)},
                  {"AER in %", &Row::alignment_error, decimals(1), {.best_if = &Row::opens, .when = with_error}}});
    section.add(std::move(figure), "None of these systems has attention to the source, or it was not looked at.");
    for (Table& entropy : entropies) section.add(std::move(entropy));
  }

  Section probes() const {
    Section section{
        "probes", "7. Probes",
        "Measurements of weaknesses of recurrent models that led to attention and to Transformers: the reach "
        "of the gradient, steps that wait for each other, and words that agree across a distance."};
    if (!all_.probe) {
      section.add(Paragraph{"Not measured; pass --probe to attend compare."});
      return section;
    }
    add_only_texts(section, "Only words at a distance are measured of them");
    const Probe& probe = *all_.probe;
    Figure reach{
        "Reach of the gradient",
        "Norm of the gradient of a target piece's log-probability with respect to source pieces, by their distance in "
        "pieces and relative to that at distance 0. If the curve falls fast, the model learns little from distant "
        "pieces.",
        {},
        {"Relative norm of the gradient at some distances; report.json has all",
         {{"System", false}, {"Checkpoint", false}}}};
    for (const std::size_t distance : kShownDistances) reach.numbers.columns.push_back({std::to_string(distance)});
    Figure steps{"Time of an update by length",
                 "The steps of a recurrent model wait for each other, so it gains little from more threads.",
                 {},
                 {"Time of an update", {{"System", false}, {"Threads"}, {"Pieces"}, {"Milliseconds"}}}};
    LineChart last{"Reach of the gradient, last checkpoints", "Distance in pieces", "Relative norm"};
    std::vector<Chart> growth;
    LineChart times{"Time of an update", "Pieces of source and target", "Milliseconds"};
    for (std::size_t s = 0; s < probe.systems.size() && s < systems().size(); ++s) {
      const SystemProbe& system = probe.systems[s];
      LineChart all{"Reach of the gradient of " + name(s), "Distance in pieces, " + name(s), "Relative norm"};
      const std::size_t count = system.reach.size(), charted = std::min(count, kChartedCheckpoints);
      for (std::size_t c = 0; c < count; ++c) {
        const GradientReach& at = system.reach[c];
        std::vector<TableCell> row{name(s), at.checkpoint};
        for (const std::size_t d : kShownDistances) {
          row.emplace_back(fixed(d < at.by_distance.size() ? at.by_distance[d] : kNotMeasured, 4));
        }
        reach.numbers.rows.push_back(std::move(row));
      }
      for (std::size_t k = 0; k < charted; ++k) {  // evenly spaced, the first and the last among them
        const GradientReach& at = system.reach[charted > 1 ? k * (count - 1) / (charted - 1) : count - 1];
        Series series{at.checkpoint, k, 0};
        for (std::size_t d = 0; d < at.by_distance.size(); ++d) {
          series.points.push_back({static_cast<double>(d), at.by_distance[d]});
        }
        if (k + 1 == charted) last.series.push_back({name(s), s, 0, series.points});
        all.series.push_back(std::move(series));
      }
      if (system.reach.size() > 1) growth.emplace_back(std::move(all));
      std::map<std::int64_t, Series> by_threads;
      for (const StepTime& time : system.step_time) {
        const std::string series = fmt::format("{}, {}", name(s), counted(time.threads, "thread"));
        const auto entry = by_threads.try_emplace(time.threads, Series{series, s, by_threads.size()}).first;
        entry->second.points.push_back({static_cast<double>(time.length), time.milliseconds});
        steps.numbers.rows.push_back(
            {name(s), std::to_string(time.threads), std::to_string(time.length), fixed(time.milliseconds, 1)});
      }
      std::ranges::move(std::views::values(by_threads), std::back_inserter(times.series));
    }
    reach.charts.emplace_back(std::move(last));
    std::ranges::move(growth, std::back_inserter(reach.charts));
    steps.charts.emplace_back(std::move(times));
    section.add(std::move(reach), "The reach of the gradient was not measured.");
    section.add(std::move(steps), "The time of updates by length was not measured.");
    for (const Breakdown& breakdown : probe.by_distance) section.add(figure_of(breakdown, 1));
    if (probe.by_distance.empty())
      section.add(Paragraph{"Quality by distance of the words that agree was not measured."});
    return section;
  }

  const Comparison& all_;
};

}  // namespace

SectionReport section_report(const Comparison& comparison) {
  const TranslationSections made(comparison);
  return {comparison_title(comparison), made.sections(), made_by(comparison) + ".", made.sentences()};
}

}  // namespace attend
