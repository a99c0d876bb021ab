#include "analysis/probe.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/autograd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/random.hpp"
#include "data/batch/batch.hpp"
#include "eval/pair_attention.hpp"
#include "models/ops/ops.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/translation/factory.hpp"
#include "train/translation/objective.hpp"

namespace attend {
namespace {

using torch::Tensor;

class SourceObserver : public Observer {
 public:
  void on_attention(AttentionPlace, std::int64_t, const Tensor&) override {}
  void on_hidden(AttentionPlace place, std::int64_t layer, const Tensor& x_SE) override {
    if (place == AttentionPlace::encoder && layer == 0) embedded_SE = x_SE;
  }
  Tensor embedded_SE;
};

// The rows of the labels at position t, for the sentences that reach it.
std::vector<std::int64_t> rows_at(std::int64_t t, const Layout& target) {
  std::vector<std::int64_t> rows;
  for (std::int64_t b = 0; b < target.size(); ++b) {
    if (t < target.length(b)) rows.push_back(target.offsets[b] + t);
  }
  return rows;
}

// |∂ log p(y_t) / ∂ e_s| of every source piece, from one pass: sentences are independent of each other, so the gradient
// of the sum of their log-probabilities has the gradient of each sentence in its rows.
Tensor gradient_norms(const TranslationRun& run, const Batch& batch, std::int64_t t) {
  SourceObserver observer;
  Pass pass = Pass::inference(&observer);
  const Tensor hidden_MH = run.model->forward(batch, pass);
  const Tensor rows_K = at::tensor(rows_at(t, batch.tgt.layout), at::kLong).to(hidden_MH.device());
  const Tensor loss = ops::cross_entropy(hidden_MH.index_select(0, rows_K), run.model->output_table(),
                                         run.model->output_bias(), batch.labels_M.index_select(0, rows_K),
                                         /*label_smoothing=*/0)
                          .loss;
  ensure(observer.embedded_SE.defined() && observer.embedded_SE.requires_grad(), "a source that gradients reach");
  const Tensor gradient_SE = torch::autograd::grad({loss}, {observer.embedded_SE})[0];
  return gradient_SE.to(at::kDouble).norm(2, 1).cpu();
}

Batch batch_of(const TranslationRun& run, const std::vector<std::string>& source,
               const std::vector<std::string>& target) {
  std::vector<std::vector<std::int32_t>> sources, targets;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const PiecePair pair = pair_in_pieces(run.tokenizers, source[i], target[i]);
    if (pair.source_pieces.empty()) continue;
    std::vector<std::int32_t>& ids = sources.emplace_back(ids_of(pair.source_pieces));
    ids.resize(std::min(ids.size(), most_source_pieces(*run.model)));
    targets.push_back(pair.target_ids);
  }
  return on_device(
      batch_of_pairs({sources.begin(), sources.end()}, {targets.begin(), targets.end()}, batch_ids(run.tokenizers)),
      run.model->device());
}

// Sentences of equal length with random pieces.
Batch random_batch(const TranslationRun& run, std::int64_t sentences, std::int64_t length) {
  RandomStream random(1);
  const auto draw = [&](const Tokenizer& tokenizer) {
    std::vector<std::int64_t> ids(sentences * length);
    for (std::int64_t& id : ids) id = random.below(static_cast<std::uint64_t>(tokenizer.size()));
    return at::tensor(ids, at::kLong);
  };
  Layout layout;
  for (std::int64_t b = 0; b < sentences; ++b) layout.append(length);
  Batch batch;
  batch.src = {draw(run.tokenizers.src), layout};
  batch.tgt = {draw(run.tokenizers.tgt), layout};
  batch.labels_M = draw(run.tokenizers.tgt);
  return on_device(std::move(batch), run.model->device());
}

// The median of several updates, by the clock.
double median_milliseconds(const std::function<void()>& update, const Milliseconds& now) {
  constexpr int kUpdates = 5;
  update();  // fills caches
  std::vector<double> times;
  for (int i = 0; i < kUpdates; ++i) {
    const double begin = now();
    update();
    times.push_back(now() - begin);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

double milliseconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

// Sets the number of threads during its lifetime.
class Threads {
 public:
  explicit Threads(std::int64_t number) : before_(at::get_num_threads()) {
    at::set_num_threads(static_cast<int>(number));
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { at::set_num_threads(before_); }

 private:
  int before_;
};

}  // namespace

std::vector<double> gradient_reach(const TranslationRun& run, const std::vector<std::string>& source,
                                   const std::vector<std::string>& target, std::int64_t farthest) {
  ensure(source.size() == target.size(), "a translation for each line");
  const Batch batch = batch_of(run, source, target);
  const Layout &src = batch.src.layout, &tgt = batch.tgt.layout;
  std::vector<double> sums(farthest + 1), counts(sums.size());
  for (std::int64_t t = 0; t < tgt.max_length; ++t) {
    const Tensor norms_S = gradient_norms(run, batch, t);
    const auto norms = norms_S.accessor<double, 1>();
    for (std::int64_t b = 0; b < tgt.size(); ++b) {
      const std::int64_t S = src.length(b), T = tgt.length(b);
      if (t >= T) continue;
      const std::int64_t diagonal =
          std::min<std::int64_t>(S - 1, std::llround(static_cast<double>(t * S) / static_cast<double>(T)));
      for (std::int64_t d = 0; d <= std::min(farthest, diagonal); ++d) {
        sums[d] += norms[src.offsets[b] + diagonal - d];
        ++counts[d];
      }
    }
  }
  std::vector<double> reach;
  for (std::size_t d = 0; d < sums.size(); ++d) {
    reach.push_back(counts[d] == 0 ? std::numeric_limits<double>::quiet_NaN()
                                   : (sums[d] / counts[d]) / (sums[0] / counts[0]));
  }
  return reach;
}

std::vector<GradientReach> gradient_reach_of_checkpoints(const std::filesystem::path& run,
                                                         const std::vector<std::string>& source,
                                                         const std::vector<std::string>& target,
                                                         std::int64_t farthest) {
  std::vector<GradientReach> reach;
  for (const std::int64_t step : checkpoint_steps(run)) {
    const std::filesystem::path checkpoint = checkpoint_path(run, step);
    reach.push_back({.checkpoint = checkpoint.filename().string(),
                     .by_distance = gradient_reach(load_run_as<TranslationRun>(run, checkpoint.string()), source,
                                                   target, farthest)});
  }
  return reach;
}

std::vector<StepTime> times_of_updates(const std::vector<std::int64_t>& lengths, const UpdateOfLength& update_of,
                                       const Milliseconds& now) {
  std::vector<StepTime> times;
  for (const std::int64_t threads : std::set<std::int64_t>{1, usable_processors()}) {
    const Threads guard(threads);
    for (const std::int64_t length : lengths) {
      times.push_back(
          {.length = length, .threads = threads, .milliseconds = median_milliseconds(update_of(length), now)});
    }
  }
  return times;
}

std::vector<StepTime> step_times(const TranslationRun& run, std::int64_t pieces, std::vector<std::int64_t> lengths) {
  const Seq2Seq model =
      make_seq2seq(run.options, {.src = run.tokenizers.src.size(), .tgt = run.tokenizers.tgt.size()}, /*seed=*/1);
  model->to(run.model->device());
  TranslationObjective objective(model, {}, run.options.attention == ChoiceKind::hard);
  std::uint64_t number = 0;
  const auto update_of = [&](std::int64_t length) {
    return [&, batch = random_batch(run, std::max<std::int64_t>(1, pieces / length), length)] {
      Pass pass = Pass::train(number++);
      Tensor loss;
      for (const LossSum& sum : objective.losses(batch, pass)) loss = loss.defined() ? loss + sum.loss : sum.loss;
      loss.backward();
      loss.item<float>();  // waits for a GPU
      model->zero_grad();
    };
  };
  std::erase_if(
      lengths, [&](std::int64_t length) { return run.options.longest_source && length > *run.options.longest_source; });
  return times_of_updates(lengths, update_of, milliseconds_now);
}

}  // namespace attend
