#include "analysis/faithfulness.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>
#include <torch/autograd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "analysis/explanations.hpp"
#include "core/error.hpp"
#include "core/number.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/signals.hpp"
#include "data/batch/labelled_batch.hpp"
#include "data/task/task_split.hpp"
#include "data/text/parallel.hpp"
#include "models/attention/head_place.hpp"
#include "models/attention/parts.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/padded.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/device.hpp"
#include "models/run/text_run.hpp"
#include "train/optimiser.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr double kSignificantTau = 0.05;
constexpr std::int64_t kAdversarialTexts = 100;
constexpr std::size_t kMostPiecesOfPair = 100;          // on each side
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
    places.resize(begin + static_cast<std::size_t>(longest));
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
    const auto optimiser =
        make_optimiser(parameters, {.optimiser = OptimiserKind::adam, .beta2 = 0.999, .epsilon = {}, .clip_norm = 0});
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
      optimiser->step(kRate, /*norm=*/0);  // nothing is clipped
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
std::vector<std::string> names_over_heads(bool several) {
  if (!several) return {"attention"};
  return {"attention, mean of the heads", "attention, largest of the heads"};
}

}  // namespace

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
  if (!recipe_of(bert->config().block.self_attention).has_weights()) {
    throw UserError(run + ": its encoder mixes tokens without weights", "give a run of a model with self-attention");
  }
  layer_ = bert->config().layers - 1;
  const BlockConfig& block = bert->config().block;
  heads_ = std::ssize(kept_heads(block.pruned, place_, layer_, block.heads));
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
      rows[static_cast<std::size_t>(together[b] - texts.data())] = probs_BL[static_cast<std::int64_t>(b)];
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
    places.push_back(static_cast<std::int64_t>(i));
    Sample& without = read.emplace_back(text);
    without.ids.erase(without.ids.begin() + static_cast<std::ptrdiff_t>(i));
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

std::vector<TokenImportance> importance_of_source(const Run& run, const PiecePair& pair) {
  std::vector<std::int32_t> source;
  for (const Piece& piece : pair.source_pieces) source.push_back(piece.id);
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
  const Tensor hidden_MH =
      run.model->forward(batch_of(std::vector<std::vector<std::int32_t>>(static_cast<std::size_t>(T), source)), pass);
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

namespace {

class AgreementTally {
 public:
  void add(std::span<const double> a, std::span<const double> b) {
    const RankAgreement found = kendall_tau_b(a, b);
    if (std::isnan(found.tau)) {
      ++undefined_;
      return;
    }
    taus_.push_back(found.tau);
    significant_ += found.p < kSignificantTau ? 1 : 0;
  }
  Agreement agreement() const {
    return {.tau = spread_of(taus_),
            .significant = static_cast<double>(significant_) / static_cast<double>(taus_.size()),
            .measured = std::ssize(taus_),
            .undefined = undefined_};
  }

 private:
  std::vector<double> taus_;
  std::int64_t significant_ = 0, undefined_ = 0;
};

// The agreement of each explanation with both measures of importance, and of these with each other.
class ExplanationTallies {
 public:
  explicit ExplanationTallies(std::vector<std::string> names)
      : names_(std::move(names)), gradient_(names_.size()), leave_one_out_(names_.size()) {}

  void add(const TokenImportance& item) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      gradient_[i].add(item.explanations[i], item.gradient);
      leave_one_out_[i].add(item.explanations[i], item.leave_one_out);
    }
    measures_.add(item.gradient, item.leave_one_out);
    ++items_;
  }

  void write(Faithfulness& result) const {
    result.items = items_;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      result.explanations.push_back(
          {.name = names_[i], .gradient = gradient_[i].agreement(), .leave_one_out = leave_one_out_[i].agreement()});
    }
    result.explanations.push_back({.name = "gradient × input", .leave_one_out = measures_.agreement()});
  }

 private:
  std::vector<std::string> names_;
  std::vector<AgreementTally> gradient_, leave_one_out_;  // parallel to the names
  AgreementTally measures_;
  std::int64_t items_ = 0;
};

WeightPerturbation summary_of(const std::vector<PerturbedText>& texts) {
  const auto spread = [&](auto number) {
    std::vector<double> values;
    for (const PerturbedText& text : texts) {
      if (const std::optional<double> value = text.*number) values.push_back(*value);
    }
    return spread_of(values);
  };
  WeightPerturbation result{.texts = std::ssize(texts),
                            .largest = spread(&PerturbedText::largest),
                            .uniform = spread(&PerturbedText::uniform),
                            .permuted = spread(&PerturbedText::permuted),
                            .adversarial_texts = std::ranges::count_if(
                                texts, [](const PerturbedText& text) { return text.divergence.has_value(); }),
                            .divergence = spread(&PerturbedText::divergence),
                            .change = spread(&PerturbedText::change)};
  for (const double from : {0.0, 0.25, 0.5, 0.75}) {
    LargestWeightBand& band = result.bands.emplace_back(LargestWeightBand{.from = from, .to = from + 0.25});
    std::vector<double> values;
    for (const PerturbedText& text : texts) {
      if (std::min(3.0, std::floor(text.largest * 4)) == from * 4) values.push_back(text.permuted);
    }
    band.texts = std::ssize(values);
    band.permuted = spread_of(values);
  }
  return result;
}

class FaithfulnessMeasurement {
 public:
  explicit FaithfulnessMeasurement(const FaithfulnessConfig& config)
      : config_(config), path_(run_of_best_seed(config.run)), device_(device_named(config.device)) {}

  Faithfulness measure() {
    const RunKind kind = kind_of_run(path_);
    if (kind != RunKind::train && kind != RunKind::finetune) {
      throw UserError(
          fmt::format("{}: a run of attend {}, which predicts neither the class of a text nor a translation",
                      config_.run, command_of(kind)),
          "give a run of attend finetune or attend train; attend heads and attend probe describe others");
    }
    record_making(result_);
    result_.run = config_.run;
    result_.checkpoint = find_weights(path_, config_.checkpoint).string();
    kind == RunKind::train ? measure_translations() : measure_texts();
    return std::move(result_);
  }

 private:
  void measure_texts() {
    const TextRun run = TextRun::load(path_, config_.checkpoint, device_);
    if (run.task.kind != TaskKind::classification) {
      throw UserError(fmt::format("{}: its task is of kind {}, which has no single distribution of classes for a text",
                                  config_.run, name_of(run.task.kind)),
                      "give a run of a classification");
    }
    if (config_.data.empty()) {
      throw UserError("--data is missing: " + config_.run + " classifies texts",
                      "give a file of labelled texts, --data FILE");
    }
    const ExplainedClassifier classifier(*run.model, run.options, run.tokenizer.special(), config_.run);
    TaskSplit split = read_split(config_.data, run.task, run.tokenizer, run.samples, Labelled::yes);
    std::vector<Sample>& texts = split.samples;  // one for each text
    texts.resize(std::min(texts.size(), static_cast<std::size_t>(config_.sentences)));
    result_.left_out = std::erase_if(texts, [&](const Sample& text) { return !has_tokens(text, run.tokenizer); });
    if (texts.empty()) throw UserError(config_.data + ": no text with a token", "give labelled texts");
    result_.attention = classifier.attention();
    result_.data = config_.data;
    result_.item = "text";
    result_.texts = std::ssize(texts);

    WorkProgress progress({.unit = "texts", .total = 2 * result_.texts});
    ExplanationTallies tallies(classifier.names());
    for (const Sample& text : texts) {
      stop_if_requested();
      tallies.add(classifier.importance(text));
      progress.add();
    }
    tallies.write(result_);

    for (Tensor& parameter : run.model->parameters()) parameter.set_requires_grad(false);
    const auto seed = static_cast<std::uint64_t>(config_.seed);
    const std::size_t num_adversarial = std::min(texts.size(), static_cast<std::size_t>(kAdversarialTexts));
    const std::vector<Sample> first(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(num_adversarial)),
        others(texts.begin() + static_cast<std::ptrdiff_t>(num_adversarial), texts.end());
    std::vector<PerturbedText> perturbed;
    for (const std::vector<Sample>* some : {&first, &others}) {
      for (const std::vector<const Sample*>& together : batches_by_length(*some)) {
        stop_if_requested();
        std::ranges::copy(classifier.perturb(together, seed, some == &first), std::back_inserter(perturbed));
        progress.add(std::ssize(together));
      }
    }
    progress.clear();
    result_.weights = summary_of(perturbed);
  }

  void measure_translations() {
    const Run run = Run::load(path_, config_.checkpoint, device_);
    if (config_.test.empty()) {
      throw UserError("--test is missing: " + config_.run + " translates",
                      "give sentences and their translations, --test SOURCE TARGET");
    }
    if (run.tokenizers.factors.count() > 0) {
      throw UserError(config_.run + ": it reads source factors", "give a run without --source-factors");
    }
    if (num_cross_layers(run) == 0) {
      throw UserError(config_.run + ": its decoder has no attention to the source", "give a run with attention");
    }
    std::optional<ExplanationTallies> tallies;
    WorkProgress progress({.unit = "pairs"});
    const std::size_t most = std::min(kMostPiecesOfPair, most_source_pieces(*run.model));
    std::int64_t read = 0;
    ParallelReader reader(config_.test[0], config_.test[1]);
    for (TextPair lines; read < config_.sentences && reader.next(lines); ++read) {
      stop_if_requested();
      const PiecePair pair = pair_in_pieces(run.tokenizers, lines.src, lines.tgt);
      progress.add();
      if (pair.source_pieces.empty() || pair.source_pieces.size() > most ||
          pair.target_ids.size() > kMostPiecesOfPair) {
        ++result_.left_out;
        continue;
      }
      for (const TokenImportance& position : importance_of_source(run, pair)) {
        if (!tallies) tallies.emplace(names_over_heads(position.explanations.size() > 1));
        tallies->add(position);
      }
    }
    progress.clear();
    result_.texts = read - result_.left_out;
    if (!tallies) {
      throw UserError(fmt::format("{} and {}: no pair of lines with text of at most {} pieces", config_.test[0],
                                  config_.test[1], most),
                      "give sentences and their translations");
    }
    tallies->write(result_);
    result_.attention = "cross-attention of the last layer";
    result_.data = config_.test[0] + " and " + config_.test[1];
    result_.item = "target position";
  }

  static bool has_tokens(const Sample& text, const Tokenizer& tokenizer) {
    return std::ranges::any_of(
        text.ids, [&](std::int32_t id) { return id != tokenizer.special().cls && id != tokenizer.special().sep; });
  }

  const FaithfulnessConfig& config_;
  std::filesystem::path path_;
  torch::Device device_;
  Faithfulness result_;
};

}  // namespace

Faithfulness measure_faithfulness(const FaithfulnessConfig& config) {
  return FaithfulnessMeasurement(config).measure();
}

}  // namespace attend
