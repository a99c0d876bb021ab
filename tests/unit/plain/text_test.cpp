// Text files: lines and links of words.
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/text/parallel.hpp"
#include "data/text/word_alignment.hpp"
#include "eval/metrics/predictions.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// What comes out of lines as they are in the wild.

class LinesTest : public TestWithFiles {
 protected:
  // Thousands of lines "line N", cut in the middle of the packed bytes.
  std::string write_gz_cut() {
    std::string text;
    for (int i = 1; i <= 20000; ++i) text += "line " + std::to_string(i) + "\n";
    const std::string bytes = read_file(write_gz("whole.gz", text));
    return write("half.gz", bytes.substr(0, bytes.size() / 2));
  }

  std::string write_gz(const std::string& name, const std::string& text) {
    const std::string path = (directory_ / name).string();
    const gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path;
  }

  std::vector<std::string> read(const std::string& path) {
    LineReader reader(path);
    std::vector<std::string> lines;
    std::string line;
    while (reader.next(line)) {
      EXPECT_TRUE(is_utf8(line));
      lines.push_back(line);
    }
    EXPECT_EQ(reader.counts().lines, lines.size());
    report_ = reader.counts().report();
    return lines;
  }

  std::string refusal(const std::string& path) {
    try {
      check_text_file(path);
    } catch (const UserError& error) {
      return std::string(error.what()).substr(path.size());
    }
    return "";
  }

  std::string report_;
};

using Lines = std::vector<std::string>;

TEST_F(LinesTest, AreCountedInPlainFilesAlone) {
  EXPECT_EQ(count_lines(write("three", "a\n\nb")), 3);
  EXPECT_EQ(count_lines(write("two", "a\nb\n")), 2);
  EXPECT_EQ(count_lines(write("none", "")), 0);
  EXPECT_EQ(count_lines(write("large", std::string(300'000, '\n'))), 300'000);
  EXPECT_EQ(count_lines(write_gz("packed.gz", "a\nb\n")), std::nullopt);
  EXPECT_EQ(count_lines(directory_ / "missing"), std::nullopt);
  EXPECT_EQ(count_lines("/dev/null"), std::nullopt);
}

TEST_F(LinesTest, OnlyNewlineEndsALine) {
  EXPECT_EQ(read(write("f", "a\nb\n\nc")), (Lines{"a", "b", "", "c"}));
  EXPECT_EQ(read(write("f", "a\n")), (Lines{"a"}));
  EXPECT_EQ(read(write("f", "\n\n")), (Lines{"", ""}));
  EXPECT_EQ(read(write("f", "")), Lines{});
  EXPECT_EQ(report_, "0 lines");
  EXPECT_EQ(read(write("f",
                       "a\rb\x0B"
                       "c\x0C"
                       "d\xC2\x85"
                       "e\xE2\x80\xA8"
                       "f\xE2\x80\xA9g\x1Ch\ni")),
            (Lines{"a b c d e f g h", "i"}));
  EXPECT_EQ(report_, "2 lines: 1 with a line break inside (replaced by a space)");
}

TEST_F(LinesTest, CleansWhatIsNoText) {
  EXPECT_EQ(read(write("f",
                       "\xEF\xBB\xBF"
                       "a\r\nb\r\n\r\n")),
            (Lines{"a", "b", ""}));
  EXPECT_EQ(report_, "3 lines: 3 with CRLF (CR removed), 1 with a byte-order mark (removed)");
  EXPECT_EQ(read(write("f", std::string("a\0b\n\0\n", 6))), (Lines{"ab", ""}));
  EXPECT_EQ(report_, "2 lines: 2 with NUL (removed)");
  // Stray, cut short, overlong, a surrogate, beyond U+10FFFF: a U+FFFD for each byte.
  EXPECT_EQ(
      read(write("f", "a\xFFz\nb\xE2\x82\nc\xC0\x80\n\xED\xA0\x80\n\xF4\x90\x80\x80\nä€😀")),
      (Lines{"a\uFFFDz", "b\uFFFD\uFFFD", "c\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD\uFFFD", "ä€😀"}));
  EXPECT_EQ(report_, "6 lines: 5 with invalid UTF-8");
}

TEST_F(LinesTest, ReadsGzipAndLongLines) {
  const std::string line(1 << 20, 'x');
  const Lines lines = {line, "ä", line + "ü"};
  const std::string text = lines[0] + "\n" + lines[1] + "\n" + lines[2];
  EXPECT_EQ(read(write("f", text)), lines);
  const std::string gz = write_gz("f.gz", text);
  EXPECT_EQ(read(gz), lines);
  const std::string bytes = read_file(gz);
  EXPECT_EQ(read(write("two.gz", bytes + bytes)).size(), 5u);
  EXPECT_THROW(read(write("cut.gz", bytes.substr(0, bytes.size() / 2))), UserError);
  LineReader cut(write_gz_cut());
  std::string last;
  std::uint64_t count = 0;
  const std::string error = user_error_of([&] {
    while (cut.next(last)) ++count;
  });
  EXPECT_GT(count, 1000u);
  EXPECT_EQ(last, "line " + std::to_string(count));  // all whole lines, and no half one
  EXPECT_NE(error.find("readable as far as line " + std::to_string(count) + " ("), std::string::npos) << error;
  std::string damaged = bytes;
  damaged[damaged.size() - 6] ^= 1;
  EXPECT_THROW(read(write("damaged.gz", damaged)), UserError);
}

TEST_F(LinesTest, RefusesFilesThatAreNoText) {
  EXPECT_EQ(refusal(write("f", "text\n")), "");
  EXPECT_EQ(refusal(write("f", "M\xE4nner l\xE4uft sch\xF6n und dann noch viel mehr Text\n")), "");
  EXPECT_EQ(refusal(write("f", "")), ": an empty file");
  EXPECT_EQ(refusal(write_gz("f.gz", "")), ": an empty file");
  EXPECT_EQ(refusal(directory_.path().string()), ": is a directory, expected a text file");
  EXPECT_EQ(refusal((directory_ / "none").string()), ": cannot be read: No such file or directory");
  EXPECT_EQ(refusal(write("f", std::string("\xFF\xFEh\0i\0", 6))), ": UTF-16 text, expected UTF-8");
  EXPECT_EQ(refusal(write("f", read_file("/proc/self/exe", 1 << 30).substr(0, 20000))).substr(0, 17),
            ": not a text file");
  EXPECT_EQ(refusal("/dev/null"), ": not a regular file");
  EXPECT_THROW(check_text_file("-"), UserError);
}

TEST_F(LinesTest, RefusesALineThatIsNoText) {
  const std::string path = write_gz("f.gz", "short\n" + std::string((64 << 20) + 1, 'a') + "\n");
  LineReader reader(path);
  std::string line;
  EXPECT_TRUE(reader.next(line));
  EXPECT_THROW(reader.next(line), UserError);
}

TEST_F(LinesTest, PairsNeverShift) {
  ParallelReader reader(write("a", "1\n\n3\n \n5\xFF\n6\n7"), write("b", "1\n2\n3\n4\n5\n\t\n7\r\n"));
  TextPair pair;
  std::vector<std::uint64_t> lines;
  while (reader.next(pair)) {
    EXPECT_EQ(pair.src, pair.tgt);
    EXPECT_EQ(pair.src, std::to_string(pair.line));
    lines.push_back(pair.line);
  }
  EXPECT_FALSE(reader.next(pair));
  EXPECT_EQ(lines, (std::vector<std::uint64_t>{1, 3, 7}));
  EXPECT_EQ(reader.counts().report(), "3 pairs, 4 skipped: 3 empty, 1 with invalid UTF-8");
}

// Word alignments read from files, and their error rate against what NLTK says of fixtures/alignments.json
// (tests/parity/make_fixtures_alignments.py).

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

// The example of eval/metrics/predictions.hpp.
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
