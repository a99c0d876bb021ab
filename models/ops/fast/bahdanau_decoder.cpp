// The fused op bahdanau_decoder, forward and backward, as one tape of cells (cell_stack.hpp, cell_tape.hpp) and
// attention (attention_tape.hpp). Rows of finished sentences are skipped.
//
// Forward, with dropout mask m, [;] for concatenation, and q_t = h_{t-1} of the top cell:
//   context_t = attention with query q_t,  h_t = cells over [e_t; m context_t]
//
// Backward, d for the gradient of the loss; steps from last to first, from given dq_t and dcontext_t:
//   cells with dh_t = dq_{t+1},   dcontext_t += m dx_t,   dq_t += the gradient from the attention
// and after the loop dq_1 is added to the gradient of the start state, and the gradients of cells and attention are
// summed over steps.
#include "models/ops/fast/attention_tape.hpp"
#include "models/ops/fast/cell_stack.hpp"

namespace attend::ops::fast {
namespace {

// Saved by the forward pass for the backward pass.
template <class T>
struct BahdanauTape {
  BahdanauTape(const BahdanauDecoder& decoder, const DecoderInput& input)
      : steps(input.layout),
        cells(decoder.layers, decoder.layer_dropouts, input, steps),
        attention(decoder.attention, input.memory, input.layout, steps, cells.top().h),
        context_dropout(decoder.context_dropout) {}

  RowDropout dropout_on_context(const Step& step) const {
    return row_dropout(context_dropout, step.ragged, attention.values.size(1));
  }

  Steps steps;
  CellStack<T> cells;
  AttentionTape<T> attention;  // its queries are the top cell's stored states before each step
  Dropout context_dropout;
};

// Fills the tape step by step; the contexts are written to ragged rows of `contexts`.
template <class T>
void run_forwards(BahdanauTape<T>& tape, const Tensor& contexts) {
  const std::int64_t W = contexts.size(1);
  const Tensor context = at::empty({std::ssize(tape.steps.order), W}, contexts.options());
  for (std::int64_t t = 0; t < tape.steps.size(); ++t) {
    const Step step(tape.steps, t);
    tape.attention.multiply(step);
    for_rows(step, [&](std::int64_t begin, std::int64_t end) {
      tape.attention.forward(step, rows<T>(context), {}, begin, end);
      CopyRows{.width = W, .from = rows<T>(context), .to = rows<T>(contexts), .to_index = step.ragged}(begin, end);
      CopyRows{.width = W,
               .from = rows<T>(context),
               .to = rows<T>(tape.cells.bottom().x, step.first),
               .dropout = tape.dropout_on_context(step)}(begin, end);
    });
    tape.cells.forward(step, rows<T>(tape.cells.hidden));
  }
}

// The gradients of the inputs of attention and cells, given those of queries and contexts, ragged.
template <class T>
variable_list run_backwards(const BahdanauTape<T>& tape, const Tensor& query_gradients,
                            const Tensor& context_gradients) {
  const std::int64_t H = query_gradients.size(1), W = context_gradients.size(1);
  CellStackBackward<T> cells(tape.cells);
  AttentionBackwardTape<T> attention(tape.attention);
  // The gradient of the query of the step processed last, that is, of the top cell's state before that step; zero for
  // rows that end there.
  const Tensor query_gradient = at::zeros({std::ssize(tape.steps.order), H}, at::kFloat);
  const Rows<float> dq = rows<float>(query_gradient);
  for (std::int64_t t = tape.steps.size() - 1; t >= 0; --t) {
    const Step step(tape.steps, t);
    cells.backward(step, dq, [](std::int64_t, std::int64_t) {});
    for_rows(step, [&](std::int64_t begin, std::int64_t end) {
      const Rows<T> dcontext = attention.context_gradient(step);
      CopyRows{.width = W, .from = rows<T>(context_gradients), .from_index = step.ragged, .to = dcontext}(begin, end);
      CopyRows{.width = W, .from = cells.dx(), .to = dcontext, .add = true, .dropout = tape.dropout_on_context(step)}(
          begin, end);
      CopyRows{.width = H, .from = rows<T>(query_gradients), .from_index = step.ragged, .to = dq}(begin, end);
      attention.backward(step, dq, begin, end);
    });
    attention.multiply(step);
    for_rows(step, [&](std::int64_t begin, std::int64_t end) { attention.receive(dq, begin, end); });
  }
  return concatenated(attention.finish(tape.steps), cells.finish(tape.steps, query_gradient));
}

template <class T>
class BahdanauFunction : public torch::autograd::Function<BahdanauFunction<T>> {
 public:
  // `inputs` is passed for autograd: the inputs of attention, then those of the cells. Returns queries and contexts.
  static variable_list forward(AutogradContext* context, at::TensorList /*inputs*/, const BahdanauDecoder& decoder,
                               const DecoderInput& input) {
    BahdanauTape<T>& tape = hold(*context, BahdanauTape<T>(decoder, input));
    const Tensor& values = tape.attention.values;
    const Tensor contexts = at::empty({input.embedded_ME.size(0), values.size(1)}, values.options());
    run_forwards(tape, contexts);
    return {tape.attention.queries.index_select(0, index(tape.steps.packed)), contexts};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    variable_list all =
        run_backwards(held<BahdanauTape<T>>(*context), gradients[0].contiguous(), gradients[1].contiguous());
    all.resize(all.size() + 2);  // no gradients for `decoder` and `input`
    return all;
  }
};

}  // namespace

BahdanauOutput bahdanau_decoder(const BahdanauDecoder& decoder, const DecoderInput& input) {
  const variable_list inputs =
      concatenated(inputs_of(decoder.attention, input.memory), inputs_of(decoder.layers, input));
  return with_type(input.embedded_ME.scalar_type(), [&](auto type) -> BahdanauOutput {
    const auto outputs = BahdanauFunction<decltype(type)>::apply(at::TensorList(inputs), decoder, input);
    return {.query_MH = outputs[0], .context_MW = outputs[1]};
  });
}

}  // namespace attend::ops::fast
