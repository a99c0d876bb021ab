// A safetensors file that was damaged at random is refused or reads as tensors inside itself; nothing else happens.
#include "core/safetensors.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>

#include "core/error.hpp"
#include "core/random.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

// Reads the whole of every tensor, so that the sanitizers see a view that leaves the file.
bool is_read(const std::filesystem::path& path) {
  try {
    const SafetensorsFile file(path);
    std::size_t total = 0;
    [[maybe_unused]] volatile std::byte sink{};
    for (const TensorView& tensor : file.tensors()) {
      total += tensor.bytes.size();
      for (const std::byte byte : tensor.bytes) sink = byte;
    }
    EXPECT_LE(total, std::filesystem::file_size(path));
    return true;
  } catch (const UserError&) {
    return false;
  }
}

TEST(SafetensorsFuzz, DamageIsRefusedOrHarmless) {
  const TemporaryDirectory directory;
  const std::vector<float> values(12, 1.0F);
  const std::vector<TensorView> tensors = {
      {"a", DType::f32, {3, 4}, std::as_bytes(std::span(values))},
      {"b", DType::u8, {2}, std::as_bytes(std::span(values)).subspan(0, 2)},
  };
  write_safetensors(directory / "good", tensors, {{"k", "v"}});
  ASSERT_TRUE(is_read(directory / "good"));
  const std::string good = read_file(directory / "good");

  RandomStream random(7);
  using namespace std::string_view_literals;
  constexpr std::string_view kSpice = "{}[]\",:0189-.e\\ \xff\x80\0u"sv;
  int refused = 0;
  constexpr int kRounds = 4000;
  for (int round = 0; round < kRounds; ++round) {
    std::string bad = good;
    for (std::uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      const std::size_t place = random.below(bad.size());
      switch (random.below(4)) {
        case 0: bad[place] = static_cast<char>(random.below(256)); break;
        case 1: bad[place] = kSpice[random.below(kSpice.size())]; break;
        case 2: bad.insert(place, 1, kSpice[random.below(kSpice.size())]); break;
        default: bad.erase(place, 1 + random.below(8));
      }
      if (bad.empty()) bad = "x";
    }
    std::ofstream(directory / "bad", std::ios::binary) << bad;
    refused += is_read(directory / "bad") ? 0 : 1;
  }
  EXPECT_GT(refused, kRounds / 2);

  for (std::size_t size = 0; size < good.size(); ++size) {
    std::ofstream(directory / "bad", std::ios::binary) << good.substr(0, size);
    EXPECT_FALSE(is_read(directory / "bad")) << "cut to " << size << " bytes";
  }
}

}  // namespace
}  // namespace attend
