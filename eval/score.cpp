#include "eval/score.hpp"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/error.hpp"
#include "core/freed_memory.hpp"
#include "core/signals.hpp"
#include "eval/metrics/text.hpp"
#include "eval/translate.hpp"
#include "eval/workers.hpp"
#include "models/attention/cut_weights.hpp"

namespace attend {
namespace {

using torch::Tensor;

// Source and target pieces of a batch, as if all its pairs were as long as the longest.
constexpr std::int64_t kScoredPiecesInBatch = 16384;

struct EncodedPair {
  SourcePieces src;
  Beginning tgt;

  std::int64_t src_length() const { return std::ssize(src.ids) + 1; }
  std::int64_t tgt_length() const { return std::ssize(tgt.ids) + 1; }
};

// Batches of pairs of nearly equal length, the longest first, so that no worker ends with the longest alone.
std::vector<std::vector<std::size_t>> batches_of(const std::vector<EncodedPair>& pairs, std::int64_t batch_size) {
  std::vector<std::size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::tuple(pairs[a].tgt_length(), pairs[a].src_length()) >
           std::tuple(pairs[b].tgt_length(), pairs[b].src_length());
  });
  std::vector<std::vector<std::size_t>> batches;
  std::int64_t longest_src = 0, longest_tgt = 0;  // of the newest batch
  for (const std::size_t i : order) {
    longest_src = std::max(longest_src, pairs[i].src_length());
    const auto fits = [&](std::int64_t count) {
      return count <= batch_size && count * (longest_src + longest_tgt) <= kScoredPiecesInBatch;
    };
    if (batches.empty() || !fits(std::ssize(batches.back()) + 1)) {
      batches.emplace_back();
      longest_src = pairs[i].src_length();
      longest_tgt = pairs[i].tgt_length();
    }
    batches.back().push_back(i);
  }
  return batches;
}

Batch make_scored_batch(const std::vector<EncodedPair>& pairs, const std::vector<std::size_t>& chosen,
                        const TokenizerPair& tokenizers, torch::Device device) {
  std::vector<std::span<const std::int32_t>> src, tgt, labels;
  for (const std::size_t i : chosen) {
    src.emplace_back(pairs[i].src.ids);
    labels.emplace_back(pairs[i].src.labels);
    tgt.emplace_back(pairs[i].tgt.ids);
  }
  const SpecialIds& special = tokenizers.tgt.special();
  Batch batch{.src = concatenate(src, -1, tokenizers.src.special().eos),
              .tgt = concatenate(tgt, special.bos, -1),
              .labels_M = concatenate(tgt, -1, special.eos).ids_M,
              .examples = {}};
  add_factors(batch.src, labels, tokenizers.factors.count());
  return on_device(std::move(batch), device);
}

// The words of the scored text, and the end of sentence.
std::int64_t count_words(const std::string& line, const Beginning& scored, const Tokenizer& tokenizer) {
  return std::ssize(metrics::split_words(scored.cut ? tokenizer.decode(scored.ids) : line)) + 1;
}

}  // namespace

std::vector<std::vector<ForcedPiece>> force(const Seq2SeqImpl& model, const Batch& batch, double attention_threshold) {
  const c10::InferenceMode inference;
  Pass pass = Pass::inference();
  const CutWeights cut(attention_threshold);
  pass.edit_attention(cut);
  const Tensor hidden_MH = model.forward(batch, pass);
  const std::vector<ForcedPiece> forced =
      forced_pieces(hidden_MH, model.output_table(), model.output_bias(), batch.labels_M);
  std::vector<std::vector<ForcedPiece>> sentences;
  for (std::int64_t b = 0; b < batch.tgt.layout.size(); ++b) {
    sentences.emplace_back(forced.begin() + batch.tgt.layout.offsets[b],
                           forced.begin() + batch.tgt.layout.offsets[b + 1]);
  }
  return sentences;
}

std::vector<TargetScore> score(const Run& run, std::span<const std::string> sources,
                               std::span<const std::string> targets, const ScoreConfig& config,
                               WorkProgress* progress) {
  ensure(sources.size() == targets.size(), "as many target lines as source lines");
  std::vector<EncodedPair> pairs(sources.size());
  std::vector<TargetScore> scores(sources.size());
  const std::size_t most_pieces = most_source_pieces(*run.model);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = {.src = encode_source(run.tokenizers.src, run.tokenizers.factors, sources[i], most_pieces),
                .tgt = run.tokenizers.tgt.encode_beginning(targets[i], kMostPieces)};
    scores[i] = {.pieces = {},
                 .words = count_words(targets[i], pairs[i].tgt, run.tokenizers.tgt),
                 .source_is_cut = pairs[i].src.cut,
                 .target_is_cut = pairs[i].tgt.cut};
  }
  const auto batches = batches_of(pairs, config.batch_size);
  run_workers(batches.size(), static_cast<std::size_t>(num_workers(config.workers)), static_cast<int>(config.threads),
              [&](std::size_t b) {
                if (signals::stop_requested()) throw Interrupted("scoring was interrupted");
                auto forced =
                    force(*run.model, make_scored_batch(pairs, batches[b], run.tokenizers, run.model->device()),
                          config.attention_threshold);
                for (std::size_t s = 0; s < forced.size(); ++s) scores[batches[b][s]].pieces = std::move(forced[s]);
                if (progress != nullptr) progress->add(std::ssize(forced));
                return_freed_memory();
              });
  return scores;
}

void ScoreTally::add(const TargetScore& score) {
  add_line(score.pieces, score.words);
  if (score.source_is_cut) cut_sources.add(lines);
  if (score.target_is_cut) cut_targets.add(lines);
}

}  // namespace attend
