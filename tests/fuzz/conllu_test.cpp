// A file of dependency trees that was damaged at random is refused or read as trees whose words stand in their text.
#include "data/text/conll.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/random.hpp"
#include "tests/support/example_tree.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

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

}  // namespace
}  // namespace attend
