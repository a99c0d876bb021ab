// Word alignments read from files, and their error rate against what NLTK says of fixtures/alignments.json
// (tests/parity/make_fixtures_alignments.py).
#include "data/text/word_alignment.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json.hpp"
#include "eval/metrics/alignment_error.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

using nlohmann::json;

class LinksTest : public TestWithFiles {
 protected:
  std::string write_links(const std::string& text) const { return write("links", text); }

  std::string write_links(const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return write_links(text);
  }

  // The message about the only text that is refused, without the name of its file, and the remedy.
  std::string refusal(const std::string& text, const LinkFormat& format) {
    const std::string file = write_links(text);
    return without_place(error_and_remedy_of([&] { read_links(file, format); }), file);
  }
};

TEST_F(LinksTest, SureAndPossibleLinksAreSortedAndSureOnesArePossible) {
  const auto links = read_links(write_links("2-1  0-0\t1?3 0-0\n\n4?4 4-4\r\n"), {});
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[0].sure, (std::vector<Link>{{0, 0}, {2, 1}}));
  EXPECT_EQ(links[0].possible, (std::vector<Link>{{0, 0}, {1, 3}, {2, 1}}));
  EXPECT_TRUE(links[1].possible.empty());
  EXPECT_EQ(links[2].sure, links[2].possible);
  EXPECT_EQ(to_text(links[0].sure), "0-0 2-1");
}

TEST_F(LinksTest, TheFirstSideAndTheFirstWordAreAsTheFormatSays) {
  const std::string file = write_links("3-1 1?2\n");
  EXPECT_EQ(read_links(file, {.direction = LinkDirection::target_source})[0].possible,
            (std::vector<Link>{{1, 3}, {2, 1}}));
  EXPECT_EQ(read_links(file, {.base = 1})[0].possible, (std::vector<Link>{{0, 1}, {2, 0}}));
}

TEST_F(LinksTest, WhatIsNoLinkIsRefused) {
  for (const std::string token : {"1", "1-", "-1", "1-2-3", "1--2", "-1-2", "a-b", "1=2", "+1-2", "1-2,", "0x1-2",
                                  "1-?2", "99999999999999999999-0"}) {
    EXPECT_TRUE(refusal("0-0\n1-1 " + token + "\n", {}).starts_with(":2: \"" + token + "\" is not a link | write"))
        << token;
  }
  EXPECT_EQ(refusal("", {}), ": empty | check that it is the right file");
}

TEST_F(LinksTest, PossibleLinksAndPositionsAreRefusedWhereTheyCannotBe) {
  EXPECT_TRUE(refusal("1?2\n", {.may_be_possible = false}).starts_with(":1: \"1?2\" is a possible link, but only"));
  EXPECT_TRUE(refusal("1-1\n1-0\n", {.base = 1}).starts_with(":2: \"1-0\" has a position below 1, the first word | "));
  const LinkFormat lengths{.remedy = "see", .source_words = {2, 3}, .target_words = {9, 1}};
  EXPECT_EQ(refusal("1-8\n2-0\n", lengths), "");
  EXPECT_EQ(refusal("1-8\n2-0 3-0\n", lengths),
            ":2: \"3-0\" names word 3 of a source sentence of 3 words, counted from 0 | see");
  EXPECT_EQ(refusal("1-9\n", lengths),
            ":1: \"1-9\" names word 9 of a target sentence of 9 words, counted from 0 | see");
  LinkFormat reverse = lengths;
  reverse.direction = LinkDirection::target_source;
  reverse.base = 1;
  EXPECT_EQ(refusal("9-2\n1-3\n", reverse), "");
  EXPECT_EQ(refusal("9-2\n2-3\n", reverse),
            ":2: \"2-3\" names word 2 of a target sentence of 1 words, counted from 1 | see");
}

TEST_F(LinksTest, TheErrorRateEqualsNltk) {
  for (const json& entry : read_json(ATTEND_SOURCE_DIR "/tests/parity/fixtures/alignments.json")) {
    const auto found =
        read_links(write_links(entry.at("links").get<std::vector<std::string>>()), {.may_be_possible = false});
    const bool reverse = entry.at("direction") == name_of(LinkDirection::target_source);
    const auto gold = read_links(write_links(entry.at("gold").get<std::vector<std::string>>()),
                                 {.direction = reverse ? LinkDirection::target_source : LinkDirection::source_target,
                                  .base = entry.at("base").get<std::int64_t>()});
    ASSERT_EQ(found.size(), gold.size());
    metrics::AlignmentTally tally;
    for (std::size_t i = 0; i < gold.size(); ++i) tally.add(found[i].sure, gold[i]);
    const json& scores = entry.at("scores");
    EXPECT_EQ(tally.links(), scores.at("links").get<std::int64_t>());
    EXPECT_EQ(tally.sure(), scores.at("sure").get<std::int64_t>());
    EXPECT_EQ(tally.possible(), scores.at("possible").get<std::int64_t>());
    EXPECT_NEAR(tally.error_rate(), scores.at("aer").get<double>(), 1e-9);
    EXPECT_NEAR(tally.precision(), scores.at("precision").get<double>(), 1e-9);
    EXPECT_NEAR(tally.recall(), scores.at("recall").get<double>(), 1e-9);
  }
}

// The example of eval/metrics/alignment_error.hpp.
TEST(AlignmentError, IsTheEquation) {
  metrics::AlignmentTally tally;
  tally.add({{0, 0}, {1, 2}, {2, 1}}, {.sure = {{0, 0}, {1, 1}}, .possible = {{0, 0}, {1, 1}, {1, 2}}});
  EXPECT_NEAR(tally.error_rate(), 40, 1e-12);
  EXPECT_NEAR(tally.precision(), 200.0 / 3, 1e-12);
  EXPECT_NEAR(tally.recall(), 50, 1e-12);
  EXPECT_EQ(metrics::AlignmentTally().error_rate(), 0);
}

}  // namespace
}  // namespace attend
