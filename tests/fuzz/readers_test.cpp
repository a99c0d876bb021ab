// Random and damaged files.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/options.hpp"
#include "core/random.hpp"
#include "core/safetensors.hpp"
#include "data/text/conll.hpp"
#include "tests/support/example_tree.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

// A file of dependency trees that was damaged at random is refused or read as trees whose words stand in their text.

// Whether the file was taken; if so, follows every word to the root and writes the sentences.
bool is_taken_as_trees(const std::filesystem::path& path) {
  try {
    for (const TreeSentence& sentence : read_conllu(path.string())) {
      EXPECT_EQ(sentence.places.size(), sentence.words.size());
      for (std::size_t i = 0; i < sentence.words.size(); ++i) {
        EXPECT_LT(sentence.places[i].first, sentence.places[i].second);
        EXPECT_LE(sentence.places[i].second, sentence.text.size());
        std::size_t steps = 0;
        for (std::size_t at = i + 1; at != 0; at = sentence.words.at(at - 1).head) {
          if (++steps > sentence.words.size()) {
            ADD_FAILURE() << "a cycle";
            break;
          }
        }
      }
      to_conllu(sentence);
    }
    return true;
  } catch (const UserError&) {
    return false;
  }
}

TEST(ConlluFuzz, DamageIsRefusedOrHarmless) {
  const TemporaryDirectory directory;
  std::string good(kExampleTree);
  good.insert(good.find("5\tHaus"), "4.1\talten\t_\tADJ\t_\t_\t_\t_\t5:amod\t_\n");  // an empty node
  good +=
      "1\tGeh\t_\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No\n"
      "2\t!\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_\n";
  write_file_atomic(directory / "trees", good);
  ASSERT_TRUE(is_taken_as_trees(directory / "trees"));
  RandomStream random(8);
  constexpr std::string_view kSpice = "0123456789-.\t\n_=| #\xff\xc3";
  constexpr int kRounds = 3000;
  int taken = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string bad = good;
    for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const std::size_t place = random.below(bad.size());
      switch (random.below(3)) {
        case 0: bad[place] = kSpice[random.below(kSpice.size())]; break;
        case 1: bad.insert(place, 1, kSpice[random.below(kSpice.size())]); break;
        default: bad.erase(place, 1 + random.below(4));
      }
    }
    write_file_atomic(directory / "trees", bad);
    taken += is_taken_as_trees(directory / "trees");
  }
  EXPECT_GT(taken, kRounds / 50);
  EXPECT_LT(taken, kRounds * 19 / 20);
}

// A safetensors file that was damaged at random is refused or reads as tensors inside itself; nothing else happens.

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

// A config file that was damaged at random is refused or read; what is read prints and reads back equal.

struct Config {
  std::string text = "a \"quoted\" one";
  std::vector<std::string> list = {"a", "b"};
  std::int64_t count = 5;
  double rate = 0.5;
  bool on = true;
  std::optional<Duration> time;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("text", self.text, {.help = "text"});
    visit("list", self.list, {.help = "list"});
    visit("count", self.count, {.help = "count"});
    visit("rate", self.rate, {.help = "rate", .min = 0, .max = 1});
    visit("on", self.on, {.help = "on"});
    visit("time", self.time, {.help = "time"});
  }
};

TEST(OptionsFuzz, DamageIsRefusedOrReadsBackEqual) {
  const std::string good = to_toml(Config{});
  using namespace std::string_view_literals;
  constexpr std::string_view kSpice = "[]{}\"'=#\n\\u0e+-._:TZ\xff\x80\0\x7f"sv;
  RandomStream random(11);
  int read = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    std::string bad = good;
    for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const std::size_t place = random.below(bad.size());
      if (random.below(2) == 0) {
        bad[place] = kSpice[random.below(kSpice.size())];
      } else {
        bad.insert(place, 1, kSpice[random.below(kSpice.size())]);
      }
    }
    Config config;
    OptionOrigins origins;
    try {
      BoundOptions options = bind(config);
      apply_toml(options, bad, "f", origins);
    } catch (const UserError&) {
      continue;
    }
    ++read;
    Config again;
    BoundOptions options = bind(again);
    apply_toml(options, to_toml(config), "again", origins);
    EXPECT_EQ(to_toml(config), to_toml(again)) << bad;
  }
  EXPECT_GT(read, kRounds / 20);
  EXPECT_LT(read, kRounds);
}

}  // namespace
}  // namespace attend
