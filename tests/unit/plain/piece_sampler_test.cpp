// Sampled segmentations: right in distribution, the same text in pieces of the vocabulary, pure functions of the
// stream.
#include "data/tokenizer/piece_sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "data/corpus/batch_order.hpp"
#include "data/corpus/parallel_corpus.hpp"
#include "data/tokenizer/sentencepiece_model.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

using Ids = std::vector<std::int32_t>;
using Distribution = std::map<Ids, double>;

class PieceSamplerTest : public TestWithFiles {
 protected:
  static std::string text(std::uint64_t seed, int lines) {
    const std::vector<std::string> parts = {"lo", "we", "r", "ne", "st", "wi", "de", "grö", "ße", "er"};
    RandomStream random(seed);
    std::string text;
    for (int i = 0; i < lines; ++i) {
      for (int word = 0; word <= i % 7; ++word) {
        for (std::uint64_t n = 2 + random.below(3); n > 0; --n) text += parts[random.below(parts.size())];
        text += word == 3 ? ", " : " ";
      }
      text += "\n";
    }
    return text;
  }

  Tokenizer train(TokenizerType type, bool byte_fallback = false) {
    std::optional<std::int64_t> size;
    if (type == TokenizerType::bpe) size = byte_fallback ? 316 : 60;
    return train_tokenizer({write("text", text(1, 300))}, {.type = type, .size = size, .byte_fallback = byte_fallback});
  }

  static double score_of(const Tokenizer& tokenizer, std::int32_t id) {
    return read_sentencepiece_content(tokenizer.bytes()).pieces[static_cast<std::size_t>(id)].score;
  }

  // Of the samples of a text.
  static Distribution drawn(const PieceSampler& sampler, const Ids& ids, int count) {
    Distribution result;
    for (int i = 0; i < count; ++i) {
      RandomStream random(combine_keys(std::uint64_t{7}, i));
      result[sampler.sample(ids, random)] += 1.0 / count;
    }
    return result;
  }

  // Within four standard deviations of each probability.
  static void expect_drawn(const Distribution& exact, const Distribution& drawn, int count) {
    double total = 0;
    for (const auto& [ids, p] : exact) {
      total += p;
      const auto found = drawn.find(ids);
      EXPECT_NEAR(found == drawn.end() ? 0 : found->second, p, 4 * std::sqrt(p * (1 - p) / count) + 1e-9);
    }
    EXPECT_NEAR(total, 1, 1e-9);
    for (const auto& [ids, p] : drawn) EXPECT_TRUE(exact.contains(ids));
  }
};

// The pieces of a word, by characters.
std::vector<std::string> characters(const std::string& word) {
  std::vector<std::string> result;
  for (const char byte : word) {
    if ((static_cast<unsigned char>(byte) & 0xC0) != 0x80) result.emplace_back();
    result.back() += byte;
  }
  return result;
}

constexpr int kCount = 20'000;

TEST_F(PieceSamplerTest, BpeDropoutDrawsAsAlgorithm1) {
  const Tokenizer tokenizer = train(TokenizerType::bpe);
  constexpr double kRate = 0.3;
  // The best merge that is not left out is made; if all are, the word is done.
  Distribution exact;
  const auto follow = [&](const auto& self, const std::vector<std::string>& symbols, double p) -> void {
    std::vector<std::pair<double, std::size_t>> merges;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const std::int32_t id = tokenizer.id_of(symbols[i] + symbols[i + 1]);
      if (id != tokenizer.special().unk) merges.emplace_back(-score_of(tokenizer, id), i);
    }
    std::ranges::sort(merges);
    for (const auto& [rank, i] : merges) {
      std::vector<std::string> merged = symbols;
      merged[i] += merged[i + 1];
      merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      self(self, merged, p * (1 - kRate));
      p *= kRate;
    }
    Ids ids;
    for (const std::string& symbol : symbols) ids.push_back(tokenizer.id_of(symbol));
    exact[ids] += p;
  };
  follow(follow, characters("\u2581lower"), 1);
  ASSERT_GT(exact.size(), 4U);
  const auto sampler = make_piece_sampler({.bpe_dropout = kRate}, tokenizer);
  expect_drawn(exact, drawn(*sampler, tokenizer.encode("lower"), kCount), kCount);
}

TEST_F(PieceSamplerTest, UnigramSamplesHavePowersOfTheirProbabilities) {
  const Tokenizer tokenizer = train(TokenizerType::unigram);
  constexpr double kAlpha = 0.4;
  Distribution exact;
  double sum = 0;
  const auto follow = [&](const auto& self, const std::vector<std::string>& rest, const Ids& ids, double p) -> void {
    if (rest.empty()) exact[ids] = p, sum += p;
    std::string piece;
    for (std::size_t n = 0; n < rest.size(); ++n) {
      piece += rest[n];
      const std::int32_t id = tokenizer.id_of(piece);
      if (id == tokenizer.special().unk) continue;
      Ids longer = ids;
      longer.push_back(id);
      self(self, {rest.begin() + static_cast<std::ptrdiff_t>(n) + 1, rest.end()}, longer,
           p * std::exp(kAlpha * score_of(tokenizer, id)));
    }
  };
  follow(follow, characters("\u2581größer"), {}, 1);
  ASSERT_GT(exact.size(), 4U);
  for (auto& [ids, p] : exact) p /= sum;
  const auto sampler = make_piece_sampler({.subword_alpha = kAlpha}, tokenizer);
  expect_drawn(exact, drawn(*sampler, tokenizer.encode("größer"), kCount), kCount);
}

// At the limits: the segmentation of the tokenizer, and characters.
TEST_F(PieceSamplerTest, WithoutDropoutIsTheTokenizersOwn) {
  const Tokenizer tokenizer = train(TokenizerType::bpe);
  const auto none = make_piece_sampler({.bpe_dropout = 1e-300}, tokenizer);
  const auto all = make_piece_sampler({.bpe_dropout = 1}, tokenizer);
  for (const std::string line :
       {"lower newest", "wides widest slowest, low", "x lo\u4e2dwer, new ", "größter lowlowlow"}) {
    const Ids ids = tokenizer.encode(line);
    RandomStream random(3);
    EXPECT_EQ(none->sample(ids, random), ids) << line;
    for (const std::int32_t id : all->sample(ids, random)) {
      EXPECT_TRUE(characters(tokenizer.piece(id)).size() == 1 || id == tokenizer.special().unk) << tokenizer.piece(id);
    }
  }
}

TEST_F(PieceSamplerTest, SamplesSpellTheSameTextInTheVocabulary) {
  for (const bool bytes : {false, true}) {
    for (const TokenizerType type : {TokenizerType::bpe, TokenizerType::unigram}) {
      const Tokenizer tokenizer = train(type, bytes);
      const bool bpe = type == TokenizerType::bpe;
      const auto sampler =
          make_piece_sampler({.bpe_dropout = bpe ? 0.4 : 0, .subword_alpha = bpe ? 0 : 0.3}, tokenizer);
      int changed = 0;
      for (const std::string line :
           {"lower newest, wide", "größer \u4e2d lo\u4e2dwer </s> <unk>", "", "new new new new"}) {
        const Ids ids = tokenizer.encode(line);
        for (std::uint64_t key = 0; key < 50; ++key) {
          RandomStream random(key), again(key);
          const Ids sampled = sampler->sample(ids, random);
          EXPECT_EQ(sampler->sample(ids, again), sampled);
          EXPECT_EQ(tokenizer.decode(sampled), tokenizer.decode(ids));
          for (const std::int32_t id : sampled) {
            EXPECT_TRUE(id >= 0 && id < tokenizer.size());
            EXPECT_FALSE(id != tokenizer.special().unk && id <= tokenizer.special().mask);
          }
          changed += sampled != ids;
        }
      }
      EXPECT_GT(changed, 50);
    }
  }
}

TEST_F(PieceSamplerTest, AReversedTokenizerHasTheSamePiecesBackwards) {
  const Tokenizer tokenizer = train(TokenizerType::bpe);
  const auto forwards = make_piece_sampler({.bpe_dropout = 0.4}, tokenizer);
  const auto backwards = make_piece_sampler({.bpe_dropout = 0.4}, tokenizer.reversed());
  for (std::uint64_t key = 0; key < 20; ++key) {
    RandomStream random(key), again(key);
    Ids expected = forwards->sample(tokenizer.encode("lower newest, wide"), random);
    std::ranges::reverse(expected);
    EXPECT_EQ(backwards->sample(tokenizer.reversed().encode("lower newest, wide"), again), expected);
  }
}

TEST_F(PieceSamplerTest, RefusesAnotherKindOfTokenizer) {
  const auto refusal = [](const SamplingConfig& config, const Tokenizer& tokenizer) {
    return user_error_of([&] { check_sampling(config, tokenizer, "the source"); });
  };
  const Tokenizer unigram = train(TokenizerType::unigram), bpe = train(TokenizerType::bpe),
                  word = train(TokenizerType::word);
  EXPECT_EQ(refusal({.bpe_dropout = 0.1}, unigram),
            "--bpe-dropout: the tokenizer of the source is of kind unigram, not bpe");
  EXPECT_EQ(refusal({.subword_alpha = 0.1}, bpe),
            "--subword-alpha: the tokenizer of the source is of kind bpe, not unigram");
  EXPECT_NE(refusal({.subword_alpha = 0.1}, word), "");
  EXPECT_EQ(refusal({.bpe_dropout = 0.1}, bpe), "");
  EXPECT_EQ(refusal({.subword_alpha = 0.1}, unigram), "");
  EXPECT_EQ(refusal({}, word), "");
}

class SampledPairsTest : public PieceSamplerTest {
 protected:
  SampledPairs sampled(std::uint64_t seed, std::int64_t longest) const {
    return {corpus_, {tokenizer_, tokenizer_}, {.bpe_dropout = 0.2}, seed, longest};
  }

  // The pieces of the first examples in an epoch.
  static std::vector<Ids> beginning(const SampledPairs& pairs, std::int64_t epoch) {
    std::vector<Ids> sides;
    for (std::int64_t example = 0; example < 50; ++example) {
      const PairIds pair = pairs.pair(example, epoch);
      sides.push_back(pair.src), sides.push_back(pair.tgt);
    }
    return sides;
  }

  Tokenizer tokenizer_ = train(TokenizerType::bpe);
  EncodedCorpus corpus_ = EncodedCorpus::open(
      {write("src", text(2, 200)), write("tgt", text(2, 200)), tokenizer_, tokenizer_}, {}, directory_ / "cache");
};

TEST_F(SampledPairsTest, AreFunctionsOfSeedEpochLineAndSide) {
  const SampledPairs pairs = sampled(1, 1000);
  const std::vector<Ids> first = beginning(pairs, 0);
  EXPECT_EQ(beginning(pairs, 0), first);
  EXPECT_EQ(beginning(sampled(1, 1000), 0), first);
  EXPECT_NE(beginning(pairs, 1), first);
  EXPECT_NE(beginning(sampled(2, 1000), 0), first);
  int different = 0;  // both sides have the same text
  for (std::size_t i = 0; i < first.size(); i += 2) different += first[i] != first[i + 1];
  EXPECT_GT(different, 10);
  const std::vector<PairLength> lengths = pairs.lengths(0);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(lengths[i].src, first[2 * i].size());
    EXPECT_EQ(lengths[i].tgt, first[2 * i + 1].size());
  }
}

TEST_F(SampledPairsTest, ALongerSampleIsReplacedByThePiecesOfTheCorpus) {
  constexpr std::size_t kLongest = 12;
  std::size_t replaced = 0;
  const std::vector<Ids> limited = beginning(sampled(1, kLongest), 0), free = beginning(sampled(1, 1000), 0);
  for (std::size_t i = 0; i < limited.size(); ++i) {
    if (free[i].size() <= kLongest) {
      EXPECT_EQ(limited[i], free[i]);
      continue;
    }
    const PairIds own = corpus_.pair(static_cast<std::int64_t>(i / 2));
    EXPECT_EQ(limited[i], i % 2 == 0 ? own.src : own.tgt);
    ++replaced;
  }
  EXPECT_GT(replaced, 5U);
}

TEST_F(SampledPairsTest, LengthsAreEstimatedAndCanBeStopped) {
  SampledPairs pairs(corpus_, {tokenizer_, tokenizer_}, {.bpe_dropout = 0.2}, 1, 1000);
  double usual = 0, own = 0;
  const std::vector<PairLength> lengths = pairs.lengths(0);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const PairLength before = corpus_.length(static_cast<std::int64_t>(i));
    usual += std::max(before.src, before.tgt) + 1, own += std::max(lengths[i].src, lengths[i].tgt) + 1;
  }
  EXPECT_DOUBLE_EQ(pairs.growth(), own / usual);
  EXPECT_GT(pairs.growth(), 1.05);
  pairs.stop();
  EXPECT_THROW(pairs.lengths(0), Interrupted);
}

// Batches are made from the lengths of their epoch.
TEST_F(SampledPairsTest, BatchesKeepToTheBudget) {
  constexpr std::int64_t kBudget = 120;
  const BatchOrder order(corpus_, {.max_tokens = kBudget}, 1);
  const SampledPairs pairs = sampled(1, kBudget - 1);
  for (std::int64_t number = 0; number < 3; ++number) {
    const std::vector<PairLength> lengths = pairs.lengths(number);
    const BatchOrder::Epoch epoch = order.epoch(number, lengths);
    std::int64_t examples = 0, most = 0;
    for (std::int64_t b = 0; b < epoch.size(); ++b) {
      std::int64_t longest = 0;
      for (const auto example : epoch.batch(b)) {
        longest = std::max<std::int64_t>({longest, lengths[example].src + 1, lengths[example].tgt + 1});
      }
      examples += std::ssize(epoch.batch(b));
      most = std::max(most, longest * std::ssize(epoch.batch(b)));
    }
    EXPECT_EQ(examples, corpus_.size());
    EXPECT_LE(most, kBudget);
    EXPECT_GT(most, kBudget / 2);
  }
}

}  // namespace
}  // namespace attend
