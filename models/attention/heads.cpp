#include "models/attention/heads.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "models/attention/scopes.hpp"
#include "models/attention/weights.hpp"
#include "models/ops/dispatch.hpp"

namespace attend {

using torch::Tensor;

namespace {

std::shared_ptr<Scope> scope_of(const BlockOptions& options, const AttentionShape& shape) {
  std::shared_ptr<Scope> scope = std::make_shared<GlobalScope>();
  if (shape.place == AttentionPlace::cross) return scope;
  if (shape.causal()) scope = std::make_shared<CausalScope>();
  if (options.self_window > 0) scope = std::make_shared<SelfWindowScope>(std::move(scope), options.self_window);
  return recipe_of(options.positions).around(scope, shape);
}

std::shared_ptr<Score> score_of(const BlockOptions& options, const AttentionShape& shape) {
  const std::int64_t width = shape.head_width();
  const ScoreWidths widths{.heads = shape.count(),
                           .query_width = width,
                           .memory_width = width,
                           .longest = shape.longest,
                           .deviation = shape.score_deviation};
  if (shape.place == AttentionPlace::cross) return recipe_of(options.score).make(widths);
  return recipe_of(options.self_attention).make(widths, options.score);
}

// Expresses the causal mask as biases by distance, for queries that are only some of their sentence's tokens.
void mask_by_distance(ops::HeadsForm& form) {
  const Tensor ahead_1D = at::arange(1 - form.longest, form.longest, at::kLong).gt(0).unsqueeze(0);
  form.add_biases(at::zeros(ahead_1D.sizes()).masked_fill_(ahead_1D, -std::numeric_limits<float>::infinity()));
  form.causal = false;
}

// Vectors [B, N, T, D] as rows [M, H] in the layout of the queries, or [R, H] if each row has one.
Tensor rows_of(const Tensor& x_BNTD, const Layout* queries) {
  const Tensor x_BTH = x_BNTD.transpose(1, 2).flatten(2);
  return queries == nullptr ? x_BTH.squeeze(1) : ops::unpad(x_BTH, *queries);
}

}  // namespace

Heads::Heads(const BlockOptions& options, const AttentionShape& shape)
    : shape_(shape),
      dropout_(options.attention_dropout),
      score_(score_of(options, shape)),
      scope_(scope_of(options, shape)) {
  ensure(shape.width % shape.heads == 0, "heads divide the width");
}

void Heads::register_in(torch::nn::Module& model) const {
  model.register_module("score", score_);
  model.register_module("scope", scope_);
}

Tensor Heads::attend(const Tensor& q, std::int64_t layer, Pass& pass, ops::HeadsForm form, const FusedOp& fused,
                     const std::function<Padded()>& pad) const {
  const bool observed = pass.observes_attention(shape_.place, layer), edited = pass.edits(shape_.place, layer);
  const std::optional<ops::HeadEnergy> energy = score_->head_energy();
  form.heads = shape_.count();
  form.dropout = pass.dropout(dropout_);
  form.energy = energy.value_or(ops::HeadEnergy{});
  form.longest = std::max<std::int64_t>(1, form.longest);
  Tensor context_MH;
  if (fused && energy && !edited && scope_->describe_heads(form)) {
    context_MH = fused(form);
    if (context_MH.defined()) context_MH = context_MH.to(q.scalar_type());
    if (context_MH.defined() && !observed) return context_MH;
  }

  const auto [q_BNTD, keys_BNSA, v_BNSD, places, layout] = pad();
  const bool all_attend_to_all = scope_->is_global() && !places.hidden_TS.defined();
  if (all_attend_to_all && form.dropout.rate == 0 && !observed && !edited) {
    const auto context_BNTD = score_->context(q_BNTD, keys_BNSA, v_BNSD, places.padding_1S);
    if (context_BNTD) return rows_of(*context_BNTD, layout).to(q.scalar_type());
  }
  const Window window = scope_->window(q_BNTD, places);
  Tensor weights_BNTS = window.scaled(window.softmax(score_->energies(q_BNTD, keys_BNSA, places)));
  weights_BNTS = pass.edited(shape_.place, layer, weights_BNTS, places);
  if (layout != nullptr) {
    weights_BNTS = weights_BNTS.masked_fill(layout->on(q.device()).padding_BT.unsqueeze(1).unsqueeze(3), 0);
  }
  if (observed) {
    pass.observer()->on_attention(shape_.place, layer, weights_BNTS);
    if (pass.observer()->wants_operands()) {
      pass.observer()->on_operands(shape_.place, layer, {score_, scope_, q_BNTD, keys_BNSA, v_BNSD, places});
    }
  }
  if (context_MH.defined()) return context_MH;
  const Tensor context_BNTD = scope_->context(ops::dropout(weights_BNTS, form.dropout), v_BNSD, places);
  return rows_of(context_BNTD, layout).to(q.scalar_type());
}

Tensor Heads::split(const Tensor& x_BTH) const {
  return x_BTH.to(at::kFloat).unflatten(2, {shape_.count(), -1}).transpose(1, 2);
}

Tensor Heads::prepared(const Tensor& stored_BSC) const {
  const Tensor keys = split(stored_BSC);
  return score_->keeps_prepared_keys() ? keys : score_->prepare(keys);
}

Tensor Heads::stored(const Tensor& kv_MC) const {
  if (!score_->keeps_prepared_keys()) return kv_MC;
  const std::vector<Tensor> k_v = kv_MC.chunk(2, 1);
  const auto prepare = [&](const Tensor& keys_NMD) { return score_->prepare(keys_NMD); };
  return at::cat({by_heads(k_v[0], shape_.count(), prepare), k_v[1].to(at::kFloat)}, 1);
}

Heads::Padded Heads::of_single_queries(const ops::QueriesKeysValues& rows, Places places) const {
  return {.q_BNTD = split(rows.first.unsqueeze(1)),
          .keys_BNSA = prepared(rows.k()),
          .v_BNSD = split(rows.v()),
          .places = std::move(places)};
}

Tensor Heads::within(const ops::QueriesKeysValues& rows, const Layout& queries, const Tensor& places_M,
                     const Layout& keys, std::int64_t layer, Pass& pass, const TokenRanks& ranks,
                     bool both_sides) const {
  const bool ranked = ranks.of_keys_M.defined();
  const FusedOp fused = [&](ops::HeadsForm form) {
    form.numbers_M = places_M;
    form.causal = form.causal && !both_sides;
    if (form.causal && places_M.defined()) mask_by_distance(form);
    const Tensor q_MH = rows.q(), asked_MH = score_->fused_queries(q_MH);
    return ops::fused_attention(asked_MH.is_same(q_MH) ? rows : rows.with_queries(asked_MH), queries, keys, form);
  };
  const auto hidden_B1TS = [&] {
    const Tensor own_B1T1 = ops::pad(ranks.of_queries_M, queries).unsqueeze(1).unsqueeze(3);
    return ops::pad(ranks.of_keys_M, keys).unsqueeze(1).unsqueeze(1).gt(own_B1T1);
  };
  const auto pad = [&]() -> Padded {
    const auto padded = [&](const Tensor& x_MH, const Layout& layout) { return split(ops::pad(x_MH, layout)); };
    const Tensor k_BSC = ops::pad(rows.k(), keys);
    const bool to_memory = shape_.place == AttentionPlace::cross;
    return {
        .q_BNTD = padded(rows.q(), queries),
        .keys_BNSA = to_memory ? prepared(k_BSC) : score_->prepare(split(k_BSC)),
        .v_BNSD = padded(rows.v(), keys),
        .places = {.padding_1S = keys.on(rows.first.device()).padding_BT.unsqueeze(1).unsqueeze(1),
                   .chosen_T1 = places_M.defined() ? ops::pad(places_M, queries).unsqueeze(1).unsqueeze(3) : Tensor(),
                   .hidden_TS = ranked ? hidden_B1TS() : Tensor(),
                   .both_sides = both_sides},
        .layout = &queries};
  };
  const bool served = ops::has_fast_path(rows.first) || (ops::has_gpu_path(rows.first) && !places_M.defined());
  const bool plain = ranked || score_->keeps_prepared_keys() || !served;
  return attend(rows.first, layer, pass, {.longest = keys.max_length}, plain ? FusedOp() : fused, pad);
}

Tensor Heads::to_steps(const Tensor& q_RH, std::span<const Tensor> kv, const ops::Ancestry& ancestry,
                       std::int64_t layer, Pass& pass) const {
  ensure(!kv.empty() && kv.size() == ancestry.size(), "an ancestry for every step");
  const auto fused = [&](const ops::HeadsForm& form) {
    return ops::fused_attention_to_steps(score_->fused_queries(q_RH), kv, ancestry, form);
  };
  const auto pad = [&]() -> Padded {
    std::vector<std::int64_t> own;  // the rows of all steps, one after another
    std::int64_t first = 0;
    for (std::size_t t = 0; t < kv.size(); ++t) {
      for (const std::int64_t row : ancestry[t]) own.push_back(first + row);
      first += kv[t].size(0);
    }
    const std::int64_t steps = std::ssize(kv);
    const Tensor own_TRC = at::cat(at::TensorList(kv.data(), kv.size())).index_select(0, ops::to_tensor(own, q_RH));
    return of_single_queries(
        {q_RH, own_TRC.unflatten(0, {steps, -1}).transpose(0, 1).contiguous()},
        {.padding_1S = at::zeros({1, 1, 1, steps}, q_RH.options().dtype(at::kBool)), .first = steps - 1});
  };
  return attend(q_RH, layer, pass, {.longest = std::ssize(kv), .newest_RH = q_RH},
                ops::has_fast_path(q_RH) ? FusedOp(fused) : FusedOp(), pad);
}

Tensor Heads::to_memory(const Tensor& q_RH, const Tensor& kv_MC, const Layout& memory,
                        std::span<const std::int64_t> sentences, std::int64_t step, std::int64_t layer,
                        Pass& pass) const {
  ensure(q_RH.size(0) == std::ssize(sentences), "a sentence for every row");
  const auto fused = [&](const ops::HeadsForm& form) {
    return ops::fused_attention_to_memory(score_->fused_queries(q_RH), kv_MC, memory, sentences, form);
  };
  const auto pad = [&]() -> Padded {
    const Tensor sentences_R = ops::to_tensor(sentences, kv_MC);
    const Tensor padding_RS = memory.on(kv_MC.device()).padding_BT.index_select(0, sentences_R);
    return of_single_queries({q_RH, ops::pad(kv_MC, memory).index_select(0, sentences_R)},
                             {.padding_1S = padding_RS.unsqueeze(1).unsqueeze(1), .first = step});
  };
  return attend(q_RH, layer, pass, {.longest = memory.max_length},
                ops::has_fast_path(q_RH) ? FusedOp(fused) : FusedOp(), pad);
}

}  // namespace attend
