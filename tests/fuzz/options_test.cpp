// A config file that was damaged at random is refused or read; what is read prints and reads back equal.
#include "core/options.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/random.hpp"

namespace attend {
namespace {

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
