// The fused op luong_decoder, forward and backward, as one tape of cells (cell_stack.hpp, cell_tape.hpp), attention
// (attention_tape.hpp) and the attentional vector. Rows of finished sentences are skipped.
//
// Forward, with dropout masks m and [;] for concatenation:
//   h_t = cells over [e_t; m_f h~_{t-1}],  context_t = attention with query h_t
//   h~_t = tanh(W_c m_c [context_t; h_t])
//
// Backward, d for the gradient of the loss; steps from last to first:
//   dh~_t += m_f dx_{t+1} of the cells,   du_t = dh~_t (1 - h~_t²)
//   [dcontext_t; dh_t] = m_c W_cᵀ du_t
//   dh_t += dq_t from the attention;  then the cells
// and after the loop dW_c = Σ_t du_t (m_c [context_t; h_t])ᵀ and the gradients of cells and attention, summed over
// steps.
#include "models/ops/fast/attention_tape.hpp"
#include "models/ops/fast/cell_stack.hpp"

namespace attend::ops::fast {
namespace {

// Saved by the forward pass for the backward pass.
template <class T>
struct LuongTape {
  Steps steps;
  CellStack<T> cells;
  AttentionTape<T> attention;
  bool input_feeding;
  Dropout feed_dropout, combine_dropout;
  Tensor weight_combine;  // [H, W + H]
  Tensor combined;        // packed m_c [context; h], [M + spare, W + H]
  Tensor output;          // ragged h~, [M, H]

  std::int64_t width() const { return output.size(1); }
  std::int64_t context_width() const { return combined.size(1) - width(); }
  RowDropout dropout_on_combined(const Step& step, std::int64_t column) const {
    return row_dropout(combine_dropout, step.ragged, combined.size(1), column);
  }
  RowDropout dropout_on_fed(const Step& step) const {  // to the next step
    return row_dropout(feed_dropout, step.ragged + step.count, width());
  }
};

template <class T>
LuongTape<T> make_luong_tape(const LuongDecoder& decoder, const DecoderInput& input) {
  const Tensor& like = input.embedded_ME;
  const Tensor weight_combine = working(decoder.combine_HC, like);
  const std::int64_t M = like.size(0), H = weight_combine.size(0);
  const Steps steps(input.layout);
  return {.steps = steps,
          .cells = CellStack<T>(decoder.layers, decoder.layer_dropouts, input, steps),
          .attention = AttentionTape<T>(decoder.attention, input.memory, input.layout, steps,
                                        at::zeros({M + kRowBlock, H}, like.options())),
          .input_feeding = decoder.input_feeding,
          .feed_dropout = decoder.feed_dropout,
          .combine_dropout = decoder.combine_dropout,
          .weight_combine = weight_combine,
          .combined = at::zeros({M + kRowBlock, weight_combine.size(1)}, like.options()),
          .output = at::empty({M, H}, like.options())};
}

// Computes h~ and the part fed to the next step.
template <class T>
void combine(const LuongTape<T>& tape, const Step& step) {
  const std::int64_t H = tape.width();
  const Tensor product = products::linear(block(tape.combined, step.first, step.count), tape.weight_combine, {});
  const Rows<T> output = rows<T>(tape.output);
  for_rows(step, [&](std::int64_t begin, std::int64_t end) {
    kernels::Tanh<T>{.width = H, .from = rows<T>(product), .to = output, .to_index = step.ragged}(begin, end);
    if (!tape.input_feeding) return;
    CopyRows{.width = H,
             .from = output,
             .from_index = step.ragged,
             .to = rows<T>(tape.cells.bottom().x, step.first + step.count),
             .dropout = tape.dropout_on_fed(step)}(begin, std::min(end, step.next));
  });
}

// Fills the tape step by step.
template <class T>
void run_forwards(LuongTape<T>& tape) {
  const std::int64_t W = tape.context_width();
  for (std::int64_t t = 0; t < tape.steps.size(); ++t) {
    const Step step(tape.steps, t);
    const Rows<T> queries = rows<T>(tape.attention.queries, step.first), combined = rows<T>(tape.combined, step.first);
    tape.cells.forward(step, queries);
    tape.attention.multiply(step);
    for_rows(step, [&](std::int64_t begin, std::int64_t end) {
      CopyRows{.width = tape.width(),
               .from = queries,
               .to = combined.columns(W),
               .dropout = tape.dropout_on_combined(step, W)}(begin, end);
      tape.attention.forward(step, combined, tape.dropout_on_combined(step, 0), begin, end);
    });
    combine(tape, step);
  }
}

// Backpropagates through the tape.
template <class T>
class LuongBackward {
 public:
  LuongBackward(const LuongTape<T>& tape, const Tensor& output_gradient)
      : tape_(tape),
        cells_(tape.cells),
        attention_(tape.attention),
        output_gradient_(output_gradient),
        combine_(transposed(tape.weight_combine)),
        du_(at::zeros({tape.output.size(0) + kRowBlock, tape.width()}, tape.output.options())),
        dh_(at::empty({std::ssize(tape.steps.order), tape.width()}, at::kFloat)) {}

  // Returns the gradients of W_c, of the inputs of attention, and of the inputs of the cells.
  variable_list run() {
    for (std::int64_t t = tape_.steps.size() - 1; t >= 0; --t) {
      const Step step(tape_.steps, t);
      feed(step);
      attend(step);
      const Rows<float> dh = rows<float>(dh_);
      cells_.backward(step, dh, [&](std::int64_t begin, std::int64_t end) { attention_.receive(dh, begin, end); });
    }
    const auto all = [&](const Tensor& packed) { return packed.narrow(0, 0, tape_.output.size(0)); };
    return concatenated({products::outer(all(du_), all(tape_.combined))}, attention_.finish(tape_.steps),
                        cells_.finish(tape_.steps, {}));
  }

 private:
  // Computes du from dh~.
  void feed(const Step& step) const {
    const std::int64_t H = tape_.width();
    const Rows<float> dh = rows<float>(dh_);
    for_rows(step, [&](std::int64_t begin, std::int64_t end) {
      CopyRows{.width = H, .from = rows<T>(output_gradient_), .from_index = step.ragged, .to = dh}(begin, end);
      if (tape_.input_feeding && begin < step.next) {
        CopyRows{.width = H, .from = cells_.dx(), .to = dh, .add = true, .dropout = tape_.dropout_on_fed(step)}(
            begin, std::min(end, step.next));
      }
      kernels::TanhBackward<T>{.width = H,
                               .gradient = dh,
                               .result = rows<T>(tape_.output),
                               .result_index = step.ragged,
                               .to = rows<T>(du_, step.first)}(begin, end);
    });
  }

  // Computes dh and dcontext from du, then backpropagates through the attention.
  void attend(const Step& step) {
    const std::int64_t H = tape_.width(), W = tape_.context_width();
    const Tensor combined = products::linear(block(du_, step.first, step.count), combine_, {});
    const Rows<float> dh = rows<float>(dh_);
    for_rows(step, [&](std::int64_t begin, std::int64_t end) {
      CopyRows{
          .width = H, .from = rows<T>(combined).columns(W), .to = dh, .dropout = tape_.dropout_on_combined(step, W)}(
          begin, end);
      CopyRows{.width = W,
               .from = rows<T>(combined),
               .to = attention_.context_gradient(step),
               .dropout = tape_.dropout_on_combined(step, 0)}(begin, end);
      attention_.backward(step, dh, begin, end);
    });
    attention_.multiply(step);
  }

  const LuongTape<T>& tape_;
  CellStackBackward<T> cells_;
  AttentionBackwardTape<T> attention_;
  Tensor output_gradient_;
  Tensor combine_;  // W_cᵀ
  Tensor du_;       // packed
  Tensor dh_;       // fp32, of one step
};

template <class T>
class LuongFunction : public torch::autograd::Function<LuongFunction<T>> {
 public:
  // `inputs` is passed for autograd: W_c, the inputs of attention, the inputs of the cells.
  static Tensor forward(AutogradContext* context, at::TensorList /*inputs*/, const LuongDecoder& decoder,
                        const DecoderInput& input) {
    LuongTape<T>& tape = hold(*context, make_luong_tape<T>(decoder, input));
    run_forwards(tape);
    const Tensor output = tape.output;
    tape.output = output.detach();  // its own handle, to avoid a reference cycle between output and node
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& output_gradients) {
    variable_list all = LuongBackward<T>(held<LuongTape<T>>(*context), output_gradients[0].contiguous()).run();
    all.resize(all.size() + 2);  // no gradients for `decoder` and `input`
    return all;
  }
};

}  // namespace

Tensor luong_decoder(const LuongDecoder& decoder, const DecoderInput& input) {
  const variable_list inputs = concatenated({decoder.combine_HC.master()}, inputs_of(decoder.attention, input.memory),
                                            inputs_of(decoder.layers, input));
  return with_type(input.embedded_ME.scalar_type(), [&](auto type) -> Tensor {
    return LuongFunction<decltype(type)>::apply(at::TensorList(inputs), decoder, input);
  });
}

}  // namespace attend::ops::fast
