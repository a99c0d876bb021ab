// The measurements of `attend compare` for runs of `attend pretrain` that predict masked tokens, or tokens in a random
// order.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/breakdowns.hpp"
#include "analysis/compared_runs.hpp"
#include "analysis/cross_scores.hpp"
#include "analysis/trained_run.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "data/batch/sources.hpp"

namespace attend {
namespace {

constexpr double kLongTest = 200'000;  // tokens of the text that are read

// The share of masked tokens that are predicted, in percent, from rows (right, tokens) of sequences.
const RatioOfSums kMaskedAccuracy("Accuracy", [](double share) { return 100 * share; });

class MaskedMeasurement : ComparedRuns<TrainedBertRun, TaskComparison> {
 public:
  using ComparedRuns::ComparedRuns;

  TaskComparison run() {
    result_.units = {
        .segment = "sequence", .token = "token", .word = "token", .text = "test text", .predicts_pieces = false};
    result_.metrics = {{.key = "masked_loss",
                        .name = "Loss",
                        .lower_is_better = true,
                        .meaning = "-log p / masked tokens, in nats",
                        .decimals = 3},
                       {.key = "accuracy", .name = "Accuracy", .meaning = "share of masked tokens"}};
    load_runs();
    check_runs();
    read_text();
    note_conditions();
    score_texts();
    measure_systems([](MeasuredRun&, std::size_t) {});
    for (const SystemRuns& system : systems_) result_.calibration.emplace_back(calibration(scores_[system.runs[0]]));
    if (runs_[0].config.objective == PretrainingKind::masked) break_down();
    return std::move(result_);
  }

 private:
  void check_runs() {
    length_ = runs_[0].config.longest();
    for (const TrainedBertRun& run : runs_) {
      run.run.check_fills_masks(run.facts.path);
      length_ = std::min(length_, run.run.model->bert->options().max_positions);
      if (run.run.tokenizer.hash() != runs_[0].run.tokenizer.hash()) {
        throw UserError(fmt::format("{}: another vocabulary than {}, so other tokens would be masked", run.facts.path,
                                    runs_[0].facts.path),
                        "compare encoders of one vocabulary");
      }
      if (run.run.is_permuted() != runs_[0].run.is_permuted()) {
        throw UserError(fmt::format("{}: another --objective than {}", run.facts.path, runs_[0].facts.path),
                        "compare encoders of one objective");
      }
    }
  }

  // Masks and orders are a pure function of the text, the length and the seed.
  void read_text() {
    const DocumentCorpus corpus = DocumentCorpus::open(config_.test, runs_[0].run.tokenizer);
    PretrainingData data(corpus, runs_[0].run.tokenizer,
                         {.sequence_objective = SequenceObjective::none, .length = length_, .short_sequences = 0}, {},
                         std::max<std::int64_t>(length_, 2048), /*seed=*/0,
                         runs_[0].run.is_permuted() ? PretrainingKind::permuted : PretrainingKind::masked);
    const std::int64_t batches = data.begin_epoch(0);
    for (const TrainedBertRun& run : runs_) {
      log::info("{}: reading {}", run.facts.path, corpus.name());
      scores_.emplace_back();
      std::int64_t tokens = 0;
      for (std::int64_t b = 0; b < batches && static_cast<double>(tokens) < kLongTest; ++b) {
        refuse_if_stopped();
        tokens += read(run.run, data.batch(b), scores_.back());
      }
    }
    result_.test = {.files = corpus.name(), .task = "masked tokens", .records = std::ssize(scores_[0]), .words = 0};
    for (const TextScore& score : scores_[0]) result_.test.words += std::ssize(score.pieces);
  }

  // Adds the predicted tokens of each sequence of a batch; returns the number of tokens read.
  std::int64_t read(const BertRun& run, const PretrainingBatch& from, std::vector<TextScore>& scores) {
    const c10::InferenceMode inference;
    const PretrainingBatch batch = on_device(from, run.model->parameters().front().device());
    const Layout& layout = batch.input.tokens.layout;
    const Selection masked = select(batch.masked, layout, batch.input.tokens.ids_M.device());
    Pass pass = Pass::inference();
    const at::Tensor hidden_KH = run.is_permuted()
                                     ? run.model->bert->forward_queries(batch.input, batch.ranks_M, masked, pass)
                                     : run.model->states_of_masked(batch.input, masked, pass);
    const std::vector<ForcedPiece> pieces =
        forced_pieces(run.model->predictions->transform(hidden_KH), run.model->bert->table(),
                      run.model->predictions->bias, batch.labels_K);
    const at::Tensor ids_M = from.input.tokens.ids_M;
    std::size_t k = 0;
    for (std::int64_t sequence = 0; sequence < layout.size(); ++sequence) {
      TextScore& score = scores.emplace_back();
      std::vector<std::size_t> kinds;
      for (; k < pieces.size() && batch.masked[k] < layout.offsets[sequence + 1]; ++k) {
        const auto id = ids_M[batch.masked[k]].item<std::int64_t>();
        kinds.push_back(id == run.tokenizer.special().mask ? 0 : id == pieces[k].id ? 2 : 1);
        score.pieces.push_back(pieces[k]);
      }
      if (scores_.size() == 1) replaced_by_.push_back(std::move(kinds));
    }
    return ids_M.size(0);
  }

  void score_texts() {
    const metrics::Resamples samples = resamples(scores_[0].size());
    for (const std::vector<TextScore>& scores : scores_) {
      metrics::Rows loss(kMean), right(kMaskedAccuracy);
      for (const TextScore& score : scores) {
        const auto count = static_cast<double>(score.pieces.size());
        loss.append(std::array{-score.log_prob(), count});
        right.append(
            std::array{static_cast<double>(std::ranges::count(score.pieces, true, &ForcedPiece::is_best)), count});
      }
      scored_.push_back({with_resamples(loss, samples), with_resamples(right, samples)});
    }
  }

  void break_down() {
    const std::vector<std::string> names = {"[MASK]", "another token", "the token itself"};
    RecallByGroup recall(names, systems_.size(), replaced_by_.size());
    for (std::size_t s = 0; s < systems_.size(); ++s) {
      for (std::size_t i = 0; i < replaced_by_.size(); ++i) {
        for (std::size_t k = 0; k < replaced_by_[i].size(); ++k) {
          recall.add(replaced_by_[i][k], s, i, scores_[systems_[s].runs[0]][i].pieces[k].is_best);
        }
      }
    }
    result_.where.push_back({.id = "replacement",
                             .title = "What stands in the place of the token",
                             .measure = "accuracy in percent",
                             .unit = "tokens",
                             .groups = recall.groups()});
  }

  std::int64_t length_ = 0;
  std::vector<std::vector<TextScore>> scores_;         // of each run and sequence
  std::vector<std::vector<std::size_t>> replaced_by_;  // of each sequence and predicted token: the number of a name
};

}  // namespace

TaskComparison compare_masked(const CompareConfig& config) { return MaskedMeasurement(config).run(); }

}  // namespace attend
