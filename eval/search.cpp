#include "eval/search.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ranges>
#include <string>
#include <tuple>

#include "core/error.hpp"
#include "core/freed_memory.hpp"
#include "core/signals.hpp"
#include "models/ops/ops.hpp"

namespace attend {
namespace {

// An unfinished hypothesis; it is one row of the decoder.
struct Live {
  std::vector<std::int32_t> ids;
  double log_prob = 0;
};

// A continuation of one row by one token.
struct Candidate {
  std::int64_t row = 0;
  std::int64_t id = 0;
  double log_prob = 0;
};

struct Sentence {
  std::int64_t index = 0;
  std::int64_t longest = 0;
  std::vector<Live> live;
  std::vector<Hypothesis> finished;
};

class Searcher {
 public:
  explicit Searcher(const SearchRequest& request) : request_(request), config_(request.config) {
    for (const std::int64_t longest : request.longest) {
      sentences_.push_back(
          {.index = std::ssize(sentences_), .longest = longest, .live = std::vector<Live>(1), .finished = {}});
    }
  }

  std::vector<std::vector<Hypothesis>> run(Pass& pass) {
    std::vector<std::vector<Hypothesis>> results(sentences_.size());
    if (sentences_.empty()) return results;
    const auto state = request_.model.start();
    const at::Device device = request_.model.device();
    previous_.assign(sentences_.size(), request_.ids.bos);
    while (!sentences_.empty()) {
      if (signals::stop_requested()) throw Interrupted("translation was interrupted");
      const auto previous = at::tensor(previous_, at::kLong).to(device);
      const at::Tensor logits_RV = request_.model.step(*state, previous, pass);
      const auto rows = std::views::iota(std::int64_t{0}, std::int64_t{std::ssize(previous_)});  // before this step
      advance(logits_RV);
      for (Sentence& sentence : sentences_) {
        if (sentence.live.empty()) results[sentence.index] = ranked(std::move(sentence.finished));
      }
      std::erase_if(sentences_, [](const Sentence& sentence) { return sentence.live.empty(); });
      if (!sentences_.empty() && !std::ranges::equal(parents_, rows)) state->select(parents_);
    }
    return_freed_memory();
    return results;
  }

 private:
  // Continues every sentence by one token; parents_ and previous_ then describe the rows that live on.
  void advance(const at::Tensor& logits_RV) {
    // pad, bos and perhaps eos may stand among a row's best and are passed over.
    const auto best = ops::top_log_probs(logits_RV, 2 * config_.beam + 3);
    parents_.clear();
    previous_.clear();
    std::int64_t first_row = 0;
    for (Sentence& sentence : sentences_) {
      const std::int64_t num_rows = std::ssize(sentence.live);
      continue_sentence(sentence, first_row, best);
      first_row += num_rows;
    }
  }

  void continue_sentence(Sentence& sentence, std::int64_t first_row, const ops::TopLogProbs& best) {
    std::vector<Live> before = std::move(sentence.live);
    sentence.live.clear();
    std::int64_t rank = 0;
    for (const Candidate& candidate : best_candidates(before, first_row, best)) {
      const Live& parent = before[candidate.row - first_row];
      if (candidate.id == request_.ids.eos) {
        if (rank < config_.beam) finish(sentence, extended(parent, candidate), true);
      } else if (std::ssize(sentence.live) < config_.beam) {
        sentence.live.push_back(extended(parent, candidate));
        sentence.live.back().ids.push_back(static_cast<std::int32_t>(candidate.id));
        parents_.push_back(candidate.row);
        previous_.push_back(candidate.id);
      }
      ++rank;
    }
    const bool enough = std::ssize(sentence.finished) >= config_.beam;
    if (sentence.live.empty() && sentence.finished.empty()) {  // no continuation has a probability
      finish(sentence, std::move(before.front()), false);
    }
    if (!enough && !sentence.live.empty() && std::ssize(sentence.live.front().ids) < sentence.longest) return;
    if (!enough) {
      for (Live& live : sentence.live) finish(sentence, std::move(live), false);
    }
    parents_.resize(parents_.size() - sentence.live.size());
    previous_.resize(parents_.size());
    sentence.live.clear();
  }

  // The 2K best continuations, best first; of equal ones that of the earlier row and smaller id.
  std::vector<Candidate> best_candidates(const std::vector<Live>& live, std::int64_t first_row,
                                         const ops::TopLogProbs& best) const {
    const bool may_end = std::ssize(live.front().ids) >= config_.min_length;
    std::vector<Candidate> candidates;
    for (std::int64_t i = 0; i < std::ssize(live); ++i) {
      for (std::int64_t j = 0; j < best.k; ++j) {
        const std::int64_t at = (first_row + i) * best.k + j;
        const std::int64_t id = best.ids[at];
        if (!std::isfinite(best.values[at]) || id == request_.ids.pad || id == request_.ids.bos) continue;
        if (id == request_.ids.eos && !may_end) continue;
        candidates.push_back({.row = first_row + i, .id = id, .log_prob = live[i].log_prob + best.values[at]});
      }
    }
    const auto kept = std::min<std::ptrdiff_t>(2 * config_.beam, std::ssize(candidates));
    std::partial_sort(candidates.begin(), candidates.begin() + kept, candidates.end(),
                      [](const Candidate& a, const Candidate& b) {
                        return std::tuple(-a.log_prob, a.row, a.id) < std::tuple(-b.log_prob, b.row, b.id);
                      });
    candidates.resize(kept);
    return candidates;
  }

  // The parent with the candidate's probability.
  static Live extended(const Live& parent, const Candidate& candidate) {
    return {.ids = parent.ids, .log_prob = candidate.log_prob};
  }

  void finish(Sentence& sentence, Live live, bool ended) const {
    const auto length = static_cast<double>(live.ids.size() + (ended ? 1 : 0));
    sentence.finished.push_back({.ids = std::move(live.ids),
                                 .log_prob = live.log_prob,
                                 .score = live.log_prob / std::pow(std::max(1.0, length), config_.length_penalty),
                                 .ended = ended});
  }

  std::vector<Hypothesis> ranked(std::vector<Hypothesis> finished) const {
    std::ranges::stable_sort(finished, std::greater(), &Hypothesis::score);
    if (std::ssize(finished) > config_.nbest) finished.resize(config_.nbest);
    return finished;
  }

  const SearchRequest& request_;
  const SearchConfig& config_;
  std::vector<Sentence> sentences_;
  std::vector<std::int64_t> parents_;   // which row of the last step each row descends from
  std::vector<std::int64_t> previous_;  // the token each row ends with
};

}  // namespace

void SearchConfig::validate(const OptionOrigins& origins) const {
  if (nbest > beam) {
    throw UserError(origins("nbest") + ": " + std::to_string(nbest) + " is above the beam size " + std::to_string(beam),
                    "raise --beam or lower --nbest");
  }
  if (max_length && min_length > *max_length) {
    throw UserError(origins("min-length") + ": " + std::to_string(min_length) + " is above --max-length " +
                        std::to_string(*max_length),
                    "lower --min-length or raise --max-length");
  }
}

std::vector<std::vector<Hypothesis>> search(const SearchRequest& request, Pass& pass) {
  const c10::InferenceMode inference;
  return Searcher(request).run(pass);
}

}  // namespace attend
