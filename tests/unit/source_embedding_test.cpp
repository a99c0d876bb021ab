// Source factors in models: their embedding beside a plain formulation, the properties of every family with them, and
// what scores, translations and attention make of labels.
#include "models/translation/seq2seq.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "data/batch/sources.hpp"
#include "eval/pair_attention.hpp"
#include "eval/score.hpp"
#include "eval/translate.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/families.hpp"
#include "tests/support/model_properties.hpp"
#include "tests/support/small_run.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

const std::vector<std::int64_t> kFactorSizes = {5, 3};

// Labels that depend on the token and its position alone, so that a sentence has the same in every batch.
Sequences with_labels(Sequences src, std::int64_t shift = 0) {
  const torch::Tensor places_M = src.layout.on(src.ids_M.device()).places_M;
  src.factors_MJ =
      at::stack({(src.ids_M + places_M + shift) % kFactorSizes[0], (src.ids_M * 2 + shift) % kFactorSizes[1]}, 1);
  return src;
}

Batch factored(Batch batch, std::int64_t shift = 0) {
  batch.src = with_labels(batch.src, shift);
  return batch;
}

// A family of each class, with sum and concat.
std::vector<ModelConfig> factored_models() {
  std::vector<ModelConfig> models;
  for (const Family& family : families(0.1)) {
    const bool chosen = family.name == "transformer_post" || family.name == "transformer_additive" ||
                        family.name == "luong" || family.name == "bahdanau" || family.name == "fixed";
    if (!chosen) continue;
    models.push_back(family.config);
    ModelConfig& concat = models.emplace_back(family.config);
    concat.factor_combine = FactorCombination::concat;
    concat.factor_width = 3;
    concat.tie_embeddings = false;
  }
  return models;
}

Seq2Seq factored_model(const ModelConfig& config) {
  const Seq2Seq model = make_seq2seq(config, {.src = kVocabulary, .tgt = kVocabulary, .factors = kFactorSizes}, 7);
  model->to(test_device());
  return model;
}

std::string name_of_model(const ModelConfig& config) {
  return std::string(name_of(config.model)) + ", " + std::string(name_of(config.factor_combine));
}

// Scaled rows looked up and added or put side by side, plus positions: values and gradients of all tables.
TEST(SourceEmbeddingTest, IsTheSumOrConcatenationOfScaledRows) {
  constexpr std::int64_t kWidth = 13;
  for (const FactorCombination combination : {FactorCombination::sum, FactorCombination::concat}) {
    SCOPED_TRACE(std::string(name_of(combination)));
    const FactorTables factors{.sizes = kFactorSizes, .combination = combination, .width = 4};
    struct Holder : torch::nn::Module {
    } model;
    const auto pieces = model.register_module(
        "pieces", Embedding(EmbeddingConfig{.vocabulary = kVocabulary, .width = factors.piece_width(kWidth)}));
    const SourceEmbedding embedding(model, pieces, factors);
    initialise(model, 3);
    model.to(test_device());
    const Sequences src = with_labels(sequences_of(random_sentences(kSourceLengths, 1)));
    const torch::Tensor positions_TH = at::randn({9, kWidth}).to(test_device());
    const torch::Tensor factors_of_sum_MH = at::randn({src.layout.num_tokens(), kWidth}).to(test_device());
    const auto gradients = [&](const torch::Tensor& x_MH) {
      std::vector<torch::Tensor> tables = model.parameters();
      return torch::autograd::grad({(x_MH * factors_of_sum_MH).sum()}, tables);
    };
    EXPECT_EQ(model.parameters().size(), 3);

    std::vector<torch::Tensor> rows;
    const auto add_rows = [&](const torch::Tensor& table, const torch::Tensor& ids) {
      rows.push_back(table.index_select(0, ids) * std::sqrt(static_cast<double>(table.size(1))));
    };
    const auto named = model.named_parameters();
    add_rows(named["pieces.weight"], src.ids_M);
    for (std::int64_t j = 0; j < 2; ++j) {
      add_rows(named["src_factor_embedding_" + std::to_string(j) + ".weight"], src.factors_MJ.select(1, j));
    }
    torch::Tensor expected_MH = combination == FactorCombination::sum ? rows[0] + rows[1] + rows[2] : at::cat(rows, 1);
    for (std::int64_t b = 0; b < src.layout.size(); ++b) {
      const std::int64_t length = src.layout.length(b);
      expected_MH = at::slice_scatter(
          expected_MH, expected_MH.narrow(0, src.layout.offsets[b], length) + positions_TH.narrow(0, 0, length), 0,
          src.layout.offsets[b], src.layout.offsets[b + 1]);
    }
    const torch::Tensor embedded_MH = embedding.forward(src, positions_TH, {});
    expect_close(embedded_MH.detach(), expected_MH.detach(), 1e-6);
    const auto found = gradients(embedded_MH), plain = gradients(expected_MH);
    for (std::size_t i = 0; i < plain.size(); ++i) expect_close(found[i], plain[i], 1e-5);

    // Word dropout drops the labels with their piece, and scales the others.
    const torch::Tensor all_MH = embedding.forward(src, {}, {}).detach();
    const torch::Tensor some_MH = embedding.forward(src, {}, {}, {.rate = 0.5, .key = 3}).detach();
    const torch::Tensor kept_M1 = some_MH.ne(0).any(1, true);
    EXPECT_TRUE(kept_M1.any().item<bool>() && !kept_M1.all().item<bool>());
    expect_close(some_MH, all_MH * kept_M1 * 2, 1e-6);

    // Without labels, or with too few, nothing is embedded.
    Sequences without = src;
    without.factors_MJ = torch::Tensor();
    EXPECT_THROW(embedding.forward(without, {}, {}), std::exception);
    without.factors_MJ = src.factors_MJ.narrow(1, 0, 1);
    EXPECT_THROW(embedding.forward(without, {}, {}), std::exception);
  }
}

TEST(SourceFactorModels, HoldWhatEveryModelHoldsAndReadTheirLabels) {
  for (const ModelConfig& config : factored_models()) {
    SCOPED_TRACE(name_of_model(config));
    const Seq2Seq model = factored_model(config);
    const Batch batch = factored(some_batch());
    expect_steps_are_forward(*model, batch);
    expect_a_batch_is_its_sentences(*model, [](Batch plain) { return factored(std::move(plain)); });
    {
      const at::NoGradGuard no_grad;
      Pass inference = Pass::inference();
      const auto hidden = model->forward(batch, inference);
      const Batch first{
          .src = first_sentences(batch.src, 2), .tgt = first_sentences(batch.tgt, 2), .labels_M = {}, .examples = {}};
      expect_close(model->forward(first, inference), hidden.narrow(0, 0, batch.tgt.layout.offsets[2]));
      EXPECT_GT((model->forward(factored(some_batch(), 1), inference) - hidden).norm().item<double>(),
                1e-2 * hidden.norm().item<double>());
    }
    Pass pass = Pass::train(3);
    ops::cross_entropy(model->forward(batch, pass), model->output_table(), {}, batch.labels_M, 0.1).loss.backward();
    expect_every_gradient(*model);
  }
}

// A run with two factors; the words of `small_run` are its text.
TranslationRun factored_run(const ModelConfig& config) {
  TranslationRun run = small_run(factored_models()[0], 1);
  run.options = config;
  run.tokenizers.factors = SourceFactors({{"N", "V", "D"}, {"x"}});
  run.model = make_seq2seq(
      config,
      {.src = run.tokenizers.src.size(), .tgt = run.tokenizers.tgt.size(), .factors = run.tokenizers.factors.sizes()},
      11);
  run.model->eval();
  return run;
}

// A line with its labels, of which those of the second factor are all known.
SourceLine tagged(const std::string& tags) { return {"the dog sees a cat", {tags, "x x x x x"}}; }

const SourceLine kTagged = tagged("D N V D N"), kTaggedOtherwise = tagged("D V V D N"), kBlank = {"", {"", ""}};

TEST(SourceFactorRuns, LabelsChangeScoresAndAnUnknownOneIsUnknown) {
  for (const ModelConfig& config : factored_models()) {
    SCOPED_TRACE(name_of_model(config));
    const TranslationRun run = factored_run(config);
    const std::string target = "a cat sees the dog";
    const std::vector<SourceLine> lines = {kTagged, kTaggedOtherwise, tagged("D Q V D N"), tagged("D R V D N"), kBlank};
    const auto scores = score(run, lines, std::vector<std::string>(5, target), {.workers = 1});
    EXPECT_GT(std::abs(scores[0].log_prob() - scores[1].log_prob()), 1e-4);
    EXPECT_GT(std::abs(scores[0].log_prob() - scores[2].log_prob()), 1e-4);
    EXPECT_NEAR(scores[2].log_prob(), scores[3].log_prob(), 1e-4);
    EXPECT_EQ(scores[4].pieces.size(), scores[0].pieces.size()) << "an empty line has the label of its end";

    // The score of the search, whose batches have the same labels.
    TranslatorConfig greedy;
    greedy.search.max_length = 5;
    greedy.workers = 1;
    const auto found = Translator(*run.model, run.tokenizers, greedy).translate({kTagged, kBlank, kTaggedOtherwise});
    EXPECT_EQ(found[1][0].text, "");
    const std::vector<std::vector<SourceLine>> alone = {{kTagged}, {kTaggedOtherwise}};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto one = Translator(*run.model, run.tokenizers, greedy).translate(alone[i]);
      EXPECT_EQ(one[0][0].text, found[2 * i][0].text);
      EXPECT_NEAR(one[0][0].hypothesis.log_prob, found[2 * i][0].hypothesis.log_prob, 1e-4);
    }
    EXPECT_NE(found[0][0].hypothesis.log_prob, found[2][0].hypothesis.log_prob);
  }
}

TEST(SourceFactorRuns, AttentionIsThatOfTheLabels) {
  const TranslationRun run = factored_run(factored_models()[0]);
  const auto weights_of_line = [&](const SourceLine& line) {
    torch::Tensor weights;
    PairAttention pairs(run, {.only = AttentionPlace::cross},
                        [&](const PiecePair& pair, const SentenceAttention& seen) {
                          EXPECT_EQ(pair.source, "the dog sees a cat");
                          EXPECT_EQ(source_words(pair).size(), 5);
                          weights = seen.layers.back().weights.clone();
                        });
    pairs.add(pair_in_pieces(run.tokenizers, line, std::string("a cat")));
    pairs.finish();
    return weights;
  };
  EXPECT_FALSE(at::allclose(weights_of_line(kTagged), weights_of_line(kTaggedOtherwise), 1e-5, 1e-7));
  EXPECT_GT(num_cross_layers(run), 0);
  std::size_t pieces = 0;
  PairAttention cut(run, {.only = AttentionPlace::cross, .most_pieces = 3},
                    [&](const PiecePair& pair, const SentenceAttention& seen) {
                      pieces = pair.source_pieces.size();
                      EXPECT_EQ(seen.layers.back().weights.size(-1), 4) << "with the end of sentence";
                    });
  cut.add(pair_in_pieces(run.tokenizers, kTagged, std::string("a cat")));
  cut.finish();
  EXPECT_EQ(pieces, 3U) << "as an ensemble cuts it";
}

TEST(SourceFactorRuns, NeedTheirFiles) {
  const TranslationRun run = factored_run(factored_models()[0]);
  EXPECT_NO_THROW(check_factor_files(run.tokenizers, "RUN", 2));
  EXPECT_THROW(check_factor_files(run.tokenizers, "RUN", 0), UserError);
  EXPECT_THROW(check_factor_files(run.tokenizers, "RUN", 1), UserError);
  const TranslationRun plain = small_run(factored_models()[0], 1);
  EXPECT_NO_THROW(check_factor_files(plain.tokenizers, "RUN", 0));
  EXPECT_THROW(check_factor_files(plain.tokenizers, "RUN", 1), UserError);
}

class SourceFactorBatches : public TestWithFiles {};

TEST_F(SourceFactorBatches, HaveALabelForEveryTokenAndTheEnd) {
  const Tokenizer tokenizer = train_tokenizer({write("text", "a b c\n")}, {.type = TokenizerType::word});
  const EncodedCorpus corpus =
      EncodedCorpus::open({.src_file = write("src", "a b\nb\n"),
                           .tgt_file = write("tgt", "c\nc a\n"),
                           .src_tokenizer = tokenizer,
                           .tgt_tokenizer = tokenizer,
                           .factors = SourceFactors({{"N", "V"}, {"x", "y"}}),
                           .factor_files = {write("tags", "V N\nV\n"), write("case", "x y\nQ\n")}},
                          {}, directory_ / "cache");
  const std::vector<std::uint32_t> examples = {1, 0};
  const Batch batch = make_batch(corpus, examples, {.src_eos = 3, .tgt_bos = 2, .tgt_eos = 3});
  const std::int64_t end = SourceFactors::kEnd, unknown = SourceFactors::kUnknown;
  const torch::Tensor expected_MJ = at::tensor({std::int64_t{3}, unknown, end, end, std::int64_t{3}, std::int64_t{2},
                                                std::int64_t{2}, std::int64_t{3}, end, end})
                                        .view({5, 2});
  EXPECT_TRUE(torch::equal(batch.src.factors_MJ, expected_MJ));
}

}  // namespace
}  // namespace attend
