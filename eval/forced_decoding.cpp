#include "eval/forced_decoding.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "models/ops/ops.hpp"

namespace attend {

using torch::Tensor;

namespace {

// Calls see(first row, logits [K, V]) for blocks of rows.
template <class See>
void for_each_block_of_logits(const Tensor& hidden_MH, const ops::Weight& table_VH, const Tensor& bias_V, See see) {
  constexpr std::int64_t kLogitsBytes = std::int64_t{32} << 20;  // limit of a block
  const std::int64_t rows = hidden_MH.size(0), row_bytes = table_VH.master().size(0) * std::int64_t{sizeof(float)};
  const std::int64_t block = std::max<std::int64_t>(1, kLogitsBytes / row_bytes);
  for (std::int64_t first = 0; first < rows; first += block) {
    const std::int64_t count = std::min(block, rows - first);
    see(first, ops::logits(hidden_MH.narrow(0, first, count), table_VH, bias_V));
  }
}

Tensor given_logits(const Tensor& logits_KV, const Tensor& labels_M, std::int64_t first) {
  return logits_KV.gather(1, labels_M.narrow(0, first, logits_KV.size(0)).unsqueeze(1));
}

}  // namespace

std::vector<ForcedPiece> forced_pieces(const Tensor& hidden_MH, const ops::Weight& table_VH, const Tensor& bias_V,
                                       const Tensor& labels_M) {
  const Tensor ids_M = labels_M.cpu();
  std::vector<ForcedPiece> forced(hidden_MH.size(0));
  for_each_block_of_logits(hidden_MH, table_VH, bias_V, [&](std::int64_t first, const Tensor& logits_KV) {
    const Tensor given_K1 = given_logits(logits_KV, labels_M, first), best_K1 = logits_KV.amax(1, true);
    const Tensor scores_K3 = at::cat({given_K1, best_K1, logits_KV.logsumexp(1, true)}, 1).cpu();
    const auto scores = scores_K3.accessor<float, 2>();
    for (std::int64_t k = 0; k < scores.size(0); ++k) {
      const double given = scores[k][0], best = scores[k][1], normaliser = scores[k][2];
      forced[first + k] = {.id = static_cast<std::int32_t>(ids_M.const_data_ptr<std::int64_t>()[first + k]),
                           .log_prob = given - normaliser,
                           .best_log_prob = best - normaliser,
                           .is_best = given >= best};
    }
  });
  return forced;
}

Tensor log_probs_of_labels(const Tensor& hidden_MH, const ops::Weight& table_VH, const Tensor& bias_V,
                           const Tensor& labels_M) {
  std::vector<Tensor> blocks;
  for_each_block_of_logits(hidden_MH, table_VH, bias_V, [&](std::int64_t first, const Tensor& logits_KV) {
    blocks.push_back((given_logits(logits_KV, labels_M, first).squeeze(1) - logits_KV.logsumexp(1)).cpu());
  });
  return blocks.empty() ? at::empty({0}) : at::cat(blocks);
}

Tensor loss_of_labels(const Tensor& hidden_MH, const ops::Weight& table_VH, const Tensor& bias_V,
                      const Tensor& labels_M) {
  return ops::cross_entropy(hidden_MH, table_VH, bias_V, labels_M, /*label_smoothing=*/0).loss;
}

double log_prob_of(std::span<const ForcedPiece> pieces) {
  double sum = 0;
  for (const ForcedPiece& piece : pieces) sum += piece.log_prob;
  return sum;
}

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
        labels.push_back(text[t]);
      }
      ids.push_back(t == 0 ? end : text[t - 1]);
    }
    batch.tokens.layout.append(window.length());
  }
  batch.tokens.ids_M = at::tensor(ids, at::kLong).to(device);
  batch.scored = select(rows, batch.tokens.layout, device);
  batch.labels_K = at::tensor(labels, at::kLong).to(device);
  return batch;
}

bool ContrastTally::add(double log_prob, double contrast_log_prob) {
  const bool is_correct = log_prob > contrast_log_prob;
  ++pairs;
  correct += is_correct;
  return is_correct;
}

double ContrastTally::accuracy() const { return static_cast<double>(correct) / static_cast<double>(pairs); }

metrics::Interval ContrastTally::interval() const { return metrics::wilson(correct, pairs); }

bool ContrastTable::add(double log_prob, double contrast_log_prob, const std::string& kind,
                        const std::optional<std::int64_t>& distance, const std::string& term) {
  if (!kind.empty()) kinds[kind].add(log_prob, contrast_log_prob);
  if (!term.empty()) terms[term].add(log_prob, contrast_log_prob);
  if (distance) distances[*distance].add(log_prob, contrast_log_prob);
  return all.add(log_prob, contrast_log_prob);
}

}  // namespace attend
