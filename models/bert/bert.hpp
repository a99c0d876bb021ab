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
#include <optional>

#include "data/batch/batch.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/norm.hpp"
#include "models/transformer/block.hpp"
#include "models/transformer/positions.hpp"

namespace attend {

// The number of parts of an input, each with its own embedding.
constexpr std::int64_t kBertSegments = 2;

// The eps of its norms; that of other models is larger.
inline constexpr double kBertNormEps = 1e-12;

// norm(token + segment + position), then dropout; narrow embeddings are projected to the width of the blocks (arXiv
// 1909.11942, section 3.1): [M, H]. Positions may be encoded in self-attention instead.
class BertEmbeddingsImpl : public torch::nn::Module {
 public:
  BertEmbeddingsImpl(const StackOptions& options, std::int64_t vocabulary);
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
  // Throws UserError if the options contradict each other (resolve_stack). `query`: if set, tokens are predicted by
  // queries, which start as the embedding of this piece (w in XLNet) at their positions; else masked tokens are.
  BertImpl(const StackOptions& options, std::int64_t vocabulary, std::optional<std::int64_t> query = {});

  // The hidden states of all tokens, [M, H], or of the selected ones, [K, H], which is cheaper. In either case, the
  // pass's observer receives the attention of all tokens in every layer.
  torch::Tensor forward(const SegmentedSequences& input, Pass& pass,
                        const std::optional<Selection>& selected = {}) const;

  // The hidden states of the query stream for the tokens `queried`, [K, H]: each depends only on its position and the
  // tokens of lower rank. ranks_M: int64, of every token of the input. The model must have a query.
  torch::Tensor forward_queries(const SegmentedSequences& input, const torch::Tensor& ranks_M, const Selection& queried,
                                Pass& pass) const;

  const StackOptions& options() const { return options_; }  // with all sizes
  std::optional<std::int64_t> query() const { return query_; }
  const ops::Weight& table() const { return embeddings_->table(); }

 private:
  StackOptions options_;
  std::optional<std::int64_t> query_;
  BertEmbeddings embeddings_;
  Stack encoder_;
};
TORCH_MODULE(Bert);

// Predicts masked tokens: norm(act(W h + b)) times the embedding table, plus a bias.
class MaskedLanguageHeadImpl : public torch::nn::Module {
 public:
  MaskedLanguageHeadImpl(const StackOptions& options, std::int64_t vocabulary);

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
  BertForPretrainingImpl(const StackOptions& options, std::int64_t vocabulary, std::optional<std::int64_t> query = {});

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
