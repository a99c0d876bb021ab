// Probes of hidden states on vectors, labels and trees whose answers are known.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/hidden_state_probes.hpp"
#include "analysis/linear_probe.hpp"
#include "analysis/structural_probe.hpp"
#include "core/files.hpp"
#include "core/random.hpp"
#include "eval/metrics/predictions.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/families.hpp"
#include "tests/support/small_run.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

using torch::Tensor;
using Edges = std::vector<std::pair<std::size_t, std::size_t>>;

// A sentence of these words and heads, with one space between words.
TreeSentence probed_sentence(const std::vector<std::string>& forms, const std::vector<std::size_t>& heads) {
  TreeSentence sentence;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (i > 0) sentence.text += ' ';
    sentence.places.emplace_back(sentence.text.size(), sentence.text.size() + forms[i].size());
    sentence.text += forms[i];
    sentence.words.push_back(
        {.form = forms[i], .part_of_speech = forms[i] == "." ? "PUNCT" : "X", .head = heads[i], .relation = "dep"});
  }
  return sentence;
}

Tensor probed_noise(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Tensor x = at::empty({rows, columns}, at::kFloat);
  RandomStream random(seed);
  fill_normal(x, 1, random);
  return x;
}

// ---- words

// A model whose state of a token is its id, and in layer 1 its square. It has a weight that it does not use.
SentenceModel model_of_ids(const Tokenizer& tokenizer) {
  const auto module = std::make_shared<torch::nn::Module>();
  module->register_module("linear", Linear(LinearConfig{.in = 1, .out = 1}));
  return {.description = "ids",
          .tokenizer = tokenizer,
          .begin = tokenizer.special().bos,
          .end = tokenizer.special().eos,
          .module = module,
          .read = [](const Sequences& tokens, Pass& pass) {
            const Tensor x_M1 = tokens.ids_M.to(at::kFloat).unsqueeze(1);
            pass.observer()->on_hidden(AttentionPlace::encoder, 0, x_M1);
            pass.observer()->on_hidden(AttentionPlace::encoder, 1, x_M1.square());
          }};
}

TEST(ProbedWords, AVectorIsTheMeanOfItsPieces) {
  const Tokenizer tokenizer = small_run(families(0)[0].config, 1).tokenizers.src;
  const std::vector<TreeSentence> sentences = {probed_sentence({"a", "bdbg", "cat"}, {2, 0, 2}),
                                               probed_sentence({"the", "dog", "sees", "birds"}, {2, 3, 0, 3})};
  SentenceModel model = model_of_ids(tokenizer);
  const ProbedWords words(model, sentences);
  ASSERT_EQ(words.offsets(), (std::vector<std::int64_t>{0, 3, 7}));
  EXPECT_EQ(words.widths(model), (std::vector<std::int64_t>{1, 1}));
  const std::vector<Tensor> layers = words.vectors(model, 0, 2);
  ASSERT_EQ(layers.size(), 2u);
  bool divides = false;
  std::int64_t row = 0;
  for (const TreeSentence& sentence : sentences) {
    for (const TreeWord& word : sentence.words) {
      const std::vector<Piece> pieces = tokenizer.encode_pieces(word.form);  // a word is cut as in its sentence
      double sum = 0, squares = 0, count = 0;
      for (const Piece& piece : pieces) {
        sum += piece.id;
        squares += std::pow(piece.id, 2);
        ++count;
      }
      divides |= count > 1;
      EXPECT_NEAR(layers[0][row].item<double>(), sum / count, 1e-3) << word.form;
      EXPECT_NEAR(layers[1][row++].item<double>(), squares / count, 1e-1) << word.form;
    }
  }
  EXPECT_TRUE(divides) << "no word has several pieces";
  EXPECT_TRUE(at::equal(words.vectors(model, 1, 1)[0], layers[1])) << "layers read apart";
  model.longest = 5;
  EXPECT_EQ(ProbedWords(model, sentences).num_left_out(), 2);
}

TEST(ProbedWords, EveryFamilyReportsItsEncoder) {
  const std::vector<TreeSentence> sentences = {probed_sentence({"a"}, {0})};  // short enough for all
  for (const Family& family : families(/*dropout=*/0.1)) {
    SCOPED_TRACE(family.name);
    const SentenceModel model = SentenceModel::of(small_run(family.config, 3));
    const ProbedWords words(model, sentences);
    const auto layers = static_cast<std::int64_t>(words.widths(model).size());
    ASSERT_TRUE(family.config.encoder_layers) << family.name;
    EXPECT_EQ(layers, *family.config.encoder_layers + 1) << family.name;
    const Tensor trained_WH = words.vectors(model, 1, 1)[0];
    model.randomise(5);
    const Tensor random_WH = words.vectors(model, 1, 1)[0];
    EXPECT_FALSE(at::allclose(trained_WH, random_WH)) << family.name;
    const SentenceModel other = SentenceModel::of(small_run(family.config, 5));
    EXPECT_TRUE(at::allclose(random_WH, words.vectors(other, 1, 1)[0])) << family.name;
  }
}

TEST(HiddenStateProbes, RandomWeightsAreDrawnForEverySeed) {
  const TemporaryDirectory directory;
  std::string trees;
  for (int i = 0; i < 20; ++i) {
    trees += to_conllu(probed_sentence({"the", "dog", "sees", "birds", "."}, {2, 3, 0, 3, 3}));
  }
  write_file_atomic(directory / "trees", trees);
  SentenceModel model = model_of_ids(small_run(families(0)[0].config, 1).tokenizers.src);
  initialise(*model.module, 9);
  std::set<float> weights;  // that sentences are read with
  model.read = [&weights, module = model.module, read = model.read](const Sequences& tokens, Pass& pass) {
    weights.insert(module->parameters().front().item<float>());
    read(tokens, pass);
  };
  const ProbingConfig config{.run = "ids", .data = (directory / "trees").string(), .seeds = 3};
  const Probing probing = probe_hidden_states(config, model);
  EXPECT_EQ(weights.size(), 4u) << "the model's own, and those of three seeds";
  ASSERT_EQ(probing.tasks.size(), 1u);
  EXPECT_TRUE(std::isfinite(probing.tasks[0].layers.at(1).random.deviation));
  EXPECT_EQ(probing.random_structure.size(), 2u);
}

// ---- labels of words

WordLabels probed_labels(std::size_t count) {
  WordLabels words{.names = {"A", "B", "C"}, .held_out = count * 7 / 10, .test = count * 8 / 10};
  RandomStream random(11);
  for (std::size_t i = 0; i < count; ++i) {
    words.words.push_back(static_cast<std::int64_t>(i));
    words.labels.push_back(static_cast<std::int64_t>(random.below(3)));
    words.types.push_back(static_cast<std::int64_t>(i % 40));
  }
  return words;
}

Tensor one_hot_of(const std::vector<std::int64_t>& numbers, std::int64_t size) {
  Tensor x = at::zeros({static_cast<std::int64_t>(numbers.size()), size}, at::kFloat);
  for (std::size_t i = 0; i < numbers.size(); ++i) x[static_cast<std::int64_t>(i)][numbers[i]] = 1;
  return x;
}

TEST(LinearProbe, SentencesAreDivided) {
  EXPECT_EQ(ProbeSplit::of(100), (ProbeSplit{.held_out = 72, .test = 80, .end = 100}));
  EXPECT_EQ(ProbeSplit::of(10), (ProbeSplit{.held_out = 7, .test = 8, .end = 10}));
  std::vector<TreeSentence> sentences;
  for (int i = 0; i < 3; ++i) sentences.push_back(probed_sentence({"a", "b", "."}, {2, 0, 2}));
  sentences[2].words[1].form = "c";
  const WordLabels words = label_words(sentences, {.held_out = 1, .test = 2, .end = 3}, [](const TreeWord& word) {
    return word.form == "." ? std::string() : "is " + word.form;
  });
  EXPECT_EQ(words.words, (std::vector<std::int64_t>{0, 1, 3, 4, 6, 7}));
  EXPECT_EQ(words.labels, (std::vector<std::int64_t>{0, 1, 0, 1, 0, -1})) << "the last label is only in the test";
  EXPECT_EQ(words.types, (std::vector<std::int64_t>{0, 1, 0, 1, 0, 2}));
  EXPECT_EQ(words.names, (std::vector<std::string>{"is a", "is b"}));
  EXPECT_EQ(words.held_out, 2u);
  EXPECT_EQ(words.test, 4u);
  EXPECT_TRUE(words.suffice());
  EXPECT_EQ(most_frequent_label(words).name, "is a");
  EXPECT_DOUBLE_EQ(most_frequent_label(words).accuracy, 0.5);
}

TEST(LinearProbe, SeparableLabelsAreFoundAndCheap) {
  const WordLabels words = probed_labels(1500);
  const Tensor x_WH = at::cat({one_hot_of(words.labels, 3) * 3 + 50, probed_noise(1500, 5, 2) * 7}, 1);
  EXPECT_DOUBLE_EQ(linear_probe_accuracy(x_WH, words, 1), 1);
  const DescriptionLength code = online_code(x_WH, words, 1);
  EXPECT_NEAR(code.uniform_bits, 1050 * std::log2(3), 1e-9);
  EXPECT_GT(code.compression(), 5);
}

// The columns that tell the labels of test words are 0 before.
TEST(LinearProbe, LearnsNothingFromTheTest) {
  const WordLabels words = probed_labels(1500);
  std::vector<std::int64_t> columns = words.labels;
  for (std::size_t i = words.test; i < columns.size(); ++i) columns[i] += 3;
  EXPECT_LT(linear_probe_accuracy(one_hot_of(columns, 6), words, 1), 0.6);
}

TEST(LinearProbe, RandomLabelsAreFoundByChance) {
  const WordLabels words = probed_labels(1500);
  const Tensor x_WH = probed_noise(1500, 8, 3);
  EXPECT_NEAR(linear_probe_accuracy(x_WH, words, 1), 1.0 / 3, 0.1);
  EXPECT_NEAR(online_code(x_WH, words, 1).compression(), 1, 0.15);
}

// Vectors that tell the form of a word let a probe learn any label of forms.
TEST(LinearProbe, LabelsOfFormsHaveNoSelectivity) {
  const WordLabels words = control_labels(probed_labels(1500), 7), control = control_labels(words, 8);
  EXPECT_NE(words.labels, control.labels);
  for (std::size_t i = 40; i < 1500; ++i) ASSERT_EQ(control.labels[i], control.labels[i - 40]) << "of one form";
  const Tensor x_WH = one_hot_of(words.types, 40);
  EXPECT_DOUBLE_EQ(linear_probe_accuracy(x_WH, words, 1) - linear_probe_accuracy(x_WH, control, 1), 0);
  EXPECT_DOUBLE_EQ(linear_probe_accuracy(x_WH, control, 1), 1);
  EXPECT_LT(linear_probe_accuracy(x_WH, probed_labels(1500), 1), 0.6) << "labels that do not depend on the form";
}

TEST(LinearProbe, TheFirstBlockHasAUniformCode) {
  EXPECT_EQ(online_code_blocks(1000), (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 63, 125, 250, 500, 1000}));
  EXPECT_EQ(online_code_blocks(10), (std::vector<std::int64_t>{1, 2, 3, 5, 10}));
  WordLabels words = probed_labels(12);
  words.held_out = 1;
  const DescriptionLength code = online_code(probed_noise(12, 4, 5), words, 1);
  EXPECT_DOUBLE_EQ(code.bits, std::log2(3));
  EXPECT_DOUBLE_EQ(code.compression(), 1);
}

TEST(LinearProbe, StopsAtTheLeastHeldOutLoss) {
  Linear module(LinearConfig{.in = 1, .out = 1, .bias = false});
  module->weight.master().data().fill_(4);
  int epochs = 0;
  double last = 0;
  train_with_early_stopping(*module, {.items = 4,
                                      .batch = 2,
                                      .learning_rate = 0.1,
                                      .seed = 1,
                                      .loss =
                                          [&](std::span<const std::int64_t>) {
                                            return module->weight.master().sum();  // falls for ever
                                          },
                                      .held_out_loss =
                                          [&] {
                                            ++epochs;
                                            last = module->weight.master().item<double>();
                                            return std::abs(last - 3.4);
                                          }});
  EXPECT_NEAR(module->weight.master().item<double>(), 3.4, 1e-3) << "after three epochs of two steps of 0.1";
  EXPECT_EQ(epochs, 3 + EarlyStopping::kPatience);
  EXPECT_NEAR(last, 3.4 - 0.2 - 0.1 - 0.05 - 0.025, 1e-3) << "the rate is halved after each epoch without gain";
}

// ---- trees

TEST(StructuralProbe, DistancesAreThoseOfTheTree) {
  const WordTree tree = tree_of(probed_sentence({"the", "dog", "sees", "a", "cat", "."}, {2, 3, 0, 5, 3, 3}));
  EXPECT_EQ(tree.root, 2u);
  EXPECT_EQ(tree.edges, (Edges{{0, 1}, {1, 2}, {3, 4}, {2, 4}})) << "without the full stop";
  EXPECT_TRUE(at::equal(tree.depths_T, torch::tensor({2.0F, 1.0F, 0.0F, 2.0F, 1.0F, 1.0F})));
  EXPECT_TRUE(at::equal(tree.distances_TT[0], torch::tensor({0.0F, 1.0F, 2.0F, 4.0F, 3.0F, 3.0F})));
  EXPECT_TRUE(at::equal(tree.distances_TT, tree.distances_TT.t()));
  EXPECT_DOUBLE_EQ(left_neighbour_attachment(std::vector{tree}), 0.75) << "all but a cat's link to sees";
}

TEST(StructuralProbe, SpanningTreeOfLeastWeight) {
  const std::vector<float> weights = {0, 1, 4, 3, 1, 0, 2, 5, 4, 2, 0, 6, 3, 5, 6, 0};
  const auto sorted = [](Edges edges) {
    std::ranges::sort(edges);
    return edges;
  };
  EXPECT_EQ(sorted(minimum_spanning_tree(weights, {false, false, false, false})), (Edges{{0, 1}, {0, 3}, {1, 2}}));
  EXPECT_EQ(sorted(minimum_spanning_tree(weights, {true, false, false, false})), (Edges{{1, 2}, {1, 3}}));
  EXPECT_EQ(minimum_spanning_tree(weights, {true, true, true, false}), Edges());
}

// Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: Pearson's correlation is 4.5 / sqrt(4.5 * 5).
TEST(StructuralProbe, CorrelationSharesTheRanksOfTies) {
  const std::vector<double> predicted = {0.1, 0.7, 0.7, 9}, gold = {1, 3, 2, 4};
  EXPECT_NEAR(metrics::spearman(predicted, gold), 4.5 / std::sqrt(22.5), 1e-12);
}

// Random trees of up to 8 words; the vector of a word has a 1 for each edge on its path to the root, so that squared
// distances and norms are exact. Columns of noise are added and all columns are mixed.
struct ProbedTrees {
  std::vector<WordTree> trees;
  std::vector<std::int64_t> offsets = {0};
  Tensor x_WH;
};
ProbedTrees exact_trees(std::size_t count) {
  constexpr std::size_t kLongest = 8;
  RandomStream random(21);
  ProbedTrees result;
  std::vector<Tensor> vectors;
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t n = 5 + random.below(kLongest - 4);
    std::vector<std::size_t> order(n), heads(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    shuffle(order, random);
    for (std::size_t i = 0; i < n; ++i) heads[order[i]] = i == 0 ? 0 : order[random.below(i)] + 1;
    const TreeSentence sentence = probed_sentence(std::vector<std::string>(n, "w"), heads);
    Tensor x = at::zeros({static_cast<std::int64_t>(n), static_cast<std::int64_t>(kLongest)}, at::kFloat);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t at = i; heads[at] != 0; at = heads[at] - 1) {
        x[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(at)] = 1;
      }
    }
    vectors.push_back(x);
    result.trees.push_back(tree_of(sentence));
    result.offsets.push_back(result.offsets.back() + static_cast<std::int64_t>(n));
  }
  const Tensor noisy_WH = at::cat({at::cat(vectors), probed_noise(result.offsets.back(), 4, 22)}, 1);
  result.x_WH = noisy_WH.mm(std::get<0>(at::linalg_qr(probed_noise(12, 12, 23))));
  return result;
}

TEST(StructuralProbe, FindsTreesThatAreThere) {
  const auto [trees, offsets, x_WH] = exact_trees(300);
  const ProbeSplit split = ProbeSplit::of(trees.size());
  const StructuralScores scores = structural_probe(x_WH, offsets, trees, split, 1);
  EXPECT_GT(scores.attachment, 0.99);
  EXPECT_GT(scores.distance_correlation, 0.9);
  EXPECT_GT(scores.root_accuracy, 0.97);
  EXPECT_GT(scores.depth_correlation, 0.9);
  const StructuralScores noise = structural_probe(probed_noise(offsets.back(), 12, 24), offsets, trees, split, 1);
  EXPECT_LT(noise.attachment, 0.6);
  EXPECT_LT(std::abs(noise.distance_correlation), 0.5);
  EXPECT_LT(noise.root_accuracy, 0.5);
}

// Noise tells no tree, but a wide map learns by heart those of the sentences that it is trained on. The held-out
// sentences are those of the test, so that nothing else stops a training that reads them.
TEST(StructuralProbe, LearnsNothingFromTheTest) {
  constexpr std::size_t kOthers = 40, kAsked = 20;
  const ProbedTrees all = exact_trees(kOthers + kAsked);
  const Tensor noise_WH = probed_noise(all.offsets.back(), 128, 31);
  const auto scores_after = [&](std::size_t fitted) {
    ProbedTrees read;
    std::vector<Tensor> vectors;
    const auto add = [&](std::size_t first, std::size_t end) {
      for (std::size_t b = first; b < end; ++b) {
        vectors.push_back(noise_WH.slice(0, all.offsets[b], all.offsets[b + 1]));
        read.trees.push_back(all.trees[b]);
        read.offsets.push_back(read.offsets.back() + vectors.back().size(0));
      }
    };
    add(0, fitted);
    add(kOthers, kOthers + kAsked);
    add(kOthers, kOthers + kAsked);
    return structural_probe(at::cat(vectors), read.offsets, read.trees,
                            {.held_out = fitted, .test = fitted + kAsked, .end = fitted + 2 * kAsked}, 1);
  };
  const StructuralScores unseen = scores_after(kOthers), seen = scores_after(kOthers + kAsked);
  EXPECT_LT(unseen.attachment, 0.6);
  EXPECT_LT(unseen.root_accuracy, 0.6);
  EXPECT_GT(seen.attachment, 0.8) << "the trees can be learnt by heart";
  EXPECT_GT(seen.root_accuracy, 0.8);
}

}  // namespace
}  // namespace attend
