// Steps of recurrent cells except for the matrix products: each kernel is called for rows [begin, end) of a step, so
// that callers can divide rows among threads.
#pragma once

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

// One step of a cell from the sums of its gates, in blocks of H: i f g o, r z n, or h.
template <class T>
struct CellForward {
  CellKind kind;
  std::int64_t width;        // H
  Rows<T> input;             // sums: W x + b
  Rows<T> product;           // further sums, or no data
  Rows<T> recurrent;         // for a GRU, which needs U h + b separately
  Rows<T> gates;             // out: the gates after their activations; may be `input`
  Rows<float> inner_before;  // an LSTM's cell state before the step; no data: zeros
  Rows<float> inner;         // out: an LSTM's cell state, a GRU's block n of U h + b; no data: not wanted
  Rows<T> hidden_before;     // for a GRU
  Rows<T> hidden;            // out
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// The gradients of the gate sums. `carried` is the part of the previous state's gradient that does not come from the
// products: dc for an LSTM, z dh for a GRU.
template <class T>
struct CellBackward {
  CellKind kind;
  std::int64_t width;
  Rows<T> gates;
  Rows<float> inner_before;
  Rows<float> inner;
  Rows<T> hidden_before;
  Rows<float> hidden_gradient;
  Rows<float> carried;         // for the state after the step; overwritten with that for the state before
  Rows<T> gate_gradient;       // out: of the gate sums
  Rows<T> recurrent_gradient;  // out: of U h + b, for a GRU
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// to = from * dropout, or to += from * dropout; rows of either side may be selected by index (null: in order).
template <class From, class To>
struct CopyRows {
  std::int64_t width;
  Rows<From> from;
  const std::int64_t* from_index = nullptr;
  Rows<To> to;
  const std::int64_t* to_index = nullptr;
  bool add = false;
  RowDropout dropout = {};
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// to = tanh(from).
template <class T>
struct Tanh {
  std::int64_t width;
  Rows<T> from;
  Rows<T> to;
  const std::int64_t* to_index;
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// to = gradient * (1 - result²).
template <class T>
struct TanhBackward {
  std::int64_t width;
  Rows<float> gradient;
  Rows<T> result;
  const std::int64_t* result_index;
  Rows<T> to;
  void operator()(std::int64_t begin, std::int64_t end) const;
};

}  // namespace attend::ops::kernels
