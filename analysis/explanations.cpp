#include "analysis/explanations.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numbers>
#include <queue>

#include "core/error.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr std::size_t kMostExact = 33;  // items

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

// Nodes are numbered from 0.
class FlowNetwork {
 public:
  explicit FlowNetwork(std::size_t nodes) : edges_of_(nodes), level_(nodes), next_(nodes) {}

  void add_edge(std::size_t from, std::size_t to, double capacity) {
    edges_of_[from].push_back(edges_.size());
    edges_.push_back({to, capacity, capacity});
    edges_of_[to].push_back(edges_.size());  // the way back, edge ^ 1
    edges_.push_back({from, 0, 0});
  }

  double maximum_flow(std::size_t source, std::size_t sink) {
    for (Edge& edge : edges_) edge.left = edge.capacity;
    double flow = 0;
    while (find_levels(source, sink)) {
      std::ranges::fill(next_, 0);
      while (const double more = push(source, sink, std::numeric_limits<double>::infinity())) flow += more;
    }
    return flow;
  }

 private:
  static constexpr double kSaturated = 1e-9;  // what is left of a capacity after rounding
  static constexpr std::size_t kUnreached = std::numeric_limits<std::size_t>::max();

  struct Edge {
    std::size_t to;
    double capacity, left;
  };

  // The distances from the source over edges that are not saturated; true if the sink is reached.
  bool find_levels(std::size_t source, std::size_t sink) {
    std::ranges::fill(level_, kUnreached);
    level_[source] = 0;
    std::queue<std::size_t> reached({source});
    for (; !reached.empty(); reached.pop()) {
      for (const std::size_t e : edges_of_[reached.front()]) {
        const Edge& edge = edges_[e];
        if (edge.left <= kSaturated || level_[edge.to] != kUnreached) continue;
        level_[edge.to] = level_[reached.front()] + 1;
        reached.push(edge.to);
      }
    }
    return level_[sink] != kUnreached;
  }

  // Pushes flow along one shortest path, at most `most`; 0 if all are saturated.
  double push(std::size_t node, std::size_t sink, double most) {
    if (node == sink) return most;
    for (std::size_t& i = next_[node]; i < edges_of_[node].size(); ++i) {
      const std::size_t e = edges_of_[node][i];
      Edge& edge = edges_[e];
      if (edge.left <= kSaturated || level_[edge.to] != level_[node] + 1) continue;
      const double pushed = push(edge.to, sink, std::min(most, edge.left));
      if (pushed == 0) continue;
      edge.left -= pushed;
      edges_[e ^ 1].left += pushed;
      return pushed;
    }
    return 0;
  }

  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> edges_of_;  // by node
  std::vector<std::size_t> level_, next_;           // by node; `next_`: its first edge that may still be used
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
  const auto length = static_cast<std::size_t>(layers_TT.front().size(0));
  FlowNetwork network((layers_TT.size() + 1) * length);  // token t above layer l: node l * length + t
  for (std::size_t layer = 0; layer < layers_TT.size(); ++layer) {
    const Tensor capacities_TT = with_residual(layers_TT[layer]).contiguous();
    const double* capacity = capacities_TT.const_data_ptr<double>();
    for (std::size_t t = 0; t < length; ++t) {
      for (std::size_t s = 0; s < length; ++s) {
        if (const double of_edge = *capacity++; of_edge > 0) {
          network.add_edge((layer + 1) * length + t, layer * length + s, of_edge);
        }
      }
    }
  }
  std::vector<double> flows;
  for (std::size_t t = 0; t < length; ++t) {
    flows.push_back(network.maximum_flow(layers_TT.size() * length + static_cast<std::size_t>(from), t));
  }
  return flows;
}

}  // namespace attend
