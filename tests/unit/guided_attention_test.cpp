// Guided attention: links and trees spread to pieces, the loss by hand, and the gradient that reaches the guided heads
// alone.
#include "train/translation/guided_attention.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "data/batch/sources.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/families.hpp"
#include "tests/support/sentences.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"
#include "train/translation/objective.hpp"

namespace attend {
namespace {

using torch::Tensor;

TEST(GuidedAttention, TheLossIsTheCrossEntropyOfLinkedPieces) {
  GuidedAttention guided({{AttentionPlace::cross, /*layer=*/1, /*head=*/0, &Batch::alignment},
                          {AttentionPlace::encoder, /*layer=*/0, /*head=*/1, &Batch::relations}});
  EXPECT_TRUE(guided.wants_attention(AttentionPlace::cross, 1));
  EXPECT_TRUE(guided.wants_attention(AttentionPlace::encoder, 0));
  EXPECT_FALSE(guided.wants_attention(AttentionPlace::cross, 0));
  EXPECT_FALSE(guided.wants_attention(AttentionPlace::encoder, 1));
  EXPECT_FALSE(guided.wants_attention(AttentionPlace::decoder, 1));
  EXPECT_FALSE(guided.wants_hidden());
  // A sentence of two target and three source pieces with two heads, of which the first counts.
  const Tensor cross = at::tensor({0.5f, 0.25f, 0.25f, 0.1f, 0.1f, 0.8f, 1.f, 0.f, 0.f, 0.f, 1.f, 0.f});
  guided.on_attention(AttentionPlace::cross, 1, cross.view({1, 2, 2, 3}));
  // Two sentences of two source pieces, of which the second head counts.
  const Tensor within =
      at::tensor({1.f, 0.f, 0.f, 1.f, 0.3f, 0.7f, 0.6f, 0.4f, 1.f, 0.f, 0.f, 1.f, 0.9f, 0.1f, 0.2f, 0.8f})
          .requires_grad_();
  guided.on_attention(AttentionPlace::encoder, 0, within.view({2, 2, 2, 2}));
  Batch batch;
  batch.alignment = {at::tensor({1, 2, 5}, at::kLong), at::tensor({0.5f, 0.5f, 1.f})};
  batch.relations = {at::tensor({1, 2, 7}, at::kLong), at::tensor({1.f, 0.5f, 1.f})};
  EXPECT_NEAR(guided.loss(0, batch).item<double>(), -(0.5 * std::log(0.25) + 0.5 * std::log(0.25) + std::log(0.8)),
              1e-6);
  const Tensor loss = guided.loss(1, batch);
  EXPECT_NEAR(loss.item<double>(), -(std::log(0.7) + 0.5 * std::log(0.6) + std::log(0.8)), 1e-6);
  loss.backward();  // to linked cells alone
  Tensor expected = at::zeros(16);
  expected[5] = -1 / 0.7, expected[6] = -0.5 / 0.6, expected[15] = -1 / 0.8;
  EXPECT_TRUE(within.grad().allclose(expected));
}

// A batch with some links of both kinds.
Batch guided_batch() {
  Batch batch = some_batch();
  const std::int64_t T = batch.tgt.layout.max_length, S = batch.src.layout.max_length;
  const Tensor shares = at::tensor({1.f, 1.f, 0.5f}).to(test_device());
  batch.alignment = {tokens({0 * T * S + 1 * S + 2, (1 * T + 3) * S + 0, (4 * T + 2) * S + 5}), shares};
  batch.relations = {tokens({0 * S * S + 1 * S + 4, (2 * S + 3) * S + 0, (4 * S + 2) * S + 5}), shares};
  return batch;
}

Seq2Seq model_with(const ModelConfig& config) {
  const Seq2Seq model = make_seq2seq(config, {.src = kVocabulary, .tgt = kVocabulary}, 3);
  model->to(test_device());
  return model;
}

std::vector<LossSum> losses_of(const Seq2Seq& model, const GuidedAlignmentConfig& alignment,
                               const GuidedRelationsConfig& relations = {}, bool training = true) {
  Pass pass = training ? Pass::train(5) : Pass::inference();
  return TranslationObjective(model, {}, false, alignment, relations).losses(guided_batch(), pass);
}

TEST(GuidedAlignment, TheGradientReachesTheFirstHeadOfTheLayer) {
  const Seq2Seq model = model_with(families(/*dropout=*/0.1)[0].config);
  const std::vector<LossSum> sums = losses_of(model, {.links = "links", .layer = 1});
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_GT(sums[1].reported.item<double>(), 0);
  sums[1].loss.backward();
  const auto gradient = [&](const std::string& layer) {
    const Tensor weight = model->named_parameters()["decoder.layers." + layer + ".multihead_attn.q_proj.weight"];
    return weight.grad().defined() ? weight.grad().cpu() : at::zeros(weight.sizes());
  };
  EXPECT_GT(gradient("1").narrow(0, 0, 4).abs().sum().item<double>(), 1e-6);
  EXPECT_EQ(gradient("1").narrow(0, 4, 8).abs().sum().item<double>(), 0);
  EXPECT_GT(gradient("0").abs().sum().item<double>(), 0);  // through the layers below
  EXPECT_EQ(gradient("2").abs().sum().item<double>(), 0);
  // Observing changes no word, and nothing is guided outside training.
  const std::vector<LossSum> plain = losses_of(model, {});
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_NEAR(plain[0].loss.item<double>(), sums[0].loss.item<double>(), 1e-4);
  EXPECT_EQ(losses_of(model, {.links = "links", .layer = 1}, {}, false).size(), 1U);
}

TEST(GuidedRelations, TheGradientReachesTheHeadOfTheEncoder) {
  const Seq2Seq model = model_with(families(/*dropout=*/0.1)[0].config);
  const std::vector<LossSum> sums = losses_of(model, {}, {.trees = "trees", .layer = 1, .head = 2});
  ASSERT_EQ(sums.size(), 2U);
  sums[1].loss.backward();
  const auto gradient = [&](const std::string& layer, std::int64_t first, std::int64_t rows) {
    const Tensor weight = model->named_parameters()["encoder.layers." + layer + ".self_attn.in_proj.weight"];
    return weight.grad().narrow(0, first, rows).abs().sum().item<double>();
  };
  // Queries, keys and values of three heads of 4 columns.
  EXPECT_GT(gradient("1", 8, 4), 1e-6);
  EXPECT_GT(gradient("1", 20, 4), 1e-6);
  EXPECT_EQ(gradient("1", 0, 8) + gradient("1", 12, 8) + gradient("1", 24, 12), 0);
  EXPECT_GT(gradient("0", 0, 36), 1e-6);  // the layer below
  for (const auto& item : model->named_parameters()) {
    EXPECT_FALSE(item.key().starts_with("decoder.") && item.value().grad().defined()) << item.key();
  }
  EXPECT_NEAR(losses_of(model, {})[0].loss.item<double>(), sums[0].loss.item<double>(), 1e-4);
}

// With R-Drop, a pass reads every pair twice.
TEST(GuidedRelations, BothReadingsAreGuided) {
  const Seq2Seq model = model_with(families(/*dropout=*/0)[0].config);
  const GuidedAlignmentConfig alignment{.links = "links", .layer = 1};
  const GuidedRelationsConfig relations{.trees = "trees", .layer = 0, .head = 1};
  const auto losses = [&](double r_drop) {
    Pass pass = Pass::train(5);
    return TranslationObjective(model, {.r_drop = r_drop}, false, alignment, relations).losses(guided_batch(), pass);
  };
  const std::vector<LossSum> once = losses(0), both = losses(1);
  ASSERT_EQ(once.size(), 3U);
  ASSERT_EQ(both.size(), 4U);  // the divergence is the second
  for (const std::size_t guide : {1U, 2U}) {
    EXPECT_NEAR(both[guide + 1].loss.item<double>(), 2 * once[guide].loss.item<double>(), 1e-4);
    EXPECT_NEAR(both[guide + 1].reported.item<double>(), once[guide].reported.item<double>(), 1e-4);
  }
}

TEST(GuidedAlignment, TheGradientReachesRecurrentAttention) {
  for (const ModelKind kind : {ModelKind::luong, ModelKind::bahdanau}) {
    ModelConfig config;
    config.model = kind;
    config.encoder_layers = 1;
    config.decoder_layers = 2;
    config.width = 13;
    config.dropout = 0.1;
    const Seq2Seq model = model_with(config);
    const std::vector<LossSum> sums = losses_of(model, {.links = "links", .layer = 0});
    ASSERT_EQ(sums.size(), 2U);
    sums[1].loss.backward();
    double reached = 0;
    for (const auto& item : model->named_parameters()) {
      const bool of_attention = item.key().starts_with("attention.") && item.value().grad().defined();
      if (of_attention) reached += item.value().grad().abs().sum().item<double>();
    }
    EXPECT_GT(reached, 1e-6) << name_of(kind);
    EXPECT_NEAR(losses_of(model, {})[0].loss.item<double>(), sums[0].loss.item<double>(), 1e-2) << name_of(kind);
  }
}

class PieceLinksTest : public TestWithFiles {};

// Target word j is source word n - 1 - j; the last source word has no link.
TEST_F(PieceLinksTest, LinksOfWordsAreSpreadToThePiecesOfEachSegmentation) {
  const std::vector<std::string> parts = {"lo", "we", "ne", "st", "wi", "de", "er"};
  RandomStream random(1);
  std::string src, tgt, links;
  for (int line = 0; line < 60; ++line) {
    std::vector<std::string> words;
    for (int k = 0; k <= line % 5; ++k) {
      std::string& word = words.emplace_back();
      for (std::uint64_t n = 1 + random.below(3); n > 0; --n) word += parts[random.below(parts.size())];
    }
    for (std::size_t k = 0; k < words.size(); ++k) {
      src += words[k] + " ", tgt += words[words.size() - 1 - k] + "  ";
      if (k + 1 < words.size()) links += std::to_string(k) + "-" + std::to_string(words.size() - 1 - k) + " ";
    }
    if (line == 7) tgt.resize(tgt.rfind('\n') + 1);  // an empty line, which is skipped
    src += "\n", tgt += "\n", links += "\n";
  }
  const std::string src_file = write("src", src), tgt_file = write("tgt", tgt), link_file = write("links", links);
  const Tokenizer tokenizer = train_tokenizer({src_file}, {.type = TokenizerType::bpe, .size = 40});
  const CorpusSource source{src_file, tgt_file, tokenizer, tokenizer};
  const EncodedCorpus corpus = EncodedCorpus::open(source, {}, directory_ / "cache");
  const PieceLinks piece_links(read_word_links(link_file, src_file, tgt_file), link_file, source, {},
                               directory_ / "cache");
  const SampledPairs sampled(corpus, {tokenizer, tokenizer}, {.bpe_dropout = 0.4}, 1, 1000);
  const std::vector<std::uint32_t> examples = {3, 11, 58, 0, 24};
  for (const SampledPairs* pairs : {static_cast<const SampledPairs*>(nullptr), &sampled}) {
    Batch batch = make_batch(corpus, examples, {.src_eos = 3, .tgt_bos = 2, .tgt_eos = 3}, pairs, 1);
    piece_links.add_to(batch, corpus);
    std::map<std::int64_t, double> found, expected;
    for (std::int64_t k = 0; k < batch.alignment.shares_K.numel(); ++k) {
      found[batch.alignment.cells_K[k].item<std::int64_t>()] += batch.alignment.shares_K[k].item<double>();
    }
    // The word of each piece, counted from 0.
    const auto words_of_sentence = [&](const Tensor& ids, const Layout& layout, std::int64_t b) {
      std::vector<std::int64_t> words;
      for (std::int64_t i = layout.offsets[b]; i + 1 < layout.offsets[b + 1]; ++i) {
        const bool begins = tokenizer.begins_word(static_cast<std::int32_t>(ids[i].item<std::int64_t>()));
        words.push_back((words.empty() ? -1 : words.back()) + (begins ? 1 : 0));
      }
      return words;
    };
    for (std::int64_t b = 0; b < std::ssize(examples); ++b) {
      const auto of_src = words_of_sentence(batch.src.ids_M, batch.src.layout, b);
      const auto of_tgt = words_of_sentence(batch.labels_M, batch.tgt.layout, b);
      for (std::size_t t = 0; t < of_tgt.size(); ++t) {
        const std::int64_t word = of_src.back() - of_tgt[t];
        if (word == of_src.back()) continue;
        for (std::size_t s = 0; s < of_src.size(); ++s) {
          if (of_src[s] != word) continue;
          const auto row = b * batch.tgt.layout.max_length + static_cast<std::int64_t>(t);
          expected[row * batch.src.layout.max_length + static_cast<std::int64_t>(s)] =
              1.0 / static_cast<double>(std::ranges::count(of_src, word));
        }
      }
    }
    ASSERT_GT(expected.size(), 10U);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [cell, share] : expected) EXPECT_NEAR(found[cell], share, 1e-6);
  }
}

TEST_F(PieceLinksTest, AReversedTargetHasLinksOfItsOwn) {
  const std::string text = write("text", "a b\nb a\n"), links = write("links", "0-0\n\n");
  const Tokenizer tokenizer = train_tokenizer({text}, {.type = TokenizerType::word});
  for (const bool reversed : {false, true}) {
    const CorpusSource source{text, text, tokenizer, reversed ? tokenizer.reversed() : tokenizer};
    const EncodedCorpus corpus = EncodedCorpus::open(source, {}, directory_ / "cache");
    const PieceLinks piece_links(read_word_links(links, text, text), links, source, {}, directory_ / "cache");
    Batch batch = make_batch(corpus, std::vector<std::uint32_t>{0}, {.src_eos = 3, .tgt_bos = 2, .tgt_eos = 3});
    piece_links.add_to(batch, corpus);
    ASSERT_EQ(batch.alignment.shares_K.numel(), 1);
    EXPECT_EQ(batch.alignment.cells_K.item<std::int64_t>(), reversed ? 3 : 0);  // of three targets and three sources
  }
}

TEST_F(PieceLinksTest, PairsThatAreNotTrainedOnHaveNoLinks) {
  const std::string text = write("text", "a b c d\nb a\n"), links = write("links", "0-0 3-3\n1-0\n");
  const Tokenizer tokenizer = train_tokenizer({text}, {.type = TokenizerType::word});
  const CorpusSource source{text, text, tokenizer, tokenizer};
  // The second is opened in the same cache.
  for (const std::int64_t max_length : {2, 4}) {
    const CorpusConfig config{.max_length = max_length};
    const EncodedCorpus corpus = EncodedCorpus::open(source, config, directory_ / "cache");
    const PieceLinks piece_links(read_word_links(links, text, text), links, source, config, directory_ / "cache");
    ASSERT_EQ(corpus.size(), max_length / 2);
    std::vector<std::uint32_t> all(static_cast<std::size_t>(corpus.size()));
    std::iota(all.begin(), all.end(), 0U);
    Batch batch = make_batch(corpus, all, {.src_eos = 3, .tgt_bos = 2, .tgt_eos = 3});
    piece_links.add_to(batch, corpus);
    EXPECT_EQ(batch.alignment.shares_K.numel(), max_length == 2 ? 1 : 3);
  }
}

// A no-break space is part of a word, as for fast_align.
TEST_F(PieceLinksTest, WordsAreSeparatedBySpacesAndTabs) {
  const std::string text = write("text", "ab\u00a0ba \t a\nb\n"), links = write("links", "1-1\n\n");
  const Tokenizer tokenizer = train_tokenizer({text}, {.type = TokenizerType::character});
  const CorpusSource source{text, text, tokenizer, tokenizer};
  const EncodedCorpus corpus = EncodedCorpus::open(source, {}, directory_ / "cache");
  const PieceLinks piece_links(read_word_links(links, text, text), links, source, {}, directory_ / "cache");
  Batch batch = make_batch(corpus, std::vector<std::uint32_t>{0}, {.src_eos = 3, .tgt_bos = 2, .tgt_eos = 3});
  piece_links.add_to(batch, corpus);
  ASSERT_GT(batch.alignment.shares_K.numel(), 0);
  const std::int64_t S = batch.src.layout.max_length;  // the last piece is the word "a", followed by the end
  EXPECT_EQ(batch.alignment.cells_K.max().item<std::int64_t>(), (batch.tgt.layout.max_length - 2) * S + S - 2);
  EXPECT_THROW(read_word_links(write("links", "2-2\n\n"), text, text), UserError);
}

// "ab" depends on "c", "." too; the second tree is of the third line.
TEST_F(PieceLinksTest, WordsOfTreesAttendToTheOnesTheyDependOn) {
  const std::string text = write("text", "ab c.\n\n c ab \n");  // spaces around a line do not count
  const std::string trees = write("trees",
                                  "# text = ab c.\n1\tab\t_\tX\t_\t_\t2\tdet\t_\t_\n2\tc\t_\tX\t_\t_\t0\troot\t_\t_\n"
                                  "3\t.\t_\tX\t_\t_\t2\tpunct\t_\t_\n\n"
                                  "# text = c ab\n1\tc\t_\tX\t_\t_\t2\tdet\t_\t_\n2\tab\t_\tX\t_\t_\t0\troot\t_\t_\n");
  const Tokenizer tokenizer = train_tokenizer({text}, {.type = TokenizerType::character});
  const CorpusSource source{{text}, {text}, tokenizer, tokenizer};
  const EncodedCorpus corpus = EncodedCorpus::open(source, {}, directory_ / "cache");
  const PieceLinks piece_links(read_line_trees(trees, text), trees, source, {}, directory_ / "cache");
  Batch batch = make_batch(corpus, std::vector<std::uint32_t>{0, 1}, {.src_eos = 3, .tgt_bos = 2, .tgt_eos = 3});
  piece_links.add_to(batch, corpus);
  EXPECT_FALSE(batch.alignment.cells_K.defined());
  // Pieces ▁ a b ▁ c . </s> and ▁ c ▁ a b </s>: all attend to those of the root.
  ASSERT_EQ(batch.src.layout.max_length, 7);
  std::map<std::int64_t, double> expected, found;
  for (std::int64_t t = 0; t < 6; ++t) {
    for (const std::int64_t s : {3, 4}) expected[t * 7 + s] = 0.5;
  }
  for (std::int64_t t = 0; t < 5; ++t) {
    for (const std::int64_t s : {2, 3, 4}) expected[(7 + t) * 7 + s] = 1.0F / 3;
  }
  for (std::int64_t k = 0; k < batch.relations.cells_K.numel(); ++k) {
    found[batch.relations.cells_K[k].item<std::int64_t>()] += batch.relations.shares_K[k].item<double>();
  }
  EXPECT_EQ(found, expected);
}

TEST_F(PieceLinksTest, RefusesTreesThatDoNotFitTheText) {
  const std::string text = write("text", "a b\n\nb a\n");
  const auto tree = [](const std::string& first, const std::string& second) {
    return "1\t" + first + "\t_\tX\t_\t_\t0\troot\t_\t_\n2\t" + second + "\t_\tX\t_\t_\t1\tdep\t_\t_\n\n";
  };
  const auto refusal = [&](const std::string& trees) -> std::string {
    const std::string file = write("trees", trees);
    try {
      read_line_trees(file, text);
    } catch (const UserError& error) {
      EXPECT_FALSE(error.remedy().empty());
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(file)) << message;
      return message.substr(file.size());
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(tree("a", "b") + tree("b", "a")), "accepted");
  EXPECT_EQ(refusal(tree("a", "b") + tree("b", "c")), ":4: the sentence is \"b c\", but " + text + ":3 is \"b a\"");
  EXPECT_EQ(refusal(tree("a", "b")), ": 1 sentence, but " + text + " has 2 lines with text");
  EXPECT_EQ(refusal(tree("a", "b") + tree("b", "a") + tree("a", "b")),
            ": 3 sentences, but " + text + " has 2 lines with text");
}

TEST_F(PieceLinksTest, RefusesLinksThatDoNotFitTheText) {
  const std::string src = write("src", "a b c\na\n\n"), tgt = write("tgt", "x y\nx\nx\n");
  const auto refusal = [&](const std::string& links) {
    const std::string file = write("links", links);
    return without_place(user_error_of([&] { read_word_links(file, src, tgt); }), file);
  };
  EXPECT_EQ(refusal("0-0 2-1\n0-0\n\n"), "");
  EXPECT_EQ(refusal("0-0 2-1\n0-0\n"), ": 2 lines, but " + src + " has 3");
  EXPECT_EQ(refusal("0-0\n0-0\n\n0-0\n"), ": 4 lines, but " + src + " has 3");
  EXPECT_EQ(refusal("0-0\n1-0\n\n"), ":2: \"1-0\" names word 1 of a source sentence of 1 words, counted from 0");
  EXPECT_EQ(refusal("0-2\n0-0\n\n"), ":1: \"0-2\" names word 2 of a target sentence of 2 words, counted from 0");
  EXPECT_EQ(refusal("0-0\n0:0\n\n"), ":2: \"0:0\" is not a link");
  EXPECT_TRUE(refusal("0-0\n0?0\n\n").starts_with(":2: \"0?0\" is a possible link"));
  EXPECT_EQ(refusal("\n\n\n"), ": no links");
}

}  // namespace
}  // namespace attend
