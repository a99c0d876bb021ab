// Files of minimal pairs: three forms of texts and three of translations, and what is refused by file and line.
#include "data/text/minimal_pairs.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

class MinimalPairs : public TestWithFiles {
 protected:
  std::vector<MinimalPair> read(const std::string& text, PairsOf what = PairsOf::texts) {
    return read_minimal_pairs(write("pairs.tsv", text), what);
  }

  // What reading `text` says, after the name of the directory.
  std::string refusal(const std::string& text, PairsOf what = PairsOf::texts) {
    return without_place(user_error_of([&] { read(text, what); }), directory_.path().string() + "/");
  }
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

TEST_F(MinimalPairs, OfTranslationsHaveASourceBeforeTheBetterOne) {
  const auto plain = read("Him.\tEr.\tSie.\n", PairsOf::translations);
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0].source, "Him.");
  EXPECT_EQ(plain[0].better, "Er.");
  EXPECT_EQ(plain[0].worse, "Sie.");
  EXPECT_EQ(plain[0].kind, "");
  EXPECT_FALSE(plain[0].distance);
  const auto kinds = read("pronoun\tHim.\tEr.\tSie.", PairsOf::translations);
  EXPECT_EQ(kinds[0].kind, "pronoun");
  EXPECT_EQ(kinds[0].source, "Him.");
  EXPECT_FALSE(kinds[0].distance);
  const auto distances = read("pronoun\t4\tHim.\tEr.\tSie.", PairsOf::translations);
  EXPECT_EQ(distances[0].kind, "pronoun");
  EXPECT_EQ(distances[0].distance, 4);
  EXPECT_EQ(distances[0].source, "Him.");
  EXPECT_EQ(read("a\tb").front().source, "");
}

TEST_F(MinimalPairs, WithoutASourceAreNoTranslations) {
  EXPECT_EQ(refusal("Er.\tSie.\n", PairsOf::translations), "pairs.tsv:1: 2 tab-separated fields, expected 3, 4 or 5");
  EXPECT_EQ(refusal("pronoun\t4\tEr.\tSie.\n", PairsOf::translations),
            "pairs.tsv:1: field 2 is \"4\", expected a source sentence");
  EXPECT_EQ(refusal("k\tfar\tHim.\tEr.\tSie.\n", PairsOf::translations),
            "pairs.tsv:1: the distance is \"far\", expected a whole number from 0");
  EXPECT_EQ(refusal("Him.\tEr.\tSie.\nEr.\tSie.\n", PairsOf::translations),
            "pairs.tsv:2: 2 tab-separated fields, expected 3 as in the first line");
}

// Three fields are a kind or a source before the better sentence: most of them say which.
TEST_F(MinimalPairs, OfThreeFieldsAreThoseOfTheModel) {
  const std::string translations = "Title\tTitel\tTitle\nHim.\tEr.\tSie.\nHer!\tSie!\tEr!\n";
  EXPECT_EQ(read(translations, PairsOf::translations).size(), 3U);
  EXPECT_EQ(refusal(translations), "pairs.tsv: \"Him.\" before \"Er.\" looks like a sentence, not a kind of error");
  const std::string texts = "1st sg.\tI am.\tI is.\nplural\tWe are.\tWe is.\nplural\tYou are\u3002\tYou is\u3002\n";
  EXPECT_EQ(read(texts).size(), 3U);
  EXPECT_EQ(refusal(texts, PairsOf::translations),
            "pairs.tsv: \"plural\" before \"We are.\" looks like a kind of error, not a source sentence");
  EXPECT_EQ(read("a b\tc d\td c\n", PairsOf::translations).size(), 1U) << "nothing ends as a sentence";
}

}  // namespace
}  // namespace attend
