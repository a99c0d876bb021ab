// log p of given tokens under a language model: one forward pass over a text gives that of every token.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/language/language_model.hpp"

namespace attend {

// log p of the label that follows the last token of each sequence, [B]; no sequence may be empty.
torch::Tensor next_log_probs(const LanguageModelImpl& model, const Sequences& tokens, const torch::Tensor& labels_B);

// log p of every token of each text, which follow the end token: log p(t_1 | end), log p(t_2 | end t_1), and so on. A
// text is read in overlapping windows of `window` tokens (scored_window.hpp); nullopt: of a model that carries its
// state, in consecutive segments, which give the same as the whole. Interrupted after SIGINT or SIGTERM.
std::vector<std::vector<double>> text_log_probs(const LanguageModelImpl& model,
                                                std::span<const std::vector<std::int32_t>> texts, std::int32_t end,
                                                std::optional<std::int64_t> window);

}  // namespace attend
