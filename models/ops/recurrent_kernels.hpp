// The row kernels of the recurrent fast paths. Each works on rows [begin, end) of one step, so that callers share rows
// among threads; products stay outside. Compiled with its own flags (models/CMakeLists.txt) and once for each level of
// x86-64.
//
// Rows are packed: the sentences in order of falling length, position after position (recurrent_fast.cpp), so that row
// i of step t is followed by row i of step t + 1 while its sentence lasts.
#pragma once

#include <cstdint>

#include "models/ops/mask.hpp"

namespace attend::ops::kernels {

// The upper half of a float.
struct Bf16 {
  std::uint16_t bits;
};

// Rows of a matrix; row i begins at data + i * stride.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;
  T* row(std::int64_t i) const { return data + i * stride; }
  Rows from(std::int64_t first) const { return {data + first * stride, stride}; }
  Rows columns(std::int64_t first) const { return {data + first, stride}; }
};

// Dropout over the columns of ragged rows: element (row, j) of a matrix of `width` columns, counted from `column`.
struct RowDropout {
  DropoutMask mask{Dropout{}};
  bool active = false;
  std::int64_t width = 0;
  std::int64_t column = 0;
};

// Gates are overwritten with their activations; the state before is read at `cell_before` and the new one written.
template <class T>
struct CellForward {
  std::int64_t width;       // H
  Rows<T> input;            // products of the step's input and the biases, [4H]; stride 0 for biases alone
  Rows<T> product;          // further products, or no data
  Rows<T> gates;            // i f g o after their functions, [4H]; may be `input`
  Rows<float> cell_before;  // or no data: zeros
  Rows<float> cell;
  Rows<T> hidden;
};
void cell_forward(const CellForward<float>& step, std::int64_t begin, std::int64_t end);
void cell_forward(const CellForward<Bf16>& step, std::int64_t begin, std::int64_t end);

template <class T>
struct CellBackward {
  std::int64_t width;
  Rows<T> gates;
  Rows<float> cell_before;  // or no data: zeros
  Rows<float> cell;
  Rows<float> hidden_gradient;
  Rows<float> cell_gradient;  // of the state after the step; overwritten with that of the state before
  Rows<T> gate_gradient;
};
void cell_backward(const CellBackward<float>& step, std::int64_t begin, std::int64_t end);
void cell_backward(const CellBackward<Bf16>& step, std::int64_t begin, std::int64_t end);

// to = from * dropout, or added to `to`; rows of either side may be picked by index (null: in order). Dropout counts
// `rows` of ragged tokens.
template <class From, class To>
struct CopyRows {
  std::int64_t width;
  Rows<From> from;
  const std::int64_t* from_index = nullptr;
  Rows<To> to;
  const std::int64_t* to_index = nullptr;
  bool add = false;
  RowDropout dropout = {};
  const std::int64_t* rows = nullptr;  // read where dropout is active
};
void copy_rows(const CopyRows<float, float>& copy, std::int64_t begin, std::int64_t end);
void copy_rows(const CopyRows<Bf16, Bf16>& copy, std::int64_t begin, std::int64_t end);
void copy_rows(const CopyRows<Bf16, float>& copy, std::int64_t begin, std::int64_t end);

// Softmax of the dot products of row i's query with the keys of the sentence it reads, and the values so weighted. Row
// i's weights begin at weights + first_weight[i], as many as its sentence has tokens.
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
  RowDropout dropout = {};  // on the context
  const std::int64_t* rows = nullptr;
};
void attend(const Attend<float>& step, std::int64_t begin, std::int64_t end);
void attend(const Attend<Bf16>& step, std::int64_t begin, std::int64_t end);

// The gradients of scores and queries; those of keys and values wait for memory_backward.
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

// gradient[s] = Σ_t factors[t, s] vectors[t] within sentences [begin, end): that of keys from score gradients and
// queries, that of values from weights and context gradients.
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

// to = tanh(from).
template <class T>
struct Tanh {
  std::int64_t width;
  Rows<T> from;
  Rows<T> to;
  const std::int64_t* to_index;
};
void tanh_rows(const Tanh<float>& step, std::int64_t begin, std::int64_t end);
void tanh_rows(const Tanh<Bf16>& step, std::int64_t begin, std::int64_t end);

// to = gradient * (1 - result²).
template <class T>
struct TanhBackward {
  std::int64_t width;
  Rows<float> gradient;
  Rows<T> result;
  const std::int64_t* result_index;
  Rows<T> to;
};
void tanh_backward(const TanhBackward<float>& step, std::int64_t begin, std::int64_t end);
void tanh_backward(const TanhBackward<Bf16>& step, std::int64_t begin, std::int64_t end);

}  // namespace attend::ops::kernels
