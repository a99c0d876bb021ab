// Fused attention of N heads with scaled dot products (arXiv 1706.03762, eq. 1) and biases by distance: softmax(q kᵀ /
// sqrt(D) + b) v, over whole sentences and for the single queries of decoding. models/attention/heads.cpp is the plain
// formulation. All functions require has_fast_path (dispatch.hpp) of the queries; fused_attention also has forms of the
// GPU.
//
// Legend: docs/architecture.md; H = N * D columns of values, K of keys; in biases_ND, D are the distances.
#pragma once

#include <torch/types.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/ops/elementwise.hpp"

namespace attend::ops {

// q, k and v of ragged sentences, in one tensor per projection, so that gradients need not be concatenated: q | k | v
// [M, 3H]; q [M, H] and k | v [Mk, 2H], for Mk keys; or three tensors. Rows may be strided. Keys that a score has
// prepared may have another width.
struct QueriesKeysValues {
  torch::Tensor first, second = {}, third = {};

  std::int64_t width() const { return second.defined() ? first.size(1) : first.size(1) / 3; }
  torch::Tensor q() const { return first.narrow(1, 0, width()); }
  torch::Tensor k() const {
    if (third.defined()) return second;
    return second.defined() ? second.narrow(-1, 0, second.size(-1) - width()) : first.narrow(1, width(), width());
  }
  torch::Tensor v() const {
    if (third.defined()) return third;
    return second.defined() ? second.narrow(-1, second.size(-1) - width(), width())
                            : first.narrow(1, 2 * width(), width());
  }
  QueriesKeysValues with_queries(const torch::Tensor& q_MH) const {
    return {q_MH, second.defined() ? second : first.narrow(1, width(), 2 * width()), third};
  }
};

// The energy of a query and a key of one head. Only steps support logarithms and the additive form.
struct HeadEnergy {
  enum class Kind {
    scaled_product,  // q kᵀ / sqrt(D)
    product,         // q kᵀ
    log_product,     // log q kᵀ, of products that are not negative
    additive,        // vᵀ tanh(q + k)
  };
  Kind kind = Kind::scaled_product;
  torch::Tensor v_NA = {};  // the v of each head, fp32, of the additive form
};

// `causal`: position t attends to keys 0 … t of the same layout. Dropout is applied to the weights. The bias of query i
// and key j in head h is biases_ND[h][j - i + L - 1]; it may be -infinity, but not for all keys of a query. In every
// head, row j - i + L - 1 of distance_keys is added to key j, and of distance_values to its value. Only steps
// support rows by distance, with scaled products, and biases of each row.
struct HeadsForm {
  std::int64_t heads = 1;
  bool causal = false;
  Dropout dropout = {};
  HeadEnergy energy = {};
  std::int64_t longest = 1;      // L: maximum number of keys of a sentence
  torch::Tensor biases_ND = {};  // [N, 2L - 1] or, for all heads, [1, 2L - 1], fp32; undefined: none
  std::int64_t half_width = 0;   // if positive, biases_ND are those of a window: 0 for |j - i| <= it, else -infinity
  torch::Tensor distance_keys = {}, distance_values = {};  // [L, H / N], fp32; undefined: none
  torch::Tensor newest_RH = {};                            // of steps: the queries of a layer, before a score maps them
  torch::Tensor biases_RNL = {};  // added to the energies of each of them, fp32; undefined: none
  torch::Tensor numbers_M = {};   // i of each query, int64, read with biases; undefined: its place in its sentence

  // `of_window`: the half width of the window that is all that `more_ND` expresses.
  void add_biases(const torch::Tensor& more_ND, std::int64_t of_window = 0) {
    half_width = biases_ND.defined() ? 0 : of_window;
    biases_ND = biases_ND.defined() ? biases_ND + more_ND : more_ND;
  }

  // The factor of the energies, for queries of `width` columns, of all heads.
  float scale(std::int64_t width) const {
    const std::int64_t of_head = width / heads;
    return energy.kind == HeadEnergy::Kind::scaled_product ? 1 / std::sqrt(static_cast<float>(of_head)) : 1;
  }
};

// Attention within each sentence, of queries laid out by `queries` to keys by `keys` (the same number of sentences):
// [M, H] in the type of the queries. A sentence without keys gives zeros. On a GPU, undefined if no kernel serves the
// form (gpu/attention.cpp).
torch::Tensor fused_attention(const QueriesKeysValues& rows, const Layout& queries, const Layout& keys,
                              const HeadsForm& form);

// Where the keys and values of R hypotheses are: in one layer, kv[t] = k | v, [R_t, C], are those of step t, and
// hypothesis r descends from row ancestry[t][r] of it. When a beam splits or dies, R integers per step change, and no
// key or value has to move.
//
//   Two rows; after step 0 the second dies and the first splits; after step 1, ancestry = {{0, 0}, {0, 1}}.
using Ancestry = std::vector<std::vector<std::int64_t>>;

// Attention of each row's newest query, as wide as a key, to its own keys and values: [R, H], in the type of the query.
// Without gradient.
torch::Tensor fused_attention_to_steps(const torch::Tensor& q_RK, std::span<const torch::Tensor> kv,
                                       const Ancestry& ancestry, const HeadsForm& form);

// Attention of row r's query, as wide as a key, to sentence sentences[r] of the memory, kv_MC = k | v: [R, H]. An empty
// sentence gives zeros. Without gradient.
torch::Tensor fused_attention_to_memory(const torch::Tensor& q_RK, const torch::Tensor& kv_MC, const Layout& memory,
                                        std::span<const std::int64_t> sentences, const HeadsForm& form);

}  // namespace attend::ops
