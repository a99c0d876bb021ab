// A model whose distribution and attention are a hash of sentence and prefix, so that small searches can be compared
// with an exhaustive one.
#pragma once

#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "eval/search/search.hpp"

namespace attend {

constexpr std::int64_t kHashTokens = 7, kSourceLength = 3, kPaddedLength = 5;
constexpr TargetIds kHashIds{.bos = 2, .eos = 3, .pad = 0};
inline const std::vector<std::int32_t> kHashWords = {1, 4, 5, 6};

using TokenIds = std::vector<std::int32_t>;

struct HashState : DecoderState {
  std::vector<std::vector<std::int64_t>> read;  // of each row: the sentence's number and the tokens
  void select(std::span<const std::int64_t> rows) override {
    std::vector<std::vector<std::int64_t>> chosen;
    for (const auto row : rows) chosen.push_back(read.at(row));
    read = chosen;
  }
};

class HashModel : public StepModel {
 public:
  explicit HashModel(std::vector<std::int64_t> sentences) : sentences_(std::move(sentences)) {}

  static RandomStream random_of(const std::vector<std::int64_t>& read, std::uint64_t key) {
    for (const auto id : read) key = combine_keys(key, id);
    return RandomStream(key);
  }
  static std::vector<float> logits(const std::vector<std::int64_t>& read) {
    RandomStream random = random_of(read, 1);
    std::vector<float> result;
    for (std::int64_t i = 0; i < kHashTokens; ++i) result.push_back(static_cast<float>(4 * random.uniform()));
    return result;
  }
  // Of two heads, over the source and padding.
  static std::vector<float> attention(const std::vector<std::int64_t>& read, std::uint64_t key) {
    RandomStream random = random_of(read, key);
    std::vector<float> weights(2 * kPaddedLength, 0);
    for (std::int64_t head = 0; head < 2; ++head) {
      float* const row = weights.data() + head * kPaddedLength;
      for (std::int64_t s = 0; s < kSourceLength; ++s) row[s] = 0.01F + static_cast<float>(random.uniform());
      const float sum = std::accumulate(row, row + kSourceLength, 0.0F);
      for (std::int64_t s = 0; s < kSourceLength; ++s) row[s] /= sum;
    }
    return weights;
  }

  std::unique_ptr<DecoderState> start() const override {
    auto state = std::make_unique<HashState>();
    for (const auto sentence : sentences_) state->read.push_back({sentence});
    return state;
  }
  torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const override {
    ++num_steps;
    auto& read = static_cast<HashState&>(state).read;
    std::vector<torch::Tensor> rows, first, last;
    for (std::size_t r = 0; r < read.size(); ++r) {
      read[r].push_back(previous_R[static_cast<std::int64_t>(r)].item<std::int64_t>());
      rows.push_back(torch::tensor(logits(read[r])));
      if (pass.observer() == nullptr) continue;
      first.push_back(torch::tensor(attention(read[r], 2)).view({2, 1, kPaddedLength}));
      last.push_back(torch::tensor(attention(read[r], 3)).view({2, 1, kPaddedLength}));
    }
    if (pass.observer() != nullptr) {
      pass.observer()->on_attention(AttentionPlace::cross, 0, torch::stack(first));
      pass.observer()->on_attention(AttentionPlace::cross, 1, torch::stack(last));
      pass.observer()->on_attention(AttentionPlace::decoder, 1, torch::zeros({1, 1, 1, 1}));
    }
    return torch::stack(rows);
  }
  torch::Device device() const override { return torch::kCPU; }

  mutable std::int64_t num_steps = 0;

 private:
  std::vector<std::int64_t> sentences_;
};

inline std::vector<std::vector<Hypothesis>> search_all(const HashModel& model, const SearchConfig& config,
                                                       const std::vector<Wanted>& wanted) {
  Pass pass = Pass::inference();
  return search({.model = model, .wanted = wanted, .ids = kHashIds, .config = config}, pass);
}

inline std::vector<Hypothesis> search_sentence(std::int64_t sentence, const SearchConfig& config,
                                               const Wanted& wanted) {
  return search_all(HashModel({sentence}), config, {wanted})[0];
}

inline bool has_phrase(const TokenIds& ids, const PhraseIds& phrase) {
  return !std::ranges::search(ids, phrase).empty();
}

// log p of ids, and of eos if they ended, with the coverage penalty.
struct Tried {
  TokenIds ids;
  bool ended = false;
  double log_prob = 0;
  double coverage = 0;
};

inline Tried tried(std::int64_t sentence, const TokenIds& ids, bool ended) {
  Tried result{.ids = ids, .ended = ended};
  std::vector<std::int64_t> read = {sentence, kHashIds.bos};
  std::vector<double> sums(kSourceLength, 0);
  std::vector<std::int64_t> tokens(ids.begin(), ids.end());
  if (ended) tokens.push_back(kHashIds.eos);
  for (const auto token : tokens) {
    const std::vector<float> logits = HashModel::logits(read), weights = HashModel::attention(read, 3);
    double total = 0;
    for (const float logit : logits) total += std::exp(logit);
    result.log_prob += logits[token] - std::log(total);
    for (std::int64_t s = 0; s < kSourceLength; ++s) sums[s] += (weights[s] + weights[kPaddedLength + s]) / 2;
    read.push_back(token);
  }
  for (const double sum : sums) result.coverage += std::log(std::min(sum, 1.0));
  return result;
}

inline double score_by_hand(const Tried& it, const SearchConfig& config) {
  const double length = static_cast<double>(it.ids.size()) + (it.ended ? 1 : 0);
  const bool gnmt = config.length_penalty_kind == LengthPenaltyKind::gnmt;
  const double norm = std::pow(gnmt ? (5 + length) / (5 + 1) : length, config.length_penalty);
  return it.log_prob / norm + config.coverage_penalty * it.coverage;
}

// Every output of at most `longest` tokens.
inline std::vector<Tried> everything(std::int64_t sentence, std::int64_t longest) {
  std::vector<Tried> all;
  std::vector<TokenIds> level = {{}};
  for (std::int64_t length = 0; length <= longest; ++length) {
    std::vector<TokenIds> longer;
    for (const TokenIds& ids : level) {
      all.push_back(tried(sentence, ids, length < longest));
      for (const std::int32_t id : kHashWords) {
        longer.push_back(ids);
        longer.back().push_back(id);
      }
    }
    level = longer;
  }
  return all;
}

// Compares the best results of a wide beam with those of an exhaustive search of all that `may_be`.
template <class MayBe>
void expect_the_best(std::int64_t sentence, SearchConfig config, const Wanted& wanted, const MayBe& may_be) {
  static std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Tried>> known;
  std::vector<Tried>& all = known[{sentence, wanted.longest}];
  if (all.empty()) all = everything(sentence, wanted.longest);
  config.beam = 1000;
  config.nbest = 3;
  std::map<double, TokenIds, std::greater<>> ranked;
  for (const Tried& it : all) {
    if (may_be(it.ids)) ranked[score_by_hand(it, config)] = it.ids;
  }
  const auto found = search_sentence(sentence, config, wanted);
  ASSERT_EQ(found.size(), std::min<std::size_t>(3, ranked.size()));
  auto expected = ranked.begin();
  for (const Hypothesis& hypothesis : found) {
    EXPECT_EQ(hypothesis.ids, expected->second) << "sentence " << sentence;
    EXPECT_NEAR(hypothesis.score, expected->first, 1e-4);  // sums of fp32 log p and weights
    ++expected;
  }
}

inline PhraseIds random_phrase(RandomStream& random, const std::vector<std::int32_t>& words) {
  PhraseIds phrase(1 + random() % 3);
  for (auto& id : phrase) id = words[random() % words.size()];
  return phrase;
}

}  // namespace attend
