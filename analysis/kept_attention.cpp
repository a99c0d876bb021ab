#include "analysis/kept_attention.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/attention_maps.hpp"
#include "analysis/report/sentence_data.hpp"

namespace attend {
namespace {

// Sentences that are observed together.
constexpr std::size_t kBlock = 16;

void add_maps(std::vector<Sentence>& sentences, std::size_t begin, std::size_t end,
              const std::vector<const Run*>& models, double threshold) {
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

void add_attention(Comparison& comparison, const std::vector<const Run*>& models, const KeptAttentionConfig& config) {
  std::vector<Sentence>& sentences = comparison.sentences;
  std::size_t packed = 0, weights = 0;
  for (std::size_t begin = 0; begin < sentences.size(); begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, sentences.size());
    add_maps(sentences, begin, end, models, config.threshold);
    if (config.all) continue;
    for (std::size_t i = begin; i < end; ++i) {
      packed += attention_bytes(sentences[i]);
      weights += weights_of(sentences[i]);
      if (fits_page(packed) && weights <= kMostKeptWeights) continue;
      for (std::size_t later = i; later < end; ++later) {
        for (SystemSentence& system : sentences[later].systems) system.own = system.reference = std::nullopt;
      }
      comparison.attention_left_out = static_cast<std::int64_t>(sentences.size() - i);
      return;
    }
  }
}

}  // namespace attend
