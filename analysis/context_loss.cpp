#include "analysis/context_loss.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>
#include <map>

#include "analysis/compare.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "eval/score.hpp"
#include "models/ops/ops.hpp"

namespace attend {

using torch::Tensor;

namespace {

constexpr std::int64_t kShortestContext = 8, kLongestContext = 512;
constexpr std::int64_t kWindowTokens = 8192;  // of a batch

// 0 for distance 0, 1 for 1, 2 for 2 to 3, 3 for 4 to 7.
std::int64_t bucket_of(std::int64_t distance) { return std::bit_width(static_cast<std::uint64_t>(distance)); }

class DistanceObserver : public Observer {
 public:
  bool wants_attention(AttentionPlace place, std::int64_t /*layer*/) const override {
    return place == AttentionPlace::decoder;
  }
  bool wants_hidden() const override { return false; }

  void on_attention(AttentionPlace /*place*/, std::int64_t layer, const Tensor& weights_BNTS) override {
    const Tensor weights_TS = weights_BNTS.to(at::kDouble).sum(at::IntArrayRef{0, 1}).cpu().contiguous();
    const auto weights = weights_TS.accessor<double, 2>();
    std::vector<double>& sums = sums_[layer];
    sums.resize(std::max(sums.size(), static_cast<std::size_t>(bucket_of(weights.size(0) - 1)) + 1));
    for (std::int64_t t = 0; t < weights.size(0); ++t) {
      for (std::int64_t s = 0; s <= t; ++s) sums[bucket_of(t - s)] += weights[t][s];
    }
  }

  std::vector<DistanceShares> shares() const {
    std::vector<DistanceShares> layers;
    for (const auto& [layer, sums] : sums_) {
      DistanceShares& shown = layers.emplace_back(DistanceShares{.layer = layer, .shares = sums});
      double all = 0;
      for (const double sum : sums) all += sum;
      for (double& share : shown.shares) share = all > 0 ? share / all : 0;
    }
    return layers;
  }

 private:
  std::map<std::int64_t, std::vector<double>> sums_;
};

}  // namespace

std::vector<std::int64_t> context_lengths(std::span<const TokenStream> streams,
                                          std::span<const std::optional<std::int64_t>> longest) {
  std::int64_t most = 0;
  for (const std::optional<std::int64_t>& tokens : longest) most = std::max(most, tokens.value_or(kLongestContext));
  most = std::min(most, kLongestContext);
  for (const TokenStream& stream : streams) most = std::min(most, std::ssize(stream.ids) / 2);
  std::vector<std::int64_t> lengths;
  for (std::int64_t tokens = kShortestContext; tokens <= most; tokens *= 2) lengths.push_back(tokens);
  return lengths;
}

std::vector<std::size_t> draw_words(std::span<const TokenStream> streams, std::int64_t tokens, std::size_t most) {
  constexpr std::uint64_t kSeed = 1;
  std::vector<std::size_t> words;
  for (std::size_t word = 0; word < streams[0].words.size(); ++word) {
    const auto has_context = [&](const TokenStream& stream) {
      ensure(stream.words.size() == streams[0].words.size(), "the streams have the same words");
      return stream.words[word].begin >= static_cast<std::size_t>(tokens);
    };
    if (std::ranges::all_of(streams, has_context)) words.push_back(word);
  }
  // Those with the smallest hashes, so that a word's place in the draw does not depend on which others have a context.
  std::ranges::sort(words, {}, [](std::size_t word) { return combine_keys(kSeed, word); });
  words.resize(std::min(words.size(), most));
  std::ranges::sort(words);
  return words;
}

std::vector<double> losses_after(const LanguageModelImpl& model, const TokenStream& stream,
                                 std::span<const std::size_t> words, std::int64_t context) {
  ensure(context >= 1 && context <= model.longest().value_or(context), "the model reads that many tokens");
  const std::size_t tokens = context;
  std::vector<std::pair<std::size_t, std::size_t>> targets;  // the word's number here, and the place of a piece
  for (std::size_t w = 0; w < words.size(); ++w) {
    const TokenStream::Word& word = stream.words.at(words[w]);
    ensure(word.begin >= tokens, "every word has its context");
    for (std::size_t at = word.begin; at < word.end; ++at) targets.emplace_back(w, at);
  }
  const Tensor& table = model.output_table().master();
  const std::size_t most = std::max<std::size_t>(1, static_cast<std::size_t>(kWindowTokens) / tokens);
  std::vector<double> losses(words.size());
  for (std::size_t first = 0; first < targets.size(); first += most) {
    refuse_if_stopped();
    const auto batch = std::span(targets).subspan(first, std::min(most, targets.size() - first));
    std::vector<std::int64_t> ids, labels;
    Sequences windows;
    for (const auto& [w, at] : batch) {
      ids.insert(ids.end(), stream.ids.begin() + at - tokens, stream.ids.begin() + at);
      labels.push_back(stream.ids[at]);
      windows.layout.append(context);
    }
    windows.ids_M = ops::to_tensor(ids, table);
    const Tensor log_probs_B = next_log_probs(model, windows, ops::to_tensor(labels, table));
    for (std::size_t i = 0; i < batch.size(); ++i) losses[batch[i].first] -= log_probs_B.const_data_ptr<float>()[i];
  }
  return losses;
}

std::vector<DistanceShares> attention_by_distance(const LanguageModelImpl& model,
                                                  std::span<const std::vector<std::int64_t>> texts, std::int64_t most) {
  const c10::InferenceMode inference;
  DistanceObserver observer;
  for (const std::vector<std::int64_t>& text : texts) {
    refuse_if_stopped();
    const std::size_t length = std::min(text.size(), static_cast<std::size_t>(most));
    Sequences tokens;
    tokens.ids_M = ops::to_tensor(std::span(text).first(length), model.output_table().master());
    tokens.layout.append(length);
    Pass pass = Pass::inference(&observer);
    model.forward(tokens, pass);
  }
  return observer.shares();
}

std::vector<std::string> distance_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t bucket = 0; bucket < count; ++bucket) {
    const std::size_t first = bucket == 0 ? 0 : std::size_t{1} << (bucket - 1), last = (std::size_t{1} << bucket) - 1;
    names.push_back(first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last));
  }
  return names;
}

}  // namespace attend
