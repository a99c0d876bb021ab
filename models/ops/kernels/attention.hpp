// Attention of one sentence and one head at a time (arXiv 1706.03762, eq. 1), with biases b by distance and dropout
// mask m, forward and backward (d for the gradient of the loss, ⊙ element by element):
//
//   A = softmax(scale q kᵀ + b),  out = (m ⊙ A) v
//   dA = m ⊙ (dout vᵀ),  db = A ⊙ (dA - Σ_keys A ⊙ dA),  dq = scale db k,  dk = scale dbᵀ q,  dv = (m ⊙ A)ᵀ dout
//
// The data of a sentence and head usually fit into the second-level cache, so the whole matrix A is computed, without
// tiling or online softmax. Matrix products are small register-blocked loops in fp32.
#pragma once

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

// Common to forward and backward. Work item b * heads + h is head h of sentence b.
struct AttentionLayout {
  const std::int64_t* query_offsets;   // [sentences + 1]
  const std::int64_t* key_offsets;     // [sentences + 1]
  std::int64_t max_queries, max_keys;  // of the longest sentences
  std::int64_t heads, head_size;
  bool causal;
  DropoutMask mask;
  float scale;                            // of the products of queries and keys
  const float* bias = nullptr;            // of distance 0 in head 0, between those of other distances; null: none
  std::int64_t bias_stride = 0;           // from head to head; kWidest numbers are readable after the last distance
  const std::int64_t* numbers = nullptr;  // of each query in its sentence; null: in order
};

template <class T>
struct Attention {
  AttentionLayout layout;
  Rows<const T> q, k, v;
  Rows<T> out;
  void operator()(std::int64_t begin, std::int64_t end) const;
};

template <class T>
struct AttentionBackward {
  AttentionLayout layout;
  Rows<const T> q, k, v, dout;
  Rows<T> dq, dk, dv;
  float* dbias = nullptr;  // laid out as the biases, added to; null: not needed
  void operator()(std::int64_t begin, std::int64_t end) const;
};

}  // namespace attend::ops::kernels
