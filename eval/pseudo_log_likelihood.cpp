#include "eval/pseudo_log_likelihood.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "core/error.hpp"
#include "data/batch/batch.hpp"
#include "eval/metrics/text.hpp"
#include "models/layers/pass.hpp"

namespace attend {
namespace {

struct CopyOfLine {
  std::size_t line = 0;
  MaskedCopy copy = {};
};

// The copies of a batch as one input, the rows of the pieces to predict, and these pieces.
struct CopyBatch {
  SegmentedSequences input = {};
  Selection predicted = {};
  torch::Tensor labels_K = {};
};

CopyBatch make_copy_batch(const std::vector<std::vector<std::int32_t>>& texts, const std::vector<CopyOfLine>& copies,
                          std::span<const std::size_t> chosen, const SpecialIds& special, torch::Device device) {
  CopyBatch batch;
  Sequences& tokens = batch.input.tokens;
  std::vector<std::int64_t> ids, rows, labels;
  for (const std::size_t c : chosen) {
    const std::vector<std::int32_t>& text = texts[copies[c].line];
    const MaskedCopy& copy = copies[c].copy;
    const std::size_t start = ids.size();
    ids.push_back(special.cls);
    for (std::int64_t i = copy.begin; i < copy.end; ++i) {
      const bool is_masked = i >= copy.first && i < copy.last;
      if (i == copy.first) rows.push_back(std::ssize(ids));
      ids.push_back(is_masked ? special.mask : text[static_cast<std::size_t>(i)]);
    }
    ids.push_back(special.sep);
    labels.push_back(text[static_cast<std::size_t>(copy.first)]);
    tokens.layout.append(static_cast<std::int64_t>(ids.size() - start));
  }
  tokens.ids_M = at::tensor(ids, at::kLong).to(device);
  batch.input.segments_M = at::zeros_like(tokens.ids_M);
  batch.predicted = select(rows, tokens.layout, device);
  batch.labels_K = at::tensor(labels, at::kLong).to(device);
  return batch;
}

}  // namespace

MaskedCopy masked_copy(std::span<const std::int32_t> ids, std::int64_t piece, std::int64_t longest,
                       const Tokenizer& tokenizer, bool within_word) {
  const std::int64_t count = std::ssize(ids), width = std::min(count, longest - 2);
  const std::int64_t begin = std::clamp<std::int64_t>(piece - width / 2, 0, count - width);
  MaskedCopy copy{.begin = begin, .end = begin + width, .first = piece, .last = piece + 1};
  while (within_word && copy.last < copy.end && !tokenizer.begins_word(ids[static_cast<std::size_t>(copy.last)])) {
    ++copy.last;
  }
  return copy;
}

std::vector<LanguageScore> pseudo_log_likelihood(const BertRun& run, std::span<const std::string> lines,
                                                 bool within_word, const ScoreConfig& config, WorkProgress* progress) {
  ensure(run.fills_masks(), "the run has the head for masked tokens");
  const BertForPretrainingImpl& model = *run.model;
  const std::int64_t longest = model.bert->config().max_length;
  std::vector<LanguageScore> scores(lines.size());
  std::vector<std::vector<std::int32_t>> texts(lines.size());
  std::vector<CopyOfLine> copies;
  std::vector<std::int64_t> lengths;  // of the copies
  for (std::size_t i = 0; i < lines.size(); ++i) {
    texts[i] = run.tokenizer.encode(lines[i]);
    scores[i] = {.pieces = std::vector<ForcedPiece>(texts[i].size()),
                 .words = std::ssize(metrics::split_words(lines[i])),
                 .bytes = std::ssize(lines[i])};
    for (std::int64_t piece = 0; piece < std::ssize(texts[i]); ++piece) {
      const MaskedCopy copy = masked_copy(texts[i], piece, longest, run.tokenizer, within_word);
      copies.push_back({.line = i, .copy = copy});
      lengths.push_back(copy.end - copy.begin + 2);
    }
    if (progress != nullptr && texts[i].empty()) progress->add();
  }
  const torch::Device device = model.parameters().front().device();
  score_in_batches(lengths, config, [&](std::span<const std::size_t> chosen) {
    const c10::InferenceMode inference;
    const CopyBatch batch = make_copy_batch(texts, copies, chosen, run.tokenizer.special(), device);
    Pass pass = config.pass();
    const torch::Tensor read_KE =
        model.predictions->transform(model.states_of_masked(batch.input, batch.predicted, pass));
    const std::vector<ForcedPiece> forced =
        forced_pieces(read_KE, model.bert->table(), model.predictions->bias, batch.labels_K);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const auto& [line, copy] = copies[chosen[k]];
      scores[line].pieces[static_cast<std::size_t>(copy.first)] = forced[k];
      if (progress != nullptr && copy.first == 0) progress->add();
    }
  });
  return scores;
}

}  // namespace attend
