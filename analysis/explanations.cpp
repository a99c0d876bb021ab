#include "analysis/explanations.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <queue>

#include "core/error.hpp"
#include "models/ops/ops.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr std::size_t kMostExact = 33;  // items; in SciPy also more, if at most one pair is discordant or concordant

// Sums over the groups of equal items.
struct TiedGroups {
  double pairs = 0, triples = 0, variance = 0;  // Σ t (t - 1) / 2, Σ t (t - 1) (t - 2), Σ t (t - 1) (2 t + 5)

  explicit TiedGroups(std::span<const double> items) {
    std::map<double, double> sizes;
    for (const double item : items) ++sizes[item];
    for (const auto& [item, t] : sizes) {
      pairs += t * (t - 1) / 2;
      triples += t * (t - 1) * (t - 2);
      variance += t * (t - 1) * (2 * t + 5);
    }
  }
};

// The probability of at most `few` discordant or at most `few` concordant pairs in a random order of n items.
double exact_p_of_order(std::size_t n, std::size_t few) {
  std::vector<double> shares = {1};  // of the orders with 0, 1, … discordant pairs
  for (std::size_t size = 2; size <= n; ++size) {
    std::vector<double> next(shares.size() + size - 1);
    for (std::size_t pairs = 0; pairs < shares.size(); ++pairs) {
      for (std::size_t more = 0; more < size; ++more) next[pairs + more] += shares[pairs] / static_cast<double>(size);
    }
    shares = std::move(next);
  }
  double sum = 0;
  for (std::size_t pairs = 0; pairs <= few; ++pairs) sum += shares[pairs];
  return std::min(1.0, 2 * sum);
}

Tensor with_residual(const Tensor& weights_TT) {
  return (weights_TT.to(at::kDouble) + at::eye(weights_TT.size(0), at::kDouble)) / 2;
}

// Flow between tokens through layers of T tokens. Token t of layer l is node l T + t; its edges 0 … T - 1 lead to the
// layer below, T … 2 T - 1 back to the one above.
class FlowNetwork {
 public:
  explicit FlowNetwork(std::span<const Tensor> layers_TT) : length_(layers_TT.front().size(0)) {
    for (const Tensor& weights_TT : layers_TT) {
      std::ranges::copy(ops::to_doubles(with_residual(weights_TT)), std::back_inserter(capacities_));
    }
    level_.resize((layers_TT.size() + 1) * length_);
    next_.resize(level_.size());
  }

  double maximum_flow(std::size_t source, std::size_t sink) {
    down_ = capacities_;
    up_.assign(capacities_.size(), 0);
    double flow = 0;
    while (find_levels(source, sink)) {
      for (std::size_t node = 0; node < next_.size(); ++node) next_[node] = first_edge(node);
      while (const double more = push(source, sink, std::numeric_limits<double>::infinity())) flow += more;
    }
    return flow;
  }

 private:
  static constexpr double kSaturated = 1e-9;  // what is left of a capacity after rounding
  static constexpr std::size_t kUnreached = std::numeric_limits<std::size_t>::max();

  struct Edge {
    std::size_t to;
    double &left, &back;  // what is left of its capacity, and of that of the edge in the other direction
  };

  std::size_t first_edge(std::size_t node) const { return node < length_ ? length_ : 0; }
  std::size_t end_of_edges(std::size_t node) const { return node + length_ >= level_.size() ? length_ : 2 * length_; }
  Edge edge(std::size_t node, std::size_t i) {
    const std::size_t token = node % length_;
    if (i < length_) {
      const std::size_t to = node - token - length_ + i;
      return {to, down_[(node - length_) * length_ + i], up_[to * length_ + token]};
    }
    const std::size_t to = node - token + i;
    return {to, up_[node * length_ + i - length_], down_[(to - length_) * length_ + token]};
  }

  // The distances from the source over edges that are not saturated; true if the sink is reached.
  bool find_levels(std::size_t source, std::size_t sink) {
    std::ranges::fill(level_, kUnreached);
    level_[source] = 0;
    std::queue<std::size_t> reached({source});
    for (; !reached.empty() && level_[sink] == kUnreached; reached.pop()) {
      const std::size_t node = reached.front();
      for (std::size_t i = first_edge(node); i < end_of_edges(node); ++i) {
        const Edge it = edge(node, i);
        if (level_[it.to] != kUnreached || it.left <= kSaturated) continue;
        level_[it.to] = level_[node] + 1;
        reached.push(it.to);
      }
    }
    return level_[sink] != kUnreached;
  }

  // Pushes flow along one shortest path, at most `most`; 0 if all are saturated.
  double push(std::size_t node, std::size_t sink, double most) {
    if (node == sink) return most;
    for (std::size_t& i = next_[node]; i < end_of_edges(node); ++i) {
      const Edge it = edge(node, i);
      if (it.left <= kSaturated || level_[it.to] != level_[node] + 1) continue;
      const double pushed = push(it.to, sink, std::min(most, it.left));
      if (pushed == 0) continue;
      it.left -= pushed;
      it.back += pushed;
      return pushed;
    }
    return 0;
  }

  std::size_t length_;                     // T
  std::vector<double> capacities_;         // [layer, T, T], from tokens to those below
  std::vector<double> down_, up_;          // what is left of the edges down, and of those back up
  std::vector<std::size_t> level_, next_;  // by node; `next_`: its first edge that may still be used
};

}  // namespace

RankAgreement kendall_tau_b(std::span<const double> a, std::span<const double> b) {
  ensure(a.size() == b.size(), "two ranks for each item");
  const auto n = static_cast<double>(a.size());
  const TiedGroups in_a(a), in_b(b);
  const double pairs = n * (n - 1) / 2;
  if (in_a.pairs == pairs || in_b.pairs == pairs) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  std::size_t concordant = 0, discordant = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (a[i] == a[j] || b[i] == b[j]) continue;
      ++((a[i] < a[j]) == (b[i] < b[j]) ? concordant : discordant);
    }
  }
  const double difference = static_cast<double>(concordant) - static_cast<double>(discordant);
  const double tau = difference / std::sqrt(pairs - in_a.pairs) / std::sqrt(pairs - in_b.pairs);
  if (in_a.pairs == 0 && in_b.pairs == 0 && a.size() <= kMostExact) {
    return {tau, exact_p_of_order(a.size(), std::min(concordant, discordant))};
  }
  const double m = n * (n - 1);
  const double variance = (m * (2 * n + 5) - in_a.variance - in_b.variance) / 18 + 2 * in_a.pairs * in_b.pairs / m +
                          in_a.triples * in_b.triples / (9 * m * (n - 2));
  return {tau, std::erfc(std::abs(difference) / std::sqrt(variance) / std::numbers::sqrt2)};
}

Tensor attention_rollout(std::span<const Tensor> layers_TT) {
  ensure(!layers_TT.empty(), "a layer");
  Tensor rollout_TT = with_residual(layers_TT.front());
  for (const Tensor& weights_TT : layers_TT.subspan(1)) rollout_TT = at::matmul(with_residual(weights_TT), rollout_TT);
  return rollout_TT;
}

std::vector<double> attention_flow(std::span<const Tensor> layers_TT, std::int64_t from) {
  ensure(!layers_TT.empty(), "a layer");
  const std::size_t length = layers_TT.front().size(0);
  FlowNetwork network(layers_TT);
  std::vector<double> flows;
  for (std::size_t t = 0; t < length; ++t) {
    flows.push_back(network.maximum_flow(layers_TT.size() * length + from, t));
  }
  return flows;
}

}  // namespace attend
