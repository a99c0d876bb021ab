// Steps of an LSTM without the matrix products: each function works on rows [begin, end) of a step, so that callers can
// divide rows among threads.
#pragma once

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

// Overwrites gates with their activations, reads the previous state from `cell_before` and writes the new one.
template <class T>
struct CellForward {
  std::int64_t width;       // H
  Rows<T> input;            // products of the step's input and the biases, [4H]
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

// to = from * dropout, or adds it to `to`; rows of either side may be selected by index (null: in order). Dropout is
// keyed by `rows` of ragged tokens.
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
