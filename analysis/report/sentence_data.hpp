// The sentences of a page, packed: texts as JSON and attention as bytes, both deflated, which report.js inflates.
//
// The JSON:
//
//   {"systems": [{"name": "luong", "layer": 0, "head": -1}], "views": ["The reference", "Its own translation"],
//    "metrics": [{"name": "BLEU", "lower_is_better": false, "decimals": 1}, …],
//    "sentences": [{"source": "a dog", "reference": "ein Hund",
//                   "outputs": [{"text": "ein Hund", "scores": [100, …], "log_prob": -0.7}],
//                   "pieces": [["▁a", "▁dog", "</s>"], …],
//                   "maps": [{"system": 0, "view": 0, "layers": 1, "heads": 1, "source": 0, "target": 1}, …],
//                   "at": [0, 812]}, …]}
//
// A system opens at "layer" and "head" (-1: the mean). "source" and "target" of a map are indices of "pieces"; "at" is
// the offset and length, in the bytes of all sentences, of the sentence's own zlib stream: the weights of its maps, one
// after the other. A sentence without attention lacks "pieces", "maps" and "at".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/comparison.hpp"

namespace attend {

inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The bytes of base64 that a page may spend on attention, so that a page of 1,000 sentences stays below 3 MB.
inline constexpr std::size_t kAttentionBudget = 2'300'000;

struct ShownSystem {
  std::string name;
  std::int64_t layer = 0;  // where the page opens
  std::int64_t head = -1;  // -1: the mean of the layer's heads
};

struct ShownMaps {
  std::size_t system = 0;
  std::size_t view = 0;
  const AttentionMaps* maps = nullptr;
};

struct ShownOutput {
  std::string text;
  std::vector<double> scores;  // parallel to the metrics
  std::optional<double> log_prob;
};

struct ShownSentence {
  std::string source;
  std::string reference;  // empty without
  std::vector<ShownOutput> outputs = {};
  std::vector<ShownMaps> maps = {};
};

// The bytes that the attention of a sentence takes in a page, before base64; true if `bytes` are within
// kAttentionBudget.
std::size_t attention_bytes(const Sentence& sentence);
bool fits_page(std::size_t bytes);

struct ShownSentences {
  std::vector<ShownSystem> systems = {};
  std::vector<std::string> views = {};  // "The reference"
  std::vector<ComparedMetric> metrics = {};
  std::vector<ShownSentence> sentences = {};
};

struct PackedSentences {
  std::string texts;    // base64 of a zlib stream of the JSON
  std::string weights;  // base64 of the zlib streams of all sentences
  std::size_t with_attention = 0;
  std::size_t without_for_budget = 0;  // counts the first sentence beyond the budget and all later ones
};

PackedSentences packed(const ShownSentences& shown);

}  // namespace attend
