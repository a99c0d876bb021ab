// Rows of numbers that depend on an integer alone, such as the sinusoids of a position or the biases of a distance.
#pragma once

#include <c10/core/InferenceMode.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace attend {

// Keeps the rows of all integers so far in a buffer, which doubles when it grows and is not saved: to read one row more
// at each step of decoding costs nothing. Thread-safe, since workers share a model.
class RowTableImpl : public torch::nn::Module {
 public:
  // Computes the rows of `length` integers from `first`, [length, ...], on the CPU.
  using Compute = std::function<torch::Tensor(std::int64_t first, std::int64_t length)>;
  explicit RowTableImpl(Compute compute)
      : compute_(std::move(compute)), rows_(register_buffer("rows", torch::empty({0}))) {}

  // The same on the device of the model.
  torch::Tensor rows(std::int64_t first, std::int64_t length) const {
    const std::lock_guard lock(mutex_);
    if (first < first_ || first + length > first_ + rows_.size(0)) {
      const std::int64_t begin = std::min(first_, -power_of_two(-first));
      const std::int64_t end = std::max(first_ + rows_.size(0), power_of_two(first + length));
      const c10::InferenceMode for_training_too(false);
      rows_.set_data(compute_(begin, end - begin).to(rows_.device()));
      first_ = begin;
    }
    return rows_.narrow(0, first - first_, length);
  }

 private:
  // At least `number`; 0 if that is not positive.
  static std::int64_t power_of_two(std::int64_t number) {
    return number > 0 ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(number))) : 0;
  }

  Compute compute_;
  mutable std::mutex mutex_;
  mutable std::int64_t first_ = 0;
  torch::Tensor rows_;  // from first_ on
};
TORCH_MODULE(RowTable);

}  // namespace attend
