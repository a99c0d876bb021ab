#include "analysis/silencing.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <spdlog/fmt/fmt.h>
#include <torch/autograd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/log.hpp"
#include "data/batch/batch.hpp"
#include "eval/forced_decoding.hpp"
#include "models/attention/edits.hpp"

namespace attend {
namespace {

constexpr std::uint64_t kMaskingSeed = 1;

// Multiplies the heads of every layer by gates of 1, whose gradients are taken.
class DifferentiatedGates final : public AttentionEdit {
 public:
  bool edits(AttentionPlace /*place*/, std::int64_t /*layer*/) const override { return true; }
  at::Tensor edit(AttentionPlace place, std::int64_t layer, const at::Tensor& weights_BNTS,
                  const Places& /*places*/) const override {
    const at::Tensor gates_N = at::ones({weights_BNTS.size(1)}, weights_BNTS.options().requires_grad(false));
    gates.push_back(gates_N.requires_grad_());
    places.emplace_back(place, layer);
    return weights_BNTS * gates_N.view({-1, 1, 1});
  }

  mutable std::vector<at::Tensor> gates;  // [N], in the order of the pass
  mutable std::vector<std::pair<AttentionPlace, std::int64_t>> places;
};

}  // namespace

std::vector<HeadGradient> head_gradients(const std::function<void(const ScoreConfig&)>& score, ScoreConfig config) {
  std::map<std::size_t, std::map<HeadPlace, double>> gradients;  // of each text, the sum over its windows
  std::mutex mutex;
  config.differentiate = [&](std::size_t text, const LossOfText& loss) {
    const DifferentiatedGates edit;
    Pass pass = Pass::inference();
    pass.edit_attention(edit);
    const at::Tensor value = loss(pass);
    if (edit.gates.empty()) return;
    const std::vector<at::Tensor> found = torch::autograd::grad({value}, edit.gates);
    const std::scoped_lock lock(mutex);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto& [place, layer] = edit.places[i];
      const at::Tensor of_heads = found[i].to(at::kDouble).cpu();
      for (std::int64_t head = 0; head < of_heads.size(0); ++head) {
        gradients[text][{place, layer, head}] += of_heads[head].item<double>();
      }
    }
  };
  score(config);
  std::map<HeadPlace, double> sums;
  for (const auto& [text, of_heads] : gradients) {
    for (const auto& [head, gradient] : of_heads) sums[head] += std::abs(gradient);
  }
  std::vector<HeadGradient> result;
  for (const auto& [head, sum] : sums) result.push_back({head, sum});
  return result;
}

Silencing silence_heads(const std::string& of, std::span<const HeadGradient> heads, const LossesOfSentences& losses) {
  constexpr std::int64_t kSteps = 10;
  constexpr std::array kAll = {AttentionPlace::encoder, AttentionPlace::decoder, AttentionPlace::cross};
  WorkProgress progress({.unit = "passes", .total = std::ssize(heads) + 1 + kSteps});
  const auto pass = [&](const AttentionEdit& edit) {
    metrics::Rows rows = rows_of(losses(edit));
    progress.add();
    return rows;
  };
  const metrics::Rows whole = pass(CutWeights(0));  // edits nothing
  if (whole.size() == 0) {
    throw UserError(of + ": there are none in the sentences that are read", "raise --sentences, or give others");
  }
  Silencing result{.of = of,
                   .sentences = static_cast<std::int64_t>(whole.size()),
                   .pieces = static_cast<std::int64_t>(whole.sum()[1]),
                   .loss = whole.value()};
  PairedChanges changes(whole, heads.size());
  for (const auto& [head, sum] : heads) changes.add(pass(SilencedHeads({&head, 1})));
  const std::vector<TestedChange> tested = changes.tested();
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const auto& [head, sum] = heads[h];
    result.heads.push_back(
        {tested[h], std::string(name_of(head.place)), head.layer, head.head, sum / static_cast<double>(result.pieces)});
  }
  PairedChanges curve(whole, kSteps);
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    const std::vector<HeadPlace> silent = heads_to_prune(result, static_cast<double>(step) / kSteps, kAll);
    const std::int64_t before = result.pruning.empty() ? 0 : result.pruning.back().removed;
    if (std::ssize(silent) == before) continue;
    curve.add(pass(SilencedHeads(silent)));
    result.pruning.push_back({.removed = std::ssize(silent),
                              .share = static_cast<double>(silent.size()) / static_cast<double>(heads.size())});
  }
  const std::vector<TestedChange> tested_curve = curve.tested();
  for (std::size_t i = 0; i < result.pruning.size(); ++i) {
    result.pruning[i].change = tested_curve[i].change;
    result.pruning[i].loss = result.loss + tested_curve[i].change.value;
  }
  return result;
}

std::vector<HeadPlace> pruning_order(std::span<const HeadSilence> heads) {
  std::vector<const HeadSilence*> order;
  for (const HeadSilence& head : heads) order.push_back(&head);
  std::ranges::stable_sort(order, std::greater{}, &HeadSilence::importance);
  std::set<std::pair<std::string, std::int64_t>> layers;  // whose most important head was passed
  std::erase_if(order, [&](const HeadSilence* head) { return layers.emplace(head->place, head->layer).second; });
  std::vector<HeadPlace> places;
  for (const HeadSilence* head : order) {
    places.push_back(*parse_head(fmt::format("{}.{}.{}", head->place, head->layer, head->head)));
  }
  std::ranges::reverse(places);
  return places;
}

std::vector<HeadPlace> heads_to_prune(const Silencing& silencing, double share,
                                      std::span<const AttentionPlace> places) {
  std::vector<HeadPlace> order = pruning_order(silencing.heads);
  std::erase_if(order, [&](const HeadPlace& head) { return std::ranges::find(places, head.place) == places.end(); });
  const std::size_t count = std::lround(share * static_cast<double>(silencing.heads.size()));
  order.resize(std::min(order.size(), count));
  return order;
}

MaskedTexts::MaskedTexts(const BertRun& run, std::span<const std::string> texts, MaskingConfig masking) : run_(run) {
  ensure(run.fills_masks(), "the run has the head for masked tokens");
  if (run.is_permuted()) masking.masked = 1;  // a query asks for [MASK]
  const MaskVocabulary vocabulary(run.tokenizer);
  const std::size_t most = run.model->bert->options().max_positions - 2;
  for (const std::string& line : texts) {
    Text& text = texts_.emplace_back();
    text.ids = run.tokenizer.encode_beginning(line, most).ids;
    text.ids.insert(text.ids.begin(), vocabulary.cls);
    text.ids.push_back(vocabulary.sep);
    text.masked = mask_tokens(text.ids, vocabulary, masking, RandomStream(combine_keys(kMaskingSeed, texts_.size())));
    lengths_.push_back(std::ssize(text.ids));
  }
}

std::vector<SentenceLoss> MaskedTexts::losses(const ScoreConfig& config) const {
  const BertForPretrainingImpl& model = *run_.model;
  const torch::Device device = model.parameters().front().device();
  std::vector<SentenceLoss> losses(texts_.size());
  score_in_batches(lengths_, config, [&](std::span<const std::size_t> chosen) {
    IdSpans read;
    std::vector<std::int64_t> rows, labels;
    std::int64_t begin = 0;
    for (const std::size_t i : chosen) {
      read.emplace_back(texts_[i].ids);
      for (const MaskedToken& token : texts_[i].masked) {
        rows.push_back(begin + token.place);
        labels.push_back(token.label);
      }
      begin += lengths_[i];
    }
    if (rows.empty()) return;
    SegmentedSequences input{.tokens = on_device(concatenate(read, -1, -1), device), .segments_M = {}};
    input.segments_M = at::zeros_like(input.tokens.ids_M);
    const Selection masked = select(rows, input.tokens.layout, device);
    const at::Tensor labels_K = at::tensor(labels, at::kLong).to(device);
    const auto read_KE = [&](Pass& pass) {
      return model.predictions->transform(model.states_of_masked(input, masked, pass));
    };
    if (config.differentiate) {
      return config.differentiate(chosen.front(), [&](Pass& pass) {
        return loss_of_labels(read_KE(pass), model.bert->table(), model.predictions->bias, labels_K);
      });
    }
    const c10::InferenceMode inference;
    Pass pass = config.pass();
    const at::Tensor log_probs_K =
        log_probs_of_labels(read_KE(pass), model.bert->table(), model.predictions->bias, labels_K);
    const float* next = log_probs_K.const_data_ptr<float>();
    for (const std::size_t i : chosen) {
      losses[i].pieces = std::ssize(texts_[i].masked);
      for (std::int64_t k = 0; k < losses[i].pieces; ++k) losses[i].loss -= *next++;
    }
  });
  return losses;
}

}  // namespace attend
