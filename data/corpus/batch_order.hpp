// The order of the batches of a corpus, and a place in it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/corpus/parallel_corpus.hpp"

namespace attend {

// The position of a training run in its data: between two batches in the endless stream of epochs.
struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  // in that epoch
  std::int64_t phase = 0;  // for runs whose sequences change during training; a new phase restarts the epoch count

  // The same position, normalised for epochs of `batches`: the end of one epoch is the start of the next.
  DataPosition within(std::int64_t batches) const {
    return batch < batches ? *this : DataPosition{epoch + 1, 0, phase};
  }

  bool operator==(const DataPosition&) const = default;
};

// Assigns examples to batches: a pure function of (seed, epoch), so that two integers suffice to resume the order.
//
// To build an epoch, shuffle the examples and sort them by target length, then by source length (alternately ascending
// and descending, so that neighbours are always similar), after adding small random noise to each length so that
// batches differ between epochs; cut the result into batches of at most `max_tokens` padded tokens; shuffle the
// batches.

struct BatchConfig {
  std::optional<std::int64_t> max_tokens;  // resolved before batches are made

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("max-tokens", self.max_tokens,
          {.help = "padded tokens per batch: number of sentences times the longest one on either side, end tokens "
                   "included; auto: by the size of the data, or by the device",
           .min = 1,
           .max = 1e9,
           .common = true});
  }
};

class BatchOrder {
 public:
  // The batches of one epoch.
  class Epoch {
   public:
    std::int64_t size() const { return std::ssize(order_); }
    // The examples of a batch.
    std::span<const std::uint32_t> batch(std::int64_t index) const;

   private:
    friend class BatchOrder;
    std::vector<std::uint32_t> examples_;
    std::vector<std::uint32_t> begins_;  // batch b is examples_[begins_[b]] … examples_[begins_[b + 1] - 1]
    std::vector<std::uint32_t> order_;
    std::vector<PairLength> lengths_;  // if the epoch has its own
  };

  // Lengths without bos and eos, one per example. `name_of_example` is for messages. Throws UserError if a sentence
  // with its end token exceeds the budget.
  BatchOrder(std::vector<PairLength> lengths, const BatchConfig& config, std::uint64_t seed,
             const std::function<std::string(std::int64_t)>& name_of_example = {});
  BatchOrder(const EncodedCorpus& corpus, const BatchConfig& config, std::uint64_t seed);

  // `lengths`: of the examples in this epoch, if they are not those of the constructor. None may exceed the budget.
  Epoch epoch(std::int64_t epoch, std::vector<PairLength> lengths = {}) const;

  // The batch of the epoch with the most padded tokens, by the lengths of the epoch.
  std::int64_t largest(const Epoch& epoch) const;

 private:
  std::vector<PairLength> lengths_;
  std::int64_t max_tokens_;
  std::uint64_t seed_;
};

}  // namespace attend
