// attention_decoder, forward and backward, as one tape. Rows of finished sentences are skipped. Products with inputs
// that are known in advance are computed before the loop over steps, weight gradients after it, as one product for all
// steps; in the loop each layer needs one product.
//
// Forward, with m for masks of dropout, [;] for concatenation, products of columns; x^1 = [e_t; m_f h~_{t-1}]:
//   i, f, g, o = σ, σ, tanh, σ of z_t = W [x_t; h_{t-1}] + b,   c_t = f c_{t-1} + i g,   h_t = o tanh(c_t)   each layer
//   x^{l+1}_t = m_l h^l_t                                                                   between layers
//   context_t = Σ_s a_ts v_s,  a_t = softmax_s score(h_t, k_s)                              Scores::forward
//   h~_t = tanh(W_c m_c [context_t; h_t])
//
// Backward, d for the gradient of the loss; steps from last to first, layers from top to bottom, within a step:
//   dh~_t += m_f (fed part of dx^1_{t+1}),   du_t = dh~_t (1 - h~_t²)                       feed
//   [dcontext_t; dh_t] = m_c W_cᵀ du_t                                                      attention
//   dh_t += gradient of the query, from dcontext_t                                          Scores::backward
//   dh^l_t = m_l dx^{l+1}_t  below the top                                                  cells
//   dh_t += W_hhᵀ dz_{t+1},   dc_t += dh_t o (1 - tanh²(c_t))
//   dz_t = [dc g i (1 - i), dc c_{t-1} f (1 - f), dc i (1 - g²), dh tanh(c) o (1 - o)],   dc_{t-1} = f dc_t
//   [dx_t; W_hhᵀ dz_t] = Wᵀ dz_t
// and after the loop dW = Σ_t dz_t [x_t; h_{t-1}]ᵀ, dW_c = Σ_t du_t (m_c [context_t; h_t])ᵀ, de = W_eᵀ dz^1, and what
// is summed over the steps that read a memory                                               Scores::finish
#include "models/ops/fast/recurrent_support.hpp"
#include "models/ops/kernels/query.hpp"

namespace attend::ops::fast {
namespace {

RowDropout row_dropout(Dropout dropout, std::int64_t width, std::int64_t column = 0) {
  return {.mask = DropoutMask(dropout), .active = dropout.rate > 0, .width = width, .column = column};
}

// The sentence of the memory that each packed row attends to. The weights of a sentence's steps are adjacent.
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

  std::vector<std::int64_t> offsets;       // of the sentences of the memory
  std::vector<std::int64_t> tgt_offsets;   // of the sentences that attend to them
  std::vector<std::int64_t> packed;        // the packed row of each ragged one
  std::vector<std::int64_t> sentences;     // of each packed row
  std::vector<std::int64_t> first_weight;  // of each packed row
  std::int64_t num_weights = 0;
};

// A policy of the tape: the attention of a row to its sentence. This one uses dot products with prepared keys:
//   e_ts = h_t · k_s,   a_t = softmax_s(e_t),   context_t = Σ_s a_ts v_s
//   da_ts = dcontext_t · v_s,   de_ts = a_ts (da_ts - Σ_r a_tr da_tr),   dh_t += Σ_s de_ts k_s
//   dk_s = Σ_t de_ts h_t,   dv_s = Σ_t a_ts dcontext_t
// Another score has its own tensors and the same three functions.
template <class T>
struct DotScores {
  using Number = T;
  Tensor keys;    // [S, H]
  Tensor values;  // [S, W]

  // Weights and contexts of rows [begin, end) of a step, dropout on the context.
  void forward(const Step& step, const Reading& reading, const Tensor& weights, Rows<T> query, Rows<T> context,
               RowDropout dropout, std::int64_t begin, std::int64_t end) const {
    kernels::attend(kernels::Attend<T>{.width = keys.size(1),
                                       .value_width = values.size(1),
                                       .keys = read<T>(keys),
                                       .values = read<T>(values),
                                       .offsets = reading.offsets.data(),
                                       .sentences = reading.sentences.data() + step.first,
                                       .first_weight = reading.first_weight.data() + step.first,
                                       .weights = weights.data_ptr<float>(),
                                       .query = query,
                                       .context = context,
                                       .dropout = dropout,
                                       .rows = step.ragged},
                    begin, end);
  }

  // Score gradients de of the same rows; adds to the gradient of the query.
  void backward(const Step& step, const Reading& reading, const Tensor& weights, const Tensor& score_gradients,
                Rows<T> context_gradient, Rows<float> query_gradient, std::int64_t begin, std::int64_t end) const {
    kernels::attend_backward(kernels::AttendBackward<T>{.width = keys.size(1),
                                                        .value_width = values.size(1),
                                                        .keys = read<T>(keys),
                                                        .values = read<T>(values),
                                                        .offsets = reading.offsets.data(),
                                                        .sentences = reading.sentences.data() + step.first,
                                                        .first_weight = reading.first_weight.data() + step.first,
                                                        .weights = weights.data_ptr<float>(),
                                                        .score_gradients = score_gradients.data_ptr<float>(),
                                                        .context_gradient = context_gradient,
                                                        .query_gradient = query_gradient},
                             begin, end);
  }

  // The gradients of keys and values, over all steps.
  variable_list finish(const Reading& reading, const Tensor& weights, const Tensor& score_gradients,
                       const Tensor& queries, const Tensor& context_gradients) const {
    return {summed(reading, score_gradients, queries, keys), summed(reading, weights, context_gradients, values)};
  }

 private:
  // Σ_t factor_ts vector_t of each s, like `like`.
  static Tensor summed(const Reading& reading, const Tensor& factors, const Tensor& vectors, const Tensor& like) {
    const Tensor sum = at::empty_like(like);
    const kernels::MemoryBackward<T> memory{.width = like.size(1),
                                            .offsets = reading.offsets.data(),
                                            .tgt_offsets = reading.tgt_offsets.data(),
                                            .packed_rows = reading.packed.data(),
                                            .first_weight = reading.first_weight.data(),
                                            .factors = factors.data_ptr<float>(),
                                            .vectors = rows<T>(vectors),
                                            .gradient = rows<T>(sum)};
    at::parallel_for(0, std::ssize(reading.offsets) - 1, 1,
                     [&](std::int64_t begin, std::int64_t end) { kernels::memory_backward(memory, begin, end); });
    return sum;
  }
};

struct DecoderLayer {
  std::int64_t input_width = 0;  // of x, without the embedding
  Tensor weight;                 // [4H, input_width + H] = W_ih | W_hh
  Tensor inputs;                 // packed [x; h], [M + spare, input_width + H]
  Tensor gates;                  // packed activations, [M, 4H]
  Tensor cells;                  // packed, [M, H], fp32
  Tensor start;                  // cell states before the first step, in order, fp32
  Dropout dropout;               // on the input of the next layer
};

// Saved by the forward pass for the backward pass.
template <class Scores>
struct DecoderTape {
  Scores scores;
  Steps steps;
  Reading reading;
  bool input_feeding = true;
  Dropout feed_dropout, combine_dropout;
  std::vector<DecoderLayer> layers;
  Tensor embedded;         // packed, [M, E]
  Tensor weight_embedded;  // [4H, E]
  Tensor queries;          // packed states of the top layer, [M, H]
  Tensor weights;          // of the attention, laid out by `reading`
  Tensor combined;         // packed [context; h], [M + spare, W + H]
  Tensor weight_combine;   // [H, W + H]
  Tensor output;           // ragged h~, [M, H]

  std::int64_t num_rows() const { return queries.size(0); }
  std::int64_t width() const { return queries.size(1); }
  std::int64_t context_width() const { return weight_combine.size(1) - width(); }
  // Cell states before a step.
  Rows<float> cells_before(const DecoderLayer& layer, const Step& step) const {
    return step.before >= 0 ? rows<float>(layer.cells, step.before) : rows<float>(layer.start);
  }
};

template <class Scores>
DecoderTape<Scores> make_tape(const AttentionDecoder& decoder, const AttentionDecoderInput& input, Scores scores) {
  const Tensor& like = input.embedded_ME;
  const Tensor weight_combine = working(decoder.combine_HC, like);
  const std::int64_t M = input.layout.num_tokens(), E = like.size(1), H = weight_combine.size(0);
  const Steps steps(input.layout, false);
  const Reading reading(input.layout, input.memory, steps);
  DecoderTape<Scores> tape{.scores = std::move(scores),
                           .steps = steps,
                           .reading = reading,
                           .input_feeding = decoder.input_feeding,
                           .feed_dropout = decoder.feed_dropout,
                           .combine_dropout = decoder.combine_dropout,
                           .layers = {},
                           .embedded = like.detach().index_select(0, index(steps.rows)),
                           .weight_embedded = working(decoder.layers[0].weight_ih, like).narrow(1, 0, E).contiguous(),
                           .queries = at::empty({M, H}, like.options()),
                           .weights = at::empty({reading.num_weights}, like.options().dtype(at::kFloat)),
                           .combined = at::zeros({M + kRowBlock, weight_combine.size(1)}, like.options()),
                           .weight_combine = weight_combine,
                           .output = at::empty({M, H}, like.options())};
  const Tensor order = index(steps.order);
  for (std::size_t l = 0; l < decoder.layers.size(); ++l) {
    const CellWeights& cell = decoder.layers[l];
    const Tensor weight_ih = working(cell.weight_ih, like), weight_hh = working(cell.weight_hh, like);
    const std::int64_t known = l == 0 ? E : 0, width = weight_ih.size(1) - known;
    const Tensor bias = (cell.bias_ih + cell.bias_hh).detach().to(like.scalar_type());
    DecoderLayer layer{
        .input_width = width,
        .weight = at::cat({weight_ih.narrow(1, known, width), weight_hh}, 1),
        .inputs = at::zeros({M + kRowBlock, width + H}, like.options()),
        .gates = l == 0 ? products::linear(tape.embedded, tape.weight_embedded, bias) : bias.repeat({M, 1}),
        .cells = at::empty({M, H}, like.options().dtype(at::kFloat)),
        .start = input.start[l].parts[1].detach().index_select(0, order),
        .dropout = l + 1 < decoder.layers.size() ? decoder.layer_dropouts[l] : Dropout{}};
    const Tensor hidden = input.start[l].hidden().detach().index_select(0, order);
    layer.inputs.narrow(0, 0, steps.count(0)).narrow(1, width, H).copy_(hidden.narrow(0, 0, steps.count(0)));
    tape.layers.push_back(std::move(layer));
  }
  return tape;
}

// Fills the tape step by step.
template <class Scores>
class DecoderForward {
 public:
  using T = typename Scores::Number;

  explicit DecoderForward(const DecoderTape<Scores>& tape)
      : tape_(tape), H_(tape.width()), hidden_(at::empty({std::ssize(tape.steps.order), H_}, tape.queries.options())) {}

  void run() const {
    for (std::int64_t t = 0; t < tape_.steps.size(); ++t) {
      const Step step(tape_.steps, t);
      for (std::size_t l = 0; l < tape_.layers.size(); ++l) cells(step, l);
      combine(step);
    }
  }

 private:
  // A layer's states, and above the top one the attention.
  void cells(const Step& step, std::size_t l) const {
    const DecoderLayer& layer = tape_.layers[l];
    const bool top = l + 1 == tape_.layers.size();
    const Tensor product = products::linear(block(layer.inputs, step.first, step.count), layer.weight, {});
    const kernels::CellForward<T> cell{.kind = CellKind::lstm,
                                       .width = H_,
                                       .input = rows<T>(layer.gates, step.first),
                                       .product = rows<T>(product),
                                       .recurrent = {},
                                       .gates = rows<T>(layer.gates, step.first),
                                       .inner_before = tape_.cells_before(layer, step),
                                       .inner = rows<float>(layer.cells, step.first),
                                       .hidden_before = {},
                                       .hidden = top ? rows<T>(tape_.queries, step.first) : rows<T>(hidden_)};
    for_rows(step, [&](std::int64_t begin, std::int64_t end) {
      kernels::cell_forward(cell, begin, end);
      kernels::copy_rows(
          kernels::CopyRows<T, T>{.width = H_,
                                  .from = cell.hidden,
                                  .to = rows<T>(layer.inputs, step.first + step.count).columns(layer.input_width)},
          begin, std::min(end, step.next));
      if (top) return attend(step, cell.hidden, begin, end);
      kernels::copy_rows(kernels::CopyRows<T, T>{.width = H_,
                                                 .from = cell.hidden,
                                                 .to = rows<T>(tape_.layers[l + 1].inputs, step.first),
                                                 .dropout = row_dropout(layer.dropout, H_),
                                                 .rows = step.ragged},
                         begin, end);
    });
  }

  // m_c [context; h] of rows [begin, end).
  void attend(const Step& step, Rows<T> hidden, std::int64_t begin, std::int64_t end) const {
    const std::int64_t W = tape_.context_width(), C = W + H_;
    const Rows<T> combined = rows<T>(tape_.combined, step.first);
    kernels::copy_rows(kernels::CopyRows<T, T>{.width = H_,
                                               .from = hidden,
                                               .to = combined.columns(W),
                                               .dropout = row_dropout(tape_.combine_dropout, C, W),
                                               .rows = step.ragged},
                       begin, end);
    tape_.scores.forward(step, tape_.reading, tape_.weights, hidden, combined, row_dropout(tape_.combine_dropout, C),
                         begin, end);
  }

  // h~, and the part fed to the next step.
  void combine(const Step& step) const {
    const Tensor product = products::linear(block(tape_.combined, step.first, step.count), tape_.weight_combine, {});
    const Rows<T> output = rows<T>(tape_.output);
    for_rows(step, [&](std::int64_t begin, std::int64_t end) {
      kernels::tanh_rows(kernels::Tanh<T>{.width = H_, .from = rows<T>(product), .to = output, .to_index = step.ragged},
                         begin, end);
      if (!tape_.input_feeding) return;
      kernels::copy_rows(kernels::CopyRows<T, T>{.width = H_,
                                                 .from = output,
                                                 .from_index = step.ragged,
                                                 .to = rows<T>(tape_.layers[0].inputs, step.first + step.count),
                                                 .dropout = row_dropout(tape_.feed_dropout, H_),
                                                 .rows = step.ragged + step.count},
                         begin, std::min(end, step.next));
    });
  }

  const DecoderTape<Scores>& tape_;
  std::int64_t H_;
  Tensor hidden_;  // of a layer below the top, in this step
};

struct DecoderGradients {
  Tensor embedded, combine;
  variable_list scores;        // of the scores' inputs
  std::vector<Tensor> layers;  // of each: W_ih, W_hh, both biases
  std::vector<Tensor> start;   // of each layer: hidden, cell
};

// Runs the tape backwards and accumulates sums over steps.
template <class Scores>
class DecoderBackward {
 public:
  using T = typename Scores::Number;

  DecoderBackward(const DecoderTape<Scores>& tape, const Tensor& output_gradient)
      : tape_(tape),
        H_(tape.width()),
        output_gradient_(output_gradient),
        combine_(transposed(tape.weight_combine)),
        du_(at::zeros({tape.num_rows() + kRowBlock, H_}, tape.queries.options())),
        context_gradients_(at::empty({tape.num_rows(), tape.context_width()}, tape.queries.options())),
        score_gradients_(at::empty_like(tape.weights)),
        dh_(at::empty({std::ssize(tape.steps.order), H_}, tape.weights.options())),
        dx_(tape.layers.size()) {
    for (const DecoderLayer& layer : tape.layers) {
      recurrent_.push_back(transposed(layer.weight));
      dz_.push_back(at::zeros({tape.num_rows() + kRowBlock, 4 * H_}, tape.queries.options()));
      dc_.push_back(at::zeros_like(dh_));
    }
  }

  DecoderGradients run() {
    for (std::int64_t t = tape_.steps.size() - 1; t >= 0; --t) {
      const Step step(tape_.steps, t);
      feed(step);
      const Tensor combined = products::linear(block(du_, step.first, step.count), combine_, {});
      for (std::size_t l = tape_.layers.size(); l-- > 0;) cells(step, l, combined);
    }
    return finish();
  }

 private:
  void feed(const Step& step) const {
    const Rows<float> dh = rows<float>(dh_);
    for_rows(step, [&](std::int64_t begin, std::int64_t end) {
      kernels::copy_rows(
          kernels::CopyRows<T, float>{
              .width = H_, .from = rows<T>(output_gradient_), .from_index = step.ragged, .to = dh},
          begin, end);
      if (tape_.input_feeding && begin < step.next) {
        kernels::copy_rows(kernels::CopyRows<T, float>{.width = H_,
                                                       .from = rows<T>(dx_[0]),
                                                       .to = dh,
                                                       .add = true,
                                                       .dropout = row_dropout(tape_.feed_dropout, H_),
                                                       .rows = step.ragged + step.count},
                           begin, std::min(end, step.next));
      }
      kernels::tanh_backward(kernels::TanhBackward<T>{.width = H_,
                                                      .gradient = dh,
                                                      .result = rows<T>(tape_.output),
                                                      .result_index = step.ragged,
                                                      .to = rows<T>(du_, step.first)},
                             begin, end);
    });
  }

  // `combined`: W_cᵀ du.
  void attention(const Step& step, const Tensor& combined, std::int64_t begin, std::int64_t end) const {
    const std::int64_t W = tape_.context_width(), C = W + H_;
    const Rows<float> dh = rows<float>(dh_);
    const Rows<T> context_gradient = rows<T>(context_gradients_, step.first);
    kernels::copy_rows(kernels::CopyRows<T, float>{.width = H_,
                                                   .from = rows<T>(combined).columns(W),
                                                   .to = dh,
                                                   .dropout = row_dropout(tape_.combine_dropout, C, W),
                                                   .rows = step.ragged},
                       begin, end);
    kernels::copy_rows(kernels::CopyRows<T, T>{.width = W,
                                               .from = rows<T>(combined),
                                               .to = context_gradient,
                                               .dropout = row_dropout(tape_.combine_dropout, C),
                                               .rows = step.ragged},
                       begin, end);
    tape_.scores.backward(step, tape_.reading, tape_.weights, score_gradients_, context_gradient, dh, begin, end);
  }

  void cells(const Step& step, std::size_t l, const Tensor& combined) {
    const DecoderLayer& layer = tape_.layers[l];
    const Rows<float> dh = rows<float>(dh_);
    for_rows(step, [&](std::int64_t begin, std::int64_t end) {
      if (l + 1 == tape_.layers.size()) {
        attention(step, combined, begin, end);
      } else {
        kernels::copy_rows(kernels::CopyRows<T, float>{.width = H_,
                                                       .from = rows<T>(dx_[l + 1]),
                                                       .to = dh,
                                                       .dropout = row_dropout(layer.dropout, H_),
                                                       .rows = step.ragged},
                           begin, end);
      }
      if (begin < step.next) {
        kernels::copy_rows(
            kernels::CopyRows<T, float>{
                .width = H_, .from = rows<T>(dx_[l]).columns(layer.input_width), .to = dh, .add = true},
            begin, std::min(end, step.next));
      }
      kernels::cell_backward(kernels::CellBackward<T>{.kind = CellKind::lstm,
                                                      .width = H_,
                                                      .gates = rows<T>(layer.gates, step.first),
                                                      .inner_before = tape_.cells_before(layer, step),
                                                      .inner = rows<float>(layer.cells, step.first),
                                                      .hidden_before = {},
                                                      .hidden_gradient = dh,
                                                      .carried = rows<float>(dc_[l]),
                                                      .gate_gradient = rows<T>(dz_[l], step.first),
                                                      .recurrent_gradient = {}},
                             begin, end);
    });
    dx_[l] = products::linear(block(dz_[l], step.first, step.count), recurrent_[l], {});
  }

  DecoderGradients finish() const {
    const std::int64_t M = tape_.num_rows(), started = tape_.steps.count(0);
    const auto all = [&](const Tensor& packed) { return packed.narrow(0, 0, M); };
    DecoderGradients gradients{
        .embedded =
            products::linear(all(dz_[0]), tape_.weight_embedded.t(), {}).index_select(0, index(tape_.steps.packed)),
        .combine = products::outer(all(du_), all(tape_.combined)),
        .scores =
            tape_.scores.finish(tape_.reading, tape_.weights, score_gradients_, tape_.queries, context_gradients_),
        .layers = {},
        .start = {}};
    const Tensor order = index(tape_.steps.order).narrow(0, 0, started);
    const auto unordered = [&](const Tensor& x) {
      return at::zeros_like(dh_, x.options()).index_copy_(0, order, x.narrow(0, 0, started));
    };
    for (std::size_t l = 0; l < tape_.layers.size(); ++l) {
      const DecoderLayer& layer = tape_.layers[l];
      const Tensor dz = all(dz_[l]), weight = products::outer(dz, all(layer.inputs));
      Tensor weight_ih = weight.narrow(1, 0, layer.input_width);
      if (l == 0) weight_ih = at::cat({products::outer(dz, tape_.embedded), weight_ih}, 1);
      const Tensor weight_hh = weight.narrow(1, layer.input_width, H_), bias = dz.sum(0, false, at::kFloat);
      gradients.layers.insert(gradients.layers.end(), {weight_ih.contiguous(), weight_hh.contiguous(), bias, bias});
      gradients.start.push_back(unordered(dx_[l].narrow(1, layer.input_width, H_)));
      gradients.start.push_back(unordered(dc_[l]));
    }
    return gradients;
  }

  const DecoderTape<Scores>& tape_;
  std::int64_t H_;
  Tensor output_gradient_;
  Tensor combine_;                 // W_cᵀ
  std::vector<Tensor> recurrent_;  // Wᵀ of each layer
  // Packed, of all steps; dz_ of each layer.
  Tensor du_, context_gradients_, score_gradients_;
  std::vector<Tensor> dz_;
  // Of one step: dh in fp32; for each layer dc, and [dx; W_hhᵀ dz], which belongs to the next step until it is
  // overwritten.
  Tensor dh_;
  std::vector<Tensor> dc_, dx_;
};

struct DecoderCall {
  const AttentionDecoder& decoder;
  const AttentionDecoderInput& input;
};

template <class Scores>
class DecoderFunction : public torch::autograd::Function<DecoderFunction<Scores>> {
 public:
  // inputs, for their gradients: embedded, W_c, what the scores read; of each layer the start and the four parameters.
  static Tensor forward(AutogradContext* context, at::TensorList /*inputs*/, const DecoderCall& call,
                        const Scores& scores) {
    auto tape = c10::make_intrusive<Held<std::optional<DecoderTape<Scores>>>>();
    tape->value = make_tape(call.decoder, call.input, scores);
    DecoderForward<Scores>(*tape->value).run();
    const Tensor output = tape->value->output;
    // The tape keeps its own handle, to avoid a reference cycle between output and node.
    tape->value->output = output.detach();
    context->saved_data["tape"] = c10::IValue::make_capsule(tape);
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& output_gradients) {
    const auto capsule = context->saved_data["tape"].toCapsule();
    const auto& tape = *static_cast<Held<std::optional<DecoderTape<Scores>>>&>(*capsule).value;
    const auto found = DecoderBackward<Scores>(tape, defined_or_zeros(output_gradients[0], tape.output)).run();
    variable_list all = {found.embedded, found.combine};
    all.insert(all.end(), found.scores.begin(), found.scores.end());
    for (std::size_t l = 0; l < tape.layers.size(); ++l) {
      all.insert(all.end(), found.start.begin() + 2 * l, found.start.begin() + 2 * l + 2);
      all.insert(all.end(), found.layers.begin() + 4 * l, found.layers.begin() + 4 * l + 4);
    }
    all.resize(all.size() + 2);  // the call and the scores
    return all;
  }
};

}  // namespace

Tensor attention_decoder(const AttentionDecoder& decoder, const AttentionDecoderInput& input) {
  variable_list inputs = {input.embedded_ME, decoder.combine_HC.master(), input.keys_SH, input.values_SW};
  for (std::size_t l = 0; l < decoder.layers.size(); ++l) {
    const CellWeights& cell = decoder.layers[l];
    inputs.insert(inputs.end(), {input.start[l].parts[0], input.start[l].parts[1], cell.weight_ih.master(),
                                 cell.weight_hh.master(), cell.bias_ih, cell.bias_hh});
  }
  return with_type(input.embedded_ME.scalar_type(), [&](auto type) -> Tensor {
    using Scores = DotScores<decltype(type)>;
    const Scores scores{.keys = input.keys_SH.detach().contiguous(), .values = input.values_SW.detach().contiguous()};
    return DecoderFunction<Scores>::apply(at::TensorList(inputs), DecoderCall{decoder, input}, scores);
  });
}

}  // namespace attend::ops::fast
