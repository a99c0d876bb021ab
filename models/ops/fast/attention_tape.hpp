// Attention of a recurrent decoder over the steps of a batch, forward and backward: a part of the tapes of decoders.
//
// Forward, with query q_t, and keys k_s and values v_s of the sentence of the row:
//   e_ts = q_t · k_s,  or  v · tanh(W q_t + k_s)                                       score
//   p_t = min(t, S - 1),  or  S σ(x_t),  x_t = c · y_t,  y_t = tanh(P q_t)             centre of a local scope
//   a_t = softmax_s(e_t)  over all s, or |s - p_t| <= D
//   w_ts = a_ts g_ts,  g_ts = exp(-(s - p_t)² / (2 σ²)), σ = D / 2, where the centre is predicted, else 1
//   context_t = Σ_s w_ts v_s
//
// Backward, d for the gradient of the loss:
//   dw_ts = dcontext_t · v_s,   de_ts = w_ts (dw_ts - (Σ_r w_tr dw_tr) / g_ts)
//   dq_t = Σ_s de_ts k_s,  or  Wᵀ Σ_s d_ts with d_ts = de_ts v (1 - tanh²(W q_t + k_s))
//   dp_t = Σ_s w_ts dw_ts (s - p_t) / σ²,  dx_t = dp_t p_t (1 - p_t / S),  dy_t = dx_t c,
//   dq_t += Pᵀ dy_t (1 - y_t²)
// and after the loop
//   dv_s = Σ_t w_ts dcontext_t,   dk_s = Σ_t de_ts q_t,  or  Σ_t d_ts
//   dW = Σ_t (Σ_s d_ts) q_tᵀ,   dv = Σ_ts de_ts tanh(W q_t + k_s),   dP = Σ_t dy_t (1 - y_t²) q_tᵀ,  dc = Σ_t dx_t y_t
// The backward pass recomputes the tanh of an additive score.
#pragma once

#include "models/ops/fast/recurrent_support.hpp"
#include "models/ops/kernels/query.hpp"

namespace attend::ops::fast {

// The memory sentence of each packed row. The weights of a sentence's steps are adjacent.
struct Reading {
  Reading(const Layout& target, const Layout& memory, const Steps& steps)
      : offsets(memory.offsets), tgt_offsets(target.offsets), packed(steps.packed), first_weight(steps.packed.size()) {
    for (std::int64_t t = 0; t < steps.size(); ++t) {
      sentences.insert(sentences.end(), steps.order.begin(), steps.order.begin() + steps.count(t));
    }
    for (std::int64_t b = 0; b < target.size(); ++b) {
      for (std::int64_t row = target.offsets[b]; row < target.offsets[b + 1]; ++row) {
        first_weight[packed[row]] = num_weights;
        num_weights += memory.length(b);
      }
    }
  }

  std::vector<std::int64_t> offsets;       // of the memory sentences
  std::vector<std::int64_t> tgt_offsets;   // of the target sentences
  std::vector<std::int64_t> packed;        // the packed row of each ragged row
  std::vector<std::int64_t> sentences;     // the memory sentence of each packed row
  std::vector<std::int64_t> first_weight;  // the index of each packed row's first weight
  std::int64_t num_weights = 0;
};

// The differentiable inputs of attention, in the order of AttentionBackwardTape::finish.
inline variable_list inputs_of(const AttentionForm& form, const Keys& memory) {
  variable_list inputs = {memory.keys_SA, memory.values_SW};
  if (form.is_additive()) inputs.insert(inputs.end(), {form.query_AH->master(), form.energy_1A});
  if (form.is_predictive()) inputs.insert(inputs.end(), {form.inner_HH->master(), form.centre_1H->master()});
  return inputs;
}

// Saved by the forward pass for the backward pass. Packed: rows in the order of steps, [M, …].
template <class T>
struct AttentionTape {
  // `queries`: packed, [M + spare, H]; a step's queries are written before it attends.
  AttentionTape(const AttentionForm& form, const Keys& memory, const Layout& target, const Steps& steps,
                Tensor queries_MH)
      : reading(target, memory.layout, steps),
        queries(std::move(queries_MH)),
        keys(memory.keys_SA.detach().contiguous()),
        values(memory.values_SW.detach().contiguous()),
        weights(at::empty({reading.num_weights}, at::kFloat)),
        half_width(form.half_width),
        precision(static_cast<float>(form.precision())) {
    if (form.is_additive()) {
      weight_query = working(*form.query_AH, keys);
      energy = form.energy_1A.detach().to(at::kFloat).contiguous();
    }
    if (half_width == 0) return;
    centres = at::empty({target.num_tokens()}, at::kFloat);
    if (form.is_predictive()) {
      weight_inner = working(*form.inner_HH, keys);
      weight_centre = working(*form.centre_1H, keys);
      return;
    }
    for (std::int64_t t = 0; t < steps.size(); ++t) {
      for (std::int64_t row = steps.begin[t]; row < steps.begin[t + 1]; ++row) {
        centres.mutable_data_ptr<float>()[row] = static_cast<float>(std::min(t, num_tokens(row) - 1));
      }
    }
  }

  bool is_additive() const { return weight_query.defined(); }
  bool is_predictive() const { return weight_inner.defined(); }
  // The length of the memory sentence of a packed row.
  std::int64_t num_tokens(std::int64_t row) const {
    return reading.offsets[reading.sentences[row] + 1] - reading.offsets[reading.sentences[row]];
  }

  kernels::QueryMemory<T> memory(const Step& step) const {
    return {.key_width = keys.size(1),
            .value_width = values.size(1),
            .keys = read<T>(keys),
            .values = read<T>(values),
            .offsets = reading.offsets.data(),
            .sentences = reading.sentences.data() + step.first,
            .first_weight = reading.first_weight.data() + step.first,
            .weights = weights.mutable_data_ptr<float>(),
            .energy = read<float>(energy),
            .centres = centres.defined() ? centres.const_data_ptr<float>() + step.first : nullptr,
            .half_width = static_cast<float>(half_width),
            .precision = precision};
  }
  // The queries of a step in the form that the score reads.
  Rows<const T> scored(const Step& step) const {
    return is_additive() ? rows<const T>(projected[step.index]) : rows<const T>(queries, step.first);
  }

  // The matrix products of a step, once its queries are known.
  void multiply(const Step& step) {
    const Tensor of_step = block(queries, step.first, step.count).contiguous();
    if (is_additive()) projected.push_back(products::linear(of_step, weight_query, {}));
    if (!is_predictive()) return;
    inner.push_back(products::linear(of_step, weight_inner, {}, Activation::tanh));
    const Tensor share = products::linear(inner.back(), weight_centre, {}).to(at::kFloat).sigmoid_();
    for (std::int64_t i = 0; i < step.count; ++i) {
      centres.mutable_data_ptr<float>()[step.first + i] =
          static_cast<float>(num_tokens(step.first + i)) * share.const_data_ptr<float>()[i];
    }
  }

  // Computes the contexts of rows [begin, end), with dropout.
  void forward(const Step& step, Rows<T> contexts, RowDropout dropout, std::int64_t begin, std::int64_t end) const {
    const kernels::Attend<T> attend{
        .memory = memory(step), .query = scored(step), .context = contexts, .dropout = dropout};
    attend(begin, end);
  }

  Reading reading;
  Tensor queries;                      // packed, [M + spare, H]
  Tensor keys;                         // [S, A]
  Tensor values;                       // [S, W]
  Tensor weights;                      // w, fp32, laid out by `reading`
  std::int64_t half_width;             // D; 0: all positions
  float precision;                     // 1 / σ², or 0
  Tensor weight_query, energy;         // W and v (fp32) of the additive score
  Tensor weight_inner, weight_centre;  // P and c of a predicted centre
  Tensor centres;                      // p, packed, fp32, of a local scope
  std::vector<Tensor> projected;       // W q of each step
  std::vector<Tensor> inner;           // y of each step
};

// Backpropagates through the steps of attention.
template <class T>
class AttentionBackwardTape {
 public:
  explicit AttentionBackwardTape(const AttentionTape<T>& tape)
      : tape_(tape),
        score_gradients_(at::empty_like(tape.weights)),
        context_gradients_(at::empty({tape.queries.size(0), tape.values.size(1)}, tape.values.options())) {
    if (tape.is_additive()) {
      const std::int64_t A = tape.keys.size(1);
      weight_query_ = transposed(tape.weight_query);
      sum_gradients_ = at::zeros({tape.queries.size(0), A}, tape.keys.options());
      key_gradients_ = at::zeros({tape.keys.size(0), A}, at::kFloat);
      energy_gradients_ = at::zeros({std::ssize(tape.reading.offsets) - 1, A}, at::kFloat);
    }
    if (tape.is_predictive()) {
      weight_inner_ = transposed(tape.weight_inner);
      share_gradients_ = at::zeros({tape.queries.size(0), 1}, at::kFloat);
    }
  }

  // The context gradients of a step's rows; write them before `backward`.
  Rows<T> context_gradient(const Step& step) const { return rows<T>(context_gradients_, step.first); }

  // Processes rows [begin, end); dot products add to dq.
  void backward(const Step& step, Rows<float> dq, std::int64_t begin, std::int64_t end) const {
    float* share = tape_.is_predictive() ? share_gradients_.template mutable_data_ptr<float>() + step.first : nullptr;
    const kernels::AttendBackward<T> kernel{.memory = tape_.memory(step),
                                            .query = tape_.scored(step),
                                            .score_gradients = score_gradients_.template mutable_data_ptr<float>(),
                                            .context_gradient = context_gradient(step),
                                            .query_gradient = dq,
                                            .sum_gradient = rows<T>(sum_gradients_, step.first),
                                            .key_gradient = rows<float>(key_gradients_),
                                            .energy_gradient = rows<float>(energy_gradients_),
                                            .share_gradients = share};
    kernel(begin, end);
  }

  // The matrix products of a step, after its rows are processed.
  void multiply(const Step& step) {
    if (tape_.is_additive()) {
      from_score_ = products::linear(block(sum_gradients_, step.first, step.count), weight_query_, {});
    }
    if (!tape_.is_predictive()) return;
    const Tensor& y = tape_.inner[step.index];
    const Tensor dx = block(share_gradients_, step.first, step.count).to(y.scalar_type());
    inner_gradients_.push_back(at::tanh_backward(dx * tape_.weight_centre, y));
    from_centre_ = products::linear(inner_gradients_.back(), weight_inner_, {});
  }

  // Adds the results of the products to dq of rows [begin, end).
  void receive(Rows<float> dq, std::int64_t begin, std::int64_t end) const {
    for (const Tensor& from : {from_score_, from_centre_}) {
      if (!from.defined()) continue;
      CopyRows{.width = from.size(1), .from = rows<T>(from), .to = dq, .add = true}(begin, end);
    }
  }

  // The gradients of inputs_of, summed over all steps.
  variable_list finish(const Steps& steps) const {
    const std::int64_t M = std::ssize(tape_.reading.packed);
    const auto all = [&](const Tensor& packed) { return packed.narrow(0, 0, M); };
    // Joins tensors stored per step.
    const auto joined = [&](const std::vector<Tensor>& of_steps, bool reversed) {
      std::vector<Tensor> parts;
      for (std::int64_t t = 0; t < steps.size(); ++t) {
        parts.push_back(of_steps[reversed ? steps.size() - 1 - t : t].narrow(0, 0, steps.count(t)));
      }
      return at::cat(parts);
    };
    const Tensor queries = all(tape_.queries);
    variable_list gradients;
    gradients.push_back(tape_.is_additive() ? key_gradients_.to(tape_.keys.scalar_type())
                                            : summed(score_gradients_, tape_.queries, tape_.keys));
    gradients.push_back(summed(tape_.weights, context_gradients_, tape_.values));
    if (tape_.is_additive()) {
      gradients.push_back(products::outer(all(sum_gradients_), queries));
      gradients.push_back(energy_gradients_.sum(0, true));
    }
    if (tape_.is_predictive()) {
      const Tensor dx = all(share_gradients_).to(tape_.keys.scalar_type());
      gradients.push_back(products::outer(joined(inner_gradients_, true), queries));
      gradients.push_back(products::outer(dx, joined(tape_.inner, false)));
    }
    return gradients;
  }

 private:
  // Σ_t factor_ts vector_t for each s, in the type of `like`.
  Tensor summed(const Tensor& factors, const Tensor& vectors, const Tensor& like) const {
    const Reading& reading = tape_.reading;
    const Tensor sum = at::empty_like(like);
    const kernels::MemoryBackward<T> memory{.width = like.size(1),
                                            .offsets = reading.offsets.data(),
                                            .tgt_offsets = reading.tgt_offsets.data(),
                                            .packed_rows = reading.packed.data(),
                                            .first_weight = reading.first_weight.data(),
                                            .factors = factors.const_data_ptr<float>(),
                                            .vectors = rows<T>(vectors),
                                            .gradient = rows<T>(sum)};
    at::parallel_for(0, std::ssize(reading.offsets) - 1, 1, memory);
    return sum;
  }

  const AttentionTape<T>& tape_;
  Tensor score_gradients_;    // de, laid out like the weights
  Tensor context_gradients_;  // packed
  // For the additive score: Wᵀ; Σ_s d, packed; dk, fp32; dv of each sentence, fp32.
  Tensor weight_query_, sum_gradients_, key_gradients_, energy_gradients_;
  // For a predicted centre: Pᵀ; dx, packed, fp32; dy (1 - y²) of each step, from the last.
  Tensor weight_inner_, share_gradients_;
  std::vector<Tensor> inner_gradients_;
  Tensor from_score_, from_centre_;  // products of the latest step
};

}  // namespace attend::ops::fast
