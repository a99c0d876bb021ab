#include "models/attention/multi_head.hpp"

namespace attend {

using torch::Tensor;

namespace {

// Gives all projections the variance of Xavier's rule for [3H, H], as PyTorch's in_proj_weight and fairseq's gain of
// 1 / sqrt(2).
constexpr double kFusedGain = 0.70710678118654752;

// Makes the maps of one attention.
struct Maker {
  torch::nn::Module& module;
  const BlockOptions& options;
  const AttentionShape& shape;

  Linear map(const char* name, LinearConfig form, double scale = 1) const {
    if (form.in == 0) form.in = shape.width;
    form.bias = options.attention_bias, form.gain *= scale, form.deviation = scale * shape.deviation;
    return module.register_module(name, Linear(form));
  }
  Linear output() const { return map("out_proj", {.in = shape.columns(), .out = shape.width}, shape.output_scale); }
};

class FusedProjections final : public Projections {
 public:
  explicit FusedProjections(const Maker& make)
      : width_(make.shape.columns()),
        in_proj_(make.map("in_proj", {.out = 3 * width_, .fused = 3, .gain = kFusedGain})) {
    out_proj_ = make.output();
  }

  Tensor queries(const Tensor& x_MH) const override { return part(x_MH, 0, width_); }
  Tensor keys_values(const Tensor& x_MH) const override { return part(x_MH, width_, 2 * width_); }
  ops::QueriesKeysValues all(const Tensor& x_MH) const override { return {.first = in_proj_->forward(x_MH)}; }

 private:
  Tensor part(const Tensor& x_MH, std::int64_t first, std::int64_t count) const {
    const Tensor& bias = in_proj_->bias;
    return ops::linear(x_MH, in_proj_->weight.rows(first, count),
                       bias.defined() ? bias.narrow(0, first, count) : Tensor());
  }

  std::int64_t width_;
  Linear in_proj_;
};

class SeparateProjections final : public Projections {
 public:
  explicit SeparateProjections(const Maker& make)
      : q_proj_(make.map("q_proj", {.out = make.shape.columns(), .gain = kFusedGain})),
        kv_proj_(make.map("kv_proj", {.out = 2 * make.shape.columns(), .fused = 2, .gain = kFusedGain})) {
    out_proj_ = make.output();
  }

  Tensor queries(const Tensor& x_MH) const override { return q_proj_->forward(x_MH); }
  Tensor keys_values(const Tensor& x_MH) const override { return kv_proj_->forward(x_MH); }
  ops::QueriesKeysValues all(const Tensor& x_MH) const override { return {queries(x_MH), keys_values(x_MH)}; }

 private:
  Linear q_proj_;
  Linear kv_proj_;
};

// Which maps exist; in place of the others, the columns of x that belong to kept heads.
struct Maps {
  bool queries, keys, values;  // those of values and of the output are alike
  bool shared;                 // keys are the queries
  std::int64_t compared;       // columns of queries and keys, of the last heads; those of the first heads are 0
};

class SomeProjections final : public Projections {
 public:
  SomeProjections(const Maker& make, const Maps& maps)
      : shape_(make.shape),
        shared_(maps.shared),
        q_proj_(maps.queries ? make.map("q_proj", {.out = maps.compared, .gain = kFusedGain}) : nullptr),
        k_proj_(maps.keys && !maps.shared ? make.map("k_proj", {.out = maps.compared, .gain = kFusedGain}) : nullptr),
        v_proj_(maps.values ? make.map("v_proj", {.out = shape_.columns(), .gain = kFusedGain}) : nullptr) {
    if (maps.values) out_proj_ = make.output();
  }

  Tensor queries(const Tensor& x_MH) const override { return mapped(q_proj_, x_MH); }
  Tensor keys_values(const Tensor& x_MH) const override {
    return at::cat({mapped(shared_ ? q_proj_ : k_proj_, x_MH), mapped(v_proj_, x_MH)}, 1);
  }
  ops::QueriesKeysValues all(const Tensor& x_MH) const override {
    const Tensor q_MH = queries(x_MH);
    return {q_MH, shared_ ? q_MH : mapped(k_proj_, x_MH), mapped(v_proj_, x_MH)};
  }

 private:
  Tensor mapped(const Linear& map, const Tensor& x_MH) const {
    if (!map) return of_kept_heads(x_MH);
    const Tensor y = map->forward(x_MH);
    const std::int64_t missing = shape_.columns() - y.size(1);
    return missing == 0 ? y : at::constant_pad_nd(y, {missing, 0});
  }
  Tensor of_kept_heads(const Tensor& x_MH) const {
    if (shape_.count() == shape_.heads) return x_MH;
    const std::int64_t width = shape_.head_width();
    std::vector<Tensor> columns;
    columns.reserve(shape_.kept.size());
    for (const std::int64_t head : shape_.kept) columns.push_back(x_MH.narrow(1, head * width, width));
    return at::cat(columns, 1);
  }

  AttentionShape shape_;
  bool shared_;
  Linear q_proj_, k_proj_, v_proj_;
};

std::unique_ptr<Projections> make_projections(const Maker& make) {
  if (make.shape.place == AttentionPlace::cross) return std::make_unique<SeparateProjections>(make);
  const SelfAttentionRecipe recipe = recipe_of(make.options.self_attention);
  const ProjectionKind kind = make.options.projections;
  const std::int64_t columns = make.shape.columns();
  const bool compares = kind == ProjectionKind::all || kind == ProjectionKind::shared_qk;
  const Maps maps{.queries = compares && recipe.reads_queries,
                  .keys = compares && recipe.reads_keys,
                  .values = kind != ProjectionKind::none,
                  .shared = kind == ProjectionKind::shared_qk && recipe.reads_keys,
                  .compared = columns - recipe.fixed(make.shape.heads) * make.shape.head_width()};
  if (kind == ProjectionKind::all && maps.queries && maps.keys && maps.compared == columns) {
    return std::make_unique<FusedProjections>(make);
  }
  return std::make_unique<SomeProjections>(make, maps);
}

}  // namespace

MultiHeadAttentionImpl::MultiHeadAttentionImpl(const BlockOptions& options, const AttentionShape& shape)
    : projections_(make_projections({*this, options, shape})), heads_(options, shape) {
  heads_.register_in(*this);
  const bool compares = shape.place != AttentionPlace::cross && recipe_of(options.self_attention).reads_keys;
  if (compares && recipe_of(options.positions).turns) rotary_.emplace(*this, shape.head_width());
  if (shape.gates) gates_ = register_module("gates", std::make_shared<LearntGates>(shape.place, shape.count()));
}

Tensor MultiHeadAttentionImpl::output(const Tensor& context_MH, Pass& pass) const {
  return projections_->output(gates_ ? gates_->gated(context_MH, pass) : context_MH);
}

Tensor MultiHeadAttentionImpl::within(const Tensor& x_MH, const Layout& layout, const Selection* selected,
                                      std::int64_t layer, Pass& pass, const TwoStreams* streams,
                                      bool both_sides) const {
  // An observer sees the attention of all tokens.
  const bool alone = selected != nullptr && pass.observer() == nullptr;
  const auto asking = [&](const Tensor& x) { return alone ? selected->of(x) : x; };
  const Layout& queries = alone ? selected->layout : layout;
  const Layout& keys = streams != nullptr ? streams->tokens().layout : layout;
  const auto positions_M = [&] { return keys.on(x_MH.device()).places_M; };
  ops::QueriesKeysValues rows;
  Tensor places_M;  // if only some tokens are queries
  if (alone || streams != nullptr) {
    rows = {projections_->queries(asking(x_MH)),
            projections_->keys_values(streams != nullptr ? streams->tokens().of(x_MH) : x_MH)};
    places_M = asking(streams != nullptr ? streams->places_M : positions_M());
  } else {
    rows = projections_->all(x_MH);
  }
  if (rotary_) {
    const Tensor factors = rotary_->factors(0, keys.max_length);
    const Tensor of_keys = factors.index_select(0, positions_M());
    rows = rotary_->turned(rows, places_M.defined() ? factors.index_select(0, places_M) : of_keys, of_keys);
  }
  TokenRanks ranks;
  if (streams != nullptr) ranks = {asking(streams->ranks.of_queries_M), streams->ranks.of_keys_M};
  const Tensor context = heads_.within(rows, queries, places_M, keys, layer, pass, ranks, both_sides);
  return output(selected != nullptr && !alone ? selected->of(context) : context, pass);
}

Tensor MultiHeadAttentionImpl::step_within(const Tensor& x_RH, KeyValueCache& cache, std::int64_t layer,
                                           Pass& pass) const {
  ops::QueriesKeysValues rows = projections_->all(x_RH);
  std::vector<Tensor>& kv = cache.kv[layer];
  if (rotary_) {
    const Tensor factors = rotary_->factors(std::ssize(kv), 1);
    rows = rotary_->turned(rows, factors, factors);
  }
  kv.push_back(heads_.stored(at::cat({rows.k(), rows.v()}, 1)));
  return output(heads_.to_steps(rows.q(), kv, cache.ancestry, layer, pass), pass);
}

Tensor MultiHeadAttentionImpl::to_memory(const Tensor& x_MH, const Layout& layout, const DecoderMemory& memory,
                                         std::int64_t layer, Pass& pass) const {
  const ops::QueriesKeysValues rows{projections_->queries(x_MH), memory.kv_MC[layer]};
  return output(heads_.within(rows, layout, {}, memory.layout, layer, pass), pass);
}

Tensor MultiHeadAttentionImpl::step_to_memory(const Tensor& x_RH, std::span<const std::int64_t> sentences,
                                              std::int64_t step, const DecoderMemory& memory, std::int64_t layer,
                                              Pass& pass) const {
  const Tensor q_RH = projections_->queries(x_RH);
  return output(heads_.to_memory(q_RH, memory.kv_MC[layer], memory.layout, sentences, step, layer, pass), pass);
}

}  // namespace attend
