// A synthetic comparison with fixed random numbers: three systems or more, the first with two seeds, and hostile texts
// among their names and sentences.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "core/random.hpp"

namespace attend {

struct SyntheticSize {
  std::size_t sentences = 40;
  std::int64_t layers = 2;  // of the Transformer
  std::int64_t heads = 4;
  std::size_t systems = 3;  // those beyond three are copies of the Transformer
};

// Texts that break a page which does not escape them or cannot hold them.
inline const std::vector<std::string>& hostile_texts() {
  static const std::vector<std::string> texts = {
      "<script>document.title = 'broken'</script> & \"quotes\" 'here' </script><!--",
      "שלום עולם, זהו משפט עברי ארוך יותר", "犬が公園を走っている。二人の男性が橋の上に立っている。",
      "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverleihungsurkundenüberreichungsfeierlichkeitenbeginn",
      "{{style}} {{nothing}} `code` | **bold** [link](http://example.org)"};
  return texts;
}

class SyntheticComparison {
 public:
  explicit SyntheticComparison(const SyntheticSize& size = {}) : size_(size) { make(); }
  const Comparison& value() const { return it_; }

 private:
  double draw(double low, double high) { return low + (high - low) * stream_.uniform(); }
  static Estimate around(double value, double width) { return {value, value - width, value + width}; }

  static bool is_recurrent(std::size_t system) { return system < 2; }

  MeasuredRun run_of(std::size_t system, std::int64_t seed) {
    const double skill = static_cast<double>(system) + draw(-0.2, 0.2);
    MeasuredRun run;
    run.facts = {.path = "runs/" + std::to_string(system) + "/seed-" + std::to_string(seed),
                 .seed = seed,
                 .checkpoint = "average",
                 .started = "2026-10-02",
                 .attend = "0.1.0 (1a2b3c4)"};
    run.quality = {.scores = {around(33 + 1.5 * skill, 1.3), around(57 + skill, 1.1), around(48 - skill, 1.4)},
                   .perplexity_piece = 5.1 - 0.3 * skill,
                   .perplexity_word = 9.7 - 0.6 * skill};
    run.cost = {
        .parameters = 4'560'000 + 1'230'000 * static_cast<std::int64_t>(system),
        .flops_per_token = 9.6e6 + 2e6 * skill,
        .flops_per_sentence = 1.3e8 + 3e7 * skill,
        .pieces_per_word = 1.2,
        .tokens = 4'000'000,
        .updates = 2'400,
        .train_seconds = 2'900 - 500 * skill,
        .train_tokens_per_second = 1'380 + 200 * skill,
        .train_memory_mb = system == 1 ? std::nullopt : std::optional(812.0),
        .translation_tokens_per_second = 2'310 - 300 * skill,
        .translation_sentences_per_second = 170 - 20 * skill,
        .by_length = {{"under 10", 8.1 + skill}, {"10 to 19", 14.9 + 2 * skill}, {"20 and more", 28.3 + 4 * skill}}};
    for (int k = 1; k <= 12; ++k) {
      const double at = k * 200;
      run.curve.push_back({.update = k * 200,
                           .tokens = at * 1'667,
                           .seconds = at * (1.2 - 0.2 * skill),
                           .loss = 1.6 - 0.12 * skill + 4.2 * std::exp(-at / 500),
                           .scores = {}});
      if (k % 2 == 0) run.curve.back().scores = {{"bleu", 34 + skill - 30 * std::exp(-at / 600)}};
    }
    const std::vector<double> gradient =
        is_recurrent(system) ? std::vector<double>{0.5} : std::vector<double>{0.4, 0.8, 2};
    for (const int step : {100, 2'400}) {
      WatchedUpdate update{.update = step, .stacks = {}};
      for (const char* place : {"encoder", "decoder"}) {
        WatchedStack stack{.place = place, .gradient = gradient, .rank_one = {0.9}};
        for (std::size_t layer = 0; layer < gradient.size(); ++layer) {
          stack.rank_one.push_back(0.8 * stack.rank_one.back() + step / 50'000.0);
        }
        update.stacks.push_back(std::move(stack));
      }
      if (system != 1) run.watched.push_back(std::move(update));
    }
    return run;
  }

  // Pieces in SentencePiece's manner: words in parts of at most four letters.
  static std::vector<std::string> pieces_of(const std::string& text) {
    std::vector<std::string> pieces;
    bool begins = true;
    std::size_t letters = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == ' ') {
        begins = true;
        continue;
      }
      const bool continues_letter = (text[i] & 0xC0) == 0x80;
      if (begins || (!continues_letter && letters == 4)) {
        pieces.emplace_back(begins ? "▁" : "");
        begins = false;
        letters = 0;
      }
      letters += continues_letter ? 0 : 1;
      pieces.back() += text[i];
    }
    pieces.emplace_back("</s>");
    return pieces;
  }

  AttentionMaps maps_of(const std::string& source, const std::string& target, std::size_t system) {
    AttentionMaps maps{.source = pieces_of(source),
                       .target = pieces_of(target),
                       .layers = is_recurrent(system) ? 1 : size_.layers,
                       .heads = is_recurrent(system) ? 1 : size_.heads,
                       .weights = {}};
    const double ratio = static_cast<double>(maps.source.size()) / static_cast<double>(maps.target.size());
    std::vector<double> row(maps.source.size());
    for (std::int64_t head = 0; head < maps.layers * maps.heads; ++head) {
      const double width = draw(0.7, 3), shift = draw(-2, 2) * (is_recurrent(system) ? 0.2 : 1);
      for (std::size_t t = 0; t < maps.target.size(); ++t) {
        double sum = 0;
        for (std::size_t s = 0; s < row.size(); ++s) {
          const double from = (static_cast<double>(s) - static_cast<double>(t) * ratio - shift) / width;
          row[s] = std::exp(-0.5 * from * from + draw(-1.5, 1.5));
          sum += row[s];
        }
        for (const double weight : row)
          maps.weights.push_back(static_cast<std::uint8_t>(std::lround(255 * weight / sum)));
      }
    }
    return maps;
  }

  std::vector<HeadStatistics> heads_of(std::int64_t layers, std::int64_t heads) {
    std::vector<HeadStatistics> rows;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      for (std::int64_t head = heads == 1 ? 0 : -1; head < heads; ++head) {
        rows.push_back({.layer = layer,
                        .head = head,
                        .entropy = draw(0.3, 2.2),
                        .coverage = draw(0.4, 0.95),
                        .distance = draw(0.8, 4),
                        .monotonicity = draw(0.6, 0.98),
                        .alignment_error = draw(22, 70)});
      }
    }
    return rows;
  }

  Breakdown breakdown_of(const std::string& id, const std::string& title, const std::string& measure,
                         const std::string& unit, const std::vector<std::string>& groups) {
    Breakdown breakdown{.id = id, .title = title, .measure = measure, .unit = unit, .groups = {}};
    for (std::size_t g = 0; g < groups.size(); ++g) {
      BreakdownGroup group{.name = groups[g], .count = static_cast<std::int64_t>(draw(20, 600)), .values = {}};
      for (std::size_t s = 0; s < 3; ++s) {
        group.values.push_back(around(30 + 2 * static_cast<double>(s) + draw(-6, 6), draw(0.8, 4)));
      }
      if (g + 1 == groups.size()) group.values[1] = std::nullopt;
      breakdown.groups.push_back(std::move(group));
    }
    return breakdown;
  }

  std::string text(std::size_t words) {
    static constexpr std::array<std::string_view, 24> kWords = {
        "a",         "man",     "in",     "the",    "orange",   "hat",  "starring", "at",
        "something", "people",  "street", "dog",    "runs",     "with", "bicycle",  "young",
        "woman",     "wearing", "blue",   "jacket", "mountain", "near", "river",    "two"};
    std::string made;
    for (std::size_t w = 0; w < words; ++w) (made += w > 0 ? " " : "").append(kWords[stream_.below(kWords.size())]);
    return made;
  }

  Sentence sentence_of(std::size_t number) {
    const std::vector<std::string>& hostile = hostile_texts();
    const bool is_hostile = number > 0 && number <= hostile.size();
    const std::size_t words = 6 + stream_.below(14);
    Sentence sentence{.source = is_hostile ? hostile[number - 1] : text(words),
                      .reference = is_hostile ? hostile[number - 1] : text(words + stream_.below(3)),
                      .systems = {}};
    for (std::size_t s = 0; s < it_.systems.size(); ++s) {
      SystemSentence system{.text = is_hostile ? hostile[number - 1] : text(words),
                            .scores = {draw(5, 80), draw(30, 90), 40},
                            .log_prob = draw(-20, -2),
                            .own = {},
                            .reference = {}};
      system.own = maps_of(sentence.source, system.text, s);
      system.reference = maps_of(sentence.source, sentence.reference, s);
      sentence.systems.push_back(std::move(system));
    }
    return sentence;
  }

  Probe probe() {
    Probe probe;
    for (std::size_t s = 0; s < it_.systems.size(); ++s) {
      SystemProbe system;
      for (const int step : {100, 800, 2'400}) {
        GradientReach reach{.checkpoint = "step-" + std::to_string(step), .by_distance = {}};
        for (int d = 0; d < 24; ++d)
          reach.by_distance.push_back(std::exp(-d / (is_recurrent(s) ? 1 + step / 400.0 : 30)));
        reach.by_distance.back() = std::numeric_limits<double>::quiet_NaN();
        system.reach.push_back(std::move(reach));
      }
      for (const int threads : {1, 2}) {
        for (const int length : {10, 20, 40, 80}) {
          system.step_time.push_back({.length = length,
                                      .threads = threads,
                                      .milliseconds = length * (is_recurrent(s) ? 3.1 : 1.2) / std::sqrt(threads)});
        }
      }
      probe.systems.push_back(std::move(system));
    }
    probe.by_distance = {breakdown_of("agreement", "Verbs that agree with a distant subject", "right in percent",
                                      "verbs", {"1 to 3 words", "4 to 7 words", "8 and more"})};
    return probe;
  }

  void make() {
    it_.attend = "0.1.0 (1a2b3c4)";
    it_.command = "attend compare runs/0/seed-1 runs/0/seed-2 runs/1/seed-1 runs/2/seed-1 --test test.en test.de";
    it_.made = "2026-11-24";
    it_.processor = "Processor of a test, 2 threads";
    it_.test = {.source = "test.en",
                .target = "test.de",
                .sentences = static_cast<std::int64_t>(size_.sentences),
                .source_words = 13 * static_cast<std::int64_t>(size_.sentences),
                .target_words = 12 * static_cast<std::int64_t>(size_.sentences),
                .gold = "test.align"};
    it_.notes = {"The runs differ in learning-rate as well as in their architecture; a difference may be due to it.",
                 "Two systems have one seed only, so how much of their difference is due to the seed is unknown."};
    it_.metrics = {{"bleu", "BLEU", false, "precision of n-grams"},
                   {"chrf", "chrF", false, "F-score of characters"},
                   {"ter", "TER", true, "edits"}};
    it_.systems = {
        {.name = "luong",
         .description = "luong: LSTM, general score, global, soft",
         .only_text = false,
         .runs = {run_of(0, 1), run_of(0, 2)}},
        {.name = "bahdanau <b>&",
         .description = "bahdanau: GRU, additive score",
         .only_text = false,
         .runs = {run_of(1, 1)}},
        {.name = "transformer", .description = "transformer: pre-norm", .only_text = false, .runs = {run_of(2, 1)}}};
    it_.differences = {{"model", OptionPart::architecture, {"luong", "bahdanau", "transformer"}},
                       {"cell", OptionPart::architecture, {"lstm", "gru", "–"}},
                       {"learning-rate", OptionPart::conditions, {"0.001", "0.001", "0.0007"}}};
    const auto test = [](std::int64_t a, std::int64_t b, const char* metric, Estimate difference, double p, double q) {
      return PairTest{.a = a,
                      .b = b,
                      .metric = metric,
                      .lower_is_better = metric == std::string_view("TER"),
                      .difference = difference,
                      .p_bootstrap = p,
                      .p_randomisation = q,
                      .p_holm = std::max(p, q),
                      .seeds = {}};
    };
    it_.tests = {test(0, 1, "BLEU", around(0.4, 0.9), 0.21, 0.25), test(0, 2, "BLEU", around(2.9, 1), 0.0004, 0.001),
                 test(1, 2, "TER", around(-1.6, 1.1), 0.012, 0.02), test(1, 2, "chrF", around(0.8, 0.8), 0.048, 0.053)};
    it_.tests[1].p_holm = 0.002;
    it_.tests[1].seeds = SeedTest{.difference = 2.61, .p = 0.03, .p_holm = 0.06};
    it_.levels = {
        {.loss = 2.5,
         .first = {it_.systems[0].runs[0].curve[3], it_.systems[1].runs[0].curve[3], it_.systems[2].runs[0].curve[2]}},
        {.loss = 1.7, .first = {std::nullopt, std::nullopt, it_.systems[2].runs[0].curve[9]}}};
    it_.where = {
        breakdown_of("length", "By length of the source", "BLEU", "sentences", {"under 10", "10 to 19", "20 and more"}),
        breakdown_of("frequency", "By frequency of the word in training", "recall in percent", "words",
                     {"never seen", "1 to 9", "10 to 99", "100 to 999", "1,000 and more"})};
    it_.contrasts = {
        {.file = "pairs <i>&.tsv",
         .all = {400, {around(81.5, 3.8), around(86, 3.4), around(93.25, 2.5)}},
         .kinds = {{"agreement", {300, {around(79, 4.6), around(85, 4), around(94, 2.7)}}},
                   {"verb_position", {100, {around(89, 6), around(89, 6), around(91, 5.5)}}}},
         .distances = {{0, {100, {around(89, 6), around(89, 6), around(91, 5.5)}}},
                       {2, {150, {around(84, 5.8), around(88, 5.2), around(94, 3.8)}}},
                       {9, {150, {around(74, 7), around(82, 6.1), around(94, 3.8)}}}},
         .tests = {
             {0, 1, 12, 30, 0.008, 0.008}, {0, 2, 3, 50, 0.0000001, 0.0000003}, {1, 2, 11, 40, 0.00006, 0.00012}}}};
    it_.ngrams = {{.text = "in the orange hat", .in_reference = 5, .matched = {0, 1, 4}},
                  {.text = "<i>a</i> | b", .in_reference = 3, .matched = {3, 0, 0}}};
    it_.cross_scores = CrossScores{
        .log_prob = {{-8.1, -11.2, -12.9, -17.4}, {-12.2, -8.4, -12.1, -17.9}, {-11, -10.8, -7.2, std::nullopt}},
        .length_penalty = 1,
        .search_errors = {{40, 1.2, 2.5}, {40, 0.8, 0.8}, {40, 2.4, 7.5}}};
    it_.beams = {{{1, 32.1, -9.1}, {2, 33.0, -8.6}, {5, 33.4, -8.1}, {10, 33.3, -7.9}},
                 {{1, 33, -9}, {5, 34.4, -8.2}, {10, 34.1, -8}},
                 {}};
    it_.calibration = {
        Calibration{.bins = {{0.15, 0.21, 310}, {0.42, 0.47, 822}, {0.71, 0.70, 1'230}, {0.96, 0.91, 4'410}},
                    .expected_error = 0.031},
        std::nullopt,
        Calibration{.bins = {{0.17, 0.12, 280}, {0.45, 0.38, 702}, {0.74, 0.66, 1'001}, {0.97, 0.93, 4'900}},
                    .expected_error = 0.052}};
    it_.attention = {heads_of(1, 1), heads_of(1, 1), heads_of(size_.layers, size_.heads)};
    it_.probe = probe();
    for (std::size_t i = 0; i < size_.sentences; ++i) it_.sentences.push_back(sentence_of(i));
    while (it_.systems.size() < size_.systems) repeat_last();
  }

  // Appends a copy of the last system, with the same numbers.
  void repeat_last() {
    const auto repeat = [](auto& values) { values.push_back(values.back()); };
    const auto last = static_cast<std::int64_t>(it_.systems.size()) - 1;
    repeat(it_.systems);
    it_.systems.back().name = "transformer-" + std::to_string(last);
    for (OptionDifference& difference : it_.differences) repeat(difference.values);
    for (LevelReached& level : it_.levels) repeat(level.first);
    for (auto* breakdowns : {&it_.where, &it_.probe->by_distance}) {
      for (Breakdown& breakdown : *breakdowns) {
        for (BreakdownGroup& group : breakdown.groups) repeat(group.values);
      }
    }
    for (ContrastSet& set : it_.contrasts) {
      repeat(set.all.values);
      for (auto& [kind, accuracy] : set.kinds) repeat(accuracy.values);
      for (auto& [distance, accuracy] : set.distances) repeat(accuracy.values);
    }
    for (NgramDifference& ngram : it_.ngrams) repeat(ngram.matched);
    for (auto& row : it_.cross_scores->log_prob) row.insert(row.end() - 1, *(row.end() - 2));
    repeat(it_.cross_scores->log_prob);
    repeat(it_.cross_scores->search_errors);
    repeat(it_.beams);
    repeat(it_.calibration);
    repeat(it_.attention);
    repeat(it_.probe->systems);
    for (Sentence& sentence : it_.sentences) repeat(sentence.systems);
    for (std::size_t i = 0, tests = it_.tests.size(); i < tests; ++i) {
      if (it_.tests[i].b != last) continue;
      it_.tests.push_back(it_.tests[i]);
      it_.tests.back().b = last + 1;
    }
  }

  SyntheticSize size_;
  RandomStream stream_{7};
  Comparison it_;
};

}  // namespace attend
