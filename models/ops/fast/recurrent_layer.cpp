// The fast paths of recurrent_layer and cell_step. Rows of finished sentences are skipped; each step needs one matrix
// product and one pass of a vectorised kernel (cell_tape.hpp).
#include "models/ops/fast/cell_tape.hpp"

namespace attend::ops::fast {
namespace {

// The output of a layer, or its gradients; each direction has its own columns.
struct LayerResult {
  Tensor output;                    // ragged, [M, directions * H]
  Tensor last_hidden, last_memory;  // [B, directions * H]; the latter for an LSTM, fp32
  Tensor memory;                    // cell states of an LSTM at each token, fp32, if wanted

  variable_list defined() const {
    variable_list all;
    for (const Tensor& x : {output, last_hidden, last_memory, memory}) {
      if (x.defined()) all.push_back(x);
    }
    return all;
  }
};

// One direction of a layer, in both passes.
template <class T>
struct DirectionTape {
  Steps steps;
  CellTape<T> cell;
  std::int64_t column;  // first of its columns
};

template <class T>
DirectionTape<T> run_forwards(const LayerInput& input, const Direction& direction, std::size_t d,
                              const LayerResult& result) {
  const std::int64_t H = direction.cell.weight_hh.master().size(1), column = static_cast<std::int64_t>(d) * H;
  Steps steps(input.layout, direction.reverse);
  CellState start;
  if (input.start != nullptr) {
    for (const Tensor& part : input.start->parts) start.parts.push_back(part.narrow(1, column, H));
  }
  const Tensor known = input.x_MI.detach().index_select(0, index(steps.rows));
  CellTape<T> cell(direction.cell, known, input.start != nullptr ? &start : nullptr, steps);
  const Tensor hidden = at::empty({input.layout.size(), H}, known.options());
  const bool has_memory = cell.kind == CellKind::lstm;
  for (std::int64_t t = 0; t < steps.size(); ++t) {
    const Step step(steps, t);
    const auto products = cell.multiply(step);
    for_rows(step, [&](std::int64_t begin, std::int64_t end) {
      cell.forward(step, products, rows<T>(hidden), begin, end);
      CopyRows{
          .width = H, .from = rows<T>(hidden), .to = rows<T>(result.output).columns(column), .to_index = step.ragged}(
          begin, end);
      const std::int64_t ended = std::max(begin, step.next);  // these rows end here
      CopyRows{.width = H,
               .from = rows<T>(hidden),
               .to = rows<T>(result.last_hidden).columns(column),
               .to_index = steps.order.data()}(ended, end);
      if (!has_memory) return;
      if (result.memory.defined()) {
        CopyRows{.width = H,
                 .from = rows<float>(cell.inner, step.first),
                 .to = rows<float>(result.memory).columns(column),
                 .to_index = step.ragged}(begin, end);
      }
      CopyRows{.width = H,
               .from = rows<float>(cell.inner, step.first),
               .to = rows<float>(result.last_memory).columns(column),
               .to_index = steps.order.data()}(ended, end);
    });
  }
  return {.steps = std::move(steps), .cell = std::move(cell), .column = column};
}

// `start` holds the gradients of the final states; for sentences with tokens, the gradients of the start states replace
// them.
template <class T>
CellGradients run_backwards(const DirectionTape<T>& tape, const LayerResult& gradients, const CellState& start) {
  const Steps& steps = tape.steps;
  const std::int64_t B = gradients.last_hidden.size(0), H = tape.cell.width, column = tape.column;
  const bool has_memory = gradients.last_memory.defined();
  const Tensor order = index(steps.order), hidden_gradient = at::empty({B, H}, at::kFloat);
  CellBackwardTape<T> cell(tape.cell, B,
                           has_memory ? gradients.last_memory.narrow(1, column, H).index_select(0, order) : Tensor());
  const Rows<float> dh = rows<float>(hidden_gradient);
  for (std::int64_t t = steps.size() - 1; t >= 0; --t) {
    const Step step(steps, t);
    for_rows(step, [&](std::int64_t begin, std::int64_t end) {
      CopyRows{.width = H, .from = rows<T>(gradients.output).columns(column), .from_index = step.ragged, .to = dh}(
          begin, end);
      cell.receive(step, dh, begin, end);
      CopyRows{.width = H,
               .from = rows<T>(gradients.last_hidden).columns(column),
               .from_index = steps.order.data(),
               .to = dh,
               .add = true}(std::max(begin, step.next), end);
      if (gradients.memory.defined()) {
        CopyRows{.width = H,
                 .from = rows<float>(gradients.memory).columns(column),
                 .from_index = step.ragged,
                 .to = cell.memory_gradient(),
                 .add = true}(begin, end);
      }
      cell.backward(step, dh, begin, end);
    });
    cell.multiply(step);
  }
  if (!start.parts.empty()) {
    const std::int64_t started = steps.count(0);
    const CellState found = cell.start(started);
    for (std::size_t p = 0; p < found.parts.size(); ++p) {
      start.parts[p].narrow(1, column, H).index_copy_(0, order.narrow(0, 0, started), found.parts[p]);
    }
  }
  CellGradients found = cell.finish();
  found.known = found.known.index_select(0, index(steps.packed));
  return found;
}

// Calls f(0 … directions - 1): in parallel if there are no more threads than directions, else one after another, where
// threads split every product. In the forward pass f writes to the caller's tensors only through kernels: in the
// caller's inference mode, ATen does not allow another thread to modify them.
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

template <class T>
struct LayerTape {
  std::vector<std::optional<DirectionTape<T>>> directions;
  bool has_start;
};

template <class T>
class LayerFunction : public torch::autograd::Function<LayerFunction<T>> {
 public:
  // `inputs` is passed for autograd: x, the parts of the start state, the four parameters of each direction. Returns
  // the defined tensors of LayerResult.
  static variable_list forward(AutogradContext* context, at::TensorList inputs, const LayerInput& given,
                               std::span<const Direction> directions) {
    const Tensor x = inputs[0].contiguous();
    const LayerInput input{x, given.layout, given.start, given.wants_memory};
    const CellWeights& cell = directions[0].cell;
    const std::int64_t B = input.layout.size(), width = std::ssize(directions) * cell.weight_hh.master().size(1);
    const auto start = [&](std::size_t p, at::ScalarType type) {  // kept by a sentence without tokens
      return input.start != nullptr ? input.start->parts[p].detach().clone(at::MemoryFormat::Contiguous)
                                    : at::zeros({B, width}, type);
    };
    LayerResult result{.output = at::empty({x.size(0), width}, x.options()),
                       .last_hidden = start(0, x.scalar_type()),
                       .last_memory = {},
                       .memory = {}};
    if (cell.kind == CellKind::lstm) result.last_memory = start(1, at::kFloat);
    if (input.wants_memory) result.memory = at::empty({x.size(0), width}, at::kFloat);
    LayerTape<T>& tape = hold(*context, LayerTape<T>{.directions = {}, .has_start = input.start != nullptr});
    tape.directions.resize(directions.size());
    for_directions(directions.size(),
                   [&](std::size_t d) { tape.directions[d] = run_forwards<T>(input, directions[d], d, result); });
    return result.defined();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto& tape = held<LayerTape<T>>(*context);
    const auto gradient = [&](std::size_t i) { return i < gradients.size() ? gradients[i].contiguous() : Tensor(); };
    const LayerResult result{
        .output = gradient(0), .last_hidden = gradient(1), .last_memory = gradient(2), .memory = gradient(3)};
    CellState start;
    if (tape.has_start) {
      start.parts.push_back(result.last_hidden.clone());
      if (result.last_memory.defined()) start.parts.push_back(result.last_memory.clone());
    }
    std::vector<CellGradients> found(tape.directions.size());
    for_directions(found.size(),
                   [&](std::size_t d) { found[d] = run_backwards<T>(*tape.directions[d], result, start); });
    variable_list all = {found.size() == 1 ? found[0].known : found[0].known + found[1].known};
    all.insert(all.end(), start.parts.begin(), start.parts.end());
    for (const CellGradients& direction : found) {
      all.insert(all.end(), {direction.weight_ih, direction.weight_hh, direction.bias_ih, direction.bias_hh});
    }
    all.resize(all.size() + 2);  // no gradients for `given` and `directions`
    return all;
  }
};

}  // namespace

CellState cell_step(const Tensor& x_RI, const CellState& state, const CellWeights& cell) {
  const bool has_memory = cell.kind == CellKind::lstm;
  const Tensor sums = ops::linear(x_RI, cell.weight_ih, cell.bias_ih), before = state.hidden().contiguous();
  const Tensor product = ops::linear(before, cell.weight_hh, cell.bias_hh);
  const Tensor memory_before = has_memory ? state.parts[1].contiguous() : Tensor();
  CellState next{{at::empty_like(before)}};
  if (has_memory) next.parts.push_back(at::empty_like(memory_before));
  with_type(x_RI.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const bool apart = cell.kind == CellKind::gru;
    const kernels::CellForward<T> step{.kind = cell.kind,
                                       .width = before.size(1),
                                       .input = rows<T>(sums),
                                       .product = apart ? Rows<T>{} : rows<T>(product),
                                       .recurrent = apart ? rows<T>(product) : Rows<T>{},
                                       .gates = rows<T>(sums),
                                       .inner_before = rows<float>(memory_before),
                                       .inner = has_memory ? rows<float>(next.parts[1]) : Rows<float>{},
                                       .hidden_before = rows<T>(before),
                                       .hidden = rows<T>(next.parts[0])};
    at::parallel_for(0, before.size(0), kGrain, step);
  });
  return next;
}

LayerOutput recurrent_layer(const LayerInput& input, std::span<const Direction> directions) {
  variable_list inputs = {input.x_MI};
  if (input.start != nullptr) inputs.insert(inputs.end(), input.start->parts.begin(), input.start->parts.end());
  for (const auto& [cell, reverse] : directions) {
    inputs.insert(inputs.end(), {cell.weight_ih.master(), cell.weight_hh.master(), cell.bias_ih, cell.bias_hh});
  }
  const auto outputs = with_type(input.x_MI.scalar_type(), [&](auto type) {
    return LayerFunction<decltype(type)>::apply(at::TensorList(inputs), input, directions);
  });
  LayerOutput result{.output_MC = outputs[0], .memory_MC = {}, .last = {{outputs.begin() + 1, outputs.end()}}};
  if (!input.wants_memory) return result;
  result.memory_MC = outputs.back();
  result.last.parts.pop_back();
  return result;
}

}  // namespace attend::ops::fast
