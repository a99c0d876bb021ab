// `Layer`, the base of all modules with parameters of their own; linear maps, tables and sinusoids. Each layer
// registers its parameters under PyTorch's names, pairs an fp32 master with the ops::Weight that matrix products read,
// and defines its initialisation.
#pragma once

#include <c10/core/InferenceMode.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "core/random.hpp"
#include "data/batch/batch.hpp"
#include "models/layers/pass.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/weight.hpp"

namespace attend {

// What a parameter is for.
enum class ParameterRole {
  matrix,  // or a stack of them: maps numbers to numbers
  output,  // a matrix whose products are the results of the model, such as the logits of labels
  table,   // whose rows are looked up
  bias     // or the scale of a norm, a temperature and the like
};

// What its layer declares of a parameter, for its initialisation (initialise.hpp), its weight decay and its rule of
// updates (train/optimiser.hpp) and its cost (analysis/cost.hpp).
struct ParameterTraits {
  ParameterRole role = ParameterRole::matrix;
  std::int64_t stacked = 1;    // matrices of one shape stacked in it, such as q | k | v or the gates of a cell
  bool is_recurrent = false;   // from a hidden state to gates
  bool has_sinusoids = false;  // a table that is initialised with them
};
inline ParameterTraits usual_traits(const torch::Tensor& parameter) {
  return {.role = parameter.dim() < 2 ? ParameterRole::bias : ParameterRole::matrix};
}

// A module with parameters of its own, not only in its children. Its buffers are saved with them (weights_io.hpp).
class Layer : public torch::nn::Module {
 public:
  // Initialises every parameter and buffer of this layer (not of its children) from the stream.
  virtual void initialise(RandomStream& random) = 0;

  // Describes a parameter of this layer (not of its children).
  virtual ParameterTraits traits_of(const torch::Tensor& parameter) const { return usual_traits(parameter); }

  // Calls f on every ops::Weight of this layer (not of its children).
  virtual void visit_weights(const std::function<void(ops::Weight&)>& /*f*/) {}
};

// Calls f on every Layer below `root`.
template <class F>
void for_each_layer(const torch::nn::Module& root, const F& f) {
  for (const auto& module : root.modules(/*include_self=*/false)) {
    if (auto* layer = dynamic_cast<Layer*>(module.get())) f(*layer);
  }
}

// Initialises every Layer below `root` from its own random stream: the same seed and architecture give the same bits on
// every machine and with any number of threads.
void initialise(const torch::nn::Module& root, std::uint64_t seed);

// The parameters of `root` with their names, in the order of named_parameters. Those outside layers have usual_traits.
struct DescribedParameter {
  std::string name;
  torch::Tensor tensor;
  ParameterTraits traits;
};
std::vector<DescribedParameter> described_parameters(const torch::nn::Module& root);

// Calls f on every ops::Weight below `root`.
void visit_weights(const torch::nn::Module& root, const std::function<void(ops::Weight&)>& f);
// Updates the working copies of all weights; call it after every change of the parameters.
void refresh_weights(const torch::nn::Module& root);

// Fills an fp32 parameter: uniform in [-bound, bound), or normal with mean 0.
void fill_uniform(const torch::Tensor& parameter, double bound, RandomStream& random);
void fill_normal(const torch::Tensor& parameter, double deviation, RandomStream& random);

// sin(t / 10000^(2i / H)) in column 2i and the cosine in 2i + 1, for `length` positions t from `first`: [length, H]
// fp32 (Vaswani et al. 2017, section 3.5).
torch::Tensor sinusoids(std::int64_t first, std::int64_t length, std::int64_t width);

// y = activation(x Wᵀ + b). The weight is initialised by Xavier's uniform rule (Glorot and Bengio 2010) or normally,
// the bias with 0.
struct LinearConfig {
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = true;
  std::int64_t fused = 1;  // number of maps stacked in this one; each is initialised separately
  double gain = 1;         // factor of Xavier's bound
  double deviation = 0;    // truncated normal with this standard deviation (BERT's initialiser); 0: Xavier
  bool is_output = false;  // ParameterRole::output
};
class LinearImpl : public Layer {
 public:
  explicit LinearImpl(const LinearConfig& config);

  // Maps x [..., in] to [..., out] in the type of x.
  torch::Tensor forward(const torch::Tensor& x, ops::Activation activation = ops::Activation::none) const {
    return ops::linear(x, weight, bias, activation);
  }
  void initialise(RandomStream& random) override;
  ParameterTraits traits_of(const torch::Tensor& parameter) const override {
    if (parameter.is_same(bias)) return {.role = ParameterRole::bias};
    return {.role = config_.is_output ? ParameterRole::output : ParameterRole::matrix, .stacked = config_.fused};
  }
  void visit_weights(const std::function<void(ops::Weight&)>& f) override { f(weight); }

  ops::Weight weight;
  torch::Tensor bias;  // undefined if there is none

 private:
  LinearConfig config_;
};
TORCH_MODULE(Linear);

// A table of V rows, initialised normally, by default with standard deviation width^-0.5: rows scaled by sqrt(width),
// and logits with it as output table, then have unit variance.
struct EmbeddingConfig {
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  double deviation = 0;    // truncated normal with this standard deviation; 0: width^-0.5, not truncated
  bool sinusoids = false;  // initialise row t with the sinusoids of t, scaled to that standard deviation
};
class EmbeddingImpl : public Layer {
 public:
  explicit EmbeddingImpl(const EmbeddingConfig& config);

  // Returns [M, width]: table[ids] * scale + positions[position in its sentence], then dropout. `positions_TH` may be
  // undefined.
  //
  // `words` is word dropout (Gal and Ghahramani 2016, arXiv 1512.05287; Sennrich and Zhang 2019, 1905.11901): with this
  // probability, the whole row table[ids] of a token is 0, drawn for each token, not for each word of the vocabulary;
  // other rows are scaled by 1 / (1 - rate), as in Nematus. A dropped token keeps its position.
  torch::Tensor forward(const Sequences& tokens, double scale, const torch::Tensor& positions_TH, ops::Dropout dropout,
                        ops::Dropout words = {}) const;
  // The same with the scale unit_scale(), and both kinds of dropout, by their rates, with keys of the pass.
  torch::Tensor embed(const Sequences& tokens, const torch::Tensor& positions_TH, double dropout, double words,
                      Pass& pass) const;
  void initialise(RandomStream& random) override;
  ParameterTraits traits_of(const torch::Tensor& /*parameter*/) const override {
    return {.role = ParameterRole::table, .has_sinusoids = sinusoids_};
  }
  void visit_weights(const std::function<void(ops::Weight&)>& f) override { f(weight); }
  // sqrt(width), the scale with which rows initially have unit variance.
  double unit_scale() const { return std::sqrt(static_cast<double>(weight.master().size(1))); }

  ops::Weight weight;

 private:
  double deviation_;
  bool sinusoids_;
};
TORCH_MODULE(Embedding);

// Rows of numbers that depend on an integer alone, such as the sinusoids of a position or the biases of a distance. The
// rows of all integers so far are kept in a buffer, which doubles when it grows and is not saved: to read one row more
// at each step of decoding costs nothing. Thread-safe, since workers share a model.
class RowTableImpl : public torch::nn::Module {
 public:
  // Computes the rows of `length` integers from `first`, [length, ...], on the CPU.
  using Compute = std::function<torch::Tensor(std::int64_t first, std::int64_t length)>;
  explicit RowTableImpl(Compute compute)
      : compute_(std::move(compute)), rows_(register_buffer("rows", torch::empty({0}))) {}

  // The same on the device of the model.
  torch::Tensor rows(std::int64_t first, std::int64_t length) const {
    const std::lock_guard lock(mutex_);
    if (first < first_ || first + length > first_ + rows_.size(0)) {
      const std::int64_t begin = std::min(first_, -power_of_two(-first));
      const std::int64_t end = std::max(first_ + rows_.size(0), power_of_two(first + length));
      const c10::InferenceMode for_training_too(false);
      rows_.set_data(compute_(begin, end - begin).to(rows_.device()));
      first_ = begin;
    }
    return rows_.narrow(0, first - first_, length);
  }

 private:
  // At least `number`; 0 if that is not positive.
  static std::int64_t power_of_two(std::int64_t number) {
    return number > 0 ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(number))) : 0;
  }

  Compute compute_;
  mutable std::mutex mutex_;
  mutable std::int64_t first_ = 0;
  torch::Tensor rows_;  // from first_ on
};
TORCH_MODULE(RowTable);

}  // namespace attend
