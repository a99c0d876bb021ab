// recurrent_layer and cell_step of LSTMs. It is fast because rows of finished sentences are skipped; products with
// inputs that are known in advance are computed before the loop, and those of weight gradients after it, as one product
// per sequence; in the loop a layer needs one product, and everything between products is one pass of a vectorised
// kernel.
#include "models/ops/fast/recurrent_support.hpp"

namespace attend::ops::fast {
namespace {

struct LstmTape {
  Steps steps;
  Tensor input;      // packed, [M, I]
  Tensor gates;      // packed activations, [M, 4H]
  Tensor cells;      // packed, [M, H], fp32
  Tensor before;     // packed states before each step, [M + spare, H]
  Tensor weight_ih;  // as products read them
  Tensor weight_hh;
};

struct LstmResult {
  Tensor output, last_hidden, last_cell;  // of all directions
};

template <class T>
LstmTape lstm_forward(const Tensor& x, const Layout& layout, const CellWeights& cell, bool reverse,
                      const LstmResult& result) {
  LstmTape tape{.steps = Steps(layout, reverse),
                .input = {},
                .gates = {},
                .cells = {},
                .before = {},
                .weight_ih = working(cell.weight_ih, x),
                .weight_hh = working(cell.weight_hh, x)};
  const Steps& steps = tape.steps;
  const std::int64_t M = layout.num_tokens(), H = tape.weight_hh.size(1), column = reverse ? H : 0;
  tape.input = x.index_select(0, index(steps.rows));
  tape.gates = products::linear(tape.input, tape.weight_ih, (cell.bias_ih + cell.bias_hh).detach().to(x.scalar_type()));
  tape.cells = at::empty({M, H}, x.options().dtype(at::kFloat));
  tape.before = at::zeros({M + kRowBlock, H}, x.options());
  const Tensor hidden = at::empty({layout.size(), H}, x.options());
  for (std::int64_t t = 0; t < steps.size(); ++t) {
    const std::int64_t first = steps.begin[t], count = steps.count(t), next = steps.count(t + 1);
    const Tensor product = t > 0 ? products::linear(block(tape.before, first, count), tape.weight_hh, {}) : Tensor();
    const kernels::CellForward<T> step{
        .width = H,
        .input = rows<T>(tape.gates, first),
        .product = t > 0 ? rows<T>(product) : Rows<T>{},
        .gates = rows<T>(tape.gates, first),
        .cell_before = t > 0 ? rows<float>(tape.cells, steps.begin[t - 1]) : Rows<float>{},
        .cell = rows<float>(tape.cells, first),
        .hidden = rows<T>(hidden)};
    at::parallel_for(0, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      kernels::cell_forward(step, begin, end);
      kernels::copy_rows(kernels::CopyRows<T, T>{.width = H,
                                                 .from = step.hidden,
                                                 .to = rows<T>(result.output).columns(column),
                                                 .to_index = steps.rows.data() + first},
                         begin, end);
      kernels::copy_rows(
          kernels::CopyRows<T, T>{.width = H, .from = step.hidden, .to = rows<T>(tape.before, first + count)}, begin,
          std::min(end, next));
      const std::int64_t ended = std::max(begin, next);  // these rows stop here
      kernels::copy_rows(kernels::CopyRows<T, T>{.width = H,
                                                 .from = step.hidden,
                                                 .to = rows<T>(result.last_hidden).columns(column),
                                                 .to_index = steps.order.data()},
                         ended, end);
      kernels::copy_rows(kernels::CopyRows<float, float>{.width = H,
                                                         .from = step.cell,
                                                         .to = rows<float>(result.last_cell).columns(column),
                                                         .to_index = steps.order.data()},
                         ended, end);
    });
  }
  return tape;
}

struct LstmGradients {
  Tensor x, weight_ih, weight_hh, bias;
};

// `gradients` of the result, contiguous.
template <class T>
LstmGradients lstm_backward(const LstmTape& tape, bool reverse, const LstmResult& gradients) {
  const Steps& steps = tape.steps;
  const std::int64_t M = tape.input.size(0), H = tape.weight_hh.size(1), column = reverse ? H : 0;
  const Tensor gate_gradients = at::zeros({M + kRowBlock, 4 * H}, tape.input.options());
  const Tensor hidden_gradient = at::empty({gradients.last_cell.size(0), H}, tape.cells.options());
  const Tensor cell_gradient = gradients.last_cell.narrow(1, column, H).index_select(0, index(steps.order));
  const Tensor recurrent = transposed(tape.weight_hh);
  Tensor from_next;  // gradient of the states that the next step read
  for (std::int64_t t = steps.size() - 1; t >= 0; --t) {
    const std::int64_t first = steps.begin[t], count = steps.count(t), next = steps.count(t + 1);
    at::parallel_for(0, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      const Rows<float> dh = rows<float>(hidden_gradient);
      kernels::copy_rows(kernels::CopyRows<T, float>{.width = H,
                                                     .from = rows<T>(gradients.output).columns(column),
                                                     .from_index = steps.rows.data() + first,
                                                     .to = dh},
                         begin, end);
      if (begin < next) {
        kernels::copy_rows(kernels::CopyRows<T, float>{.width = H, .from = rows<T>(from_next), .to = dh, .add = true},
                           begin, std::min(end, next));
      }
      kernels::copy_rows(kernels::CopyRows<T, float>{.width = H,
                                                     .from = rows<T>(gradients.last_hidden).columns(column),
                                                     .from_index = steps.order.data(),
                                                     .to = dh,
                                                     .add = true},
                         std::max(begin, next), end);
      kernels::cell_backward(
          kernels::CellBackward<T>{.width = H,
                                   .gates = rows<T>(tape.gates, first),
                                   .cell_before = t > 0 ? rows<float>(tape.cells, steps.begin[t - 1]) : Rows<float>{},
                                   .cell = rows<float>(tape.cells, first),
                                   .hidden_gradient = dh,
                                   .cell_gradient = rows<float>(cell_gradient),
                                   .gate_gradient = rows<T>(gate_gradients, first)},
          begin, end);
    });
    if (t > 0) from_next = products::linear(block(gate_gradients, first, count), recurrent, {});
  }
  const Tensor gates = gate_gradients.narrow(0, 0, M);
  return {.x = products::linear(gates, tape.weight_ih.t(), {}).index_select(0, index(steps.packed)),
          .weight_ih = products::outer(gates, tape.input),
          .weight_hh = products::outer(gates, tape.before.narrow(0, 0, M)),
          .bias = gates.sum(0, false, at::kFloat)};
}

// f(0 … directions - 1): in parallel if each can have its own thread, which is faster than sharing every product.
template <class F>
void for_directions(std::size_t directions, const F& f) {
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_grad;  // pool threads start with gradients enabled
    for (std::int64_t d = begin; d < end; ++d) f(static_cast<std::size_t>(d));
  };
  const auto count = static_cast<std::int64_t>(directions);
  if (at::get_num_threads() <= count) {
    at::parallel_for(0, count, 1, run);
  } else {
    run(0, count);
  }
}

struct LstmCall {
  const Layout& layout;
  std::span<const Direction> directions;
};

class LstmFunction : public torch::autograd::Function<LstmFunction> {
 public:
  // inputs: x, then of each direction the four parameters that `call` reads, for their gradients.
  static variable_list forward(AutogradContext* context, at::TensorList inputs, const LstmCall& call) {
    const Tensor x = inputs[0].contiguous();
    const auto D = static_cast<std::int64_t>(call.directions.size());
    const std::int64_t B = call.layout.size(), H = call.directions[0].cell.weight_hh.master().size(1);
    const LstmResult result{.output = at::empty({x.size(0), D * H}, x.options()),
                            .last_hidden = at::zeros({B, D * H}, x.options()),
                            .last_cell = at::zeros({B, D * H}, x.options().dtype(at::kFloat))};
    auto tapes = c10::make_intrusive<Held<std::vector<std::optional<LstmTape>>>>();
    tapes->value.resize(call.directions.size());
    for_directions(call.directions.size(), [&](std::size_t d) {
      tapes->value[d] = with_type(x.scalar_type(), [&](auto type) {
        return lstm_forward<decltype(type)>(x, call.layout, call.directions[d].cell, d == 1, result);
      });
    });
    context->saved_data["tapes"] = c10::IValue::make_capsule(tapes);
    context->save_for_backward({result.output, result.last_hidden, result.last_cell});
    return {result.output, result.last_hidden, result.last_cell};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto capsule = context->saved_data["tapes"].toCapsule();
    const auto& tapes = static_cast<Held<std::vector<std::optional<LstmTape>>>&>(*capsule).value;
    const auto outputs = context->get_saved_variables();
    const LstmResult result{.output = defined_or_zeros(gradients[0], outputs[0]),
                            .last_hidden = defined_or_zeros(gradients[1], outputs[1]),
                            .last_cell = defined_or_zeros(gradients[2], outputs[2])};
    std::vector<LstmGradients> found(tapes.size());
    for_directions(tapes.size(), [&](std::size_t d) {
      found[d] = with_type(result.output.scalar_type(),
                           [&](auto type) { return lstm_backward<decltype(type)>(*tapes[d], d == 1, result); });
    });
    variable_list all = {found.size() == 1 ? found[0].x : found[0].x + found[1].x};
    for (const auto& direction : found) {
      all.insert(all.end(), {direction.weight_ih, direction.weight_hh, direction.bias, direction.bias});
    }
    all.emplace_back();  // the call
    return all;
  }
};

}  // namespace

CellState cell_step(const Tensor& x_RI, const CellState& state, const CellWeights& cell) {
  const Tensor gates = ops::linear(x_RI, cell.weight_ih, cell.bias_ih);
  const Tensor product = ops::linear(state.hidden(), cell.weight_hh, cell.bias_hh);
  const Tensor cell_before = state.parts[1].contiguous();
  const Tensor hidden = at::empty_like(state.hidden()), memory = at::empty_like(cell_before);
  with_type(x_RI.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const kernels::CellForward<T> step{.width = memory.size(1),
                                       .input = rows<T>(gates),
                                       .product = rows<T>(product),
                                       .gates = rows<T>(gates),
                                       .cell_before = rows<float>(cell_before),
                                       .cell = rows<float>(memory),
                                       .hidden = rows<T>(hidden)};
    at::parallel_for(0, memory.size(0), kGrain,
                     [&](std::int64_t begin, std::int64_t end) { kernels::cell_forward(step, begin, end); });
  });
  return {{hidden, memory}};
}

bool has_layer(const LayerInput& input, std::span<const Direction> directions) {
  if (input.start != nullptr || input.wants_memory) return false;
  for (std::size_t d = 0; d < directions.size(); ++d) {
    if (directions[d].cell.kind != CellKind::lstm || directions[d].reverse != (d == 1)) return false;
  }
  return true;
}

LayerOutput recurrent_layer(const LayerInput& input, std::span<const Direction> directions) {
  variable_list inputs = {input.x_MI};
  for (const auto& [cell, reverse] : directions) {
    inputs.insert(inputs.end(), {cell.weight_ih.master(), cell.weight_hh.master(), cell.bias_ih, cell.bias_hh});
  }
  const auto outputs = LstmFunction::apply(at::TensorList(inputs), LstmCall{input.layout, directions});
  return {.output_MC = outputs[0], .memory_MC = {}, .last = {{outputs[1], outputs[2]}}};
}

}  // namespace attend::ops::fast
