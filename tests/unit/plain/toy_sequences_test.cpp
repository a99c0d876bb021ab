// Sequences to copy and to recall from: each is answered by its source alone, of the length that is asked for.
#include "data/toy/sequences.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/random.hpp"
#include "data/toy/corpus.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/toy_words.hpp"

namespace attend::toy {
namespace {

using Strings = std::vector<std::string>;

Strings spaced_words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

TEST(ToySequences, ACopyIsItsSourceWordByWord) {
  RandomStream random(5);
  std::set<std::string> words;
  for (const std::int64_t length : {1, 5, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40}) {
    const SequencePair pair = draw_sequence(SequenceTask::copy, length, random);
    const Strings drawn = spaced_words(pair.source);
    ASSERT_EQ(std::ssize(drawn), length);
    EXPECT_EQ(pair.target, pair.source);
    ASSERT_EQ(std::ssize(pair.alignment), length);
    for (std::int64_t i = 0; i < length; ++i) EXPECT_EQ(pair.alignment[i], (Link{i, i}));
    words.insert(drawn.begin(), drawn.end());
  }
  EXPECT_EQ(words.size(), 40U) << "every syllable is drawn";
}

TEST(ToySequences, TheAskedKeyOccursOnceAndItsValueIsTheTarget) {
  RandomStream random(6);
  std::map<std::int64_t, int> places;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t pairs = i % 2 == 0 ? 40 : 1 + i % 7;
    const SequencePair pair = draw_sequence(SequenceTask::recall, pairs, random);
    const Strings words = spaced_words(pair.source);
    ASSERT_EQ(std::ssize(words), 2 * pairs + 1) << pair.source;
    std::set<std::string> keys;
    std::int64_t place = -1;
    for (std::int64_t k = 0; k < pairs; ++k) {
      EXPECT_TRUE(keys.insert(words[2 * k]).second) << "a key occurs twice: " << pair.source;
      if (words[2 * k] == words.back()) place = 2 * k + 1;
    }
    ASSERT_GE(place, 0) << pair.source;
    EXPECT_EQ(pair.target, words[place]);
    EXPECT_EQ(pair.alignment, (std::vector<Link>{{place, 0}}));
    EXPECT_FALSE(keys.contains(pair.target)) << "keys and values are different words";
    if (pairs == 40) ++places[place];
  }
  EXPECT_GT(places.size(), 35U) << "every place is asked";
}

TEST(ToySequences, FilesAreWholeDisjointAndDeterministic) {
  const TemporaryDirectory directory;
  ToyConfig config = {.directory = directory / "corpus",
                      .train_sentences = 600,
                      .valid_sentences = 100,
                      .test_sentences = 50,
                      .copy = true,
                      .recall = true};
  const ToyReport report = write_toy_corpus(config);
  const auto lines = [&](const std::string& file) { return lines_of(directory / ("corpus/" + file)); };
  for (const std::string task : {"copy", "recall"}) {
    const auto part = std::ranges::find(report.parts, task, &ToyPart::name);
    ASSERT_NE(part, report.parts.end());
    EXPECT_EQ(part->test, 350);
    std::set<std::string> tests;
    for (const std::int64_t length : kTestLengths) {
      const Strings sources = lines(task + "/test." + std::to_string(length) + ".source");
      EXPECT_EQ(sources.size(), 50U);
      for (const std::string& source : sources) {
        EXPECT_EQ(std::ssize(spaced_words(source)), task == "copy" ? length : 2 * length + 1);
        EXPECT_TRUE(tests.insert(source).second) << source;
      }
    }
    std::set<std::size_t> lengths;
    for (const std::string set : {"train", "valid"}) {
      const std::string start = task + "/" + set;
      const Strings sources = lines(start + ".source");
      EXPECT_EQ(sources.size(), set == "train" ? 600U : 100U);
      EXPECT_EQ(lines(start + ".target").size(), sources.size());
      EXPECT_EQ(lines(start + ".align").size(), sources.size());
      for (const std::string& source : sources) {
        EXPECT_FALSE(tests.contains(source)) << source;
        const std::size_t words = spaced_words(source).size();
        lengths.insert(task == "copy" ? words : words / 2);
      }
    }
    EXPECT_EQ(lengths.size(), task == "copy" ? 20U : 10U);
    EXPECT_EQ(*lengths.begin(), 1U);
  }
  const Strings train = lines("copy/train.source"), test = lines("recall/test.25.source");
  config.overwrite = true;
  config.train_sentences = 20;
  write_toy_corpus(config);
  EXPECT_EQ(lines("recall/test.25.source"), test) << "the test sets do not depend on how much there is to train on";
  EXPECT_EQ(lines("copy/train.source"), Strings(train.begin(), train.begin() + 20));
  config.seed = 2;
  write_toy_corpus(config);
  EXPECT_NE(lines("recall/test.25.source"), test);
}

}  // namespace
}  // namespace attend::toy
