// What a forward pass is given beside its inputs: whether it trains, and where its random numbers come from.
#pragma once

#include <cstdint>

#include "core/random.hpp"
#include "models/ops/ops.hpp"

namespace attend {

// One forward pass. Every dropout place asks for the next key, so that the same (key, order of places) gives the same
// masks.
class Context {
 public:
  static Context inference() { return Context(false, 0); }
  static Context train(std::uint64_t key) { return Context(true, key); }

  // The next dropout place: nothing is dropped outside training.
  ops::Dropout dropout(double rate) {
    ++places_;
    return {.rate = training_ ? rate : 0.0, .key = combine_keys(key_, places_)};
  }

 private:
  Context(bool training, std::uint64_t key) : training_(training), key_(key) {}
  bool training_;
  std::uint64_t key_;
  std::uint64_t places_ = 0;
};

}  // namespace attend
