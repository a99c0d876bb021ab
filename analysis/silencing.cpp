#include "analysis/silencing.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include "core/error.hpp"
#include "core/progress.hpp"
#include "data/batch/batch.hpp"
#include "eval/attention.hpp"
#include "eval/forced_piece.hpp"
#include "eval/score_batches.hpp"
#include "models/attention/cut_weights.hpp"
#include "models/attention/silenced_head.hpp"

namespace attend {
namespace {

constexpr std::uint64_t kMaskingSeed = 1;

}  // namespace

Silencing silence_heads(const std::string& of, std::span<const HeadPlace> heads, const LossesOfSentences& losses) {
  const LossByPiece measure;
  WorkProgress progress({.unit = "passes", .total = std::ssize(heads) + 1});
  const metrics::Rows whole = rows_of(measure, losses(CutWeights(0)));  // edits nothing
  progress.add();
  if (whole.size() == 0) {
    throw UserError(of + ": there are none in the sentences that are read", "raise --sentences, or give others");
  }
  PairedChanges changes(whole, heads.size());
  Silencing result{.of = of,
                   .sentences = static_cast<std::int64_t>(whole.size()),
                   .pieces = static_cast<std::int64_t>(whole.sum()[1]),
                   .loss = whole.value(),
                   .heads = {}};
  for (const auto& [place, layer, head] : heads) {
    changes.add(rows_of(measure, losses(SilencedHead(place, layer, head))));
    progress.add();
  }
  progress.clear();
  const std::vector<TestedChange> tested = changes.tested();
  for (std::size_t h = 0; h < heads.size(); ++h) {
    HeadSilence& row = result.heads.emplace_back();
    row.place = name_of(heads[h].place);
    row.layer = heads[h].layer;
    row.head = heads[h].head;
    row.change = tested[h].change;
    row.p = tested[h].p;
    row.p_holm = tested[h].p_holm;
  }
  return result;
}

MaskedTexts::MaskedTexts(const BertRun& run, std::span<const std::string> texts, MaskingConfig masking) : run_(run) {
  ensure(run.fills_masks(), "the run has the head for masked tokens");
  if (run.is_permuted()) masking.masked = 1;  // a query asks for [MASK]
  const MaskVocabulary vocabulary(run.tokenizer);
  const auto most = static_cast<std::size_t>(run.model->bert->config().max_length - 2);
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
    const c10::InferenceMode inference;
    std::vector<std::span<const std::int32_t>> read;
    std::vector<std::int64_t> rows, labels;
    std::int64_t begin = 0;
    for (const std::size_t i : chosen) {
      read.emplace_back(texts_[i].ids);
      for (const MaskedToken& token : texts_[i].masked) {
        rows.push_back(begin + static_cast<std::int64_t>(token.place));
        labels.push_back(token.label);
      }
      begin += lengths_[i];
    }
    if (rows.empty()) return;
    SegmentedSequences input{.tokens = on_device(concatenate(read, -1, -1), device), .segments_M = {}};
    input.segments_M = at::zeros_like(input.tokens.ids_M);
    Pass pass = Pass::inference();
    if (config.edit != nullptr) pass.edit_attention(*config.edit);
    const Selection masked = select(rows, input.tokens.layout, device);
    const at::Tensor read_KE = model.predictions->transform(model.states_of_masked(input, masked, pass));
    const at::Tensor log_probs_K = log_probs_of_labels(read_KE, model.bert->table(), model.predictions->bias,
                                                       at::tensor(labels, at::kLong).to(device));
    const float* next = log_probs_K.const_data_ptr<float>();
    for (const std::size_t i : chosen) {
      losses[i].pieces = std::ssize(texts_[i].masked);
      for (std::int64_t k = 0; k < losses[i].pieces; ++k) losses[i].loss -= *next++;
    }
  });
  return losses;
}

}  // namespace attend
