// What every comparison of runs does alike, whatever kind of model they have.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare.hpp"
#include "analysis/pair_tests.hpp"
#include "analysis/run_groups.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/device.hpp"

namespace attend {

// Outputs, and their scores, are numbered: first those of all runs, then one for each system without a model.
template <class SomeRun, class Result>
class ComparedRuns {
 public:
  explicit ComparedRuns(const CompareConfig& config) : config_(config) {
    record_making(result_);
    result_.processor = processor_name();
  }

 protected:
  // Loads the runs, frozen, groups them into systems, and sets what differs between these. A run of several seeds
  // stands for the runs of all.
  void load_runs() {
    for (const std::string& named : config_.runs) {
      for (const std::filesystem::path& path : runs_of_all_seeds(named)) {
        runs_.push_back(SomeRun::load(path, config_.checkpoint, device_named(config_.device)));
        freeze(*runs_.back().run.model, config_.precision);
      }
    }
    const std::vector<RunConditions> conditions = conditions_of(runs_);
    systems_ = group_by_configuration(conditions);
    rename_systems(systems_, config_.names);
    num_trained_ = systems_.size();
    result_.differences = option_differences(conditions, systems_);
    result_.learning_rates = learning_rates_of(conditions, systems_);
    result_.equal_vocabularies = have_equal_vocabularies(conditions);
  }

  // Adds a system without a model, whose output is in `file`. Throws `if_known` if another one has its name.
  void add_system(const std::string& name, const std::string& file, const std::string& description,
                  const UserError& if_known) {
    if (std::ranges::find(systems_, name, &SystemRuns::name) != systems_.end()) throw UserError(if_known);
    systems_.push_back({.name = name, .description = description, .runs = {num_outputs()}});
    files_.push_back(file);
    for (OptionDifference& difference : result_.differences) difference.values.emplace_back("-");
  }

  std::size_t num_outputs() const { return runs_.size() + files_.size(); }
  bool has_model(const SystemRuns& system) const { return system.runs[0] < runs_.size(); }
  // Of a system with a model.
  const SomeRun& first_run(const SystemRuns& system) const { return runs_[system.runs[0]]; }
  // The systems with a model.
  std::vector<SystemRuns> trained() const {
    return {systems_.begin(), systems_.begin() + static_cast<std::ptrdiff_t>(num_trained_)};
  }

  // What a reader needs before the numbers. `test` as in notes_on_conditions.
  void note_conditions(const std::vector<std::string>& test = {}) {
    if (systems_.size() == 1) result_.notes.emplace_back("There is only one system: nothing is compared.");
    std::ranges::move(notes_on_conditions(conditions_of(runs_), trained(), test, result_.units),
                      std::back_inserter(result_.notes));
  }

  // The files in which words are counted: --train, or else the training text of the first run; none, with a note, if
  // that has a fault.
  std::vector<std::string> training_text() {
    if (!config_.train.empty()) return config_.train;
    std::string fault = "no training text is given (--train)";
    if (!runs_.empty()) {
      const RunConditions first = conditions_of(runs_.front());
      fault = fault_of_training_text(first);
      if (fault.empty()) return first.train;
    }
    result_.notes.push_back(fmt::format("Words are not grouped by their frequency: {}.", fault));
    return {};
  }

  // Notes that the vocabulary of a system lacks `unknown` of the pieces, if any, which makes `numbers` too low.
  void note_unknown(const SystemRuns& system, std::int64_t unknown, std::int64_t pieces, std::string_view numbers) {
    if (unknown == 0) return;
    result_.notes.push_back(fmt::format(
        "{}: its vocabulary lacks {:.1f} % of the pieces of the {}. Each is read as <unk>, a single piece that is easy "
        "to predict, so {} are too low to be compared with those of a vocabulary that can spell every word.",
        system.name, 100 * static_cast<double>(unknown) / static_cast<double>(pieces), result_.units.text, numbers));
  }

  metrics::Resamples resamples(std::size_t segments) const {
    return resamples_for(segments, pairs_among(systems_.size()));
  }

  // Shows all systems with the scores of their outputs; add(run, number) adds what else was measured of a run with a
  // model. Then tests the scores of all pairs.
  template <class Add>
  void measure_systems(const Add& add) {
    for (const SystemRuns& system : systems_) {
      System& shown = result_.systems.emplace_back(
          System{.name = system.name, .description = system.description, .only_text = !has_model(system)});
      for (const std::size_t number : system.runs) {
        MeasuredRun& run = shown.runs.emplace_back();
        for (const ScoredOutput& scored : scored_[number]) run.quality.scores.push_back(estimate_of(scored));
        if (!has_model(system)) {
          run.facts.path = files_[number - runs_.size()];
          continue;
        }
        const SomeRun& trained = runs_[number];
        run.facts = trained.facts;
        run.cost = trained.cost;
        run.cost.parameters = count_parameters(*trained.run.model);
        run.curve = trained.curve;
        add(run, number);
      }
    }
    result_.tests = test_pairs(systems_, scored_, result_.metrics);
    result_.levels = levels_reached(conditions_of(runs_), result_.systems);
  }

  // The accuracy of the systems with a model on the pairs of each file.
  void measure_contrasts(const ScoreConfig& scoring) {
    for (const PairsFile& file : contrasts_) {
      std::vector<std::optional<std::vector<PairLogProbs>>> scores(systems_.size());
      for (std::size_t s = 0; s < systems_.size(); ++s) {
        if (!has_model(systems_[s])) continue;
        log::info("{}: {} of {}", systems_[s].name, counted(std::ssize(file.pairs), "minimal pair"), file.name);
        scores[s] = score_each(first_run(systems_[s]).run, file.pairs, scoring);
      }
      result_.contrasts.push_back(contrast_set(file, scores));
    }
  }

  const CompareConfig& config_;
  std::vector<SomeRun> runs_;
  std::vector<SystemRuns> systems_;                // those without a model last
  std::size_t num_trained_ = 0;                    // systems with a model
  std::vector<std::string> files_;                 // of systems without a model
  std::vector<std::vector<ScoredOutput>> scored_;  // [output][metric]
  std::vector<PairsFile> contrasts_;               // of --contrast
  Result result_;
};

}  // namespace attend
