// Files of minimal pairs: three forms, and what is refused by file and line.
#include "data/text/minimal_pairs.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

class MinimalPairs : public testing::Test {
 protected:
  std::vector<MinimalPair> read(const std::string& text) {
    write_file_atomic(directory_ / "pairs.tsv", text);
    return read_minimal_pairs(directory_ / "pairs.tsv");
  }

  // What reading `text` says, after the name of the directory.
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const UserError& error) {
      return std::string(error.what()).substr(directory_.path().string().size() + 1);
    }
    return "nothing";
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(MinimalPairs, HaveTwoThreeOrFourFields) {
  const auto plain = read("He sees.\tHe see.\nShe eats.\tShe eat.\n");
  ASSERT_EQ(plain.size(), 2U);
  EXPECT_EQ(plain[1].better, "She eats.");
  EXPECT_EQ(plain[1].worse, "She eat.");
  EXPECT_EQ(plain[1].kind, "");
  EXPECT_FALSE(plain[1].distance);
  const auto kinds = read("agreement\tHe sees.\tHe see.");
  EXPECT_EQ(kinds[0].kind, "agreement");
  EXPECT_FALSE(kinds[0].distance);
  const auto distances = read("agreement\t1\tHe sees.\tHe see.\nagreement\t12\tHe eats.\tHe eat.\r\n");
  EXPECT_EQ(distances[0].distance, 1);
  EXPECT_EQ(distances[1].distance, 12);
  EXPECT_EQ(distances[1].worse, "He eat.");
}

TEST_F(MinimalPairs, MistakesAreNamedByFileAndLine) {
  EXPECT_EQ(refusal("a\tb\nHe sees.\n"), "pairs.tsv:2: 1 tab-separated field, expected 2 as in the first line");
  EXPECT_EQ(refusal("a\tb\nk\ta\tb\n"), "pairs.tsv:2: 3 tab-separated fields, expected 2 as in the first line");
  EXPECT_EQ(refusal("a\n"), "pairs.tsv:1: 1 tab-separated field, expected 2, 3 or 4");
  EXPECT_EQ(refusal("k\t1\ta\tb\tc\n"), "pairs.tsv:1: 5 tab-separated fields, expected 2, 3 or 4");
  EXPECT_EQ(refusal("a\tb\nHe sees.\tHe sees.\n"), "pairs.tsv:2: both sentences are \"He sees.\"");
  EXPECT_EQ(refusal("k\t1\ta\t \n"), "pairs.tsv:1: field 4 is blank");
  EXPECT_EQ(refusal("k\tfar\ta\tb\n"), "pairs.tsv:1: the distance is \"far\", expected a whole number from 0");
  EXPECT_EQ(refusal("k\t-1\ta\tb\n"), "pairs.tsv:1: the distance is \"-1\", expected a whole number from 0");
  EXPECT_EQ(refusal(""), "pairs.tsv: empty");
}

}  // namespace
}  // namespace attend
