#include "eval/scored_window.hpp"

#include <ATen/ATen.h>

#include <algorithm>

namespace attend {

std::vector<ScoredWindow> scored_windows(std::int64_t tokens, std::optional<std::int64_t> longest) {
  const std::int64_t most = longest.value_or(tokens);
  std::vector<ScoredWindow> windows = {{.begin = 0, .scored = 0, .end = std::min(tokens, most)}};
  while (windows.back().end < tokens) {
    const std::int64_t scored = windows.back().end, begin = scored - most / 2;
    windows.push_back({.begin = begin, .scored = scored, .end = std::min(tokens, begin + most)});
  }
  return windows;
}

WindowBatch make_window_batch(std::span<const std::vector<std::int32_t>> texts, std::span<const WindowOfText> windows,
                              std::span<const std::size_t> chosen, std::int32_t end, torch::Device device) {
  WindowBatch batch;
  std::vector<std::int64_t> ids, rows, labels;
  for (const std::size_t w : chosen) {
    const std::vector<std::int32_t>& text = texts[windows[w].text];
    const ScoredWindow& window = windows[w].window;
    for (std::int64_t t = window.begin; t < window.end; ++t) {
      if (t >= window.scored) {
        rows.push_back(std::ssize(ids));
        labels.push_back(text[static_cast<std::size_t>(t)]);
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

}  // namespace attend
