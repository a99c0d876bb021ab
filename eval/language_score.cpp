#include "eval/language_score.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <numbers>

#include "core/error.hpp"
#include "data/batch/batch.hpp"
#include "eval/metrics/text.hpp"
#include "eval/score_batches.hpp"
#include "models/layers/pass.hpp"

namespace attend {
namespace {

// A window of one of the lines.
struct WindowOfLine {
  std::size_t line = 0;
  ScoredWindow window = {};
};

// The windows of a batch as one input: the token after each, and the rows that predict.
struct WindowBatch {
  Sequences tokens = {};
  Selection scored = {};
  torch::Tensor labels_K = {};
};

// `texts` have the pieces of each line.
WindowBatch make_window_batch(const std::vector<std::vector<std::int32_t>>& texts,
                              const std::vector<WindowOfLine>& windows, std::span<const std::size_t> chosen,
                              std::int32_t end, torch::Device device) {
  WindowBatch batch;
  std::vector<std::int64_t> ids, rows, labels;
  for (const std::size_t w : chosen) {
    const std::vector<std::int32_t>& text = texts[windows[w].line];
    const ScoredWindow& window = windows[w].window;
    for (std::int64_t t = window.begin; t < window.end; ++t) {
      if (t >= window.scored) {
        rows.push_back(std::ssize(ids));
        labels.push_back(t < std::ssize(text) ? text[static_cast<std::size_t>(t)] : end);
      }
      ids.push_back(t == 0 ? end : text[static_cast<std::size_t>(t - 1)]);
    }
    batch.tokens.layout.append(window.length());
  }
  batch.tokens.ids_M = at::tensor(ids, at::kLong).to(device);
  batch.scored = select(rows, batch.tokens.layout, device);
  batch.labels_K = at::tensor(labels, at::kLong).to(device);
  return batch;
}

}  // namespace

std::vector<ScoredWindow> scored_windows(std::int64_t tokens, std::optional<std::int64_t> longest) {
  const std::int64_t most = longest.value_or(tokens);
  std::vector<ScoredWindow> windows = {{.begin = 0, .scored = 0, .end = std::min(tokens, most)}};
  while (windows.back().end < tokens) {
    const std::int64_t scored = windows.back().end, begin = scored - most / 2;
    windows.push_back({.begin = begin, .scored = scored, .end = std::min(tokens, begin + most)});
  }
  return windows;
}

std::vector<LanguageScore> score_language(const LanguageRun& run, std::span<const std::string> lines,
                                          const ScoreConfig& config, WorkProgress* progress) {
  const LanguageModelImpl& model = *run.model;
  const std::int32_t end = run.tokenizer.special().eos;
  ensure(end >= 0, "the tokenizer of a language model has an end token");
  std::vector<LanguageScore> scores(lines.size());
  std::vector<std::vector<std::int32_t>> texts(lines.size());
  std::vector<WindowOfLine> windows;
  std::vector<std::int64_t> lengths;  // of the windows
  for (std::size_t i = 0; i < lines.size(); ++i) {
    texts[i] = run.tokenizer.encode(lines[i]);
    const std::int64_t tokens = std::ssize(texts[i]) + 1;
    scores[i] = {.pieces = std::vector<ForcedPiece>(static_cast<std::size_t>(tokens)),
                 .words = std::ssize(metrics::split_words(lines[i])) + 1,
                 .bytes = std::ssize(lines[i]) + 1};
    for (const ScoredWindow& window : scored_windows(tokens, model.longest())) {
      windows.push_back({.line = i, .window = window});
      lengths.push_back(window.length());
    }
  }
  score_in_batches(lengths, config, [&](std::span<const std::size_t> chosen) {
    const c10::InferenceMode inference;
    const WindowBatch batch = make_window_batch(texts, windows, chosen, end, model.device());
    Pass pass = Pass::inference();
    const torch::Tensor hidden_KH = batch.scored.of(model.forward(batch.tokens, pass));
    const std::vector<ForcedPiece> forced =
        forced_pieces(hidden_KH, model.output_table(), model.output_bias(), batch.labels_K);
    auto next = forced.begin();
    for (const std::size_t w : chosen) {
      const auto& [line, window] = windows[w];
      const std::int64_t count = window.end - window.scored;
      std::copy_n(next, count, scores[line].pieces.begin() + window.scored);
      next += count;
      if (progress != nullptr && window.end == std::ssize(scores[line].pieces)) progress->add();
    }
  });
  return scores;
}

void LanguageTally::add(const LanguageScore& score) {
  add_line(score.pieces, score.words);
  bytes += score.bytes;
}

double LanguageTally::bits_per_byte() const { return -log_prob / (std::numbers::ln2 * static_cast<double>(bytes)); }

}  // namespace attend
