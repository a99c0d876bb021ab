#include "eval/search/search.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <ranges>

#include "core/error.hpp"
#include "core/freed_memory.hpp"
#include "core/signals.hpp"
#include "eval/search/next_tokens.hpp"
#include "eval/search/source_coverage.hpp"
#include "eval/search/strategy.hpp"

namespace attend {
namespace {

// The sentences that are not done, and the rows of the decoder, one for each of their live hypotheses.
class Searcher {
 public:
  // `coverage` observes the pass; nullptr: it does not count.
  Searcher(const SearchRequest& request, SourceCoverage* coverage)
      : request_(request),
        coverage_(coverage),
        processors_(make_processors(request.config, request.ids, request.wanted)),
        strategy_(make_strategy(request.config, request.ids, request.wanted)) {
    for (const Wanted& wanted : request.wanted) {
      const std::int64_t index = std::ssize(sentences_);
      OpenSentence& sentence = sentences_.emplace_back(OpenSentence{.index = index, .wanted = wanted});
      for (std::int64_t i = 0; i < strategy_->rows(); ++i) sentence.live.push_back({.parent = index, .sample = i});
    }
  }

  std::vector<std::vector<Hypothesis>> run(Pass& pass) {
    std::vector<std::vector<Hypothesis>> results(sentences_.size());
    if (sentences_.empty()) return results;
    const auto state = request_.model.start();
    const at::Device device = request_.model.device();
    auto num_rows = std::ssize(sentences_);
    while (true) {
      collect_rows();
      if (!std::ranges::equal(parents_, std::views::iota(std::int64_t{0}, std::int64_t{num_rows}))) {
        state->select(parents_);
        if (coverage_ != nullptr) coverage_->select(parents_);
      }
      num_rows = std::ssize(parents_);
      if (signals::stop_requested()) throw Interrupted("translation was interrupted");
      const auto previous = at::tensor(previous_, at::kLong).to(device);
      advance(request_.model.step(*state, previous, pass));
      for (OpenSentence& sentence : sentences_) {
        if (sentence.live.empty()) results[sentence.index] = strategy_->results(std::move(sentence));
      }
      std::erase_if(sentences_, [](const OpenSentence& sentence) { return sentence.live.empty(); });
      if (sentences_.empty()) break;
    }
    return_freed_memory();
    return results;
  }

 private:
  // The rows that live on: which of the last step each continues, and its last token.
  void collect_rows() {
    parents_.clear();
    previous_.clear();
    for (const OpenSentence& sentence : sentences_) {
      for (const Live& live : sentence.live) {
        parents_.push_back(live.parent);
        previous_.push_back(live.ids.empty() ? request_.ids.bos : live.ids.back());
      }
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
    const NextTokens next(logits_RV, strategy_->candidates(), strategy_->whole(), processors_, sentences_);
    std::int64_t first_row = 0;
    for (OpenSentence& sentence : sentences_) {
      const std::int64_t num_rows = std::ssize(sentence.live);
      strategy_->advance(sentence, next, first_row);
      first_row += num_rows;
    }
  }

  const SearchRequest& request_;
  SourceCoverage* coverage_;
  LogitsProcessors processors_;
  std::unique_ptr<const Strategy> strategy_;
  std::vector<OpenSentence> sentences_;
  std::vector<std::int64_t> parents_;
  std::vector<std::int64_t> previous_;
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
