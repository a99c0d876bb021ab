// The sum of gradients over all ranks, in buckets of parameters. Each bucket is sent as soon as the backward pass has
// computed it, so that communication and computation overlap (Li et al. 2020, arXiv 2006.15704).
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "train/distributed/ranks.hpp"

namespace attend {

class GradientSum {
 public:
  // Sums the gradients of all parameters that require one. `model` and `ranks` must outlive it. With a single rank it
  // does nothing.
  GradientSum(const torch::nn::Module& model, Ranks& ranks);
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;
  ~GradientSum();

  // Announces that the next backward pass is the last of the update.
  void begin();
  // Waits until every gradient is the sum over the ranks; one that no rank has stays undefined. Throws Interrupted if a
  // rank is lost.
  void finish();

 private:
  // Parameters whose gradients share one tensor, followed by the number of ranks that have each gradient.
  struct Bucket {
    std::vector<torch::Tensor> parameters = {};
    std::vector<std::int64_t> begins = {};  // of each, in `sums`
    std::int64_t end = 0;                   // of all
    torch::Tensor sums = {};
    std::size_t made = 0;  // gradients of this update
    std::unique_ptr<PendingSum> pending = {};

    torch::Tensor place_of(std::size_t p) const {
      return sums.narrow(0, begins[p], parameters[p].numel()).view_as(parameters[p]);
    }
    torch::Tensor holders() const { return sums.narrow(0, end, std::ssize(parameters)); }
  };

  void gradient_made(std::size_t bucket);
  void launch_next();

  Ranks& ranks_;
  std::vector<Bucket> buckets_;
  bool begun_ = false;
  std::size_t launched_ = 0;  // buckets, in the same order on all ranks
};

}  // namespace attend
