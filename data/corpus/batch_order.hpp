// Which examples are in which batch: a pure function of (seed, epoch), so that the order is resumed by two integers.
//
// An epoch is made so: the examples are shuffled, then sorted by the length of the target and, within it, of the source
// (up and down in turn, so that neighbours are alike everywhere), each length first lifted by a small random number so
// that batches differ from epoch to epoch; cut into batches of at most `max_tokens` padded tokens; the batches are
// shuffled.
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

struct BatchConfig {
  std::optional<std::int64_t> max_tokens;  // chosen before batches are made

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("max-tokens", self.max_tokens,
          {.help = "padded tokens of a batch: its sentences times the longest of either side, end included; "
                   "auto: by the size of the data, or by the device",
           .min = 1,
           .max = 1e9});
  }
};

class BatchOrder {
 public:
  // The batches of one epoch.
  class Epoch {
   public:
    std::int64_t size() const { return static_cast<std::int64_t>(order_.size()); }
    // The examples of a batch.
    std::span<const std::uint32_t> batch(std::int64_t index) const;

   private:
    friend class BatchOrder;
    std::vector<std::uint32_t> examples_;
    std::vector<std::uint32_t> begins_;  // batch b is examples_[begins_[b]] to examples_[begins_[b + 1]]
    std::vector<std::uint32_t> order_;
  };

  // Lengths without bos and eos, one an example. `name_of_example` is for messages. UserError when a sentence with its
  // end is longer than the budget.
  BatchOrder(std::vector<PairLength> lengths, const BatchConfig& config, std::uint64_t seed,
             const std::function<std::string(std::int64_t)>& name_of_example = {});
  BatchOrder(const EncodedCorpus& corpus, const BatchConfig& config, std::uint64_t seed);

  Epoch epoch(std::int64_t epoch) const;

  // Sentences times the longest of either side, end included: what the budget bounds.
  std::int64_t padded_tokens(std::span<const std::uint32_t> examples) const;

  // The batch of the epoch that has most padded tokens.
  std::int64_t largest(const Epoch& epoch) const;

 private:
  std::vector<PairLength> lengths_;
  std::int64_t max_tokens_;
  std::uint64_t seed_;
};

}  // namespace attend
