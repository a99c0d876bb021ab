// The attention weights of a forward pass as values, one for each sentence or sentence pair, and written as JSON:
//
//   {"source": ["▁a", "▁dog", "</s>"], "target": ["▁ein", "▁Hund", "</s>"],
//    "attention": [{"place": "cross", "layer": 0, "head": 0, "weights": [[0.9, 0.1, 0], …]}, …]}
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files.hpp"
#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "models/layers/pass.hpp"

namespace attend {

template <>
struct EnumNames<AttentionPlace> {
  static constexpr std::array names{std::pair{AttentionPlace::encoder, std::string_view("encoder")},
                                    std::pair{AttentionPlace::decoder, std::string_view("decoder")},
                                    std::pair{AttentionPlace::cross, std::string_view("cross")}};
};

// The weights of one layer; see Observer::see_attention.
struct LayerAttention {
  AttentionPlace place = AttentionPlace::encoder;
  std::int64_t layer = 0;
  torch::Tensor weights;        // [B, N, T, S] of a batch, [N, T, S] of a sentence
  std::int64_t first_head = 0;  // the number of the first of the N heads
};

class AttentionRecorder : public Observer {
 public:
  // Records only the place `only`, or all places.
  explicit AttentionRecorder(std::optional<AttentionPlace> only = {}) : only_(only) {}

  void see_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) override;

  // The weights of sentence `b`, without padding.
  std::vector<LayerAttention> of_sentence(std::int64_t b, const Layout& source, const Layout& target) const;

  std::vector<LayerAttention> layers;  // in the order of the pass, on the CPU

 private:
  std::optional<AttentionPlace> only_;
};

// What the pieces of one sentence, or of a sentence pair, attend to.
struct SentenceAttention {
  std::vector<std::string> source;
  std::optional<std::vector<std::string>> target;  // an encoder of texts has none
  std::vector<LayerAttention> layers;
};

// Writes the object of one sentence; see docs/formats.md. A non-finite weight is null.
void write_attention(AtomicFile& file, const SentenceAttention& sentence);

// Writes the line of a record that is read in `windows` parts: the object of its one part, or all of them as windows.
// `part` makes one when it is written, since the weights of many are large.
void write_record(AtomicFile& file, std::size_t windows, const std::function<SentenceAttention(std::size_t)>& part);

}  // namespace attend
