// Random numbers as pure functions of a key and a position: two integers restore a stream, and it depends neither on
// threads nor on other streams.
//
// The mixer is splitmix64's finaliser (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace attend {

// A bijection of 64-bit integers in which each input bit flips each output bit with a probability near one half.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Combines several numbers into one key: combine_keys(seed, epoch, position).
template <class... Rest>
constexpr std::uint64_t combine_keys(std::uint64_t first, Rest... rest) {
  std::uint64_t key = mix_bits(first);
  ((key = mix_bits(key ^ (static_cast<std::uint64_t>(rest) + 0x632be59bd9b4e019ULL))), ...);
  return key;
}

// A stream of random numbers: draw i is mix_bits(key ^ mix_bits(i)), so (key, counter) is its whole state.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t key = 0) : key_(key) {}

  std::uint64_t operator()() { return mix_bits(key_ ^ mix_bits(counter_++)); }

  // Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

  // Uniform in [0, bound), bound > 0 (Lemire 2019: multiply and shift; the bias is below bound / 2^64).
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>((*this)()) * bound) >> 64);
  }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

// The Fisher-Yates shuffle, identical on every platform (std::shuffle is not).
template <class Container>
void shuffle(Container& items, RandomStream& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace attend
