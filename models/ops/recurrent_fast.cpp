// What makes it fast: rows of finished sentences are never touched; the products of inputs that are known beforehand
// are made before the loop, and those of weight gradients after it, as one product a sequence; within the loop a layer
// makes one product, and everything between products is one pass of a vectorised kernel.
//
// Packed rows: sentences in order of falling length, position after position. Three sentences a0 a1, b0 b1 b2, c0 are
//   order b a c,  rows b0 a0 c0 | b1 a1 | b2,  begin 0 3 5 6
// so that step t is the rows begin[t] … begin[t + 1], and row i of a step is followed by row i of the next.
#include "models/ops/recurrent_fast.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/autograd.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "models/ops/products.hpp"
#include "models/ops/recurrent_kernels.hpp"

namespace attend::ops::fast {
namespace {

using kernels::Bf16;
using kernels::RowDropout;
using kernels::Rows;
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Products take their rows in blocks, so that oneDNN meets few different shapes and makes few kernels; what the rows of
// a block beyond the step give is not read.
constexpr std::int64_t kRowBlock = 16;
constexpr std::int64_t kGrain = 16;  // rows that are worth a thread

struct Steps {
  Steps(const Layout& layout, bool reverse) : order(layout.size()), packed(layout.num_tokens()) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return layout.length(a) > layout.length(b); });
    for (std::int64_t t = 0; t < layout.max_length; ++t) {
      for (const std::int64_t b : order) {
        if (layout.length(b) <= t) break;
        const std::int64_t row = reverse ? layout.offsets[b + 1] - 1 - t : layout.offsets[b] + t;
        packed[row] = static_cast<std::int64_t>(rows.size());
        rows.push_back(row);
      }
      begin.push_back(static_cast<std::int64_t>(rows.size()));
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int64_t count(std::int64_t t) const { return t < size() ? begin[t + 1] - begin[t] : 0; }

  std::vector<std::int64_t> order;
  std::vector<std::int64_t> begin = {0};
  std::vector<std::int64_t> rows;    // the ragged row of each packed one
  std::vector<std::int64_t> packed;  // the packed row of each ragged one
};

Tensor index(const std::vector<std::int64_t>& rows) { return at::tensor(rows, at::kLong); }

template <class T>
T* data(const Tensor& x) {
  return reinterpret_cast<T*>(x.data_ptr());
}
template <class T>
Rows<T> rows(const Tensor& x, std::int64_t first = 0) {
  return Rows<T>{data<T>(x), x.stride(0)}.from(first);
}

// f<float or Bf16>(): by the type of the activations.
template <class F>
auto with_type(const Tensor& x, const F& f) {
  return x.scalar_type() == at::kBFloat16 ? f.template operator()<Bf16>() : f.template operator()<float>();
}

// The weights of products are contiguous or transposed whole: for slices oneDNN has but a reference loop, a hundred
// times slower.
Tensor working(const Weight& weight, const Tensor& like) { return weight.working().detach().to(like.scalar_type()); }

Tensor transposed(const Tensor& weight) { return weight.t().contiguous(); }

// Rows of a buffer that has kRowBlock rows to spare, in whole blocks.
Tensor block(const Tensor& buffer, std::int64_t first, std::int64_t count) {
  return buffer.narrow(0, first, (count + kRowBlock - 1) / kRowBlock * kRowBlock);
}

Tensor defined_or_zeros(const Tensor& gradient, const Tensor& like) {
  return gradient.defined() ? gradient.to(like.scalar_type()).contiguous() : at::zeros_like(like);
}

RowDropout row_dropout(Dropout dropout, std::int64_t width, std::int64_t column = 0) {
  return {.mask = DropoutMask(dropout), .active = dropout.rate > 0, .width = width, .column = column};
}

// What the backward pass of a function is told beside tensors that autograd follows.
template <class T>
struct Held : torch::CustomClassHolder {
  T value;
};

// --- LSTM layer -----------------------------------------------------------------------------------------------------

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
LstmTape lstm_forward(const Tensor& x, const Layout& layout, const LstmCell& cell, bool reverse,
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

// `gradients` are those of the result, contiguous.
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

// f(0 … directions - 1): side by side where each can have a thread of its own, which beats sharing every product.
template <class F>
void for_directions(std::size_t directions, const F& f) {
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_grad;  // a thread of the pool starts with gradients on
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
  std::span<const LstmCell> directions;
};

class LstmFunction : public torch::autograd::Function<LstmFunction> {
 public:
  // inputs: x, then of each direction the four parameters that `call` reads, for their gradients.
  static variable_list forward(AutogradContext* context, at::TensorList inputs, const LstmCall& call) {
    const Tensor x = inputs[0].contiguous();
    const auto D = static_cast<std::int64_t>(call.directions.size());
    const std::int64_t B = call.layout.size(), H = call.directions[0].weight_hh.master().size(1);
    const LstmResult result{.output = at::empty({x.size(0), D * H}, x.options()),
                            .last_hidden = at::zeros({B, D * H}, x.options()),
                            .last_cell = at::zeros({B, D * H}, x.options().dtype(at::kFloat))};
    auto tapes = c10::make_intrusive<Held<std::vector<std::optional<LstmTape>>>>();
    tapes->value.resize(call.directions.size());
    for_directions(call.directions.size(), [&](std::size_t d) {
      tapes->value[d] =
          with_type(x, [&]<class T>() { return lstm_forward<T>(x, call.layout, call.directions[d], d == 1, result); });
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
      found[d] = with_type(result.output, [&]<class T>() { return lstm_backward<T>(*tapes[d], d == 1, result); });
    });
    variable_list all = {found.size() == 1 ? found[0].x : found[0].x + found[1].x};
    for (const auto& direction : found) {
      all.insert(all.end(), {direction.weight_ih, direction.weight_hh, direction.bias, direction.bias});
    }
    all.emplace_back();  // the call
    return all;
  }
};

// --- decoder --------------------------------------------------------------------------------------------------------

struct DecoderLayer {
  std::int64_t input_width = 0;  // of what is known only within the loop
  Tensor weight;                 // [4H, input_width + H] = W_ih | W_hh
  Tensor inputs;                 // packed, [M + spare, input_width + H]
  Tensor gates;                  // packed activations, [M, 4H]
  Tensor cells;                  // packed, [M, H], fp32
  Tensor start;                  // cell states before the first step, in order, fp32
  Dropout dropout;               // on what it gives the next layer
};

struct DecoderTape {
  Steps steps;
  std::vector<std::int64_t> tgt_offsets, memory_offsets;
  std::vector<std::int64_t> sentences;     // of each packed row
  std::vector<std::int64_t> first_weight;  // of each packed row
  bool input_feeding = true;
  Dropout feed_dropout, combine_dropout;
  std::vector<DecoderLayer> layers;
  Tensor embedded;         // packed, [M, E]
  Tensor weight_embedded;  // [4H, E]
  Tensor keys, values;
  Tensor queries;         // packed states of the top layer, [M, H]
  Tensor weights;         // of the attention, of a sentence step after step
  Tensor combined;        // packed [context; state], [M + spare, V + H]
  Tensor weight_combine;  // [H, V + H]
  Tensor output;          // ragged, [M, H]
};

DecoderTape make_tape(const AttentionDecoder& decoder, const AttentionDecoderInput& input) {
  const Tensor& like = input.embedded_ME;
  const std::int64_t M = input.layout.num_tokens(), H = input.keys_SH.size(1), V = input.values_SV.size(1);
  const std::int64_t E = like.size(1);
  DecoderTape tape{.steps = Steps(input.layout, false),
                   .tgt_offsets = input.layout.offsets,
                   .memory_offsets = input.memory.offsets,
                   .sentences = {},
                   .first_weight = std::vector<std::int64_t>(M),
                   .input_feeding = decoder.input_feeding,
                   .feed_dropout = decoder.feed_dropout,
                   .combine_dropout = decoder.combine_dropout,
                   .layers = {},
                   .embedded = {},
                   .weight_embedded = working(decoder.layers[0].weight_ih, like).narrow(1, 0, E).contiguous(),
                   .keys = input.keys_SH.detach().contiguous(),
                   .values = input.values_SV.detach().contiguous(),
                   .queries = at::empty({M, H}, like.options()),
                   .weights = {},
                   .combined = at::zeros({M + kRowBlock, V + H}, like.options()),
                   .weight_combine = working(decoder.combine_HC, like),
                   .output = at::empty({M, H}, like.options())};
  const Steps& steps = tape.steps;
  for (std::int64_t t = 0; t < steps.size(); ++t) {
    tape.sentences.insert(tape.sentences.end(), steps.order.begin(), steps.order.begin() + steps.count(t));
  }
  std::int64_t num_weights = 0;
  for (std::int64_t b = 0; b < input.layout.size(); ++b) {
    for (std::int64_t row = input.layout.offsets[b]; row < input.layout.offsets[b + 1]; ++row) {
      tape.first_weight[steps.packed[row]] = num_weights;
      num_weights += input.memory.length(b);
    }
  }
  tape.weights = at::empty({num_weights}, like.options().dtype(at::kFloat));
  tape.embedded = like.detach().index_select(0, index(steps.rows));

  const Tensor order = index(steps.order);
  for (std::size_t l = 0; l < decoder.layers.size(); ++l) {
    const LstmCell& cell = decoder.layers[l];
    const Tensor weight_ih = working(cell.weight_ih, like), weight_hh = working(cell.weight_hh, like);
    const std::int64_t known = l == 0 ? E : 0, width = weight_ih.size(1) - known;
    DecoderLayer layer{.input_width = width,
                       .weight = at::cat({weight_ih.narrow(1, known, width), weight_hh}, 1),
                       .inputs = at::zeros({M + kRowBlock, width + H}, like.options()),
                       .gates = {},
                       .cells = at::empty({M, H}, like.options().dtype(at::kFloat)),
                       .start = input.start[l].cell.detach().index_select(0, order),
                       .dropout = l + 1 < decoder.layers.size() ? decoder.layer_dropouts[l] : Dropout{}};
    const Tensor bias = (cell.bias_ih + cell.bias_hh).detach().to(like.scalar_type());
    layer.gates = l == 0 ? products::linear(tape.embedded, tape.weight_embedded, bias) : bias.repeat({M, 1});
    const Tensor hidden = input.start[l].hidden.detach().index_select(0, order);
    layer.inputs.narrow(0, 0, steps.count(0)).narrow(1, width, H).copy_(hidden.narrow(0, 0, steps.count(0)));
    tape.layers.push_back(std::move(layer));
  }
  return tape;
}

template <class T>
void decoder_forward(DecoderTape& tape) {
  const Steps& steps = tape.steps;
  const std::int64_t H = tape.queries.size(1), V = tape.values.size(1);
  const Tensor hidden = at::empty({static_cast<std::int64_t>(steps.order.size()), H}, tape.queries.options());
  for (std::int64_t t = 0; t < steps.size(); ++t) {
    const std::int64_t first = steps.begin[t], count = steps.count(t), next = steps.count(t + 1);
    const std::int64_t* ragged = steps.rows.data() + first;
    for (std::size_t l = 0; l < tape.layers.size(); ++l) {
      const DecoderLayer& layer = tape.layers[l];
      const bool top = l + 1 == tape.layers.size();
      const Tensor product = products::linear(block(layer.inputs, first, count), layer.weight, {});
      const kernels::CellForward<T> step{
          .width = H,
          .input = rows<T>(layer.gates, first),
          .product = rows<T>(product),
          .gates = rows<T>(layer.gates, first),
          .cell_before = t > 0 ? rows<float>(layer.cells, steps.begin[t - 1]) : rows<float>(layer.start),
          .cell = rows<float>(layer.cells, first),
          .hidden = top ? rows<T>(tape.queries, first) : rows<T>(hidden)};
      at::parallel_for(0, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
        kernels::cell_forward(step, begin, end);
        kernels::copy_rows(
            kernels::CopyRows<T, T>{
                .width = H, .from = step.hidden, .to = rows<T>(layer.inputs, first + count).columns(layer.input_width)},
            begin, std::min(end, next));
        if (!top) {
          kernels::copy_rows(kernels::CopyRows<T, T>{.width = H,
                                                     .from = step.hidden,
                                                     .to = rows<T>(tape.layers[l + 1].inputs, first),
                                                     .dropout = row_dropout(layer.dropout, H),
                                                     .rows = ragged},
                             begin, end);
          return;
        }
        kernels::copy_rows(kernels::CopyRows<T, T>{.width = H,
                                                   .from = step.hidden,
                                                   .to = rows<T>(tape.combined, first).columns(V),
                                                   .dropout = row_dropout(tape.combine_dropout, V + H, V),
                                                   .rows = ragged},
                           begin, end);
        kernels::attend(kernels::Attend<T>{.width = H,
                                           .value_width = V,
                                           .keys = data<T>(tape.keys),
                                           .values = data<T>(tape.values),
                                           .offsets = tape.memory_offsets.data(),
                                           .sentences = tape.sentences.data() + first,
                                           .first_weight = tape.first_weight.data() + first,
                                           .weights = tape.weights.data_ptr<float>(),
                                           .query = step.hidden,
                                           .context = rows<T>(tape.combined, first),
                                           .dropout = row_dropout(tape.combine_dropout, V + H),
                                           .rows = ragged},
                        begin, end);
      });
    }
    const Tensor product = products::linear(block(tape.combined, first, count), tape.weight_combine, {});
    at::parallel_for(0, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      kernels::tanh_rows(
          kernels::Tanh<T>{.width = H, .from = rows<T>(product), .to = rows<T>(tape.output), .to_index = ragged}, begin,
          end);
      if (!tape.input_feeding) return;
      kernels::copy_rows(kernels::CopyRows<T, T>{.width = H,
                                                 .from = rows<T>(tape.output),
                                                 .from_index = ragged,
                                                 .to = rows<T>(tape.layers[0].inputs, first + count),
                                                 .dropout = row_dropout(tape.feed_dropout, H),
                                                 .rows = ragged + count},
                         begin, std::min(end, next));
    });
  }
}

struct DecoderGradients {
  Tensor embedded, keys, values, combine;
  std::vector<Tensor> layers;  // of each: W_ih, W_hh, both biases
  std::vector<Tensor> start;   // of each layer: hidden, cell
};

template <class T>
DecoderGradients decoder_backward(const DecoderTape& tape, const Tensor& output_gradient) {
  const Steps& steps = tape.steps;
  const std::int64_t M = tape.queries.size(0), H = tape.queries.size(1), V = tape.values.size(1);
  const auto B = static_cast<std::int64_t>(steps.order.size());
  const auto num_layers = tape.layers.size(), top = num_layers - 1;
  const auto type = tape.queries.options(), fp32 = type.dtype(at::kFloat);
  const Tensor pre_gradients = at::zeros({M + kRowBlock, H}, type);  // of what tanh read
  const Tensor context_gradients = at::empty({M, V}, type);
  const Tensor score_gradients = at::empty_like(tape.weights);
  const Tensor hidden_gradient = at::empty({B, H}, fp32);
  const Tensor combine = transposed(tape.weight_combine);
  std::vector<Tensor> recurrent, gate_gradients, cell_gradients;
  for (const DecoderLayer& layer : tape.layers) {
    recurrent.push_back(transposed(layer.weight));
    gate_gradients.push_back(at::zeros({M + kRowBlock, 4 * H}, type));
    cell_gradients.push_back(at::zeros({B, H}, fp32));
  }
  // Of each layer's inputs [input; state]; until a step overwrites it, that of the step after.
  std::vector<Tensor> input_gradients(num_layers);
  for (std::int64_t t = steps.size() - 1; t >= 0; --t) {
    const std::int64_t first = steps.begin[t], count = steps.count(t), next = steps.count(t + 1);
    const std::int64_t* ragged = steps.rows.data() + first;
    const Rows<float> dh = rows<float>(hidden_gradient);
    at::parallel_for(0, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      kernels::copy_rows(
          kernels::CopyRows<T, float>{.width = H, .from = rows<T>(output_gradient), .from_index = ragged, .to = dh},
          begin, end);
      if (tape.input_feeding && begin < next) {
        kernels::copy_rows(kernels::CopyRows<T, float>{.width = H,
                                                       .from = rows<T>(input_gradients[0]),
                                                       .to = dh,
                                                       .add = true,
                                                       .dropout = row_dropout(tape.feed_dropout, H),
                                                       .rows = ragged + count},
                           begin, std::min(end, next));
      }
      kernels::tanh_backward(kernels::TanhBackward<T>{.width = H,
                                                      .gradient = dh,
                                                      .result = rows<T>(tape.output),
                                                      .result_index = ragged,
                                                      .to = rows<T>(pre_gradients, first)},
                             begin, end);
    });
    const Tensor combined_gradient = products::linear(block(pre_gradients, first, count), combine, {});
    for (std::size_t l = num_layers; l-- > 0;) {
      const DecoderLayer& layer = tape.layers[l];
      at::parallel_for(0, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
        if (l == top) {
          kernels::copy_rows(kernels::CopyRows<T, float>{.width = H,
                                                         .from = rows<T>(combined_gradient).columns(V),
                                                         .to = dh,
                                                         .dropout = row_dropout(tape.combine_dropout, V + H, V),
                                                         .rows = ragged},
                             begin, end);
          kernels::copy_rows(kernels::CopyRows<T, T>{.width = V,
                                                     .from = rows<T>(combined_gradient),
                                                     .to = rows<T>(context_gradients, first),
                                                     .dropout = row_dropout(tape.combine_dropout, V + H),
                                                     .rows = ragged},
                             begin, end);
          kernels::attend_backward(kernels::AttendBackward<T>{.width = H,
                                                              .value_width = V,
                                                              .keys = data<T>(tape.keys),
                                                              .values = data<T>(tape.values),
                                                              .offsets = tape.memory_offsets.data(),
                                                              .sentences = tape.sentences.data() + first,
                                                              .first_weight = tape.first_weight.data() + first,
                                                              .weights = tape.weights.data_ptr<float>(),
                                                              .score_gradients = score_gradients.data_ptr<float>(),
                                                              .context_gradient = rows<T>(context_gradients, first),
                                                              .query_gradient = dh},
                                   begin, end);
        } else {
          kernels::copy_rows(kernels::CopyRows<T, float>{.width = H,
                                                         .from = rows<T>(input_gradients[l + 1]),
                                                         .to = dh,
                                                         .dropout = row_dropout(layer.dropout, H),
                                                         .rows = ragged},
                             begin, end);
        }
        if (begin < next) {
          kernels::copy_rows(
              kernels::CopyRows<T, float>{
                  .width = H, .from = rows<T>(input_gradients[l]).columns(layer.input_width), .to = dh, .add = true},
              begin, std::min(end, next));
        }
        kernels::cell_backward(
            kernels::CellBackward<T>{
                .width = H,
                .gates = rows<T>(layer.gates, first),
                .cell_before = t > 0 ? rows<float>(layer.cells, steps.begin[t - 1]) : rows<float>(layer.start),
                .cell = rows<float>(layer.cells, first),
                .hidden_gradient = dh,
                .cell_gradient = rows<float>(cell_gradients[l]),
                .gate_gradient = rows<T>(gate_gradients[l], first)},
            begin, end);
      });
      input_gradients[l] = products::linear(block(gate_gradients[l], first, count), recurrent[l], {});
    }
  }

  DecoderGradients gradients{
      .embedded = products::linear(gate_gradients[0].narrow(0, 0, M), tape.weight_embedded.t(), {})
                      .index_select(0, index(steps.packed)),
      .keys = at::empty_like(tape.keys),
      .values = at::empty_like(tape.values),
      .combine = products::outer(pre_gradients.narrow(0, 0, M), tape.combined.narrow(0, 0, M)),
      .layers = {},
      .start = {}};
  const auto memory_gradient = [&](const Tensor& factors, const Tensor& vectors, const Tensor& gradient) {
    const kernels::MemoryBackward<T> memory{.width = vectors.size(1),
                                            .offsets = tape.memory_offsets.data(),
                                            .tgt_offsets = tape.tgt_offsets.data(),
                                            .packed_rows = steps.packed.data(),
                                            .first_weight = tape.first_weight.data(),
                                            .factors = factors.data_ptr<float>(),
                                            .vectors = rows<T>(vectors),
                                            .gradient = rows<T>(gradient)};
    at::parallel_for(0, B, 1,
                     [&](std::int64_t begin, std::int64_t end) { kernels::memory_backward(memory, begin, end); });
  };
  memory_gradient(score_gradients, tape.queries, gradients.keys);
  memory_gradient(tape.weights, context_gradients, gradients.values);

  const std::int64_t started = steps.count(0);
  const Tensor order = index(steps.order).narrow(0, 0, started);
  for (std::size_t l = 0; l < num_layers; ++l) {
    const DecoderLayer& layer = tape.layers[l];
    const Tensor gates = gate_gradients[l].narrow(0, 0, M);
    const Tensor weight = products::outer(gates, layer.inputs.narrow(0, 0, M));
    Tensor weight_ih = weight.narrow(1, 0, layer.input_width);
    if (l == 0) weight_ih = at::cat({products::outer(gates, tape.embedded), weight_ih}, 1);
    const Tensor bias = gates.sum(0, false, at::kFloat);
    gradients.layers.insert(gradients.layers.end(),
                            {weight_ih.contiguous(), weight.narrow(1, layer.input_width, H).contiguous(), bias, bias});
    const auto unordered = [&](const Tensor& x) {
      return at::zeros({B, H}, x.options()).index_copy_(0, order, x.narrow(0, 0, started));
    };
    gradients.start.push_back(unordered(input_gradients[l].narrow(1, layer.input_width, H)));
    gradients.start.push_back(unordered(cell_gradients[l]));
  }
  return gradients;
}

struct DecoderCall {
  const AttentionDecoder& decoder;
  const AttentionDecoderInput& input;
};

class DecoderFunction : public torch::autograd::Function<DecoderFunction> {
 public:
  // inputs, for their gradients: embedded, keys, values, W_c; of each layer the start and the four parameters.
  static Tensor forward(AutogradContext* context, at::TensorList /*inputs*/, const DecoderCall& call) {
    auto tape = c10::make_intrusive<Held<std::optional<DecoderTape>>>();
    tape->value = make_tape(call.decoder, call.input);
    with_type(call.input.embedded_ME, [&]<class T>() { decoder_forward<T>(*tape->value); });
    const Tensor output = tape->value->output;
    // The tape keeps its own handle, so that the output does not hold the node that holds it.
    tape->value->output = output.detach();
    context->saved_data["tape"] = c10::IValue::make_capsule(tape);
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& output_gradients) {
    const auto capsule = context->saved_data["tape"].toCapsule();
    const DecoderTape& tape = *static_cast<Held<std::optional<DecoderTape>>&>(*capsule).value;
    const Tensor output_gradient = defined_or_zeros(output_gradients[0], tape.output);
    const auto found =
        with_type(output_gradient, [&]<class T>() { return decoder_backward<T>(tape, output_gradient); });
    variable_list all = {found.embedded, found.keys, found.values, found.combine};
    for (std::size_t l = 0; l < tape.layers.size(); ++l) {
      all.insert(all.end(), found.start.begin() + 2 * l, found.start.begin() + 2 * l + 2);
      all.insert(all.end(), found.layers.begin() + 4 * l, found.layers.begin() + 4 * l + 4);
    }
    all.emplace_back();  // the call
    return all;
  }
};

}  // namespace

LstmState lstm_step(const Tensor& x_RI, const LstmState& state, const LstmCell& cell) {
  const Tensor gates = ops::linear(x_RI, cell.weight_ih, cell.bias_ih);
  const Tensor product = ops::linear(state.hidden, cell.weight_hh, cell.bias_hh);
  const LstmState next{at::empty_like(state.hidden), at::empty_like(state.cell)};
  const Tensor cell_before = state.cell.contiguous();
  with_type(x_RI, [&]<class T>() {
    const kernels::CellForward<T> step{.width = next.cell.size(1),
                                       .input = rows<T>(gates),
                                       .product = rows<T>(product),
                                       .gates = rows<T>(gates),
                                       .cell_before = rows<float>(cell_before),
                                       .cell = rows<float>(next.cell),
                                       .hidden = rows<T>(next.hidden)};
    at::parallel_for(0, next.cell.size(0), kGrain,
                     [&](std::int64_t begin, std::int64_t end) { kernels::cell_forward(step, begin, end); });
  });
  return next;
}

LstmOutput lstm(const Tensor& x_MI, const Layout& layout, std::span<const LstmCell> directions) {
  variable_list inputs = {x_MI};
  for (const LstmCell& cell : directions) {
    inputs.insert(inputs.end(), {cell.weight_ih.master(), cell.weight_hh.master(), cell.bias_ih, cell.bias_hh});
  }
  const auto outputs = LstmFunction::apply(at::TensorList(inputs), LstmCall{layout, directions});
  return {outputs[0], {outputs[1], outputs[2]}};
}

DotAttention dot_attention(const Tensor& query_RH, const Tensor& keys_SH, const Tensor& values_SV, const Layout& memory,
                           std::span<const std::int64_t> sentences) {
  const std::int64_t R = query_RH.size(0), H = keys_SH.size(1), V = values_SV.size(1);
  const Tensor query = query_RH.contiguous(), keys = keys_SH.contiguous(), values = values_SV.contiguous();
  const DotAttention attended{at::empty({R, V}, query.options()),
                              at::zeros({R, memory.max_length}, query.options().dtype(at::kFloat))};
  std::vector<std::int64_t> first_weight(R);
  for (std::int64_t r = 0; r < R; ++r) first_weight[r] = r * memory.max_length;
  with_type(query, [&]<class T>() {
    const kernels::Attend<T> step{.width = H,
                                  .value_width = V,
                                  .keys = data<T>(keys),
                                  .values = data<T>(values),
                                  .offsets = memory.offsets.data(),
                                  .sentences = sentences.data(),
                                  .first_weight = first_weight.data(),
                                  .weights = attended.weights_RS.data_ptr<float>(),
                                  .query = rows<T>(query),
                                  .context = rows<T>(attended.context_RV)};
    at::parallel_for(0, R, kGrain, [&](std::int64_t begin, std::int64_t end) { kernels::attend(step, begin, end); });
  });
  return attended;
}

Tensor attention_decoder(const AttentionDecoder& decoder, const AttentionDecoderInput& input) {
  variable_list inputs = {input.embedded_ME, input.keys_SH, input.values_SV, decoder.combine_HC.master()};
  for (std::size_t l = 0; l < decoder.layers.size(); ++l) {
    const LstmCell& cell = decoder.layers[l];
    inputs.insert(inputs.end(), {input.start[l].hidden, input.start[l].cell, cell.weight_ih.master(),
                                 cell.weight_hh.master(), cell.bias_ih, cell.bias_hh});
  }
  return DecoderFunction::apply(at::TensorList(inputs), DecoderCall{decoder, input});
}

}  // namespace attend::ops::fast
