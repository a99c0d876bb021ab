// Attention of single queries, each over the keys of its own sentence: a decoding step of a Transformer, and every step
// of an RNN, whose kernels are called for rows [begin, end), so that callers can divide rows among threads.
#pragma once

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

// One query over `num_keys` keys at arbitrary addresses, each followed by its value: softmax(scale q kᵀ + bias) v, or
// with an energy vector e, eᵀ tanh(q + k) in place of the product. In every head, a row of `distance_keys` is added to
// each key of a product, and one of `distance_values` to its value.
template <class T>
struct QueryOverKeys {
  const T* query;        // heads * key_size
  const T* const* keys;  // num_keys pointers to heads * (key_size + value_size) numbers
  std::int64_t num_keys;
  std::int64_t heads;
  std::int64_t key_size;
  std::int64_t value_size;
  const float* energy;  // [heads, key_size]; null: products
  bool log_products;    // log q kᵀ in place of the product
  float scale;
  const float* bias;             // of each key in head 0; null: none
  std::int64_t bias_stride;      // from head to head
  const float* distance_keys;    // [num_keys, key_size]; null: none
  const float* distance_values;  // of the same size; read with distance_keys
  float* scratch;                // heads * (padded(value_size) + 2) numbers
  T* context;                    // out: [heads * value_size], the weighted sum of the values
};
void attend_query(const QueryOverKeys<float>& row);
void attend_query(const QueryOverKeys<Bf16>& row);

// The memory that the rows of a step attend to, and the form of attention. Row i reads the tokens of sentence
// sentences[i]; its weights start at weights + first_weight[i], one per token.
//   e_s = query · key_s, or with an energy vector v, e_s = v · tanh(query + key_s); with coverage C, forward only,
//   key_s + C_s coverage_key in place of key_s
//   a_s = softmax_s(e_s) over all tokens, or those within half_width of centres[i], the others 0
//   w_s = a_s g_s,  g_s = exp(-(s - centres[i])² precision / 2)
template <class T>
struct QueryMemory {
  std::int64_t key_width;         // A
  std::int64_t value_width;       // W
  const T* keys;                  // [S, A]
  const T* values;                // [S, W]
  const std::int64_t* offsets;    // of the sentences
  const std::int64_t* sentences;  // of each row
  const std::int64_t* first_weight;
  float* weights;
  const float* energy = nullptr;        // [A]; null: dot products
  const float* coverage = nullptr;      // C, laid out as the weights; null: none
  const float* coverage_key = nullptr;  // [A], null without coverage
  const float* centres = nullptr;       // null: all tokens
  float half_width = 0;
  float precision = 0;  // 0: g = 1
};

// Weights w, and contexts Σ_s w_s value_s.
template <class T>
struct Attend {
  QueryMemory<T> memory;
  Rows<const T> query;
  Rows<T> context;
  RowDropout dropout = {};  // on the context
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// The gradients of scores, queries and centres. MemoryBackward computes those of values, and of keys with dot
// products. For the additive score, the gradients of keys and energy vector are accumulated here per sentence, so the
// rows of a step must read different sentences.
template <class T>
struct AttendBackward {
  QueryMemory<T> memory;
  Rows<const T> query;     // for the additive score
  float* score_gradients;  // laid out like the weights
  Rows<T> context_gradient;
  Rows<float> query_gradient;        // for dot products; added to
  Rows<T> sum_gradient = {};         // for the query of the additive score
  Rows<float> key_gradient = {};     // [S, A], added to
  Rows<float> energy_gradient = {};  // row b belongs to sentence b; added to
  float* share_gradients = nullptr;  // of x, where centre = tokens * sigmoid(x); may be null
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// The additive scores of every query of a group at every key of it, e_ts = v · tanh(query_t + key_s). Group g reads the
// energy vector v of head g % heads.
struct AdditiveScores {
  std::int64_t queries, keys, width, heads;  // T, S, A, N
  const float* query;                        // [G, T, A]
  const float* key;                          // [G, S, A]
  const float* energy;                       // [N, A]
  float* scores;                             // out: [G, T, S]
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// `of`: the same operands; its scores are not read.
struct AdditiveScoresBackward {
  AdditiveScores of;
  const float* score_gradients;  // [G, T, S]
  float* query_gradient;         // out: [G, T, A]
  float* key_gradient;           // [G, S, A], added to
  float* energy_gradient;        // [N, A], added to
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// gradient[s] = Σ_t factors[t, s] vectors[t] within sentences [begin, end): for keys from score gradients and queries,
// for values from weights and context gradients.
template <class T>
struct MemoryBackward {
  std::int64_t width;
  const std::int64_t* offsets;      // of the memory sentences
  const std::int64_t* tgt_offsets;  // of the target sentences
  const std::int64_t* packed_rows;  // the packed row of each ragged target token
  const std::int64_t* first_weight;
  const float* factors;  // laid out like the weights
  Rows<T> vectors;
  Rows<T> gradient;  // [S, width]
  void operator()(std::int64_t begin, std::int64_t end) const;
};

}  // namespace attend::ops::kernels
