// The probability of texts under a language model.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "data/batch/batch.hpp"
#include "eval/forced_decoding.hpp"
#include "eval/score.hpp"
#include "models/language/language_model.hpp"
#include "models/run/run.hpp"

namespace attend {

// log p of given tokens under a language model: one forward pass over a text gives that of every token.
//
// Legend: docs/architecture.md.

// log p of the label that follows the last token of each sequence, [B]; no sequence may be empty.
torch::Tensor next_log_probs(const LanguageModelImpl& model, const Sequences& tokens, const torch::Tensor& labels_B);

// log p of every token of each text, which follow the end token: log p(t_1 | end), log p(t_2 | end t_1), and so on. A
// text is read in overlapping windows of `window` tokens (forced_decoding.hpp); nullopt: of a model that carries its
// state, in consecutive segments, which give the same as the whole. Interrupted after SIGINT or SIGTERM.
std::vector<std::vector<double>> text_log_probs(const LanguageModelImpl& model,
                                                std::span<const std::vector<std::int32_t>> texts, std::int32_t end,
                                                std::optional<std::int64_t> window);

// The probability of texts under a language model. A text is read after the end token of the one before it, and ends
// with one:
//
//   log p(x) = Σ_t log p(x_t | </s> x_1 … x_{t-1}),  x_{n+1} = </s>
//
//   x = "a dog"     ▁a -1.20   ▁dog -4.31   </s> -2.05     log p(x) = -7.56
//
// A line longer than a Transformer reads at once (LanguageRun::window) is read in overlapping windows
// (forced_decoding.hpp). Nothing is cut; for shorter lines, and recurrent models, the sum is exact.

// The score of every line, in order. An empty line is </s> alone. The sums depend on batches only by rounding.
// `progress` counts lines. Interrupted after SIGINT or SIGTERM.
std::vector<TextScore> score_language(const LanguageRun& run, std::span<const std::string> lines,
                                      const ScoreConfig& config, WorkProgress* progress = nullptr);

}  // namespace attend
