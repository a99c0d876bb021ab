#include "analysis/compare.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/attention_statistics.hpp"
#include "analysis/breakdowns.hpp"
#include "analysis/compared_inputs.hpp"
#include "analysis/compared_runs.hpp"
#include "analysis/cost.hpp"
#include "analysis/cross_scores.hpp"
#include "analysis/probe.hpp"
#include "analysis/searches.hpp"
#include "analysis/trained_run.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "eval/metrics/significance.hpp"
#include "eval/metrics/tokenizers.hpp"
#include "eval/score.hpp"
#include "eval/workers.hpp"
#include "models/attention/edits.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/kind.hpp"

namespace attend {
namespace {

using Lines = std::vector<std::string>;
namespace fs = std::filesystem;

class Measurement : ComparedRuns<TrainedRun, Comparison> {
 public:
  explicit Measurement(const CompareConfig& config)
      : ComparedRuns(config), metrics_(metrics::TranslationMetrics{.choice = config.metrics}.make()) {
    for (std::size_t m = 0; m < metrics_.size(); ++m) {
      const metrics::TextMetric& row = *metrics::find_text_metric(config.metrics.metrics[m]);
      std::string meaning(row.meaning);
      if (row.key == "bleu") meaning += fmt::format(", tokenization {}", name_of(config.metrics.tokenize));
      result_.metrics.push_back({.key = std::string(row.key),
                                 .name = metrics_[m]->name(),
                                 .lower_is_better = row.lower_is_better,
                                 .meaning = meaning});
    }
  }

  Comparison run() {
    read_texts();
    load_systems();
    read_scores();
    translate_all();
    score_outputs();
    measure_systems([&](MeasuredRun& run, std::size_t number) {
      const ScoreTally& references = outputs_[number].references;
      run.quality.perplexity_piece = references.perplexity_by_piece();
      run.quality.perplexity_word = references.perplexity_by_word();
      add_cost_of_translation(run.cost, runs_[number], outputs_[number], set_.sources, config_.translator);
      run.watched = runs_[number].watched;
    });
    break_down();
    measure_contrasts(scoring());
    explain();
    if (config_.probe) probe();
    add_sentences();
    return std::move(result_);
  }

 private:
  void read_texts() {
    inputs_ = read_compared_inputs(config_.test, config_.gold, config_.hypothesis);
    set_.sources = inputs_.sources;
    set_.references = inputs_.references;
    contrasts_ = read_pairs_files(config_.contrast, PairsOf::translations);
    result_.test = {.source = config_.test[0],
                    .target = config_.test[1],
                    .sentences = std::ssize(set_.sources),
                    .source_words = inputs_.source_words,
                    .target_words = inputs_.target_words};
    if (!config_.gold.gold.empty()) result_.test.gold = config_.gold.gold;
  }

  void load_systems() {
    load_runs();
    for (const GivenSystem& given : inputs_.given) {
      add_system(given.name, given.file, "translations in " + given.file,
                 UserError(fmt::format("--hypothesis {}={}: a run has this name", given.name, given.file),
                           "give the translations another name"));
    }
    searches_ = parse_searches(config_.search, config_.translator);
    for (const NamedSearch& search : searches_) {
      const std::string& run = runs_[0].facts.path;
      add_system(search.name, run, fmt::format("a search of {}: {}", run, search.options),
                 UserError(fmt::format("--search {}: another system has this name", search.name), "give another name"));
    }
  }

  void read_scores() {
    const std::vector<GivenSystem> named = parse_named_files("--scores", "COMET=scores.txt", config_.scores);
    for (const GivenSystem& given : named) {
      if (std::ranges::find(result_.metrics, given.name, &ComparedMetric::name) != result_.metrics.end()) {
        throw UserError(fmt::format("--scores {}={}: a metric has this name", given.name, given.file),
                        "give the scores another name");
      }
      const GivenScores& scores = given_scores_.emplace_back(given.file, num_outputs(), set_.sources.size());
      result_.metrics.push_back({.key = "scores." + given.name,
                                 .name = given.name,
                                 .lower_is_better = std::ranges::count(config_.lower_is_better, given.name) > 0,
                                 .meaning = "mean of the scores in " + given.file,
                                 .decimals = scores.decimals()});
    }
    for (const std::string& name : config_.lower_is_better) {
      if (std::ranges::find(named, name, &GivenSystem::name) == named.end()) {
        throw UserError(fmt::format("--lower-is-better {}: no --scores has this name", name), "check the name");
      }
    }
  }

  ScoreConfig scoring() const {
    return {.workers = config_.translator.workers, .threads = config_.translator.threads, .edit = &cut_};
  }

  // False for samples, minimum Bayes risk, and limits that the reference may not meet. ComparedSearch has no option
  // that ranks otherwise.
  bool ranks_by_length_alone() const {
    const SearchConfig& search = config_.translator.search;
    return config_.translator.mbr == 0 && search.sample == 0 && search.repetition_penalty == 1 &&
           search.min_length == 0 && search.no_repeat_ngram == 0;
  }

  void translate_all() {
    for (TrainedRun& trained : runs_) {
      const SearchConfig search = config_.translator.candidates();
      log::info("{}: translating {}, {}", trained.facts.path, counted(std::ssize(set_.sources), "sentence"),
                search.sample > 0 ? "samples" : fmt::format("beam {}", search.beam));
      const SystemOutputs& outputs = outputs_.emplace_back(
          translate_test_set(trained, set_.sources, set_.references, config_.translator, scoring()));
      trained.cost.pieces_per_word =
          static_cast<double>(outputs.references.pieces) / static_cast<double>(outputs.references.words);
    }
    for (const GivenSystem& given : inputs_.given) {
      SystemOutputs& outputs = outputs_.emplace_back();
      for (const std::string& line : given.lines) outputs.translations.push_back({.text = line, .hypothesis = {}});
    }
    for (const NamedSearch& search : searches_) {
      log::info("{}: translating {}, {}", search.name, counted(std::ssize(set_.sources), "sentence"), search.options);
      outputs_.emplace_back().translations = best_translations(search, runs_[0].run, set_.sources);
    }
    for (const SystemRuns& system : systems_) set_.outputs.push_back(outputs_[system.runs[0]].texts());
    note_conditions(config_.test);
    note_texts();
  }

  void note_texts() {
    std::vector<std::string>& notes = result_.notes;
    if (const auto blank = std::ranges::count_if(set_.sources, is_blank); blank > 0 && num_trained_ > 0) {
      notes.push_back(
          fmt::format("The source has {}, which no search translates: log-probabilities per sentence are "
                      "without them.",
                      counted(blank, "blank line")));
    }
    for (const SystemRuns& system : trained()) {
      const SystemOutputs& outputs = outputs_[system.runs[0]];
      const ScoreTally& scored = outputs.references;
      const Seq2SeqImpl& model = *runs_[system.runs[0]].run.model;
      for (const auto& [side, cut, pieces] : {std::tuple("sources", scored.cut_sources, most_source_pieces(model)),
                                              std::tuple("references", scored.cut_targets, kMostPieces)}) {
        if (cut.count > 0) notes.push_back(fmt::format("{}, {}: {}.", system.name, side, cut.report(pieces)));
      }
      note_unknown(system, outputs.unknown_pieces, scored.pieces, "the perplexities");
    }
  }

  void score_outputs() {
    const metrics::Resamples samples = resamples(set_.sources.size());
    const auto threads = static_cast<int>(num_workers(config_.translator.workers));
    const std::vector<Lines> references = {set_.references};
    for (const SystemOutputs& outputs : outputs_) {
      std::vector<ScoredOutput>& scored = scored_.emplace_back();
      const Lines texts = outputs.texts();
      for (const auto& metric : metrics_) {
        refuse_if_stopped();
        scored.push_back(with_resamples(metrics::evaluate(*metric, texts, references, threads), samples));
      }
      for (const GivenScores& given : given_scores_) {
        scored.push_back(with_resamples(given.rows(scored_.size() - 1), samples));
      }
    }
  }

  void break_down() {
    result_.where.push_back(by_length(set_, *metrics_[0]));
    const Lines training = training_text();
    if (!training.empty()) result_.where.push_back(by_frequency(set_, count_frequencies({training.back()})));
    result_.where.push_back(by_copying(set_));
    result_.where.push_back(by_position(set_));
    result_.ngrams = ngram_differences(set_);
  }

  // Section 6: each system's first run scores all translations, and searches with several beams.
  void explain() {
    TranslatedText text{.source = set_.sources, .reference = set_.references, .outputs = {}};
    for (const SystemRuns& system : systems_) text.outputs.push_back(outputs_[system.runs[0]].translations);
    const SearchConfig& search = config_.translator.search;
    CrossScoring cross{.scoring = scoring(), .search = search};
    if (!ranks_by_length_alone()) cross.search.reset();
    std::vector<std::optional<ModelScores>> models;
    for (std::size_t i = 0; i < systems_.size(); ++i) {
      std::optional<ModelScores>& scores = models.emplace_back();
      result_.calibration.emplace_back();
      result_.beams.emplace_back();
      result_.attention.emplace_back();
      if (!has_model(systems_[i])) continue;
      const TranslationRun& run = first_run(systems_[i]).run;
      log::info("{}: scoring all translations, and beams up to {}", systems_[i].name, kComparedBeams.back());
      const std::int64_t passes = systems_.size() + kComparedBeams.size();
      WorkProgress progress({.unit = "sentences", .total = std::ssize(set_.sources) * passes});
      scores = score_translations(run, i, text, cross, &progress);
      result_.calibration.back() = calibration(scores->reference);
      result_.beams.back() =
          beam_points(run, set_.sources, set_.references, *metrics_[0], config_.translator, &progress);
      progress.clear();
      log::info("{}: attention", systems_[i].name);
      result_.attention.back() =
          attention_statistics(run, set_.sources, set_.references, inputs_.gold, search.attention_threshold);
    }
    if (!runs_.empty()) result_.cross_scores = cross_scores(models, set_.sources, search.length_penalty);
  }

  // Section 7, of the first sentences that are neither very short nor very long.
  void probe() {
    constexpr std::size_t kSentences = 24;
    constexpr std::int64_t kFarthestReach = 30;
    Lines sources, references;
    for (std::size_t i = 0; i < set_.sources.size() && sources.size() < kSentences; ++i) {
      const std::int64_t words = std::ssize(metrics::split_words(set_.sources[i]));
      if (words < 8 || words > 30) continue;
      sources.push_back(set_.sources[i]);
      references.push_back(set_.references[i]);
    }
    if (sources.empty() && !runs_.empty()) {
      result_.notes.emplace_back("No sentence has 8 to 30 words, so the reach of the gradient was not measured.");
    }
    Probe& probe = result_.probe.emplace();
    for (const SystemRuns& system : systems_) {
      SystemProbe& measured = probe.systems.emplace_back();
      if (!has_model(system)) continue;
      const TrainedRun& trained = first_run(system);
      log::info("{}: probes", system.name);
      if (!sources.empty()) {
        measured.reach = gradient_reach_of_checkpoints(trained.directory, sources, references, kFarthestReach);
      }
      refuse_if_stopped();
      measured.step_time = step_times(trained.run);
      refuse_if_stopped();
    }
    if (!inputs_.gold.empty()) {
      probe.by_distance.push_back(recall_of_distant_pairs(set_.references, set_.outputs, inputs_.gold));
    }
  }

  void add_sentences() {
    for (std::size_t i = 0; i < set_.sources.size(); ++i) {
      Sentence& sentence =
          result_.sentences.emplace_back(Sentence{.source = set_.sources[i], .reference = set_.references[i]});
      for (const SystemRuns& system : systems_) {
        const std::size_t output = system.runs[0];
        const Translation& translation = outputs_[output].translations[i];
        const bool searched = has_model(system) && !is_blank(sentence.source);
        SystemSentence& shown = sentence.systems.emplace_back(
            SystemSentence{.text = translation.text,
                           .log_prob = searched ? std::optional(translation.hypothesis.log_prob) : std::nullopt});
        for (std::size_t m = 0; m < metrics_.size(); ++m) {
          shown.scores.push_back(metrics_[m]->segment_value(scored_[output][m].rows->row(i)));
        }
        for (std::size_t m = metrics_.size(); m < result_.metrics.size(); ++m) {
          shown.scores.push_back(scored_[output][m].rows->row(i)[0]);
        }
      }
    }
    std::vector<const TranslationRun*> models;
    for (std::size_t system = 0; system < systems_.size(); ++system) {
      const bool attends = !result_.attention[system].empty();
      models.push_back(attends ? &first_run(systems_[system]).run : nullptr);
    }
    add_attention(result_, models, config_.translator.search.attention_threshold, config_.all_attention);
  }

  const CutWeights cut_{config_.translator.search.attention_threshold};
  std::vector<std::unique_ptr<metrics::Metric>> metrics_;
  std::vector<GivenScores> given_scores_;  // in result_.metrics and scored_ after metrics_
  TranslatedSet set_;
  ComparedInputs inputs_;
  std::vector<NamedSearch> searches_;
  std::vector<SystemOutputs> outputs_;
};

}  // namespace

void refuse_if_stopped() { signals::throw_if_stopped("the comparison was interrupted"); }

std::string_view kind_of_comparison(const CompareConfig& config) {
  if (config.runs.empty()) return config.task.empty() ? kGivenTranslations : kGivenPredictions;
  for (const auto& [kind, name] : {std::pair(RunKind::language, kLanguageModels),
                                   {RunKind::finetune, kTunedRuns},
                                   {RunKind::pretrain, kPretrainedEncoders}}) {
    const auto is_one = [kind](const fs::path& run) {
      const fs::path best = run_of_best_seed(run);
      return fs::exists(best / "run.json") && kind_of_run(best) == kind;
    };
    if (std::ranges::none_of(config.runs, is_one)) continue;
    for (const std::string& run : config.runs) {
      if (const RunKind found = kind_of_run(run_of_best_seed(run)); found != kind) refuse_kind(run, found, kind);
    }
    return name;
  }
  return kTranslationRuns;
}

Facts CompareConfig::facts() const {
  if (runs.empty() && hypothesis.empty()) {
    throw UserError("nothing to compare: no run and no --hypothesis is given",
                    "name runs, or files of translations or predictions: --hypothesis NAME=FILE");
  }
  Facts all = translator.facts();
  all[kComparisonsOf] = {std::string(kind_of_comparison(*this)), runs.empty() ? "no run is given" : ""};
  return all;
}

void CompareConfig::validate(const OptionOrigins& origins) const {
  const std::string_view kind = kind_of_comparison(*this);
  const bool of_translations = kind == kTranslationRuns || kind == kGivenTranslations;
  const bool of_task = kind == kTunedRuns || kind == kGivenPredictions;
  translator.validate(origins);
  metrics.validate(origins);
  parse_searches(search, translator);  // refuses
  if (of_translations) check_two_files("test", test, origins);
  if (of_task && test.size() != 1) {
    throw UserError(fmt::format("{}: {} files, expected 1", origins("test"), test.size()),
                    "give a labelled file of the task");
  }
  if (translator.search.nbest > 1 && translator.mbr == 0) {
    throw UserError(origins("nbest") + ": the best translation of each sentence is compared", "leave it out");
  }
  if (translator.search.sample > 1 && translator.mbr == 0) {
    throw UserError(origins("sample") + ": one translation of each sentence is compared", "give --sample 1");
  }
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty()) throw UserError(origins("names") + ": empty name", "give each system a name");
    if (!seen.insert(name).second) {
      throw UserError(origins("names") + ": " + name + " is given twice", "give each system a name of its own");
    }
  }
  if (is_checkpoint_path(checkpoint) && runs.size() > 1) {
    throw UserError(fmt::format("{} {}: a path names the weights of one run, but {} are compared",
                                origins("checkpoint"), checkpoint, runs.size()),
                    "give auto, best or last, or compare one run");
  }
  if (of_translations && train.size() > 2) {
    throw UserError(fmt::format("{}: {} files, expected 1 or 2", origins("train"), train.size()),
                    "--train SOURCE TARGET, or the target side alone");
  }
}

Comparison compare(const CompareConfig& config) { return Measurement(config).run(); }

}  // namespace attend
