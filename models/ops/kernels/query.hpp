// Attention of single queries, each over the keys of its own sentence: a decoding step of a Transformer, and every step
// of an RNN. Functions work on rows [begin, end) of a step, so that callers can divide rows among threads.
#pragma once

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

constexpr std::int64_t padded_head(std::int64_t head_size) { return (head_size + kWidest - 1) / kWidest * kWidest; }

// One query over `num_keys` keys at arbitrary addresses, softmax(q kᵀ / sqrt(head_size)) v; a key's value is stored
// `value_offset` elements after it.
template <class T>
struct QueryOverKeys {
  const T* query;        // heads * head_size
  const T* const* keys;  // num_keys pointers to as many numbers
  std::int64_t num_keys;
  std::int64_t value_offset;
  std::int64_t heads;
  std::int64_t head_size;
  float* scratch;  // heads * (padded_head(head_size) + 2) numbers
  T* context;      // out: [heads * head_size], the weighted sum of the values
};
void attend_query(const QueryOverKeys<float>& row);
void attend_query(const QueryOverKeys<Bf16>& row);

// Softmax of the dot products of row i's query with the keys of its sentence, and the weighted sum of the values. Row
// i's weights start at weights + first_weight[i], one per token of its sentence.
template <class T>
struct Attend {
  std::int64_t width;             // H
  std::int64_t value_width;       // V
  const T* keys;                  // [S, H]
  const T* values;                // [S, V]
  const std::int64_t* offsets;    // of the sentences of the memory
  const std::int64_t* sentences;  // of each row
  const std::int64_t* first_weight;
  float* weights;
  Rows<T> query;
  Rows<T> context;
  RowDropout dropout = {};             // on the context
  const std::int64_t* rows = nullptr;  // that dropout counts; read where it is active
};
void attend(const Attend<float>& step, std::int64_t begin, std::int64_t end);
void attend(const Attend<Bf16>& step, std::int64_t begin, std::int64_t end);

// The gradients of scores and queries; memory_backward computes those of keys and values.
template <class T>
struct AttendBackward {
  std::int64_t width;
  std::int64_t value_width;
  const T* keys;
  const T* values;
  const std::int64_t* offsets;
  const std::int64_t* sentences;
  const std::int64_t* first_weight;
  const float* weights;
  float* score_gradients;  // laid out as the weights
  Rows<T> context_gradient;
  Rows<float> query_gradient;  // added to
};
void attend_backward(const AttendBackward<float>& step, std::int64_t begin, std::int64_t end);
void attend_backward(const AttendBackward<Bf16>& step, std::int64_t begin, std::int64_t end);

// gradient[s] = Σ_t factors[t, s] vectors[t] within sentences [begin, end): for keys from score gradients and queries,
// for values from weights and context gradients.
template <class T>
struct MemoryBackward {
  std::int64_t width;
  const std::int64_t* offsets;      // of the sentences of the memory
  const std::int64_t* tgt_offsets;  // of those that read them
  const std::int64_t* packed_rows;  // of each ragged target token
  const std::int64_t* first_weight;
  const float* factors;  // laid out as the weights
  Rows<T> vectors;
  Rows<T> gradient;  // [S, width]
};
void memory_backward(const MemoryBackward<float>& memory, std::int64_t begin, std::int64_t end);
void memory_backward(const MemoryBackward<Bf16>& memory, std::int64_t begin, std::int64_t end);

}  // namespace attend::ops::kernels
