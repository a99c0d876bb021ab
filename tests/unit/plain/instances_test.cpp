// What an encoder is pretrained on: documents in, pairs and masks out.
#include "data/corpus/document_corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "data/corpus/masking.hpp"
#include "data/text/documents.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

// Every document has words of its own, d17s3w2: which is whose can be read off the tokens.
std::string numbered_documents(int documents, int sentences) {
  std::string text;
  for (int d = 0; d < documents; ++d) {
    for (int s = 0; s < sentences + d % 3; ++s) {
      for (int w = 0; w < 3 + (d * 7 + s * 5) % 9; ++w) text += "d" + std::to_string(d) + " ";
      text += "end.\n";
    }
    text += "\n";
  }
  return text;
}

class InstancesTest : public TestWithFiles {
 protected:
  DocumentCorpus open(const std::string& text) {
    return DocumentCorpus::open({write("text", text)}, tokenizer_, directory_ / "cache");
  }

  std::vector<std::int32_t> ids(const DocumentCorpus& corpus, TokenRange range) const {
    std::vector<std::int32_t> result;
    corpus.append(range.begin, range.count, result);
    return result;
  }
  // The document that a token is of.
  static std::int64_t document_of(const DocumentCorpus& corpus, std::uint64_t token) {
    std::int64_t d = 0;
    while (corpus.begin(corpus.first_sentence(d + 1)) <= token) ++d;
    return d;
  }

  std::string text_ = numbered_documents(40, 8);
  Tokenizer tokenizer_ = train_tokenizer({write("train", text_)}, {.type = TokenizerType::character});
};

TEST_F(InstancesTest, DocumentsAreReadSentenceBySentence) {
  const DocumentCorpus corpus = open("One cat. Two dogs!\nThree\n\n \nFour birds? Five.\n");
  EXPECT_EQ(corpus.num_documents(), 2);
  ASSERT_EQ(corpus.counts().sentences, 5u);
  EXPECT_EQ(corpus.first_sentence(1), 3);
  const std::vector<std::string> sentences = {"One cat.", "Two dogs!", "Three", "Four birds?", "Five."};
  const std::vector<std::uint64_t> lines = {1, 1, 2, 5, 5};
  for (std::int64_t s = 0; s < 5; ++s) {
    std::vector<std::int32_t> expected = tokenizer_.encode(sentences[s]), found;
    corpus.append(corpus.begin(s), corpus.begin(s + 1) - corpus.begin(s), found);
    EXPECT_EQ(found, expected) << s;
    EXPECT_EQ(corpus.line_of_token(corpus.begin(s)), lines[s]);
    EXPECT_EQ(corpus.line_of_token(corpus.begin(s + 1) - 1), lines[s]);
  }
  EXPECT_TRUE(open("One cat. Two dogs!\nThree\n\n \nFour birds? Five.\n").from_cache());
}

TEST_F(InstancesTest, NoSentenceEndsBehindATitle) {
  EXPECT_EQ(open("Mrs. Brown met Mr. Black. They slept.\n").counts().sentences, 2u);
}

TEST_F(InstancesTest, TheLastSentenceIsNotLost) {
  const DocumentCorpus corpus = open("One. Two. Three.\n\nOne. Two. Three.\n\nOne.\n");
  EXPECT_EQ(corpus.num_single_sentences(), 1);
  const InstanceConfig config{.sequence_objective = SequenceObjective::order, .length = 64, .short_sequences = 1};
  std::size_t with_last = 0, count = 0;
  for (std::int64_t epoch = 0; epoch < 50; ++epoch) {
    for (const Instance& instance : make_instances(corpus, config, 1, epoch)) {
      const std::uint64_t end =
          std::max(instance.first.begin + instance.first.count, instance.second.begin + instance.second.count);
      with_last += end == corpus.begin(3) || end == corpus.begin(6);
      ++count;
    }
  }
  EXPECT_EQ(with_last, count);  // an instance begins at the first sentence, and what is left is one at most
}

TEST_F(InstancesTest, ALineOfAMillionCharactersIsCut) {
  std::string line;
  while (line.size() < 1'000'000) line += "word and word ";
  const DocumentCorpus corpus = open(line + "\n");
  EXPECT_EQ(corpus.counts().cut, 1u);
  for (std::int64_t s = 0; s < corpus.first_sentence(1); ++s) {
    EXPECT_LE(corpus.begin(s + 1) - corpus.begin(s), DocumentCorpus::kLongestSentence);
  }
  EXPECT_EQ(corpus.num_tokens(), tokenizer_.encode(line).size());
}

TEST_F(InstancesTest, WhatCannotBeLearntFromIsRefused) {
  EXPECT_THROW(open("\n \n"), UserError);
  EXPECT_THROW(make_instances(open("One. Two. Three.\n"), {}, 1, 0), UserError);  // a single document
  EXPECT_THROW(make_instances(open("One.\n\nTwo.\n"), {}, 1, 0), UserError);      // no two sentences
  EXPECT_EQ(make_instances(open("One. Two. Three.\n"), {.sequence_objective = SequenceObjective::none}, 1, 0).size(),
            1u);
}

TEST_F(InstancesTest, HalfOfTheSecondPartsAreNext) {
  const DocumentCorpus corpus = open(numbered_documents(300, 20));
  const InstanceConfig config{.length = 32, .short_sequences = 0.1};
  std::size_t random = 0, count = 0;
  std::set<std::uint64_t> begins;
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
    for (const Instance& instance : make_instances(corpus, config, 3, epoch)) {
      ASSERT_GE(instance.first.count, 1u);
      ASSERT_GE(instance.second.count, 1u);
      ASSERT_LE(instance.first.count + instance.second.count, 29u);
      const auto first = document_of(corpus, instance.first.begin), second = document_of(corpus, instance.second.begin);
      EXPECT_EQ(first, document_of(corpus, instance.first.begin + instance.first.count - 1));
      EXPECT_EQ(second, document_of(corpus, instance.second.begin + instance.second.count - 1));
      EXPECT_EQ(instance.relation == 1, first != second);  // a random part is never of the same document
      if (instance.relation == 0) {
        EXPECT_GE(instance.second.begin, instance.first.begin + instance.first.count);
      }
      random += instance.relation == 1;
      ++count;
      begins.insert(instance.first.begin);
    }
  }
  EXPECT_NEAR(static_cast<double>(random) / static_cast<double>(count), 0.5,
              4 * 0.5 / std::sqrt(static_cast<double>(count)));
  EXPECT_GT(begins.size(), count / 8);
}

TEST_F(InstancesTest, AreAPureFunctionOfSeedAndEpoch) {
  const DocumentCorpus corpus = open(text_);
  const auto same = [](const std::vector<Instance>& a, const std::vector<Instance>& b) {
    return std::ranges::equal(a, b, [](const Instance& x, const Instance& y) {
      return x.first.begin == y.first.begin && x.first.count == y.first.count && x.second.begin == y.second.begin &&
             x.relation == y.relation;
    });
  };
  const auto instances = make_instances(corpus, {.length = 24}, 1, 2);
  EXPECT_TRUE(same(instances, make_instances(corpus, {.length = 24}, 1, 2)));
  EXPECT_FALSE(same(instances, make_instances(corpus, {.length = 24}, 1, 3)));
  EXPECT_FALSE(same(instances, make_instances(corpus, {.length = 24}, 2, 2)));
}

TEST_F(InstancesTest, StretchesCoverEveryDocument) {
  const DocumentCorpus corpus = open(text_);
  const InstanceConfig config{.sequence_objective = SequenceObjective::none, .length = 80, .short_sequences = 0};
  std::uint64_t covered = 0;
  for (const Instance& instance : make_instances(corpus, config, 1, 0)) {
    EXPECT_EQ(instance.second.count, 0u);
    EXPECT_EQ(instance.first.begin, covered);  // no sentence here is longer than a stretch
    covered += instance.first.count;
  }
  EXPECT_EQ(covered, corpus.num_tokens());
}

TEST_F(InstancesTest, OrderedPartsFollowEachOtherOrAreExchanged) {
  const DocumentCorpus corpus = open(numbered_documents(200, 12));
  std::size_t exchanged = 0, count = 0;
  for (const Instance& instance :
       make_instances(corpus, {.sequence_objective = SequenceObjective::order, .length = 32}, 1, 0)) {
    EXPECT_EQ(document_of(corpus, instance.first.begin), document_of(corpus, instance.second.begin));
    EXPECT_EQ(instance.relation == 1, instance.second.begin < instance.first.begin);
    exchanged += instance.relation == 1;
    ++count;
  }
  EXPECT_NEAR(static_cast<double>(exchanged) / static_cast<double>(count), 0.5,
              2 / std::sqrt(static_cast<double>(count)));
}

class MaskingTest : public InstancesTest {
 protected:
  MaskVocabulary vocabulary_{tokenizer_};

  std::vector<std::int32_t> sequence(std::size_t length, RandomStream& random) const {
    std::vector<std::int32_t> ids = {vocabulary_.cls};
    while (ids.size() + 1 < length) ids.push_back(static_cast<std::int32_t>(7 + random.below(vocabulary_.size() - 7)));
    ids[length / 2] = vocabulary_.sep;
    ids.push_back(vocabulary_.sep);
    return ids;
  }
};

// Python's round: halves go to the even neighbour.
TEST_F(MaskingTest, ChoosesAsManyAsTheFormulaSays) {
  const std::map<std::size_t, std::size_t> expected = {{4, 1},   {10, 2},  {30, 4},   {50, 8},
                                                       {70, 10}, {90, 14}, {110, 16}, {128, 19}};
  RandomStream random(1);
  for (const auto& [length, count] : expected) {
    auto ids = sequence(length, random);
    EXPECT_EQ(mask_tokens(ids, vocabulary_, {}, RandomStream(length)).size(), count) << length;
  }
}

TEST_F(MaskingTest, EightyTenTen) {
  RandomStream random(2);
  std::size_t chosen = 0, masked = 0, kept = 0, tokens = 0;
  for (std::uint64_t i = 0; tokens < 1'000'000; ++i) {
    const auto before = sequence(128, random);
    auto after = before;
    const auto places = mask_tokens(after, vocabulary_, {}, RandomStream(combine_keys(7, i)));
    tokens += before.size();
    std::vector<bool> is_chosen(before.size());
    for (const MaskedToken& token : places) {
      is_chosen[token.place] = true;
      EXPECT_EQ(token.label, before[token.place]);
      EXPECT_NE(token.label, vocabulary_.cls);
      EXPECT_NE(token.label, vocabulary_.sep);
      masked += after[token.place] == vocabulary_.mask;
      kept += after[token.place] == before[token.place];
    }
    chosen += places.size();
    for (std::size_t k = 0; k < before.size(); ++k) {
      ASSERT_TRUE(is_chosen[k] || after[k] == before[k]);
    }
  }
  const auto n = static_cast<double>(chosen);
  const double same_by_chance = 0.1 / vocabulary_.size();  // a random piece is the mask, or what stood there
  EXPECT_NEAR(static_cast<double>(masked) / n, 0.8 + same_by_chance, 4 * std::sqrt(0.16 / n));
  EXPECT_NEAR(static_cast<double>(kept) / n, 0.1 + same_by_chance, 4 * std::sqrt(0.09 / n));
}

TEST_F(MaskingTest, WholeWordsAreChosenWhole) {
  std::vector<std::int32_t> ids = {vocabulary_.cls};
  for (const std::int32_t id : tokenizer_.encode("d17 d23 d31 end. d39 d5 d12 d28 end.")) ids.push_back(id);
  ids.push_back(vocabulary_.sep);
  const auto before = ids;
  const MaskingConfig config{.mask_rate = 0.4, .masked = 1, .replaced = 0, .whole_words = true};
  for (std::uint64_t key = 0; key < 50; ++key) {
    auto after = before;
    mask_tokens(after, vocabulary_, config, RandomStream(key));
    for (std::size_t i = 1; i + 1 < before.size(); ++i) {
      if (!vocabulary_.begins_word(before[i])) {
        EXPECT_EQ(after[i] == vocabulary_.mask, after[i - 1] == vocabulary_.mask) << key;
      }
    }
  }
}

}  // namespace
}  // namespace attend
