// BERT (Devlin et al. 2018, arXiv 1810.04805): the sum of token, segment and position embeddings, normalised, then a
// stack of encoder blocks; and the pretraining heads. Embeddings may be factorised and layers shared (ALBERT, Lan et
// al. 2019, arXiv 1909.11942). Tokens may be predicted in a permuted order instead of masked (XLNet, Yang et al. 2019,
// 1906.08237; models/attention/heads.hpp), with the same parameters.
//
// The embeddings and the head for masked tokens always have layer norm, even if the blocks have another norm.
//
// Parameters of the embeddings and heads have Hugging Face's names, those of the blocks torch.nn.Transformer's.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "data/batch/batch.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/norm.hpp"
#include "models/transformer/block.hpp"
#include "models/transformer/positions.hpp"

namespace attend {

// The number of parts of an input, each with its own embedding.
constexpr std::int64_t kBertSegments = 2;

struct BertConfig {
  std::int64_t vocabulary = 0;
  std::int64_t max_length = 512;
  std::int64_t layers = 12;
  std::int64_t embedding_width = 768;  // factorised if narrower than the blocks
  bool share_layers = false;           // every layer is the same block
  bool sinusoids = false;              // initialisation of the table of learned positions
  // If set, tokens are predicted by queries, which start as the embedding of this piece (w in XLNet) at their
  // positions; else masked tokens are predicted.
  std::optional<std::int64_t> query = {};
  BlockConfig block = {.width = 768,
                       .heads = 12,
                       .positions = PositionKind::learned,
                       .longest = 512,
                       .feed_forward = 3072,
                       .activation = FeedForwardKind::gelu,
                       .norm_eps = 1e-12,
                       .deviation = 0.02,
                       .dropout = 0.1,
                       .attention_dropout = 0.1,
                       .activation_dropout = 0};
};

// norm(token + segment + position), then dropout; narrow embeddings are projected to the width of the blocks (arXiv
// 1909.11942, section 3.1): [M, H]. Positions may be encoded in self-attention instead.
class BertEmbeddingsImpl : public torch::nn::Module {
 public:
  explicit BertEmbeddingsImpl(const BertConfig& config);
  torch::Tensor forward(const SegmentedSequences& input, Pass& pass) const;

  // The output table for masked tokens, [V, E].
  const ops::Weight& table() const { return word_embeddings_->weight; }

 private:
  double dropout_;
  Embedding word_embeddings_;
  AddedPositions positions_;
  Embedding token_type_embeddings_;
  LayerNorm norm_;
  Linear projection_ = nullptr;  // of narrow embeddings
};
TORCH_MODULE(BertEmbeddings);

// The encoder, independent of any task.
class BertImpl : public torch::nn::Module {
 public:
  explicit BertImpl(const BertConfig& config);

  // The hidden states of all tokens, [M, H], or of the selected ones, [K, H], which is cheaper. In either case, the
  // pass's observer receives the attention of all tokens in every layer.
  torch::Tensor forward(const SegmentedSequences& input, Pass& pass,
                        const std::optional<Selection>& selected = {}) const;

  // The hidden states of the query stream for the tokens `queried`, [K, H]: each depends only on its position and the
  // tokens of lower rank. ranks_M: int64, of every token of the input. The config must have a query.
  torch::Tensor forward_queries(const SegmentedSequences& input, const torch::Tensor& ranks_M, const Selection& queried,
                                Pass& pass) const;

  const BertConfig& config() const { return config_; }
  const ops::Weight& table() const { return embeddings_->table(); }

 private:
  BertConfig config_;
  BertEmbeddings embeddings_;
  Stack encoder_;
};
TORCH_MODULE(Bert);

// Predicts masked tokens: norm(act(W h + b)) times the embedding table, plus a bias.
class MaskedLanguageHeadImpl : public torch::nn::Module {
 public:
  explicit MaskedLanguageHeadImpl(const BertConfig& config);

  // The vectors whose products with the table are the logits, [K, E].
  torch::Tensor transform(const torch::Tensor& hidden_KH) const;
  ops::CrossEntropy loss(const torch::Tensor& hidden_KH, const ops::Weight& table, const torch::Tensor& labels_K) const;

  torch::Tensor bias;  // [V]

 private:
  ops::Activation activation_;
  Linear dense_;
  LayerNorm norm_;
};
TORCH_MODULE(MaskedLanguageHead);

// tanh(W h + b) of the state of [CLS]: [B, H] to [B, H].
class BertPoolerImpl : public torch::nn::Module {
 public:
  BertPoolerImpl(std::int64_t width, double deviation);
  torch::Tensor forward(const torch::Tensor& first_BH) const;

  Linear dense;
};
TORCH_MODULE(BertPooler);

// BERT with its two pretraining heads.
class BertForPretrainingImpl : public torch::nn::Module {
 public:
  explicit BertForPretrainingImpl(const BertConfig& config);

  struct Losses {
    ops::CrossEntropy masked;    // summed over the masked tokens
    ops::CrossEntropy sequence;  // summed over the pairs, if they have labels
  };
  Losses forward(const PretrainingBatch& batch, Pass& pass) const;

  // The states from which the head predicts the `masked` tokens, which are [MASK] in the input: [K, H]. Queries see the
  // other tokens, but no [MASK].
  torch::Tensor states_of_masked(const SegmentedSequences& input, const Selection& masked, Pass& pass) const;

  Bert bert;
  BertPooler pooler;
  MaskedLanguageHead predictions;
  Linear seq_relationship;  // [2, H]: the second part follows the first, or it does not
};
TORCH_MODULE(BertForPretraining);

}  // namespace attend
