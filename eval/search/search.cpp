#include "eval/search/search.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <iterator>
#include <ranges>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/process.hpp"
#include "eval/search/processors.hpp"
#include "eval/search/strategies.hpp"
#include "models/layers/pass.hpp"
#include "models/ops/ops.hpp"

namespace attend {

void SearchConfig::validate(const OptionOrigins& origins) const {
  if (num_results() > rows()) {
    throw UserError(origins("nbest") + ": " + std::to_string(nbest) + " is above the beam size " + std::to_string(beam),
                    "raise --beam or lower --nbest");
  }
  const std::int64_t groups = std::max<std::int64_t>(1, diverse_groups);
  if (beam % groups != 0) {
    throw UserError(origins("diverse-groups") + ": " + std::to_string(diverse_groups) +
                        " groups do not divide the beam size " + std::to_string(beam),
                    "choose a --beam that is a multiple of it");
  }
  if (const std::int64_t finished = groups * enough(beam / groups); nbest > finished) {
    throw UserError(origins("patience") + ": the search may end with " + std::to_string(finished) +
                        " hypotheses, but --nbest is " + std::to_string(nbest),
                    "raise --patience or lower --nbest");
  }
  if (max_length && min_length > *max_length) {
    throw UserError(origins("min-length") + ": " + std::to_string(min_length) + " is above --max-length " +
                        std::to_string(*max_length),
                    "lower --min-length or raise --max-length");
  }
}

namespace {

// The attention that each source position has received, and the coverage penalty of Wu et al. 2016 (arXiv 1609.08144,
// eq. 14):
//
//   cp(x; y) = sum_i log min(sum_j a_ij, 1)
//
// a_ij: the weight of source position i, its end of sentence included, when target token j was predicted, in the
// decoder's last layer, averaged over heads. Hard attention counts with the probabilities of its positions. A sum below
// 10^-6, as of a position outside of a local scope, counts as 10^-6.
class SourceCoverage final : public Observer {
 public:
  bool wants_attention(AttentionPlace place, std::int64_t /*layer*/) const override {
    return place == AttentionPlace::cross;
  }
  void on_attention(AttentionPlace place, std::int64_t /*layer*/, const torch::Tensor& weights_RN1S) override {
    if (place == AttentionPlace::cross) weights_RN1S_ = weights_RN1S;
  }

  // Keeps these rows, in this order; called before a step.
  void select(std::span<const std::int64_t> rows) {
    if (sums_RS_.defined()) sums_RS_ = sums_RS_.index_select(0, ops::to_tensor(rows, sums_RS_));
  }

  // Counts the attention of a step that was observed. UserError if there was none.
  void add_step() {
    if (!weights_RN1S_.defined()) {
      throw UserError("--coverage-penalty: the model's decoder has no attention to the source", "leave it out");
    }
    const torch::Tensor mean_RS = std::exchange(weights_RN1S_, {}).mean(1).squeeze(1).to(at::kCPU, at::kFloat);
    sums_RS_ = (sums_RS_.defined() ? sums_RS_ + mean_RS : mean_RS).contiguous();
  }

  // cp of a row whose source has `src_length` positions.
  double penalty(std::int64_t row, std::int64_t src_length) const {
    constexpr double kLeast = 1e-6;
    const float* const sums = sums_RS_.const_data_ptr<float>() + row * sums_RS_.size(1);
    double penalty = 0;
    for (std::int64_t s = 0; s < src_length; ++s) penalty += std::log(std::clamp<double>(sums[s], kLeast, 1.0));
    return penalty;
  }

 private:
  torch::Tensor weights_RN1S_;  // of the last layer so far in this step
  torch::Tensor sums_RS_;
};

// The sentences that are not done, and the rows of the decoder: one for each of their live hypotheses, and then one for
// each sentence whose prompt is being read.
class Searcher {
 public:
  // `coverage` observes the pass; nullptr: no coverage penalty.
  Searcher(const SearchRequest& request, SourceCoverage* coverage)
      : request_(request),
        coverage_(coverage),
        processors_(make_processors(request.config, request.ids, request.wanted)),
        strategy_(make_strategy(request.config, request.ids, request.wanted)) {
    for (const Wanted& wanted : request.wanted) {
      const std::int64_t index = std::ssize(reading_);
      OpenSentence& sentence = reading_.emplace_back(OpenSentence{.index = index, .wanted = wanted});
      for (std::int64_t i = 0; i < strategy_->rows(); ++i) sentence.live.push_back({.parent = index, .sample = i});
    }
  }

  std::vector<std::vector<Hypothesis>> run(Pass& pass) {
    std::vector<std::vector<Hypothesis>> results(reading_.size());
    if (results.empty()) return results;
    const auto state = request_.model.start();
    const at::Device device = request_.model.device();
    auto num_rows = std::ssize(reading_);
    while (true) {
      collect_rows();
      if (!std::ranges::equal(parents_, std::views::iota(std::int64_t{0}, std::int64_t{num_rows}))) {
        state->select(parents_);
        if (coverage_ != nullptr) coverage_->select(parents_);
      }
      num_rows = std::ssize(parents_);
      signals::throw_if_stopped("the search was interrupted");
      const auto previous = copy_to(at::tensor(previous_, at::kLong), device);
      advance(request_.model.step(*state, previous, pass));
      ++num_read_;
      for (OpenSentence& sentence : sentences_) {
        if (sentence.live.empty()) results[sentence.index] = strategy_->results(std::move(sentence));
      }
      std::erase_if(sentences_, [](const OpenSentence& sentence) { return sentence.live.empty(); });
      if (sentences_.empty() && reading_.empty()) break;
    }
    return_freed_memory();
    return results;
  }

 private:
  // Collects the next step's rows: which row of the last step each continues, and its last token.
  void collect_rows() {
    begin_outputs();
    parents_.clear();
    previous_.clear();
    for (const OpenSentence& sentence : sentences_) {
      for (const Live& live : sentence.live) add_row(sentence, live);
    }
    num_hypotheses_ = std::ssize(parents_);
    for (OpenSentence& sentence : reading_) {
      const std::int64_t row = std::ssize(parents_);
      add_row(sentence, sentence.live.front());
      for (Live& live : sentence.live) live.parent = row;
    }
  }

  // Moves to sentences_ those whose bos and prompt have been read except for the last token.
  void begin_outputs() {
    const auto begun = std::ranges::stable_partition(
        reading_, [&](const OpenSentence& sentence) { return std::ssize(sentence.wanted.prompt) > num_read_; });
    std::ranges::move(begun, std::back_inserter(sentences_));
    reading_.erase(begun.begin(), begun.end());
  }

  void add_row(const OpenSentence& sentence, const Live& live) {
    parents_.push_back(live.parent);
    if (!live.ids.empty()) {
      previous_.push_back(live.ids.back());
    } else {
      previous_.push_back(num_read_ == 0 ? request_.ids.bos : sentence.wanted.prompt[num_read_ - 1]);
    }
  }

  // Counts the attention of the step for its hypotheses.
  void add_coverage() {
    coverage_->add_step();
    std::int64_t row = 0;
    for (OpenSentence& sentence : sentences_) {
      for (Live& live : sentence.live) live.coverage = coverage_->penalty(row++, sentence.wanted.src_length);
    }
  }

  void advance(const at::Tensor& logits_RV) {
    if (coverage_ != nullptr) add_coverage();
    if (sentences_.empty()) return;
    const NextTokens next(logits_RV.narrow(0, 0, num_hypotheses_), strategy_->candidates(), strategy_->whole(),
                          processors_, sentences_);
    std::int64_t first_row = 0;
    for (OpenSentence& sentence : sentences_) {
      const std::int64_t num_rows = std::ssize(sentence.live);
      strategy_->advance(sentence, next, first_row);
      first_row += num_rows;
      if (request_.on_step && !sentence.live.empty()) request_.on_step(sentence.live.front().ids);
    }
  }

  const SearchRequest& request_;
  SourceCoverage* coverage_;
  LogitsProcessors processors_;
  std::unique_ptr<const Strategy> strategy_;
  std::vector<OpenSentence> reading_;  // whose output has not begun
  std::vector<OpenSentence> sentences_;
  std::vector<std::int64_t> parents_;
  std::vector<std::int64_t> previous_;
  std::int64_t num_hypotheses_ = 0;  // rows without those of reading_
  std::int64_t num_read_ = 0;        // tokens of every row
};

}  // namespace

std::vector<std::vector<Hypothesis>> search(const SearchRequest& request, Pass& pass) {
  const c10::InferenceMode inference;
  if (request.config.coverage_penalty == 0) return Searcher(request, nullptr).run(pass);
  SourceCoverage coverage;
  Pass observed = pass;
  observed.observe(coverage);
  return Searcher(request, &coverage).run(observed);
}

}  // namespace attend
