#include "eval/score.hpp"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/error.hpp"
#include "core/process.hpp"
#include "eval/metrics/tokenizers.hpp"
#include "eval/workers.hpp"
#include "models/ops/ops.hpp"

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

namespace {

constexpr std::int64_t kBatchTokens = 8192;
constexpr std::size_t kSegmentTokens = 512;

void refuse_if_stopped() { signals::throw_if_stopped("stopped before all texts were read"); }

std::vector<std::vector<double>> in_windows(const LanguageModelImpl& model,
                                            std::span<const std::vector<std::int32_t>> texts, std::int32_t end,
                                            std::int64_t longest) {
  std::vector<std::vector<double>> log_probs(texts.size());
  std::vector<WindowOfText> windows;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    log_probs[i].resize(texts[i].size());
    if (texts[i].empty()) continue;
    for (const ScoredWindow& window : scored_windows(std::ssize(texts[i]), longest)) {
      windows.push_back({.text = i, .window = window});
      lengths.push_back(window.length());
    }
  }
  for (const std::vector<std::size_t>& chosen : batches_of_lengths(lengths, std::ssize(windows), kBatchTokens)) {
    refuse_if_stopped();
    const c10::InferenceMode inference;
    const WindowBatch batch = make_window_batch(texts, windows, chosen, end, model.device());
    Pass pass = Pass::inference();
    const Tensor found_K = log_probs_of_labels(batch.scored.of(model.forward(batch.tokens, pass)), model.output_table(),
                                               {}, batch.labels_K);
    const float* found = found_K.const_data_ptr<float>();
    for (const std::size_t w : chosen) {
      const auto& [text, window] = windows[w];
      std::copy_n(found, window.num_scored(), log_probs[text].begin() + window.scored);
      found += window.num_scored();
    }
  }
  return log_probs;
}

std::vector<std::vector<double>> in_segments(const LanguageModelImpl& model,
                                             std::span<const std::vector<std::int32_t>> texts, std::int32_t end) {
  constexpr std::size_t kMostRows = static_cast<std::size_t>(kBatchTokens) / kSegmentTokens;
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The longest first, so that the texts which continue are the first rows of what is carried.
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return texts[i].size(); });
  const Tensor& table = model.output_table().master();
  std::vector<std::vector<double>> log_probs(texts.size());
  for (std::size_t first = 0; first < order.size(); first += kMostRows) {
    std::span<const std::size_t> rows = std::span(order).subspan(first, std::min(kMostRows, order.size() - first));
    Carried carried;
    for (std::size_t begin = 0;; begin += kSegmentTokens) {
      const auto ends = std::ranges::find_if(rows, [&](std::size_t i) { return texts[i].size() <= begin; });
      rows = rows.first(ends - rows.begin());
      if (rows.empty()) break;
      refuse_if_stopped();
      for (Tensor& part : carried.parts) part = part.narrow(0, 0, std::ssize(rows));
      std::vector<std::int64_t> ids, labels;
      Sequences tokens;
      for (const std::size_t i : rows) {
        const std::size_t stop = std::min(begin + kSegmentTokens, texts[i].size());
        for (std::size_t t = begin; t < stop; ++t) {
          ids.push_back(t == 0 ? end : texts[i][t - 1]);
          labels.push_back(texts[i][t]);
        }
        tokens.layout.append(stop - begin);
      }
      tokens.ids_M = ops::to_tensor(ids, table);
      const c10::InferenceMode inference;
      Pass pass = Pass::inference();
      const Tensor found_M = log_probs_of_labels(model.forward(tokens, pass, &carried), model.output_table(), {},
                                                 ops::to_tensor(labels, table));
      const float* found = found_M.const_data_ptr<float>();
      for (const std::size_t i : rows) {
        const std::size_t stop = std::min(begin + kSegmentTokens, texts[i].size());
        log_probs[i].insert(log_probs[i].end(), found, found + (stop - begin));
        found += stop - begin;
      }
    }
  }
  return log_probs;
}

}  // namespace

Tensor next_log_probs(const LanguageModelImpl& model, const Sequences& tokens, const Tensor& labels_B) {
  ensure(labels_B.size(0) == tokens.layout.size(), "a label for every sequence");
  const c10::InferenceMode inference;
  Pass pass = Pass::inference();
  const Tensor last_B = tokens.layout.on(tokens.ids_M.device()).offsets_B1.slice(0, 1) - 1;
  return log_probs_of_labels(model.forward(tokens, pass).index_select(0, last_B), model.output_table(), {}, labels_B);
}

std::vector<std::vector<double>> text_log_probs(const LanguageModelImpl& model,
                                                std::span<const std::vector<std::int32_t>> texts, std::int32_t end,
                                                std::optional<std::int64_t> window) {
  return window ? in_windows(model, texts, end, *window) : in_segments(model, texts, end);
}

std::vector<TextScore> score_language(const LanguageRun& run, std::span<const std::string> lines,
                                      const ScoreConfig& config, WorkProgress* progress) {
  const LanguageModelImpl& model = *run.model;
  const std::int32_t end = run.tokenizer.special().eos;
  ensure(end >= 0, "the tokenizer of a language model has an end token");
  std::vector<TextScore> scores(lines.size());
  std::vector<std::vector<std::int32_t>> texts(lines.size());
  std::vector<WindowOfText> windows;
  std::vector<std::int64_t> lengths;  // of the windows
  for (std::size_t i = 0; i < lines.size(); ++i) {
    texts[i] = run.tokenizer.encode(lines[i]);
    texts[i].push_back(end);
    const std::int64_t tokens = std::ssize(texts[i]);
    scores[i] = {.pieces = std::vector<ForcedPiece>(tokens),
                 .words = std::ssize(metrics::split_words(lines[i])) + 1,
                 .bytes = std::ssize(lines[i]) + 1};
    for (const ScoredWindow& window : scored_windows(tokens, run.window)) {
      windows.push_back({.text = i, .window = window});
      lengths.push_back(window.length());
    }
  }
  score_in_batches(lengths, config, [&](std::span<const std::size_t> chosen) {
    const WindowBatch batch = make_window_batch(texts, windows, chosen, end, model.device());
    if (config.differentiate) {
      return config.differentiate(windows[chosen.front()].text, [&](Pass& pass) {
        return loss_of_labels(batch.scored.of(model.forward(batch.tokens, pass)), model.output_table(), {},
                              batch.labels_K);
      });
    }
    const c10::InferenceMode inference;
    Pass pass = config.pass();
    const torch::Tensor hidden_KH = batch.scored.of(model.forward(batch.tokens, pass));
    const std::vector<ForcedPiece> forced = forced_pieces(hidden_KH, model.output_table(), {}, batch.labels_K);
    auto next = forced.begin();
    for (const std::size_t w : chosen) {
      const auto& [line, window] = windows[w];
      std::copy_n(next, window.num_scored(), scores[line].pieces.begin() + window.scored);
      next += window.num_scored();
      if (progress == nullptr) continue;
      progress->add_share(static_cast<double>(window.num_scored()) / static_cast<double>(scores[line].pieces.size()));
    }
  });
  return scores;
}

}  // namespace attend
