// Learnt biases (Raffel et al. 2020, arXiv 1910.10683, section 2.1, and its code): head h has a number for each of 32
// buckets of distances. In an encoder, 16 buckets are for positions before the query and 16 for those after it; in a
// causal decoder, all are for the past. The first E = 8 or 16 buckets of a direction have one distance each; the others
// grow logarithmically up to 128, and the last one also covers all farther distances. Each layer has its own biases;
// T5's layers share them.
//
//   b[h][d] = table[h][bucket(d)],  bucket(d) = |d| for |d| < E, else E + floor(E log(|d| / E) / log(128 / E)), < 2E;
//   16 more where d > 0
//
//   encoder:  -1, 1, 7, 8, 16 and 128 are in buckets 1, 17, 23, 24, 26 and 31     decoder:  -8 and -128 in 8 and 31
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "models/attention/by_distance.hpp"

namespace attend {

class T5Scope : public DistanceScope {
 public:
  // `width`: H.
  T5Scope(std::shared_ptr<Scope> scope, std::int64_t heads, std::int64_t width, bool causal)
      : DistanceScope(std::move(scope)),
        width_(width),
        causal_(causal),
        table_(register_parameter("table", torch::empty({heads, kBuckets}))) {}

  // Their buckets, [D].
  torch::Tensor rows_of(const torch::Tensor& distances_D) const override {
    std::vector<std::int64_t> buckets;
    const auto* distances = distances_D.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < distances_D.size(0); ++i) buckets.push_back(bucket(distances[i]));
    return torch::tensor(buckets, torch::kLong);
  }
  torch::Tensor biases_DN(const torch::Tensor& buckets_D) const override {
    return torch::embedding(table_.t(), buckets_D);
  }

  // As in T5, with variance 1 / width.
  void initialise(RandomStream& random) override {
    fill_normal(table_, 1 / std::sqrt(static_cast<double>(width_)), random);
  }
  ParameterRole role_of(const torch::Tensor& /*parameter*/) const override { return ParameterRole::bias; }

 private:
  static constexpr std::int64_t kBuckets = 32, kFarthest = 128;

  std::int64_t bucket(std::int64_t distance) const {
    const std::int64_t buckets = causal_ ? kBuckets : kBuckets / 2;  // of this direction
    const std::int64_t first = !causal_ && distance > 0 ? buckets : 0;
    const std::int64_t d = causal_ ? std::max<std::int64_t>(0, -distance) : std::abs(distance);
    const std::int64_t exact = buckets / 2;
    if (d < exact) return first + d;
    // Binary logarithms are exact at powers of two.
    const auto times = [&](std::int64_t x) { return std::log2(static_cast<double>(x) / static_cast<double>(exact)); };
    const auto more = static_cast<std::int64_t>(static_cast<double>(exact) * times(d) / times(kFarthest));
    return first + std::min(exact + more, buckets - 1);
  }

  std::int64_t width_;
  bool causal_;
  torch::Tensor table_;  // [N, 32]
};

}  // namespace attend
