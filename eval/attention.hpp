// The attention weights of a forward pass, recorded for each sentence or sentence pair and written as JSON. Those of
// texts are computed here, those of sentence pairs in eval/pair_attention.hpp.
//
//   {"source": ["▁a", "▁dog", "</s>"], "target": ["▁ein", "▁Hund", "</s>"],
//    "attention": [{"place": "cross", "layer": 0, "head": 0, "weights": [[0.9, 0.1, 0], …]}, …]}
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "data/batch/batch.hpp"
#include "data/task/samples.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/attention/weights.hpp"
#include "models/bert/bert.hpp"
#include "models/language/language_model.hpp"

namespace attend {

// The weights of one layer; see Observer::on_attention.
struct LayerAttention {
  AttentionPlace place = AttentionPlace::encoder;
  std::int64_t layer = 0;
  torch::Tensor weights;        // [B, N, T, S] of a batch, [N, T, S] of a sentence
  std::int64_t first_head = 0;  // index of the first of the N heads
  // What they were computed from, if recorded, of the whole batch; and the number of the sentence there.
  std::optional<AttentionOperands> operands = {};
  std::int64_t sentence = 0;
};

class AttentionRecorder : public Observer {
 public:
  // Records the place `only`; by default all places.
  explicit AttentionRecorder(std::optional<AttentionPlace> only = {}, bool operands = false)
      : only_(only), keeps_operands_(operands) {}

  void on_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) override;
  void on_operands(AttentionPlace place, std::int64_t layer, const AttentionOperands& operands) override;
  bool wants_operands() const override { return keeps_operands_; }

  // The weights of sentence `b`, without padding.
  std::vector<LayerAttention> of_sentence(std::int64_t b, const Layout& source, const Layout& target) const;

  std::vector<LayerAttention> layers;  // in the order of the pass; weights on the CPU

 private:
  std::optional<AttentionPlace> only_;
  bool keeps_operands_;
};

// The attention between the pieces of a sentence, or of a sentence pair.
struct SentenceAttention {
  std::vector<std::string> source;
  std::optional<std::vector<std::string>> target;  // none for an encoder of texts
  std::vector<LayerAttention> layers;
};

SentenceAttention attention_of(const BertImpl& bert, const Tokenizer& tokenizer, const Sample& sample,
                               bool operands = false);

// The attention of a language model over a text, which it reads after an end token. Row t is the attention when
// predicting piece t of the target, which ends with the end token; there is no source.
SentenceAttention attention_of(const LanguageModelImpl& model, const Tokenizer& tokenizer,
                               std::span<const std::int32_t> ids, bool operands = false);

// Writes the line of a record that is read in `windows` parts: the object of its one part, or all of them as windows
// (docs/formats.md). `part` computes one when it is written, since the weights of many are large. A non-finite weight
// is null.
void write_record(AtomicFile& file, std::size_t windows, const std::function<SentenceAttention(std::size_t)>& part);

}  // namespace attend
