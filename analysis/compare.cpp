#include "analysis/compare.hpp"

#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <ranges>
#include <set>
#include <thread>
#include <tuple>

#include "analysis/attention_maps.hpp"
#include "analysis/attention_statistics.hpp"
#include "analysis/beams.hpp"
#include "analysis/calibration.hpp"
#include "analysis/cross_scores.hpp"
#include "analysis/distant_pairs.hpp"
#include "analysis/flops.hpp"
#include "analysis/probe.hpp"
#include "analysis/systems.hpp"
#include "analysis/trained_run.hpp"
#include "analysis/where.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/progress.hpp"
#include "core/signals.hpp"
#include "core/version.hpp"
#include "data/text/lines.hpp"
#include "eval/metrics/bleu.hpp"
#include "eval/metrics/chrf.hpp"
#include "eval/metrics/significance.hpp"
#include "eval/metrics/ter.hpp"
#include "eval/metrics/text.hpp"
#include "eval/score.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/device.hpp"

namespace attend {
namespace {

using Lines = std::vector<std::string>;
constexpr ScoreConfig kScoring = {};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A run's translations of the test set.
struct RunOutputs {
  std::vector<Translation> translations;
  double seconds = 0;       // of translating
  std::int64_t pieces = 0;  // of the translations, with the ends of sentences
  ScoreTally references;

  Lines texts() const {
    Lines lines;
    for (const Translation& translation : translations) lines.push_back(translation.text);
    return lines;
  }
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The three metrics of section 2, in one order everywhere.
const std::array<std::shared_ptr<const metrics::Metric>, 3>& all_metrics() {
  static const std::array<std::shared_ptr<const metrics::Metric>, 3> metrics = {
      std::make_shared<metrics::Bleu>(), std::make_shared<metrics::Chrf>(), std::make_shared<metrics::Ter>()};
  return metrics;
}

Lines read_test_lines(const std::string& file) {
  Lines lines;
  LineReader reader(file);
  for (std::string line; reader.next(line);) lines.push_back(line);
  reader.counts().log(file);
  if (lines.empty()) throw UserError(name_of_input(file) + ": empty", "check that it is the right file");
  return lines;
}

std::string processor_name() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

std::vector<std::int64_t> count_words_of(const Lines& lines) {
  std::vector<std::int64_t> counts;
  for (const std::string& line : lines) counts.push_back(std::ssize(metrics::split_words(line)));
  return counts;
}

class Measurement {
 public:
  explicit Measurement(const CompareConfig& config) : config_(config) {}

  Comparison run() {
    read_texts();
    load_runs();
    translate_all();
    measure_systems();
    test_pairs();
    find_levels();
    break_down();
    explain();
    if (config_.probe) probe();
    add_sentences();
    return std::move(result_);
  }

 private:
  void read_texts() {
    set_.sources = read_test_lines(config_.test[0]);
    set_.references = read_test_lines(config_.test[1]);
    if (set_.sources.size() != set_.references.size()) {
      throw UserError(fmt::format("{}: {} lines, but {} has {}", config_.test[1], set_.references.size(),
                                  config_.test[0], set_.sources.size()),
                      "give a reference for each source sentence");
    }
    const std::vector<std::int64_t> source_words = count_words_of(set_.sources);
    const std::vector<std::int64_t> target_words = count_words_of(set_.references);
    if (!config_.gold.gold.empty()) {
      gold_ = read_gold_links(config_.gold, source_words, target_words);
      if (gold_.size() != set_.sources.size()) {
        throw UserError(fmt::format("{}: {} lines, but {} has {}", config_.gold.gold, gold_.size(), config_.test[0],
                                    set_.sources.size()),
                        "give a line of links for each sentence pair");
      }
    }
    const auto sum = [](const std::vector<std::int64_t>& counts) {
      std::int64_t all = 0;
      for (const std::int64_t count : counts) all += count;
      return all;
    };
    result_.attend = version();
    result_.made = now_utc().substr(0, 10);
    result_.processor = processor_name();
    result_.test = {.source = config_.test[0],
                    .target = config_.test[1],
                    .sentences = std::ssize(set_.sources),
                    .source_words = sum(source_words),
                    .target_words = sum(target_words),
                    .gold = config_.gold.gold};
  }

  void load_runs() {
    for (const std::string& path : config_.runs) {
      runs_.push_back(TrainedRun::load(path, config_.checkpoint, device_named(config_.device)));
      attend::freeze(*runs_.back().run.model, config_.precision);
    }
    systems_ = group_by_configuration(runs_);
    rename_systems(systems_, config_.names);
    result_.notes = notes_on_conditions(runs_, systems_);
    result_.differences = option_differences(runs_, systems_);
  }

  void translate_all() {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const TrainedRun& trained = runs_[i];
      log::info("{}: translating {} sentences, beam {}", trained.facts.path, set_.sources.size(),
                config_.translator.search.beam);
      RunOutputs outputs;
      WorkProgress progress({.unit = "sentences", .total = std::ssize(set_.sources)});
      Translator translator(*trained.run.model, trained.run.tokenizers, config_.translator, &progress);
      const auto start = std::chrono::steady_clock::now();
      auto translations = translator.translate(set_.sources);
      outputs.seconds = seconds_since(start);
      progress.clear();
      for (std::vector<Translation>& best : translations) {
        outputs.pieces += std::ssize(best.front().hypothesis.ids) + 1;
        outputs.translations.push_back(std::move(best.front()));
      }
      for (const TargetScore& score : score(trained.run, set_.sources, set_.references, kScoring)) {
        outputs.references.add(score);
      }
      outputs_.push_back(std::move(outputs));
    }
    for (const SystemRuns& system : systems_) {
      const RunOutputs& outputs = outputs_[system.runs[0]];
      set_.outputs.push_back(outputs.texts());
      const ScoreTally& scored = outputs.references;
      const Seq2SeqImpl& model = *runs_[system.runs[0]].run.model;
      for (const auto& [side, cut, pieces] : {std::tuple("sources", scored.cut_sources, most_source_pieces(model)),
                                              std::tuple("references", scored.cut_targets, kMostPieces)}) {
        if (cut.count > 0) result_.notes.push_back(fmt::format("{}, {}: {}.", system.name, side, cut.report(pieces)));
      }
    }
  }

  // tallies_[run][metric], and the scores of the resamples that all share.
  void measure_systems() {
    samples_ = metrics::draw_resamples(set_.sources.size());
    const int threads = static_cast<int>(std::thread::hardware_concurrency());
    const std::vector<Lines> references = {set_.references};
    for (const RunOutputs& outputs : outputs_) {
      std::vector<metrics::Tally>& tallies = tallies_.emplace_back();
      std::vector<std::vector<double>>& resampled = resampled_.emplace_back();
      const Lines texts = outputs.texts();
      for (const auto& metric : all_metrics()) {
        tallies.push_back(metrics::evaluate(*metric, texts, references, threads));
        resampled.push_back(metrics::resampled(tallies.back(), samples_));
      }
    }
    for (const SystemRuns& system : systems_) {
      System& shown =
          result_.systems.emplace_back(System{.name = system.name, .description = system.description, .runs = {}});
      for (const std::size_t run : system.runs) shown.runs.push_back(measured(run));
    }
  }

  Estimate estimate(std::size_t run, std::size_t metric) const {
    const metrics::Interval interval = metrics::interval_of(resampled_[run][metric], set_.sources.size());
    return {.value = tallies_[run][metric].value(), .low = interval.low, .high = interval.high};
  }

  MeasuredRun measured(std::size_t number) const {
    const TrainedRun& trained = runs_[number];
    const RunOutputs& outputs = outputs_[number];
    const auto sentences = static_cast<double>(set_.sources.size());
    double source_pieces = 0;
    for (const std::string& line : set_.sources) {
      source_pieces += static_cast<double>(trained.run.tokenizers.src.encode(line).size()) + 1;
    }
    const Cost cost{
        .parameters = count_parameters(*trained.run.model),
        .flops_per_token = flops_per_target_piece(trained.run, source_pieces / sentences,
                                                  static_cast<double>(outputs.references.pieces) / sentences),
        .tokens = trained.tokens,
        .updates = trained.updates,
        .train_seconds = trained.seconds,
        .train_tokens_per_second = trained.tokens_per_second,
        .train_memory_mb = trained.memory_mb,
        .translation_tokens_per_second = static_cast<double>(outputs.pieces) / outputs.seconds,
        .by_length = times_by_length(trained)};
    return {.facts = trained.facts,
            .quality = {.bleu = estimate(number, 0),
                        .chrf = estimate(number, 1),
                        .ter = estimate(number, 2),
                        .perplexity_piece = outputs.references.perplexity_by_piece(),
                        .perplexity_word = outputs.references.perplexity_by_word()},
            .cost = cost,
            .curve = trained.curve};
  }

  // The time of one sentence alone, as somebody waits for it, by the words of its source: the mean over the first
  // sentences of each length.
  std::vector<LengthTime> times_by_length(const TrainedRun& trained) const {
    constexpr std::size_t kSentences = 12;
    TranslatorConfig alone = config_.translator;
    alone.batch_size = 1;
    alone.workers = 1;
    Translator translator(*trained.run.model, trained.run.tokenizers, alone);
    std::vector<LengthTime> times;
    for (const LengthGroup& group : length_groups(set_.sources)) {
      Lines lines;
      for (const std::size_t i : group.sentences | std::views::take(kSentences)) lines.push_back(set_.sources[i]);
      const auto start = std::chrono::steady_clock::now();
      translator.translate(lines);
      times.push_back(
          {.length = group.name, .milliseconds = 1e3 * seconds_since(start) / static_cast<double>(lines.size())});
    }
    return times;
  }

  void test_pairs() {
    const metrics::Exchanges exchanges = metrics::draw_exchanges(set_.sources.size());
    for (std::size_t a = 0; a < systems_.size(); ++a) {
      for (std::size_t b = a + 1; b < systems_.size(); ++b) {
        for (std::size_t metric = 0; metric < all_metrics().size(); ++metric) {
          result_.tests.push_back(test_of(a, b, metric, exchanges));
        }
      }
    }
    for (const auto& metric : all_metrics()) correct_for_several(metric->name());
  }

  // Holm's correction over the pairs of one metric: metrics of one output agree too much to count as tests of their
  // own.
  void correct_for_several(const std::string& metric) {
    std::vector<PairTest*> tests;
    std::vector<SeedTest*> over_seeds;
    std::vector<double> p, p_seeds;
    for (PairTest& test : result_.tests) {
      if (test.metric != metric) continue;
      tests.push_back(&test);
      p.push_back(std::max(test.p_bootstrap, test.p_randomisation));
      if (!test.seeds) continue;
      over_seeds.push_back(&*test.seeds);
      p_seeds.push_back(test.seeds->p);
    }
    const std::vector<double> corrected = metrics::holm(p), corrected_seeds = metrics::holm(p_seeds);
    for (std::size_t i = 0; i < tests.size(); ++i) tests[i]->p_holm = corrected[i];
    for (std::size_t i = 0; i < over_seeds.size(); ++i) over_seeds[i]->p_holm = corrected_seeds[i];
  }

  PairTest test_of(std::size_t a, std::size_t b, std::size_t metric, const metrics::Exchanges& exchanges) const {
    const std::size_t run_a = systems_[a].runs[0], run_b = systems_[b].runs[0];
    const std::vector<double>& scores_a = resampled_[run_a][metric];
    const std::vector<double>& scores_b = resampled_[run_b][metric];
    const double difference = tallies_[run_b][metric].value() - tallies_[run_a][metric].value();
    std::vector<double> differences(scores_a.size());
    for (std::size_t i = 0; i < differences.size(); ++i) differences[i] = scores_b[i] - scores_a[i];
    const metrics::Interval interval = metrics::interval_of(differences, set_.sources.size());
    PairTest test{.a = static_cast<std::int64_t>(a),
                  .b = static_cast<std::int64_t>(b),
                  .metric = all_metrics()[metric]->name(),
                  .difference = {.value = difference, .low = interval.low, .high = interval.high},
                  .p_bootstrap = metrics::paired_bootstrap(scores_a, scores_b, difference, set_.sources.size()),
                  .p_randomisation =
                      metrics::approximate_randomisation(tallies_[run_a][metric], tallies_[run_b][metric], exchanges),
                  .p_holm = 1,
                  .seeds = {}};
    const auto over_seeds = [&](std::size_t system) {
      std::vector<double> values;
      for (const std::size_t run : systems_[system].runs) values.push_back(tallies_[run][metric].value());
      return values;
    };
    const auto has_seeds = [&](std::size_t system) {
      const std::size_t seeds = systems_[system].runs.size();
      return seeds >= 2 && seeds <= metrics::kMostPermuted;
    };
    if (has_seeds(a) && has_seeds(b)) {
      const std::vector<double> of_a = over_seeds(a), of_b = over_seeds(b);
      test.seeds = SeedTest{.difference = mean(of_b) - mean(of_a), .p = metrics::permutation_test(of_a, of_b)};
    }
    return test;
  }

  // The best validation loss of each system, and where every system passed it. Only where losses can be compared.
  void find_levels() {
    for (const TrainedRun& trained : runs_) {
      if (!have_comparable_losses(trained, runs_[0])) return;
    }
    for (const System& system : result_.systems) {
      double best = std::numeric_limits<double>::infinity();
      for (const CurvePoint& point : system.runs[0].curve) best = std::min(best, point.loss.value_or(best));
      if (best == std::numeric_limits<double>::infinity()) continue;
      LevelReached& level = result_.levels.emplace_back(LevelReached{.loss = best, .first = {}});
      for (const System& other : result_.systems) {
        const auto& curve = other.runs[0].curve;
        const auto first =
            std::ranges::find_if(curve, [&](const CurvePoint& point) { return point.loss && *point.loss <= best; });
        level.first.push_back(first == curve.end() ? std::nullopt : std::optional(*first));
      }
    }
    std::ranges::sort(result_.levels, std::ranges::greater{}, &LevelReached::loss);
  }

  void break_down() {
    result_.where.push_back(by_length(set_));
    const std::vector<std::string>& train = runs_[0].config.train;
    if (train.size() == 2 && std::filesystem::exists(train[1])) {
      result_.where.push_back(by_frequency(set_, count_frequencies(train[1])));
    } else {
      result_.notes.emplace_back("The training text is not where it was, so words are not grouped by their frequency.");
    }
    result_.where.push_back(by_copying(set_));
    result_.where.push_back(by_position(set_));
    result_.ngrams = ngram_differences(set_);
  }

  // Section 6: what each system's first run says of all translations, and how it searches.
  void explain() {
    TranslatedText text{.source = set_.sources, .reference = set_.references, .outputs = {}};
    for (const SystemRuns& system : systems_) text.outputs.push_back(outputs_[system.runs[0]].translations);
    std::vector<ModelScores> models;
    for (std::size_t i = 0; i < systems_.size(); ++i) {
      const Run& run = runs_[systems_[i].runs[0]].run;
      log::info("{}: scoring all translations, and beams up to {}", systems_[i].name, kComparedBeams.back());
      const auto passes = static_cast<std::int64_t>(systems_.size() + kComparedBeams.size());
      WorkProgress progress({.unit = "sentences", .total = std::ssize(set_.sources) * passes});
      models.push_back(score_translations(run, i, text, kScoring, &progress));
      result_.calibration.emplace_back(calibration(models.back().reference));
      result_.beams.push_back(beam_points(run, set_.sources, set_.references, config_.translator, &progress));
    }
    result_.cross_scores = cross_scores(models);
    for (const SystemRuns& system : systems_) {
      log::info("{}: attention", system.name);
      result_.attention.push_back(
          attention_statistics(runs_[system.runs[0]].run, set_.sources, set_.references, gold_));
    }
  }

  // Section 7, of the first sentences that are neither very short nor very long.
  void probe() {
    constexpr std::size_t kSentences = 24;
    constexpr std::int64_t kFarthest = 30;
    Lines sources, references;
    for (std::size_t i = 0; i < set_.sources.size() && sources.size() < kSentences; ++i) {
      const std::int64_t words = std::ssize(metrics::split_words(set_.sources[i]));
      if (words < 8 || words > 30) continue;
      sources.push_back(set_.sources[i]);
      references.push_back(set_.references[i]);
    }
    if (sources.empty()) {
      result_.notes.emplace_back("No sentence has 8 to 30 words, so the reach of the gradient was not measured.");
    }
    Probe& probe = result_.probe.emplace();
    for (const SystemRuns& system : systems_) {
      const TrainedRun& trained = runs_[system.runs[0]];
      log::info("{}: probes", system.name);
      SystemProbe& measured = probe.systems.emplace_back();
      if (!sources.empty()) {
        measured.reach = gradient_reach_of_checkpoints(trained.directory, sources, references, kFarthest);
      }
      measured.step_time = step_times(trained.run);
    }
    if (!gold_.empty()) {
      probe.by_distance.push_back(recall_of_distant_pairs(set_.references, set_.outputs, gold_));
    }
  }

  void add_sentences() {
    for (std::size_t i = 0; i < set_.sources.size(); ++i) {
      Sentence& sentence = result_.sentences.emplace_back(
          Sentence{.source = set_.sources[i], .reference = set_.references[i], .systems = {}});
      for (const SystemRuns& system : systems_) {
        const std::size_t run = system.runs[0];
        const auto segment = [&](std::size_t metric) {
          return all_metrics()[metric]->segment_value(tallies_[run][metric].row(i));
        };
        sentence.systems.push_back({.text = outputs_[run].translations[i].text,
                                    .bleu = segment(0),
                                    .chrf = segment(1),
                                    .log_prob = outputs_[run].translations[i].hypothesis.log_prob,
                                    .own = {},
                                    .reference = {}});
      }
    }
    for (std::size_t system = 0; system < systems_.size(); ++system) {
      const Run& run = runs_[systems_[system].runs[0]].run;
      if (result_.attention[system].empty()) continue;
      std::vector<AttentionMaps> own = attention_maps(run, set_.sources, set_.outputs[system]);
      std::vector<AttentionMaps> reference = attention_maps(run, set_.sources, set_.references);
      for (std::size_t i = 0; i < set_.sources.size(); ++i) {
        SystemSentence& sentence = result_.sentences[i].systems[system];
        if (!own[i].weights.empty()) sentence.own = std::move(own[i]);  // a blank source has nothing to attend to
        if (!reference[i].weights.empty()) sentence.reference = std::move(reference[i]);
      }
    }
  }

  const CompareConfig& config_;
  TranslatedSet set_;
  std::vector<SentenceLinks> gold_;
  std::vector<TrainedRun> runs_;
  std::vector<RunOutputs> outputs_;
  std::vector<SystemRuns> systems_;
  metrics::Resamples samples_;
  std::vector<std::vector<metrics::Tally>> tallies_;
  std::vector<std::vector<std::vector<double>>> resampled_;
  Comparison result_;
};

}  // namespace

void CompareConfig::validate(const OptionOrigins& origins) const {
  translator.validate(origins);
  if (test.size() != 2) {
    throw UserError(fmt::format("{}: {} files, expected 2", origins("test"), test.size()), "--test SOURCE TARGET");
  }
  if (translator.search.nbest > 1) {
    throw UserError(origins("nbest") + ": the best translation of each sentence is compared", "leave it out");
  }
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty()) throw UserError(origins("names") + ": empty name", "give each system a name");
    if (!seen.insert(name).second) {
      throw UserError(origins("names") + ": " + name + " is given twice", "give each system a name of its own");
    }
  }
  if (std::ranges::count(test, "-") + (gold.gold == "-" ? 1 : 0) > 1) {
    throw UserError(origins("test") + ": standard input (-) can be read only once", "write one of the texts to a file");
  }
}

Comparison compare(const CompareConfig& config) { return Measurement(config).run(); }

}  // namespace attend
