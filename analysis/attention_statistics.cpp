#include "analysis/attention_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/attention_output.hpp"
#include "analysis/report/sentence_data.hpp"
#include "core/error.hpp"
#include "eval/pair_attention.hpp"

namespace attend {

void HeadTally::add(const torch::Tensor& weights_TS) {
  const auto weights = weights_TS.accessor<float, 2>();
  const std::int64_t T = weights.size(0), S = weights.size(1);
  std::vector<double> read(S);
  std::int64_t last = -1;  // likeliest position of the previous step
  for (std::int64_t t = 0; t < T; ++t) {
    double sum = 0, expected = 0;
    std::int64_t likeliest = 0;
    for (std::int64_t s = 0; s < S; ++s) {
      const double w = weights[t][s];
      if (w > 0) entropy_ -= w * std::log(w);
      sum += w;
      expected += w * static_cast<double>(s);
      read[s] += w;
      if (weights[t][s] > weights[t][likeliest]) likeliest = s;
    }
    if (sum == 0) continue;  // a local scope without positions
    ++target_pieces_;
    distance_ += std::abs(expected / sum - static_cast<double>(t * S) / static_cast<double>(T));
    if (last >= 0) {
      ++steps_;
      if (likeliest >= last) ++steps_onwards_;
    }
    last = likeliest;
  }
  for (const double w : read) coverage_ += std::min(1.0, w);
  source_pieces_ += S;
}

HeadStatistics HeadTally::statistics(std::int64_t layer, std::int64_t head) const {
  const auto mean = [](double sum, std::int64_t count) { return count == 0 ? 0 : sum / static_cast<double>(count); };
  HeadStatistics result{.layer = layer,
                        .head = head,
                        .entropy = mean(entropy_, target_pieces_),
                        .coverage = mean(coverage_, source_pieces_),
                        .distance = mean(distance_, target_pieces_),
                        .monotonicity = steps_ == 0 ? 1 : mean(static_cast<double>(steps_onwards_), steps_)};
  if (links_.sure() + links_.possible() > 0) result.alignment_error = links_.error_rate();
  return result;
}

std::vector<HeadStatistics> attention_statistics(const TranslationRun& run, const std::vector<std::string>& source,
                                                 const std::vector<std::string>& target,
                                                 const std::vector<SentenceLinks>& gold, double threshold) {
  ensure(source.size() == target.size() && (gold.empty() || gold.size() == source.size()),
         "a translation for each line, and links for all of them or none");
  std::map<std::pair<std::int64_t, std::int64_t>, HeadTally> tallies;  // by layer and head; the mean comes last
  std::size_t line = 0;
  PairAttention pairs(run, {.only = AttentionPlace::cross, .threshold = threshold},
                      [&](const PiecePair& pair, const SentenceAttention& attention) {
                        const PiecesOfWords source_pieces = source_words(pair), target_pieces = target_words(pair);
                        const auto add = [&](std::int64_t layer, std::int64_t head, const torch::Tensor& weights_TS) {
                          HeadTally& tally = tallies[{layer, head}];
                          tally.add(weights_TS);
                          if (!gold.empty())
                            tally.add_links(align_words(weights_TS, source_pieces, target_pieces), gold[line]);
                        };
                        for (const LayerAttention& layer : attention.layers) {
                          const std::int64_t heads = layer.weights.size(0);
                          for (std::int64_t head = 0; head < heads; ++head) add(layer.layer, head, layer.weights[head]);
                          if (heads > 1) add(layer.layer, heads, layer.weights.mean(0));
                        }
                        ++line;
                      });
  for (std::size_t i = 0; i < source.size(); ++i) pairs.add(pair_in_pieces(run.tokenizers, source[i], target[i]));
  pairs.finish();
  std::vector<HeadStatistics> result;
  for (const auto& [place, tally] : tallies) {
    const auto [layer, head] = place;
    const bool is_mean = head > 0 && !tallies.contains({layer, head + 1});
    result.push_back(tally.statistics(layer, is_mean ? -1 : head));
  }
  return result;
}

namespace {

// Sentences that are observed together.
constexpr std::size_t kBlock = 16;

void add_maps(std::vector<Sentence>& sentences, std::size_t begin, std::size_t end,
              const std::vector<const TranslationRun*>& models, double threshold) {
  std::vector<std::string> sources, references;
  for (std::size_t i = begin; i < end; ++i) {
    sources.push_back(sentences[i].source);
    references.push_back(sentences[i].reference);
  }
  for (std::size_t system = 0; system < models.size(); ++system) {
    if (models[system] == nullptr) continue;
    std::vector<std::string> outputs;
    for (std::size_t i = begin; i < end; ++i) outputs.push_back(sentences[i].systems[system].text);
    std::vector<AttentionMaps> own = attention_maps(*models[system], sources, outputs, threshold);
    std::vector<AttentionMaps> reference = attention_maps(*models[system], sources, references, threshold);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      SystemSentence& sentence = sentences[begin + i].systems[system];
      if (!own[i].weights.empty()) sentence.own = std::move(own[i]);  // a blank source has nothing to attend to
      if (!reference[i].weights.empty()) sentence.reference = std::move(reference[i]);
    }
  }
}

// The bytes of its weights.
std::size_t weights_of(const Sentence& sentence) {
  std::size_t bytes = 0;
  for (const SystemSentence& system : sentence.systems) {
    for (const auto* maps : {&system.own, &system.reference}) bytes += *maps ? (*maps)->weights.size() : 0;
  }
  return bytes;
}

}  // namespace

void add_attention(Comparison& comparison, const std::vector<const TranslationRun*>& models, double threshold,
                   bool all) {
  std::vector<Sentence>& sentences = comparison.sentences;
  std::size_t packed = 0, weights = 0;
  for (std::size_t begin = 0; begin < sentences.size(); begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, sentences.size());
    add_maps(sentences, begin, end, models, threshold);
    if (all) continue;
    for (std::size_t i = begin; i < end; ++i) {
      packed += attention_bytes(sentences[i]);
      weights += weights_of(sentences[i]);
      if (fits_page(packed) && weights <= kMostKeptWeights) continue;
      for (std::size_t later = i; later < end; ++later) {
        for (SystemSentence& system : sentences[later].systems) system.own = system.reference = std::nullopt;
      }
      comparison.attention_left_out = sentences.size() - i;
      return;
    }
  }
}

}  // namespace attend
