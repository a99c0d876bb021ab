#include "eval/language_score.hpp"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <numbers>

#include "core/error.hpp"
#include "eval/metrics/text.hpp"
#include "eval/scored_window.hpp"
#include "models/layers/pass.hpp"

namespace attend {

std::vector<LanguageScore> score_language(const LanguageRun& run, std::span<const std::string> lines,
                                          const ScoreConfig& config, WorkProgress* progress) {
  const LanguageModelImpl& model = *run.model;
  const std::int32_t end = run.tokenizer.special().eos;
  ensure(end >= 0, "the tokenizer of a language model has an end token");
  std::vector<LanguageScore> scores(lines.size());
  std::vector<std::vector<std::int32_t>> texts(lines.size());
  std::vector<WindowOfText> windows;
  std::vector<std::int64_t> lengths;  // of the windows
  for (std::size_t i = 0; i < lines.size(); ++i) {
    texts[i] = run.tokenizer.encode(lines[i]);
    texts[i].push_back(end);
    const std::int64_t tokens = std::ssize(texts[i]);
    scores[i] = {.pieces = std::vector<ForcedPiece>(static_cast<std::size_t>(tokens)),
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
