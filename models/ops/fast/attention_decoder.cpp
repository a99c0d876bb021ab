// attention_decoder and its attention. As in fast_lstm.cpp: what is known beforehand is multiplied before the loop over
// steps, weight gradients after it; within the loop each layer makes one product.
#include "models/ops/fast/recurrent_support.hpp"
#include "models/ops/kernels/query.hpp"

namespace attend::ops::fast {
namespace {

RowDropout row_dropout(Dropout dropout, std::int64_t width, std::int64_t column = 0) {
  return {.mask = DropoutMask(dropout), .active = dropout.rate > 0, .width = width, .column = column};
}

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
                                           .keys = read<T>(tape.keys),
                                           .values = read<T>(tape.values),
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
                                                              .keys = read<T>(tape.keys),
                                                              .values = read<T>(tape.values),
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
    with_type(call.input.embedded_ME.scalar_type(), [&](auto type) { decoder_forward<decltype(type)>(*tape->value); });
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
    const auto found = with_type(output_gradient.scalar_type(),
                                 [&](auto type) { return decoder_backward<decltype(type)>(tape, output_gradient); });
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

DotAttention dot_attention(const Tensor& query_RH, const Tensor& keys_SH, const Tensor& values_SV, const Layout& memory,
                           std::span<const std::int64_t> sentences) {
  const std::int64_t R = query_RH.size(0), H = keys_SH.size(1), V = values_SV.size(1);
  const Tensor query = query_RH.contiguous(), keys = keys_SH.contiguous(), values = values_SV.contiguous();
  const DotAttention attended{at::empty({R, V}, query.options()),
                              at::zeros({R, memory.max_length}, query.options().dtype(at::kFloat))};
  std::vector<std::int64_t> first_weight(R);
  for (std::int64_t r = 0; r < R; ++r) first_weight[r] = r * memory.max_length;
  with_type(query.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const kernels::Attend<T> step{.width = H,
                                  .value_width = V,
                                  .keys = read<T>(keys),
                                  .values = read<T>(values),
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
