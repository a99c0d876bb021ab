// A recurrent cell over the steps of a batch, forward and backward: a part of the tapes of layers and decoders.
//
// Its input is [k_t; x_t]: k is known before the loop, x is written during it, and either may be missing. Of the sums
//   z_t = W_k k_t + W_x x_t + U h_{t-1} + b
// the product with k is computed before the loop, and the gradients of weights after it, each as one product over all
// steps. In the loop, LSTM and tanh cells need one product, [W_x U] [x; h]. A GRU needs U h + b separately, so its loop
// has a product for x and one for h.
//
// Backward, from dh_t and the carried gradient (lower-case letters are gates as in elementwise.hpp):
//   lstm  dc_t += dh o (1 - tanh²(c)),  dc_{t-1} = f dc_t,
//         dz = [dc g i (1 - i), dc c_{t-1} f (1 - f), dc i (1 - g²), dh tanh(c) o (1 - o)]
//   gru   dn = dh (1 - z) (1 - n²),  dz = dh (h_{t-1} - n) z (1 - z),  dr = dn (U_n h + b) r (1 - r),
//         [dr dz dn] of W x + b and [dr dz r dn] of U h + b;  z dh joins dh_{t-1}
//   tanh  dz = dh (1 - h²)
//   dx_t = W_xᵀ dz_t,  dh_{t-1} = Uᵀ dz_t + …,  dk = W_kᵀ dz,  dW = Σ_t dz_t [k; x]ᵀ,  dU = Σ_t dz_t h_{t-1}ᵀ
#pragma once

#include "models/ops/fast/recurrent_support.hpp"

namespace attend::ops::fast {

// Saved by the forward pass for the backward pass. Packed: rows in the order of steps, [M, …].
template <class T>
struct CellTape {
  // `known`: packed, [M, K]. `start`: in the order of sentences, [B, H]; null: zeros.
  CellTape(const CellWeights& cell, Tensor known_MK, const CellState* start, const Steps& steps)
      : kind(cell.kind), width(cell.weight_hh.master().size(1)), from_zeros(start == nullptr), known(known_MK) {
    const Tensor weight_ih = working(cell.weight_ih, known), weight_hh = working(cell.weight_hh, known);
    const std::int64_t M = known.size(0), K = known.size(1), X = weight_ih.size(1) - K, H = width;
    weight_known = weight_ih.narrow(1, 0, K).contiguous();
    weight_x = weight_ih.narrow(1, K, X).contiguous();
    weight_h = weight_hh;
    inputs = at::zeros({M + kRowBlock, X + H}, known.options());
    if (is_joined()) {
      weight_h = X > 0 ? at::cat({weight_x, weight_hh}, 1) : weight_hh;
      x = inputs.narrow(1, 0, X);
      h = inputs.narrow(1, X, H);
    } else {
      x = inputs.narrow(1, 0, X).contiguous();
      h = inputs.narrow(1, X, H).contiguous();
      inputs = Tensor();
      bias_h = cell.bias_hh.detach().to(known.scalar_type());
    }
    const Tensor bias = (is_joined() ? cell.bias_ih + cell.bias_hh : cell.bias_ih).detach().to(known.scalar_type());
    gates = K > 0 ? products::linear(known, weight_known, bias) : bias.repeat({M, 1});
    if (kind != CellKind::tanh) inner = at::empty({M, H}, known.options().dtype(at::kFloat));
    if (start == nullptr) return;
    const Tensor order = index(steps.order).narrow(0, 0, steps.count(0));
    h.narrow(0, 0, steps.count(0)).copy_(start->hidden().detach().index_select(0, order));
    if (kind == CellKind::lstm) memory_start = start->parts[1].detach().index_select(0, order);
  }

  // True if x and h are columns of one buffer with one product.
  bool is_joined() const { return kind != CellKind::gru; }
  std::int64_t num_rows() const { return gates.size(0); }
  std::int64_t input_width() const { return x.size(1); }  // of x

  // The cell state of an LSTM before a step.
  Rows<float> memory_before(const Step& step) const {
    if (kind != CellKind::lstm) return {};
    return step.before >= 0 ? rows<float>(inner, step.before) : rows<float>(memory_start);
  }

  // The matrix products of a step. Without a start state, h is zero at the first step.
  struct Products {
    Tensor product, recurrent;
  };
  Products multiply(const Step& step) const {
    const bool no_state = from_zeros && step.before < 0;
    if (is_joined()) {
      if (no_state && input_width() == 0) return {};
      return {.product = products::linear(block(inputs, step.first, step.count), weight_h, {}), .recurrent = {}};
    }
    Products found{.product = {}, .recurrent = bias_h.expand({step.count, bias_h.size(0)})};
    if (input_width() > 0) found.product = products::linear(block(x, step.first, step.count), weight_x, {});
    if (!no_state) found.recurrent = products::linear(block(h, step.first, step.count), weight_h, bias_h);
    return found;
  }

  // Writes the states of rows [begin, end) to `hidden`, and those of continuing rows to h.
  void forward(const Step& step, const Products& found, Rows<T> hidden, std::int64_t begin, std::int64_t end) const {
    const kernels::CellForward<T> kernel{.kind = kind,
                                         .width = width,
                                         .input = rows<T>(gates, step.first),
                                         .product = rows<T>(found.product),
                                         .recurrent = rows<T>(found.recurrent),
                                         .gates = rows<T>(gates, step.first),
                                         .inner_before = memory_before(step),
                                         .inner = rows<float>(inner, step.first),
                                         .hidden_before = rows<T>(h, step.first),
                                         .hidden = hidden};
    kernel(begin, end);
    CopyRows{.width = width, .from = hidden, .to = rows<T>(h, step.first + step.count)}(begin,
                                                                                        std::min(end, step.next));
  }

  CellKind kind;
  std::int64_t width;  // H
  bool from_zeros;
  Tensor known;
  Tensor weight_known;        // W_k
  Tensor weight_x, weight_h;  // W_x; U, or [W_x U] if joined
  Tensor bias_h;              // bias of U h, if not joined
  Tensor inputs;              // [M + spare, X + H] if joined
  Tensor x, h;                // inputs of each step, [M + spare, …]
  Tensor gates;               // gate sums, then the gates after their activations
  Tensor inner;               // fp32, as in the kernel
  Tensor memory_start;        // start cell states of an LSTM, for the rows of the first step
};

struct CellGradients {
  Tensor known;                                   // packed
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;  // fp32
};

// Backpropagates through the steps of a cell.
template <class T>
class CellBackwardTape {
 public:
  // `memory_gradient`: gradient of an LSTM's final cell state, in the order of steps, fp32; undefined: zeros.
  CellBackwardTape(const CellTape<T>& tape, std::int64_t num_sentences, const Tensor& memory_gradient)
      : tape_(tape),
        weight_x_(transposed(tape.weight_x)),
        weight_h_(transposed(tape.weight_h)),
        dz_(at::zeros({tape.num_rows() + kRowBlock, tape.gates.size(1)}, tape.gates.options())),
        dz_h_(tape.is_joined() ? dz_ : at::zeros_like(dz_)) {
    carried_ = memory_gradient.defined()
                   ? memory_gradient
                   : at::zeros({num_sentences, tape.width}, tape.gates.options().dtype(at::kFloat));
  }

  // The gradient dc of a step's rows, fp32, to which callers add.
  Rows<float> memory_gradient() const { return rows<float>(carried_); }

  // Adds to dh of rows [begin, end) the gradient from the following step.
  void receive(const Step& step, Rows<float> dh, std::int64_t begin, std::int64_t end) const {
    if (begin >= step.next) return;
    CopyRows{.width = tape_.width, .from = rows<T>(dh_), .to = dh, .add = true}(begin, std::min(end, step.next));
  }

  // Computes the gate gradients of rows [begin, end).
  void backward(const Step& step, Rows<float> dh, std::int64_t begin, std::int64_t end) const {
    const kernels::CellBackward<T> kernel{.kind = tape_.kind,
                                          .width = tape_.width,
                                          .gates = rows<T>(tape_.gates, step.first),
                                          .inner_before = tape_.memory_before(step),
                                          .inner = rows<float>(tape_.inner, step.first),
                                          .hidden_before = rows<T>(tape_.h, step.first),
                                          .hidden_gradient = dh,
                                          .carried = rows<float>(carried_),
                                          .gate_gradient = rows<T>(dz_, step.first),
                                          .recurrent_gradient = rows<T>(dz_h_, step.first)};
    kernel(begin, end);
  }

  // The matrix products of a step, once its gate gradients exist.
  void multiply(const Step& step) {
    const std::int64_t X = tape_.input_width();
    const bool no_state = tape_.from_zeros && step.before < 0;
    if (X == 0 && no_state) return;
    const Tensor back = products::linear(block(dz_h_, step.first, step.count), weight_h_, {});
    dh_ = tape_.is_joined() ? back.narrow(1, X, tape_.width) : back;
    if (X == 0) return;
    dx_ =
        tape_.is_joined() ? back.narrow(1, 0, X) : products::linear(block(dz_, step.first, step.count), weight_x_, {});
  }

  // The gradient of x at the latest step.
  Rows<T> dx() const { return rows<T>(dx_); }

  // The gradients of the start state, for its `count` rows.
  CellState start(std::int64_t count) const {
    const Tensor carried = carried_.narrow(0, 0, count), dh = dh_.narrow(0, 0, count);
    if (tape_.kind == CellKind::lstm) return {{dh, carried}};
    return {{tape_.kind == CellKind::gru ? (dh + carried).to(dh.scalar_type()) : dh}};
  }

  CellGradients finish() const {
    const std::int64_t M = tape_.num_rows(), X = tape_.input_width();
    const auto all = [&](const Tensor& packed) { return packed.narrow(0, 0, M); };
    const Tensor dz = all(dz_), dz_h = all(dz_h_);
    Tensor weight_x, weight_hh;
    if (tape_.is_joined()) {
      const Tensor both = products::outer(dz, all(tape_.inputs));
      weight_x = both.narrow(1, 0, X);
      weight_hh = both.narrow(1, X, tape_.width).contiguous();
    } else {
      weight_hh = products::outer(dz_h, all(tape_.h));
      if (X > 0) weight_x = products::outer(dz, all(tape_.x));
    }
    CellGradients found{.known = {}, .weight_ih = weight_x, .weight_hh = weight_hh, .bias_ih = {}, .bias_hh = {}};
    if (tape_.known.size(1) > 0) {
      const Tensor weight_known = products::outer(dz, tape_.known);
      found.known = products::linear(dz, tape_.weight_known.t(), {});
      found.weight_ih = X > 0 ? at::cat({weight_known, weight_x}, 1) : weight_known;
    }
    found.weight_ih = found.weight_ih.contiguous();
    found.bias_ih = dz.sum(0, false, at::kFloat);
    found.bias_hh = tape_.is_joined() ? found.bias_ih : dz_h.sum(0, false, at::kFloat);
    return found;
  }

 private:
  const CellTape<T>& tape_;
  Tensor weight_x_, weight_h_;  // transposed
  Tensor dz_, dz_h_;            // packed gradients of W x + b and of U h + b
  Tensor carried_;              // fp32, of one step, as in the kernel
  Tensor dx_, dh_;              // of the latest step
};

}  // namespace attend::ops::fast
