#include "eval/score.hpp"

#include <c10/core/InferenceMode.h>

#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/process.hpp"
#include "eval/metrics/tokenizers.hpp"
#include "eval/workers.hpp"

namespace attend {
namespace {

using torch::Tensor;

struct EncodedPair {
  Beginning src, tgt;
};

Batch make_scored_batch(const std::vector<EncodedPair>& pairs, std::span<const std::size_t> chosen,
                        const TokenizerPair& tokenizers, torch::Device device) {
  IdSpans src, tgt;
  for (const std::size_t i : chosen) {
    src.emplace_back(pairs[i].src.ids);
    tgt.emplace_back(pairs[i].tgt.ids);
  }
  return on_device(batch_of_pairs(src, tgt, batch_ids(tokenizers)), device);
}

// The words of the scored text, and the end of sentence.
std::int64_t count_words(const std::string& line, const Beginning& scored, const Tokenizer& tokenizer) {
  return std::ssize(metrics::split_words(scored.cut ? tokenizer.decode(scored.ids) : line)) + 1;
}

}  // namespace

void score_in_batches(std::span<const std::int64_t> lengths, const ScoreConfig& config,
                      const std::function<void(std::span<const std::size_t>)>& score_batch) {
  constexpr std::int64_t kTokensInBatch = 16384;  // limit of the memory of a forward pass
  const auto batches = batches_of_lengths(lengths, config.differentiate ? 1 : config.batch_size, kTokensInBatch);
  run_workers(batches.size(), num_workers(config.workers), config.threads, [&](std::size_t b) {
    signals::throw_if_stopped("scoring was interrupted");
    score_batch(batches[b]);
    return_freed_memory();
  });
}

std::vector<std::vector<ForcedPiece>> force(const Seq2SeqImpl& model, const Batch& batch, const AttentionEdit* edit) {
  const c10::InferenceMode inference;
  Pass pass = Pass::inference();
  if (edit != nullptr) pass.edit_attention(*edit);
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

std::vector<TextScore> score(const TranslationRun& run, std::span<const std::string> sources,
                             std::span<const std::string> targets, const ScoreConfig& config, WorkProgress* progress) {
  ensure(sources.size() == targets.size(), "as many target lines as source lines");
  std::vector<EncodedPair> pairs(sources.size());
  std::vector<TextScore> scores(sources.size());
  std::vector<std::int64_t> lengths;  // of both sides, with their ends of sentence
  const std::size_t most_pieces = most_source_pieces(*run.model);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = {.src = run.tokenizers.src.encode_beginning(sources[i], most_pieces),
                .tgt = run.tokenizers.tgt.encode_beginning(targets[i], kMostPieces)};
    scores[i] = {.pieces = {},
                 .words = count_words(targets[i], pairs[i].tgt, run.tokenizers.tgt),
                 .source_is_cut = pairs[i].src.cut,
                 .target_is_cut = pairs[i].tgt.cut};
    lengths.push_back(std::ssize(pairs[i].src.ids) + std::ssize(pairs[i].tgt.ids) + 2);
  }
  score_in_batches(lengths, config, [&](std::span<const std::size_t> chosen) {
    const Batch batch = make_scored_batch(pairs, chosen, run.tokenizers, run.model->device());
    if (config.differentiate) {
      return config.differentiate(chosen.front(), [&](Pass& pass) {
        return loss_of_labels(run.model->forward(batch, pass), run.model->output_table(), run.model->output_bias(),
                              batch.labels_M);
      });
    }
    auto forced = force(*run.model, batch, config.edit);
    for (std::size_t s = 0; s < forced.size(); ++s) scores[chosen[s]].pieces = std::move(forced[s]);
    if (progress != nullptr) progress->add(std::ssize(forced));
  });
  return scores;
}

void ScoreTally::add(const TextScore& score) {
  ++lines;
  pieces += std::ssize(score.pieces);
  words += score.words;
  bytes += score.bytes;
  log_prob += score.log_prob();
  if (score.source_is_cut) cut_sources.add(lines);
  if (score.target_is_cut) cut_targets.add(lines);
}

double ScoreTally::perplexity_by_piece() const { return std::exp(-log_prob / static_cast<double>(pieces)); }
double ScoreTally::perplexity_by_word() const { return std::exp(-log_prob / static_cast<double>(words)); }
double ScoreTally::bits_per_byte() const { return -log_prob / (std::numbers::ln2 * static_cast<double>(bytes)); }

}  // namespace attend
