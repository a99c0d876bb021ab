#include "analysis/structural_probe.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "core/error.hpp"
#include "core/random.hpp"
#include "eval/metrics/predictions.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/ops.hpp"

namespace attend {

using torch::Tensor;

namespace {

constexpr std::int64_t kMostRank = 64;
constexpr std::int64_t kSentencesInBatch = 20;
constexpr std::size_t kShortestCorrelated = 5, kLongestCorrelated = 50;
constexpr std::size_t kNoWord = std::numeric_limits<std::size_t>::max();

enum class Structure { distance, depth };

// A mean by length of sentence, then over lengths.
class MeanOverLengths {
 public:
  // NaN, the correlation with a constant, is left out.
  void add(std::size_t length, double value) {
    if (length < kShortestCorrelated || length > kLongestCorrelated || std::isnan(value)) return;
    auto& [sum, count] = sums_[length];
    sum += value;
    ++count;
  }
  double mean() const {
    double sum = 0;
    for (const auto& [length, values] : sums_) sum += values.first / static_cast<double>(values.second);
    return sum / static_cast<double>(sums_.size());
  }

 private:
  std::map<std::size_t, std::pair<double, std::int64_t>> sums_;
};

// The share of edges that were found, over sentences.
struct AttachmentCounts {
  std::int64_t found = 0, edges = 0;

  void add(const WordTree& tree, std::vector<std::pair<std::size_t, std::size_t>> predicted) {
    edges += std::ssize(tree.edges);
    std::ranges::sort(predicted);
    for (const auto& edge : tree.edges) found += std::ranges::binary_search(predicted, edge) ? 1 : 0;
  }
  double share() const { return static_cast<double>(found) / static_cast<double>(edges); }
};

double rank_correlation(const Tensor& a_T, const Tensor& b_T) {
  return metrics::spearman(ops::to_doubles(a_T), ops::to_doubles(b_T));
}

// Scaled so that ‖B h‖² is about 2 for B with Xavier's initial weights. For distances, which do not depend on it, the
// mean is removed.
Tensor scaled(const Tensor& x_WH, std::int64_t num_fitted, std::int64_t rank, Structure structure) {
  const Tensor fitted_WH = x_WH.narrow(0, 0, num_fitted);
  const Tensor from_H = structure == Structure::distance ? fitted_WH.mean(0) : at::zeros_like(fitted_WH[0]);
  const Tensor square = (fitted_WH - from_H).square().sum(1).mean().clamp_min(1e-12);
  const double wanted = 1 + static_cast<double>(x_WH.size(1)) / static_cast<double>(rank);
  return (x_WH - from_H) * (wanted / square).sqrt();
}

// One map with the sentences that it is trained and tested on.
class StructuralProbe {
 public:
  StructuralProbe(const Tensor& x_WH, const std::vector<std::int64_t>& offsets, const std::vector<WordTree>& trees,
                  const ProbeSplit& split, Structure structure)
      : offsets_(offsets), trees_(trees), split_(split), structure_(structure) {
    const std::int64_t rank = std::min(kMostRank, x_WH.size(1));
    x_WH_ = scaled(x_WH, offsets[split.held_out], rank, structure);
    map_ = Linear(LinearConfig{.in = x_WH.size(1), .out = rank, .bias = false});
  }

  void train(std::uint64_t seed) {
    RandomStream random(seed);
    map_->initialise(random);
    train_with_early_stopping(*map_, {.items = static_cast<std::int64_t>(split_.held_out),
                                      .batch = kSentencesInBatch,
                                      .learning_rate = 0.05 / std::sqrt(static_cast<double>(x_WH_.size(1))),
                                      .seed = combine_keys(seed, static_cast<std::uint64_t>(structure_)),
                                      .loss = [&](std::span<const std::int64_t> sentences) { return loss(sentences); },
                                      .held_out_loss = [&] { return held_out_loss(); }});
  }

  // Predicted distances [T, T] or depths [T] of a sentence.
  Tensor predicted(std::size_t b) const {
    const torch::NoGradGuard no_grad;
    const Tensor mapped_TR = map_->forward(x_WH_.slice(0, offsets_[b], offsets_[b + 1]));
    return squares(mapped_TR.unsqueeze(0))[0];
  }

 private:
  // [B, T, R] to [B, T, T] or [B, T].
  Tensor squares(const Tensor& mapped_BTR) const {
    const Tensor norms_BT = mapped_BTR.square().sum(-1);
    if (structure_ == Structure::depth) return norms_BT;
    return norms_BT.unsqueeze(1) + norms_BT.unsqueeze(2) - 2 * mapped_BTR.bmm(mapped_BTR.transpose(1, 2));
  }

  // The mean over sentences.
  Tensor loss(std::span<const std::int64_t> sentences) const {
    Layout layout;
    std::vector<Tensor> x;
    for (const std::int64_t b : sentences) {
      const std::int64_t begin = offsets_[b], end = offsets_[b + 1];
      x.push_back(x_WH_.slice(0, begin, end));
      layout.append(end - begin);
    }
    const Tensor found = squares(ops::pad(map_->forward(at::cat(x)), layout));
    Tensor gold = at::zeros_like(found), weights = at::zeros_like(found);  // a weight of 0 outside a sentence
    for (std::int64_t b = 0; b < layout.size(); ++b) {
      const WordTree& tree = trees_[sentences[b]];
      const Tensor& true_values = structure_ == Structure::distance ? tree.distances_TT : tree.depths_T;
      const auto inside = [&](const Tensor& padded) {
        const Tensor rows = padded[b].narrow(0, 0, layout.length(b));
        return structure_ == Structure::distance ? rows.narrow(1, 0, layout.length(b)) : rows;
      };
      inside(gold).copy_(true_values);
      inside(weights).fill_(1 / static_cast<double>(true_values.numel()));
    }
    return ((found - gold).abs() * weights).sum() / static_cast<double>(layout.size());
  }

  double held_out_loss() const {
    std::vector<std::int64_t> sentences(split_.test - split_.held_out);
    std::iota(sentences.begin(), sentences.end(), static_cast<std::int64_t>(split_.held_out));
    double sum = 0;
    for (std::size_t begin = 0; begin < sentences.size(); begin += kSentencesInBatch) {
      const auto batch =
          std::span(sentences).subspan(begin, std::min<std::size_t>(kSentencesInBatch, sentences.size() - begin));
      sum += loss(batch).item<double>() * static_cast<double>(batch.size());
    }
    return sum;
  }

  const std::vector<std::int64_t>& offsets_;
  const std::vector<WordTree>& trees_;
  ProbeSplit split_;
  Structure structure_;
  Tensor x_WH_;
  Linear map_ = nullptr;
};

// The word of least depth, punctuation left out.
std::size_t shallowest(const Tensor& depths_T, const std::vector<bool>& is_punctuation) {
  const float* depths = depths_T.const_data_ptr<float>();
  std::size_t best = kNoWord;
  for (std::size_t i = 0; i < is_punctuation.size(); ++i) {
    if (!is_punctuation[i] && (best == kNoWord || depths[i] < depths[best])) best = i;
  }
  return best;
}

}  // namespace

WordTree tree_of(const TreeSentence& sentence) {
  const std::size_t n = sentence.words.size();
  WordTree tree;
  for (const TreeWord& word : sentence.words) tree.is_punctuation.push_back(word.part_of_speech == "PUNCT");
  // The words from each to the root, itself first.
  std::vector<std::vector<std::size_t>> paths(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t number = i + 1; number != 0; number = sentence.words[number - 1].head) {
      paths[i].push_back(number - 1);
      ensure(paths[i].size() <= n, "a tree has no cycle");
    }
    const std::size_t head = sentence.words[i].head;
    if (head == 0) {
      tree.root = i;
    } else if (!tree.is_punctuation[i] && !tree.is_punctuation[head - 1]) {
      tree.edges.emplace_back(std::minmax(i, head - 1));
    }
  }
  const std::int64_t size = n;
  tree.depths_T = at::empty({size}, at::kFloat);
  tree.distances_TT = at::empty({size, size}, at::kFloat);
  auto* depths = tree.depths_T.mutable_data_ptr<float>();
  auto* distances = tree.distances_TT.mutable_data_ptr<float>();
  for (std::size_t i = 0; i < n; ++i) {
    depths[i] = static_cast<float>(paths[i].size() - 1);
    for (std::size_t j = 0; j < n; ++j) {
      const auto ends = std::ranges::mismatch(paths[i].rbegin(), paths[i].rend(), paths[j].rbegin(), paths[j].rend());
      distances[i * n + j] = static_cast<float>((paths[i].rend() - ends.in1) + (paths[j].rend() - ends.in2));
    }
  }
  return tree;
}

std::vector<std::pair<std::size_t, std::size_t>> minimum_spanning_tree(std::span<const float> weights,
                                                                       const std::vector<bool>& left_out) {
  const std::size_t n = left_out.size();
  ensure(weights.size() == n * n, "a square matrix");
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  std::vector<bool> waits(n);
  std::vector<std::size_t> nearest(n, kNoWord);  // of the words in the tree
  std::size_t newest = kNoWord;
  for (std::size_t i = 0; i < n; ++i) {
    waits[i] = !left_out[i] && newest != kNoWord;
    if (!left_out[i] && newest == kNoWord) newest = i;
  }
  while (newest != kNoWord) {
    std::size_t next = kNoWord;
    for (std::size_t i = 0; i < n; ++i) {
      if (!waits[i]) continue;
      if (nearest[i] == kNoWord || weights[newest * n + i] < weights[nearest[i] * n + i]) nearest[i] = newest;
      if (next == kNoWord || weights[nearest[i] * n + i] < weights[nearest[next] * n + next]) next = i;
    }
    if (next != kNoWord) {
      edges.emplace_back(std::minmax(next, nearest[next]));
      waits[next] = false;
    }
    newest = next;
  }
  return edges;
}

StructuralScores structural_probe(const Tensor& x_WH, const std::vector<std::int64_t>& offsets,
                                  const std::vector<WordTree>& trees, const ProbeSplit& split, std::uint64_t seed) {
  StructuralProbe distance(x_WH, offsets, trees, split, Structure::distance);
  StructuralProbe depth(x_WH, offsets, trees, split, Structure::depth);
  distance.train(seed);
  depth.train(seed);
  AttachmentCounts attachment;
  MeanOverLengths of_distances, of_depths;
  std::int64_t roots = 0;
  for (std::size_t b = split.test; b < split.end; ++b) {
    const WordTree& tree = trees[b];
    const std::size_t n = tree.is_punctuation.size();
    const Tensor distances_TT = distance.predicted(b).contiguous(), depths_T = depth.predicted(b).contiguous();
    attachment.add(tree, minimum_spanning_tree({distances_TT.const_data_ptr<float>(), n * n}, tree.is_punctuation));
    for (std::int64_t i = 0; i < distances_TT.size(0); ++i) {
      of_distances.add(n, rank_correlation(distances_TT[i], tree.distances_TT[i]));
    }
    of_depths.add(n, rank_correlation(depths_T, tree.depths_T));
    roots += shallowest(depths_T, tree.is_punctuation) == tree.root ? 1 : 0;
  }
  return {.attachment = attachment.share(),
          .distance_correlation = of_distances.mean(),
          .root_accuracy = static_cast<double>(roots) / static_cast<double>(split.end - split.test),
          .depth_correlation = of_depths.mean()};
}

double left_neighbour_attachment(std::span<const WordTree> trees) {
  AttachmentCounts attachment;
  for (const WordTree& tree : trees) {
    std::vector<std::pair<std::size_t, std::size_t>> chain;
    std::size_t before = kNoWord;
    for (std::size_t i = 0; i < tree.is_punctuation.size(); ++i) {
      if (tree.is_punctuation[i]) continue;
      if (before != kNoWord) chain.emplace_back(before, i);
      before = i;
    }
    attachment.add(tree, std::move(chain));
  }
  return attachment.share();
}

}  // namespace attend
