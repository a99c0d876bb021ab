// The plain and the faster implementations of each op, declared with the types of the functions in ops.hpp,
// attention.hpp and recurrent.hpp, where arguments and results are described.
#pragma once

#include "models/ops/attention.hpp"
#include "models/ops/kernels/packed.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/recurrent.hpp"

namespace attend::ops {

// A candidate of top_log_probs.
struct Candidate {
  float value;
  std::int64_t id;

  bool is_better_than(const Candidate& b) const { return value > b.value || (value == b.value && id < b.id); }
};

// A few lines of ATen that read like the equations, for any device, fp32 and bf16, differentiated by autograd: the
// reference in tests of the fast paths, used where there is no fast path. Weights are read from the master.
namespace plain {

torch::Tensor activated(const torch::Tensor& x, Activation activation);
decltype(ops::dropout) dropout;
decltype(ops::linear) linear;
decltype(ops::gated) gated;
decltype(ops::logits) logits;
decltype(ops::additive_energies) additive_energies;
decltype(ops::layer_norm) layer_norm;
decltype(ops::add_layer_norm) add_layer_norm;
decltype(ops::embed) embed;
decltype(ops::cross_entropy) cross_entropy;
decltype(ops::symmetric_divergence) symmetric_divergence;
decltype(ops::top_log_probs) top_log_probs;
decltype(ops::orthogonal_factors) newton_schulz;  // of wide or square matrices of norm 1
decltype(ops::cell_step) cell_step;
decltype(ops::recurrent_layer) recurrent_layer;

}  // namespace plain

// Autograd functions for the CPU that use the loops of kernels/ and the matrix products of fast/products.hpp, where
// dispatch.hpp allows it. Results are bitwise reproducible for a given number of threads: rows are cut into fixed
// chunks, and partial sums are added in order.
namespace fast {

// linear with a weight packed in 8 bits; x and the result are fp32.
torch::Tensor linear_int8(const torch::Tensor& x, const kernels::Int8Weight& weight, const torch::Tensor& bias,
                          Activation activation, kernels::Int8Kernel kernel);
decltype(ops::dropout) dropout;
decltype(ops::linear) linear;
decltype(ops::logits) logits;
decltype(ops::feed_forward) feed_forward;
decltype(ops::gated) gated;
decltype(ops::additive_energies) additive_energies;
decltype(ops::layer_norm) layer_norm;
decltype(ops::add_layer_norm) add_layer_norm;
decltype(ops::embed) embed;
decltype(ops::fused_attention) fused_attention;
decltype(ops::fused_attention_to_steps) fused_attention_to_steps;
decltype(ops::fused_attention_to_memory) fused_attention_to_memory;
decltype(ops::cross_entropy) cross_entropy;
decltype(ops::symmetric_divergence) symmetric_divergence;
decltype(ops::top_log_probs) top_log_probs;
decltype(ops::orthogonal_factors) newton_schulz;  // of wide or square matrices of norm 1
decltype(ops::cell_step) cell_step;               // without gradients
decltype(ops::attention_step) attention_step;     // without gradients
decltype(ops::recurrent_layer) recurrent_layer;
decltype(ops::luong_decoder) luong_decoder;
decltype(ops::bahdanau_decoder) bahdanau_decoder;

}  // namespace fast

// The forms for a GPU: kernels of LibTorch behind the same interface. They are compiled in every build; tests of builds
// without CUDA stand in for the kernels that only a GPU has. What is not here is plain on a GPU.
namespace gpu {

decltype(ops::dropout) dropout;
decltype(ops::linear) linear;
decltype(ops::logits) logits;
decltype(ops::cross_entropy) cross_entropy;
decltype(ops::fused_attention) fused_attention;
decltype(ops::cell_step) cell_step;
decltype(ops::recurrent_layer) recurrent_layer;

}  // namespace gpu
}  // namespace attend::ops
