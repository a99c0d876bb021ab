// How a language model reads texts that may be longer than it reads at once. A model that reads at most L tokens reads
// a longer text in overlapping windows of L tokens. Each starts L / 2 tokens before the first that it predicts from, so
// that every piece is predicted from at least L / 2 + 1 tokens, or from all before it.
//
//   L = 8, 15 tokens:   1 … 8 | (5 … 8) 9 … 12 | (9 … 12) 13 … 15      in brackets: read, but nothing is predicted
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"

namespace attend {

// The tokens of a text that one forward pass reads: begin … end - 1, of which those from `scored` predict.
struct ScoredWindow {
  std::int64_t begin = 0, scored = 0, end = 0;

  std::int64_t length() const { return end - begin; }
  std::int64_t num_scored() const { return end - scored; }
  bool operator==(const ScoredWindow&) const = default;
};

// The windows of a text of `tokens` tokens, the first end token included; every token predicts in exactly one.
std::vector<ScoredWindow> scored_windows(std::int64_t tokens, std::optional<std::int64_t> longest);

// A window of one of several texts.
struct WindowOfText {
  std::size_t text = 0;
  ScoredWindow window = {};
};

// Windows as one input of a model: the tokens, the rows that predict, and the pieces that follow these.
struct WindowBatch {
  Sequences tokens = {};
  Selection scored = {};
  torch::Tensor labels_K = {};
};

// The chosen windows, in order. `texts` are the pieces to predict, the end token among them where it is one; a model
// reads `end` before the first and never the last of them.
WindowBatch make_window_batch(std::span<const std::vector<std::int32_t>> texts, std::span<const WindowOfText> windows,
                              std::span<const std::size_t> chosen, std::int32_t end, torch::Device device);

}  // namespace attend
