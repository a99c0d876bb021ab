// The attention weights of a forward pass, kept and written: one JSON object a sentence,
//
//   {"source": ["▁a", "▁dog", "</s>"], "target": ["▁ein", "▁Hund", "</s>"],
//    "attention": [{"place": "cross", "layer": 0, "head": 0, "weights": [[0.9, 0.1, 0], …]}, …]}
//
// Legend: as models/layers/pass.hpp.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "data/batch/batch.hpp"
#include "models/layers/pass.hpp"

namespace attend {

// The weights of one layer; see Observer::see_attention.
struct LayerAttention {
  AttentionPlace place = AttentionPlace::encoder;
  std::int64_t layer = 0;
  torch::Tensor weights;  // [B, N, T, S] of a batch, [N, T, S] of a sentence
};

class AttentionRecorder : public Observer {
 public:
  // Keeps what is at the place `only`, or everywhere.
  explicit AttentionRecorder(std::optional<AttentionPlace> only = {}) : only_(only) {}

  void see_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) override;

  // Of sentence `b` alone, without padding.
  std::vector<LayerAttention> of_sentence(std::int64_t b, const Layout& source, const Layout& target) const;

  std::vector<LayerAttention> layers;  // in the order of the pass, on the CPU

 private:
  std::optional<AttentionPlace> only_;
};

// What the weights of a sentence are between. An encoder alone has no target.
struct AttendedPieces {
  std::vector<std::string> source;
  std::vector<std::string> target;
};

// Appends the object of one sentence; see docs/formats.md. A weight that is not finite is null.
void write_attention(AtomicFile& file, const AttendedPieces& pieces, const std::vector<LayerAttention>& layers);

}  // namespace attend
