// Stand-ins for the kernels of LibTorch that only a GPU has, so that the GPU's forms run on a processor: they take the
// arguments that the kernels document and compute the equations in fp32. They are registered by including this header
// in one test file.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace attend::stand_in {

using at::Tensor;

// Softmax attention of sentence b's queries [T, N, D] to its keys, with positions counted from the end of both, as
// flash attention does, or from the start, as memory-efficient attention does; they agree for equal lengths.
// `mask_NTS`: the factors of the weights.
struct Sentences {
  Tensor q, k, v, query_offsets, key_offsets;
  bool causal;
  std::int64_t behind, ahead;  // -1: any distance
  double scale;

  std::int64_t size() const { return query_offsets.size(0) - 1; }
  static Tensor part(const Tensor& x, const Tensor& offsets, std::int64_t b) {
    const std::int64_t first = offsets[b].item<std::int64_t>();
    return x.narrow(0, first, offsets[b + 1].item<std::int64_t>() - first).transpose(0, 1).to(at::kFloat);  // [N, T, D]
  }
  Tensor weights(std::int64_t b) const {
    Tensor scores = at::matmul(part(q, query_offsets, b), part(k, key_offsets, b).transpose(1, 2)) * scale;
    const Tensor distance = at::arange(scores.size(2)) - at::arange(scores.size(1)).unsqueeze(1);
    const double lowest = -std::numeric_limits<double>::infinity();
    if (causal) scores = scores.masked_fill(distance.gt(0), lowest);
    if (behind >= 0) scores = scores.masked_fill(distance.lt(-behind), lowest);
    if (ahead >= 0) scores = scores.masked_fill(distance.gt(ahead), lowest);
    return at::softmax(scores, 2);
  }
};

// The factors of all weights, drawn from the default generator, sentence by sentence.
inline std::vector<Tensor> drawn(const Sentences& all, double rate) {
  std::vector<Tensor> factors;
  for (std::int64_t b = 0; b < all.size(); ++b) {
    const Tensor weights = all.weights(b);
    factors.push_back(rate > 0 ? at::rand_like(weights).ge(rate).to(at::kFloat) / (1 - rate) : at::ones_like(weights));
  }
  return factors;
}

inline Tensor attend(const Sentences& all, const std::vector<Tensor>& factors) {
  std::vector<Tensor> contexts = {at::zeros({0, all.q.size(1), all.q.size(2)})};
  for (std::int64_t b = 0; b < all.size(); ++b) {
    contexts.push_back(
        at::matmul(all.weights(b) * factors[b], Sentences::part(all.v, all.key_offsets, b)).transpose(0, 1));
  }
  return at::cat(contexts).to(all.q.scalar_type());
}

inline std::uint64_t seed_now() { return at::globalContext().defaultGenerator(at::kCPU).current_seed(); }

inline std::tuple<Tensor, Tensor, Tensor> gradients(Sentences all, const Tensor& dcontext, std::uint64_t seed,
                                                    double rate) {
  at::manual_seed(seed);
  const std::vector<Tensor> factors = drawn(all, rate);
  // A kernel is called below autograd, which this one uses.
  c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  const c10::impl::ForceDispatchKeyGuard autograd(keys);
  const at::AutoGradMode with_gradients(true);
  const at::ScalarType type = all.q.scalar_type();
  for (Tensor* x : {&all.q, &all.k, &all.v}) *x = x->detach().to(at::kFloat).requires_grad_();
  attend(all, factors).backward(dcontext.to(at::kFloat));
  return {all.q.grad().to(type), all.k.grad().to(type), all.v.grad().to(type)};
}

inline Tensor number(std::uint64_t seed) { return at::scalar_tensor(static_cast<std::int64_t>(seed), at::kLong); }
inline std::uint64_t seed_of(const Tensor& x) { return static_cast<std::uint64_t>(x.item<std::int64_t>()); }

// The leading arguments of a boxed call, which later versions of LibTorch only append to.
using Stack = torch::jit::Stack;
inline std::int64_t width_or_any(const c10::IValue& x) { return x.isNone() ? -1 : x.toInt(); }

inline Sentences of_flash(const Stack& in, std::size_t q, std::size_t offsets, std::size_t causal, std::size_t scale) {
  return {.q = in[q].toTensor(),
          .k = in[q + 1].toTensor(),
          .v = in[q + 2].toTensor(),
          .query_offsets = in[offsets].toTensor(),
          .key_offsets = in[offsets + 1].toTensor(),
          .causal = in[causal].toBool(),
          .behind = width_or_any(in[scale + 1]),
          .ahead = width_or_any(in[scale + 2]),
          .scale = in[scale].toDouble()};
}

inline std::size_t arguments(const c10::OperatorHandle& op) { return op.schema().arguments().size(); }
inline Stack taken(const c10::OperatorHandle& op, Stack* stack) {
  const Stack in = torch::jit::last(*stack, arguments(op)).vec();
  torch::jit::drop(*stack, arguments(op));
  return in;
}

// query key value cum_seq_q cum_seq_k max_q max_k dropout_p is_causal return_debug_mask scale window_left window_right
// …
inline void flash_forward(const c10::OperatorHandle& op, Stack* stack) {
  const Stack in = taken(op, stack);
  const Sentences all = of_flash(in, 0, 3, 8, 10);
  TORCH_CHECK(all.query_offsets.scalar_type() == at::kInt && all.q.size(2) % 8 == 0 && all.q.stride(2) == 1 &&
              all.q.scalar_type() == at::kBFloat16);
  const std::uint64_t seed = seed_now();
  const Tensor context = attend(all, drawn(all, in[7].toDouble()));
  torch::jit::push(*stack, context, at::zeros({all.q.size(1), all.q.size(0)}), number(seed), at::zeros({}), Tensor());
}

// grad_out query key value out logsumexp cum_seq_q cum_seq_k max_q max_k dropout_p is_causal rng_state unused scale
// window_left window_right
inline void flash_backward(const c10::OperatorHandle& op, Stack* stack) {
  const Stack in = taken(op, stack);
  const auto [dq, dk, dv] =
      gradients(of_flash(in, 1, 6, 11, 14), in[0].toTensor(), seed_of(in[12].toTensor()), in[10].toDouble());
  torch::jit::push(*stack, dq, dk, dv);
}

inline Sentences of_efficient(const Stack& in, std::size_t q, std::size_t offsets, std::int64_t mask, double scale) {
  TORCH_CHECK(in[q].toTensor().size(0) == 1 && in[q].toTensor().dim() == 4);
  return {.q = in[q].toTensor().squeeze(0),
          .k = in[q + 1].toTensor().squeeze(0),
          .v = in[q + 2].toTensor().squeeze(0),
          .query_offsets = in[offsets].toTensor(),
          .key_offsets = in[offsets + 1].toTensor(),
          .causal = mask == 1,
          .behind = -1,
          .ahead = -1,
          .scale = scale};
}

// query key value bias cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k dropout_p custom_mask_type
// compute_log_sumexp scale …
inline void efficient_forward(const c10::OperatorHandle& op, Stack* stack) {
  const Stack in = taken(op, stack);
  const Sentences all = of_efficient(in, 0, 4, in[9].toInt(), in[11].toDouble());
  const std::uint64_t seed = seed_now();
  const Tensor context = attend(all, drawn(all, in[8].toDouble())).unsqueeze(0);
  torch::jit::push(*stack, context, at::zeros({all.size(), all.q.size(1), in[6].toInt()}), number(seed), number(0),
                   in[6].toInt(), in[7].toInt());
}

// grad_out query key value bias out cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k logsumexp dropout_p philox_seed
// philox_offset custom_mask_type bias_requires_grad scale …
inline void efficient_backward(const c10::OperatorHandle& op, Stack* stack) {
  const Stack in = taken(op, stack);
  const Sentences all = of_efficient(in, 1, 6, in[14].toInt(), in[16].toDouble());
  const auto [dq, dk, dv] = gradients(all, in[0].toTensor().squeeze(0), seed_of(in[12].toTensor()), in[11].toDouble());
  torch::jit::push(*stack, dq.unsqueeze(0), dk.unsqueeze(0), dv.unsqueeze(0), Tensor());
}

inline Tensor product(const Tensor& a, const Tensor& b, at::ScalarType type) { return at::mm(a.to(type), b.to(type)); }

// The gates of torch.nn.LSTM and GRU; the last result is a workspace. Differentiated by autograd, as the kernels are.
inline std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input, const Tensor& hidden, const Tensor& c,
                                                    const std::optional<Tensor>& b_ih,
                                                    const std::optional<Tensor>& b_hh) {
  const auto gates = (input + *b_ih + hidden + *b_hh).chunk(4, 1);
  const Tensor next = gates[1].sigmoid() * c + gates[0].sigmoid() * gates[2].tanh();
  return {gates[3].sigmoid() * next.tanh(), next, at::zeros({0})};
}
inline std::tuple<Tensor, Tensor> gru_cell(const Tensor& input, const Tensor& hidden, const Tensor& h,
                                           const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh) {
  const auto i = (input + *b_ih).chunk(3, 1), u = (hidden + *b_hh).chunk(3, 1);
  const Tensor z = (i[1] + u[1]).sigmoid(), n = (i[2] + (i[0] + u[0]).sigmoid() * u[2]).tanh();
  return {(1 - z) * n + z * h, at::zeros({0})};
}

TORCH_LIBRARY_IMPL(aten, CPU, library) {
  library.impl("_flash_attention_forward", torch::CppFunction::makeFromBoxedFunction<&flash_forward>());
  library.impl("_flash_attention_backward", torch::CppFunction::makeFromBoxedFunction<&flash_backward>());
  library.impl("_efficient_attention_forward", torch::CppFunction::makeFromBoxedFunction<&efficient_forward>());
  library.impl("_efficient_attention_backward", torch::CppFunction::makeFromBoxedFunction<&efficient_backward>());
  library.impl("mm.dtype", &product);
}
TORCH_LIBRARY_IMPL(aten, AutogradCPU, library) {
  library.impl("_thnn_fused_lstm_cell", &lstm_cell);
  library.impl("_thnn_fused_gru_cell", &gru_cell);
}

}  // namespace attend::stand_in
