#include "analysis/token_importance.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>
#include <torch/autograd.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "analysis/explanations.hpp"
#include "analysis/report/faithfulness_sections.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "data/batch/batch.hpp"
#include "models/attention/parts.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/ops.hpp"
#include "train/optimiser.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr std::int64_t kProbabilitiesAtOnce = 1 << 25;  // of next pieces

void stop_if_requested() { signals::throw_if_stopped("the measurement of faithfulness was interrupted"); }

// The attention at one place, and the embedded input as a node of the graph.
class ExplanationObserver final : public Observer {
 public:
  explicit ExplanationObserver(AttentionPlace place) : place_(place) {}
  void on_attention(AttentionPlace /*place*/, std::int64_t /*layer*/, const Tensor& weights_BNTS) override {
    layers.push_back(weights_BNTS.detach().cpu());
  }
  bool wants_attention(AttentionPlace place, std::int64_t /*layer*/) const override { return place == place_; }
  void on_hidden(AttentionPlace /*place*/, std::int64_t /*layer*/, const Tensor& x_MH) override {
    if (!embedded_MH.defined()) embedded_MH = x_MH;  // the encoder's comes first
  }

  std::vector<Tensor> layers;  // [B, N, T, S]
  Tensor embedded_MH;

 private:
  AttentionPlace place_;
};

// Replaces the weights of each sentence's first query by [B, N, S].
class FirstQueryWeights final : public AttentionEdit {
 public:
  FirstQueryWeights(AttentionPlace place, std::int64_t layer, Tensor weights_BNS)
      : place_(place), layer_(layer), weights_BNS_(std::move(weights_BNS)) {}
  bool edits(AttentionPlace place, std::int64_t layer) const override { return place == place_ && layer == layer_; }
  Tensor edit(AttentionPlace /*place*/, std::int64_t /*layer*/, const Tensor& weights_BNTS,
              const Places& /*places*/) const override {
    return at::cat({weights_BNS_.unsqueeze(2), weights_BNTS.slice(2, 1)}, 2);
  }

 private:
  AttentionPlace place_;
  std::int64_t layer_;
  Tensor weights_BNS_;
};

// |Σ_h gradient · input| of every token, [M].
Tensor gradient_times_input(const Tensor& log_probability, const Tensor& embedded_MH) {
  ensure(embedded_MH.defined() && embedded_MH.requires_grad(), "an input that gradients reach");
  const Tensor gradient_MH = torch::autograd::grad({log_probability}, {embedded_MH})[0];
  return (gradient_MH * embedded_MH.detach()).sum(1).abs().cpu();
}

// Over the last axis.
Tensor total_variation(const Tensor& p, const Tensor& q) { return (p - q).abs().sum(-1) / 2; }

// Jensen-Shannon divergence in nats, over the last axis. Its gradient is finite at 0.
Tensor jensen_shannon(const Tensor& p, const Tensor& q) {
  const auto entropy = [](const Tensor& x) { return -(x * x.clamp_min(1e-20).log()).sum(-1); };
  return entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2;
}

// A random order of the tokens of each text, [B, S]; padding stays in place.
Tensor permutations(std::span<const Sample* const> texts, std::int64_t longest, std::uint64_t seed, int number) {
  std::vector<std::int64_t> places;
  for (const Sample* text : texts) {
    const std::size_t begin = places.size();
    places.resize(begin + longest);
    const std::span<std::int64_t> own = std::span(places).subspan(begin);
    std::iota(own.begin(), own.end(), 0);
    std::span<std::int64_t> tokens = own.first(text->ids.size());
    RandomStream random(combine_keys(seed, text->example, number));
    shuffle(tokens, random);
  }
  return at::tensor(places, at::kLong).view({-1, longest});
}

// Adversarial weights (arXiv 1902.10186, section 4.2.2): as far from `weights_BNS` as possible, by the Jensen-Shannon
// divergence averaged over heads, while `change_of` is at most kAdversarialChange. Gradient ascent on the divergence,
// with a penalty for the excess, from several random starts. Both are 0 if none are found.
struct AdversarialWeights {
  Tensor divergence_B, change_B;
};
AdversarialWeights find_adversarial(const Tensor& weights_BNS, const Tensor& padding_BS, std::uint64_t seed,
                                    const std::function<Tensor(const Tensor& weights_BNS)>& change_of) {
  constexpr int kStarts = 3, kSteps = 60;
  constexpr double kRate = 0.2, kNoise = 2, kPenalty = 500;
  const Tensor zeros_B = at::zeros({weights_BNS.size(0)}, weights_BNS.options());
  AdversarialWeights best{zeros_B.clone(), zeros_B.clone()};
  const at::AutoGradMode with_gradients(true);
  for (int start = 0; start < kStarts; ++start) {
    RandomStream random(combine_keys(seed, start));
    Tensor noise_BNS = at::empty(weights_BNS.sizes(), at::kFloat);
    fill_normal(noise_BNS, kNoise, random);
    torch::nn::Module parameters;
    const Tensor energies_BNS = parameters.register_parameter(
        "energies", weights_BNS.clamp_min(1e-6).log() + noise_BNS.to(weights_BNS.device()));
    Optimiser optimiser(parameters, {.beta2 = 0.999, .epsilon = {}, .clip_norm = 0});
    for (int step = 0; step < kSteps; ++step) {
      stop_if_requested();
      const Tensor other_BNS = ops::masked_softmax(energies_BNS, padding_BS.unsqueeze(1));
      const Tensor divergence_B = jensen_shannon(weights_BNS, other_BNS).mean(1), change_B = change_of(other_BNS);
      const Tensor is_better_B =
          change_B.le(kAdversarialChange).logical_and(divergence_B.gt(best.divergence_B)).detach();
      best.divergence_B = at::where(is_better_B, divergence_B.detach(), best.divergence_B);
      best.change_B = at::where(is_better_B, change_B.detach(), best.change_B);
      const Tensor loss = (kPenalty * at::relu(change_B - kAdversarialChange) - divergence_B).sum();
      energies_BNS.mutable_grad() = torch::autograd::grad({loss}, {energies_BNS})[0];
      optimiser.step(kRate, /*norm=*/0);  // nothing is clipped
    }
  }
  return best;
}

// The mean over heads and, if there are several, the maximum, in the order of names_over_heads().
std::vector<Tensor> over_heads(const Tensor& weights_NS) {
  std::vector<Tensor> result = {weights_NS.mean(0)};
  if (weights_NS.size(0) > 1) result.push_back(weights_NS.amax(0));
  return result;
}

}  // namespace

std::vector<std::string> names_over_heads(bool several) {
  if (!several) return {"attention"};
  return {"attention, mean of the heads", "attention, largest of the heads"};
}

ExplainedClassifier::ExplainedClassifier(const TextModelImpl& model, const TextModelOptions& options,
                                         const SpecialIds& special, const std::string& run)
    : model_(model), special_(special) {
  const Pooling pooling = options.pooling_of_run();
  if (pooling == Pooling::attention) {
    place_ = AttentionPlace::cross;
    return;
  }
  const Bert bert = model.encoder().bert();
  if (bert.is_empty() || pooling != Pooling::cls) {
    throw UserError(
        fmt::format("{}: its --pooling is {}: no query of attention stands for the prediction", run, name_of(pooling)),
        "give a run with --pooling attention, or of a BERT with --pooling cls");
  }
  if (!recipe_of(bert->options().block.self_attention).has_weights()) {
    throw UserError(run + ": its encoder mixes tokens without weights", "give a run of a model with self-attention");
  }
  layer_ = *bert->options().layers - 1;
  heads_ = std::ssize(bert->options().block.kept(place_, layer_));
}

std::string ExplainedClassifier::attention() const {
  if (pools_by_attention()) return "a learnt query that pools the text";
  return fmt::format("[CLS] in the last of {}, {} each", counted(layer_ + 1, "layer"), counted(heads_, "head"));
}

std::vector<std::string> ExplainedClassifier::names() const {
  std::vector<std::string> names = names_over_heads(heads_ > 1);
  if (!pools_by_attention()) names.insert(names.end(), {"rollout", "flow"});
  return names;
}

Tensor ExplainedClassifier::probabilities(const std::vector<Sample>& texts) const {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> rows(texts.size());
  for (const std::vector<const Sample*>& together : batches_by_length(texts)) {
    stop_if_requested();
    const LabelledBatch batch = on_device(make_labelled_batch(together), model_.parameters().front().device());
    Pass pass = Pass::inference();
    const Tensor probs_BL = model_.head().predict(model_.logits(batch, pass)).cpu();
    for (std::size_t b = 0; b < together.size(); ++b) {
      rows[together[b] - texts.data()] = probs_BL[static_cast<std::int64_t>(b)];
    }
  }
  return at::stack(rows);
}

TokenImportance ExplainedClassifier::importance(const Sample& text) const {
  const Sample* const alone = &text;
  const LabelledBatch batch = on_device(make_labelled_batch({&alone, 1}), model_.parameters().front().device());
  ExplanationObserver observer(place_);
  Pass pass = Pass::inference(&observer);
  const Tensor log_probs_L = at::log_softmax(model_.logits(batch, pass), 1)[0];

  std::vector<std::int64_t> places;   // of the tokens that are not special
  std::vector<Sample> read = {text};  // the whole text, and the text without each of these tokens
  for (std::size_t i = 0; i < text.ids.size(); ++i) {
    if (text.ids[i] == special_.cls || text.ids[i] == special_.sep) continue;
    places.push_back(i);
    Sample& without = read.emplace_back(text);
    without.ids.erase(without.ids.begin() + i);
    if (i < text.first) --without.first;
  }
  const auto of_tokens = [&](const Tensor& numbers_S) {
    return ops::to_doubles(numbers_S.index_select(0, at::tensor(places, at::kLong)));
  };
  TokenImportance result;
  std::vector<Tensor> explanations_S = over_heads(observer.layers.back()[0].select(1, 0));
  if (!pools_by_attention()) {
    std::vector<Tensor> layers_TT;
    for (const Tensor& weights_BNTS : observer.layers) layers_TT.push_back(weights_BNTS[0].mean(0));
    explanations_S.push_back(attention_rollout(layers_TT)[0]);
    explanations_S.push_back(at::tensor(attention_flow(layers_TT, 0), at::kDouble));
  }
  for (const Tensor& explanation_S : explanations_S) result.explanations.push_back(of_tokens(explanation_S));
  result.gradient = of_tokens(gradient_times_input(log_probs_L.max(), observer.embedded_MH));
  const Tensor probs_KL = probabilities(read);
  result.leave_one_out = ops::to_doubles(total_variation(probs_KL.slice(0, 1), probs_KL[0]));
  return result;
}

std::vector<PerturbedText> ExplainedClassifier::perturb(std::span<const Sample* const> texts, std::uint64_t seed,
                                                        bool adversarial) const {
  const torch::NoGradGuard no_grad;
  const torch::Device device = model_.parameters().front().device();
  const LabelledBatch batch = on_device(make_labelled_batch(texts), device);
  ExplanationObserver observer(place_);
  Pass observed = Pass::inference(&observer);
  const Tensor probs_BL = model_.head().predict(model_.logits(batch, observed));
  const Tensor weights_BNS = observer.layers.back().select(2, 0).to(device);

  // The weights of a pooling leave the encoder unchanged.
  Encoded encoded;
  if (pools_by_attention()) {
    Pass pass = Pass::inference();
    encoded = model_.encoder().forward(batch.input, pass, model_.head().selected(batch));
  }
  const auto change_of = [&](const Tensor& other_BNS) {
    const FirstQueryWeights edit(place_, layer_, other_BNS);
    Pass pass = Pass::inference();
    pass.edit_attention(edit);
    const Tensor logits_BL =
        pools_by_attention() ? model_.head().logits(encoded, batch.input, pass) : model_.logits(batch, pass);
    return total_variation(model_.head().predict(logits_BL), probs_BL);
  };
  const LayoutTensors& layout = batch.input.tokens.layout.on(device);
  const Tensor is_token_B1S = layout.padding_BT.logical_not().to(at::kFloat).unsqueeze(1);
  const Tensor uniform_BNS = (is_token_B1S / is_token_B1S.sum(2, true)).expand_as(weights_BNS);
  std::vector<Tensor> permuted_B;
  for (int number = 0; number < kPermutations; ++number) {
    stop_if_requested();
    const Tensor places_BS = permutations(texts, weights_BNS.size(2), seed, number).to(device);
    permuted_B.push_back(change_of(weights_BNS.gather(2, places_BS.unsqueeze(1).expand_as(weights_BNS))));
  }
  const std::vector<double> largest = ops::to_doubles(weights_BNS.mean(1).amax(1)),
                            uniform = ops::to_doubles(change_of(uniform_BNS)),
                            permuted = ops::to_doubles(at::quantile(at::stack(permuted_B), 0.5, 0));
  std::vector<PerturbedText> result;
  for (std::size_t b = 0; b < texts.size(); ++b) {
    result.push_back({.largest = largest[b], .uniform = uniform[b], .permuted = permuted[b]});
  }
  if (!adversarial) return result;
  const AdversarialWeights found =
      find_adversarial(weights_BNS, layout.padding_BT, combine_keys(seed, texts.front()->example), change_of);
  const std::vector<double> divergence = ops::to_doubles(found.divergence_B), change = ops::to_doubles(found.change_B);
  for (std::size_t b = 0; b < texts.size(); ++b) {
    result[b].divergence = divergence[b];
    result[b].change = change[b];
  }
  return result;
}

std::vector<TokenImportance> importance_of_source(const TranslationRun& run, const PiecePair& pair) {
  const std::vector<std::int32_t> source = ids_of(pair.source_pieces);
  const std::int64_t S = std::ssize(source), T = std::ssize(pair.target_ids) + 1;
  // The same target after each of these sources.
  const auto batch_of = [&](const std::vector<std::vector<std::int32_t>>& sources) {
    const IdSpans src(sources.begin(), sources.end()), tgt(sources.size(), pair.target_ids);
    return on_device(batch_of_pairs(src, tgt, batch_ids(run.tokenizers)), run.model->device());
  };
  const auto log_probs_of = [&](const Tensor& hidden_KH) {
    const Tensor bias_V = run.model->output_bias();
    const Tensor logits_KV = at::matmul(hidden_KH.to(at::kFloat), run.model->output_table().master().t());
    return at::log_softmax(bias_V.defined() ? logits_KV + bias_V : logits_KV, 1);
  };

  // Position t is predicted in copy t, so that its gradient is separate from the others.
  ExplanationObserver observer(AttentionPlace::cross);
  Pass pass = Pass::inference(&observer);
  const Tensor hidden_MH = run.model->forward(batch_of(std::vector<std::vector<std::int32_t>>(T, source)), pass);
  const Tensor rows_T = at::arange(T, at::kLong).mul_(T + 1).to(hidden_MH.device());
  const Tensor log_probs_TV = log_probs_of(hidden_MH.index_select(0, rows_T));
  ensure(!observer.layers.empty(), "the decoder attends to the source");
  const Tensor weights_NTS = observer.layers.back()[0].narrow(2, 0, S);
  const Tensor gradient_TS =
      gradient_times_input(log_probs_TV.amax(1).sum(), observer.embedded_MH).view({T, S + 1}).narrow(1, 0, S);

  const torch::NoGradGuard no_grad;
  const Tensor probs_TV = log_probs_TV.detach().exp();
  const std::int64_t at_once = std::clamp<std::int64_t>(kProbabilitiesAtOnce / probs_TV.numel(), 1, S);
  std::vector<Tensor> changes;
  for (std::int64_t first = 0; first < S; first += at_once) {
    std::vector<std::vector<std::int32_t>> sources;
    for (std::int64_t s = first; s < std::min(S, first + at_once); ++s) {
      sources.emplace_back(source).erase(sources.back().begin() + s);
    }
    Pass without = Pass::inference();
    const Tensor hidden = run.model->forward(batch_of(sources), without);
    changes.push_back(total_variation(log_probs_of(hidden).exp().view({-1, T, probs_TV.size(1)}), probs_TV));
  }
  const Tensor changes_ST = at::cat(changes);

  std::vector<TokenImportance> result;
  for (std::int64_t t = 0; t < T; ++t) {
    TokenImportance& position = result.emplace_back();
    for (const Tensor& weights_S : over_heads(weights_NTS.select(1, t))) {
      position.explanations.push_back(ops::to_doubles(weights_S));
    }
    position.gradient = ops::to_doubles(gradient_TS[t]);
    position.leave_one_out = ops::to_doubles(changes_ST.select(1, t));
  }
  return result;
}

}  // namespace attend
