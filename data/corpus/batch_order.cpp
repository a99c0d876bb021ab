#include "data/corpus/batch_order.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <ranges>

#include "core/error.hpp"
#include "core/random.hpp"

namespace attend {
namespace {

std::int64_t longest_side(PairLength length) { return std::int64_t{std::max(length.src, length.tgt)} + 1; }

// The number of sentences times the longest on either side, with end tokens.
std::int64_t padded(std::span<const std::uint32_t> examples, const std::vector<PairLength>& lengths) {
  std::int64_t longest = 0;
  for (const auto example : examples) longest = std::max(longest, longest_side(lengths[example]));
  return longest * std::ssize(examples);
}

// A length, randomly increased by up to 1 + length / 8.
std::uint32_t lift(std::uint32_t length, std::uint64_t random) {
  return length + static_cast<std::uint32_t>(random % (2 + length / 8));
}

// A stable sort in linear time.
template <class Key>
void counting_sort(std::vector<std::uint32_t>& items, std::uint32_t num_keys, const Key& key) {
  std::vector<std::uint32_t> place(num_keys + 1);
  for (const auto item : items) ++place[key(item) + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<std::uint32_t> sorted(items.size());
  for (const auto item : items) sorted[place[key(item)]++] = item;
  items.swap(sorted);
}

std::vector<PairLength> lengths_of(const EncodedCorpus& corpus) {
  std::vector<PairLength> lengths(corpus.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = corpus.length(i);
  return lengths;
}

}  // namespace

BatchOrder::BatchOrder(const EncodedCorpus& corpus, const BatchConfig& config, std::uint64_t seed)
    : BatchOrder(lengths_of(corpus), config, seed,
                 [&](std::int64_t example) { return "line " + std::to_string(corpus.line(example)); }) {}

BatchOrder::BatchOrder(std::vector<PairLength> lengths, const BatchConfig& config, std::uint64_t seed,
                       const std::function<std::string(std::int64_t)>& name_of_example)
    : lengths_(std::move(lengths)), max_tokens_(config.max_tokens.value()), seed_(seed) {
  ensure(lengths_.size() < std::numeric_limits<std::uint32_t>::max(), "examples are numbered with 32 bits");
  const auto longest = std::ranges::max_element(lengths_, {}, longest_side);
  if (longest != lengths_.end() && longest_side(*longest) > max_tokens_) {
    const std::int64_t example = longest - lengths_.begin();
    throw UserError((name_of_example ? name_of_example(example) : "example " + std::to_string(example)) + " has " +
                        std::to_string(longest_side(*longest)) + " tokens, more than a whole batch (--max-tokens " +
                        std::to_string(max_tokens_) + ")",
                    "raise --max-tokens to " + std::to_string(longest_side(*longest)) + " or lower --max-length");
  }
}

BatchOrder::Epoch BatchOrder::epoch(std::int64_t epoch, std::vector<PairLength> own_lengths) const {
  const std::uint64_t key = combine_keys(seed_, static_cast<std::uint64_t>(epoch));
  RandomStream random(key);
  Epoch result;
  result.lengths_ = std::move(own_lengths);
  const std::vector<PairLength>& lengths = result.lengths_.empty() ? lengths_ : result.lengths_;
  ensure(lengths.size() == lengths_.size(), "a length for every example");
  auto& examples = result.examples_;
  examples.resize(lengths.size());
  std::iota(examples.begin(), examples.end(), 0u);
  shuffle(examples, random);

  std::uint32_t num_src = 0;
  std::uint32_t num_tgt = 0;
  const auto lifted_src = [&](std::uint32_t example) { return lift(lengths[example].src, mix_bits(key + example)); };
  const auto lifted_tgt = [&](std::uint32_t example) { return lift(lengths[example].tgt, mix_bits(key ^ example)); };
  for (const auto example : examples) {
    num_src = std::max(num_src, lifted_src(example) + 1);
    num_tgt = std::max(num_tgt, lifted_tgt(example) + 1);
  }
  counting_sort(examples, num_src, [&](std::uint32_t example) {
    const std::uint32_t src = lifted_src(example);
    return lifted_tgt(example) % 2 == 0 ? src : num_src - 1 - src;
  });
  counting_sort(examples, num_tgt, lifted_tgt);

  std::int64_t longest = 0;
  for (std::uint32_t i = 0; i < examples.size(); ++i) {
    longest = std::max(longest, longest_side(lengths[examples[i]]));
    const std::int64_t rows = result.begins_.empty() ? 0 : i - result.begins_.back();
    if (rows == 0 || (rows + 1) * longest > max_tokens_) {
      result.begins_.push_back(i);
      longest = longest_side(lengths[examples[i]]);
    }
  }
  result.order_.resize(result.begins_.size());
  std::iota(result.order_.begin(), result.order_.end(), 0u);
  shuffle(result.order_, random);
  result.begins_.push_back(static_cast<std::uint32_t>(examples.size()));
  return result;
}

std::span<const std::uint32_t> BatchOrder::Epoch::batch(std::int64_t index) const {
  ensure(index >= 0 && index < size(), "the batch is in the epoch");
  const std::uint32_t b = order_[index];
  return std::span(examples_).subspan(begins_[b], begins_[b + 1] - begins_[b]);
}

std::int64_t BatchOrder::largest(const Epoch& epoch) const {
  const auto batches = std::views::iota(std::int64_t{0}, epoch.size());
  return *std::ranges::max_element(batches, {}, [&](std::int64_t b) {
    return padded(epoch.batch(b), epoch.lengths_.empty() ? lengths_ : epoch.lengths_);
  });
}

}  // namespace attend
