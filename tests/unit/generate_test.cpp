// Continuations of prompts by language models of random weights, beside forward passes over the whole text.
#include "eval/generate.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/language/language_model.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/sentences.hpp"
#include "tests/support/small_run.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

using ContinuedIds = std::vector<std::int32_t>;

struct ContinuingModel {
  std::string name;
  LanguageOptions options;
};

// At sizes that differ; with weights so large that some pieces are much likelier than others.
std::vector<ContinuingModel> continuing_models() {
  LanguageOptions learned;
  learned.stack.layers = 2;
  learned.stack.width = 12;
  learned.stack.block.heads = 3;
  learned.stack.max_positions = 40;
  learned.stack.initial_deviation = 0.5;
  LanguageOptions alibi = learned;
  alibi.stack.block.positions = PositionKind::alibi;
  LanguageOptions lstm = learned;
  lstm.cell = LanguageCell::lstm;
  return {{"learned", learned}, {"alibi", alibi}, {"lstm", lstm}};
}

LanguageModel random_language_model(const LanguageOptions& options, std::int64_t vocabulary) {
  LanguageModel model = make_language_model(options, vocabulary);
  initialise(*model, 4);
  for (const torch::Tensor& parameter : model->parameters()) {
    const at::NoGradGuard no_grad;
    if (options.is_recurrent()) parameter.mul_(3);  // its initialisation has no deviation to choose
  }
  refresh_weights(*model);
  model->to(test_device());
  model->eval();
  return model;
}

class Generation : public testing::TestWithParam<ContinuingModel> {
 protected:
  std::vector<std::vector<Continuation>> generate(const GenerateConfig& config,
                                                  const std::vector<std::string>& prompts) const {
    std::vector<GenerationPrompt> given;
    for (const std::string& text : prompts) given.push_back({.text = text, .place = "prompts:" + text});
    return Generator(*model_, tokenizer_, config).generate(given);
  }
  Continuation generate_one(const GenerateConfig& config, const std::string& prompt) const {
    return generate(config, {prompt})[0].at(0);
  }

  // log p of what follows each token of "</s> ids", [tokens, V].
  torch::Tensor log_probs(const ContinuedIds& ids) const {
    const at::NoGradGuard no_grad;
    std::vector<std::int64_t> read(ids.begin(), ids.end());
    read.insert(read.begin(), tokenizer_.special().eos);
    Pass pass = Pass::inference();
    const torch::Tensor hidden = model_->forward(sequences_of({read}), pass);
    return at::log_softmax(ops::logits(hidden, model_->output_table(), {}), -1).cpu();
  }

  // Of a continuation, by one forward pass.
  double log_prob_by_forward(const std::string& prompt, const Continuation& continuation) const {
    ContinuedIds ids = tokenizer_.encode(prompt);
    const std::int64_t begin = std::ssize(ids);
    ids.insert(ids.end(), continuation.ids.begin(), continuation.ids.end());
    const torch::Tensor log_p = log_probs(ids);
    double sum = 0;
    for (std::int64_t i = begin; i < std::ssize(ids); ++i) sum += log_p[i][ids[i]].item<double>();
    const bool counts_end = continuation.ended == ContinuationEnd::document;
    return sum + (counts_end ? log_p[std::ssize(ids)][tokenizer_.special().eos].item<double>() : 0);
  }

  Tokenizer tokenizer_ = small_tokenizer({.size = 64});
  LanguageModel model_ = random_language_model(GetParam().options, tokenizer_.size());
};

INSTANTIATE_TEST_SUITE_P(Models, Generation, testing::ValuesIn(continuing_models()),
                         [](const auto& tested) { return tested.param.name; });

const std::vector<std::string> kTextsToContinue = {"the dog",           "",     "a cat and 7 birds", "number",
                                                   "sees a cat and 12", "birds"};

TEST_P(Generation, GreedySearchIsAPlainLoopOverForward) {
  const SpecialIds special = tokenizer_.special();
  for (const GenerateConfig& config :
       {GenerateConfig{.max_new_tokens = 9, .options = {.temperature = 0}},
        GenerateConfig{.max_new_tokens = 9, .beam = 1},
        GenerateConfig{.max_new_tokens = 9, .beam = 1, .options = {.repetition_penalty = 3}},
        GenerateConfig{.max_new_tokens = 9, .beam = 1, .options = {.no_repeat_ngram = 1}}}) {
    for (const std::string& prompt : kTextsToContinue) {
      ContinuedIds ids = tokenizer_.encode(prompt);
      const std::size_t begin = ids.size();
      bool ended = false;
      while (!ended && ids.size() < begin + 9) {
        torch::Tensor log_p = log_probs(ids)[-1];
        for (const std::int32_t id : std::set(ids.begin(), ids.end())) {
          log_p[id] =
              config.options.no_repeat_ngram == 1 ? -1e9 : log_p[id].item<double>() * config.options.repetition_penalty;
        }
        for (const std::int64_t id : {special.pad, special.cls, special.sep, special.mask}) log_p[id] = -1e9;
        const auto next = log_p.argmax().item<std::int64_t>();
        ended = next == special.eos;
        if (!ended) ids.push_back(static_cast<std::int32_t>(next));
      }
      const Continuation found = generate_one(config, prompt);
      EXPECT_EQ(found.ids, ContinuedIds(ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.end())) << prompt;
      EXPECT_EQ(found.ended, ended ? ContinuationEnd::document : ContinuationEnd::limit);
      EXPECT_NEAR(found.log_prob, log_prob_by_forward(prompt, found), 1e-3);
    }
  }
}

void expect_equal_continuations(const std::vector<std::vector<Continuation>>& ours,
                                const std::vector<std::vector<Continuation>>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(ours[i].size(), theirs[i].size());
    for (std::size_t k = 0; k < ours[i].size(); ++k) {
      EXPECT_EQ(ours[i][k].text, theirs[i][k].text) << kTextsToContinue[i];
      EXPECT_EQ(ours[i][k].ids, theirs[i][k].ids);
      EXPECT_EQ(ours[i][k].ended, theirs[i][k].ended);
      EXPECT_NEAR(ours[i][k].log_prob, theirs[i][k].log_prob, 1e-3);
    }
  }
}

TEST_P(Generation, BatchesAndWorkersChangeNothing) {
  for (const GenerateConfig& base :
       {GenerateConfig{.options = {.temperature = 0}}, GenerateConfig{.beam = 3},
        GenerateConfig{.samples = 3, .options = {.seed = 5, .temperature = 0.8, .top_p = 0.9}}}) {
    const auto generated = [&](std::int64_t batch_size, std::int64_t workers) {
      GenerateConfig config = base;
      config.max_new_tokens = 12;
      config.batch_size = batch_size;
      config.workers = workers;
      return generate(config, kTextsToContinue);
    };
    const auto alone = generated(1, 1);
    expect_equal_continuations(generated(32, 1), alone);
    expect_equal_continuations(generated(2, 3), alone);
  }
}

TEST_P(Generation, ASampleIsAFunctionOfSeedPromptAndNumber) {
  const GenerateConfig config{.max_new_tokens = 10, .samples = 5};
  const auto five = generate(config, {"the dog", "the dog"});
  const auto two = generate({.max_new_tokens = 10, .samples = 2}, {"the dog", "the dog"});
  std::set<std::string> texts;
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(five[i].size(), 5);
    ASSERT_EQ(two[i].size(), 2);
    for (std::size_t k = 0; k < 5; ++k) texts.insert(five[i][k].text);
    for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(five[i][k].text, two[i][k].text);
  }
  EXPECT_GE(texts.size(), 5) << "of 10 that are drawn apart";
  GenerateConfig other = config;
  other.options.seed = 2;
  const auto of_other_seed = generate(other, {"the dog"});
  for (const Continuation& one : of_other_seed[0]) texts.erase(one.text);
  EXPECT_GE(texts.size(), 3) << "others are drawn with another seed";
  for (const auto& samples : five) {
    for (const Continuation& one : samples) EXPECT_NEAR(one.log_prob, log_prob_by_forward("the dog", one), 1e-3);
  }
  // Prompts that are given later are other ones.
  Generator generator(*model_, tokenizer_, config);
  const std::vector<GenerationPrompt> prompt = {{.text = "the dog", .place = ""}};
  EXPECT_EQ(generator.generate(prompt)[0][0].text, five[0][0].text);
  EXPECT_EQ(generator.generate(prompt)[0][0].text, five[1][0].text);
}

TEST_P(Generation, ABeamHasTheProbabilityOfItsText) {
  for (const std::string& prompt : kTextsToContinue) {
    const auto found = generate({.max_new_tokens = 6, .beam = 5, .options = {.length_penalty = 0.5}}, {prompt})[0];
    ASSERT_EQ(found.size(), 1);
    EXPECT_NEAR(found[0].log_prob, log_prob_by_forward(prompt, found[0]), 1e-3);
  }
}

TEST_P(Generation, AContinuationFollowsItsPromptWithTheSpaceBetween) {
  const std::string mark(kSpaceMark);
  std::size_t with_space = 0, without = 0;
  for (const std::string& prompt : kTextsToContinue) {
    const auto found = generate({.max_new_tokens = 8, .samples = 20}, {prompt});
    for (const Continuation& one : found[0]) {
      ContinuedIds ids = tokenizer_.encode(prompt);
      ids.insert(ids.end(), one.ids.begin(), one.ids.end());
      EXPECT_EQ(prompt + one.text, tokenizer_.decode(ids));
      const bool is_text = !one.ids.empty() && one.ids[0] > tokenizer_.special().mask;  // the last of the special ids
      if (!is_text || tokenizer_.piece(one.ids[0]) == mark) continue;
      const bool begins_word = tokenizer_.begins_word(one.ids[0]);
      EXPECT_EQ(one.text.starts_with(' '), begins_word && !prompt.empty()) << prompt << "|" << one.text;
      (begins_word ? with_space : without) += 1;
    }
  }
  EXPECT_GT(with_space, 5);
  EXPECT_GT(without, 5);
}

TEST_P(Generation, AnEmptyPromptBeginsADocument) {
  const GenerateConfig config{.max_new_tokens = 7};
  EXPECT_EQ(generate_one(config, "   ").text, generate_one(config, "").text);
  const Continuation one = generate_one(config, "");
  EXPECT_EQ(one.text, tokenizer_.decode(one.ids));
  EXPECT_NEAR(one.log_prob, log_prob_by_forward("", one), 1e-3);
}

TEST_P(Generation, ItEndsBeforeAStopText) {
  std::size_t stopped = 0;
  for (const std::string& prompt : kTextsToContinue) {
    for (const GenerateConfig& base :
         {GenerateConfig{.options = {.temperature = 0}}, GenerateConfig{.options = {.seed = 3}}}) {
      GenerateConfig config = base;
      config.max_new_tokens = 12;
      const Continuation whole = generate_one(config, prompt);
      if (whole.text.size() < 6) continue;
      config.stop = {"no such text", whole.text.substr(whole.text.size() / 2, 2)};
      const std::size_t at = whole.text.find(config.stop[1]);
      const Continuation cut = generate_one(config, prompt);
      EXPECT_EQ(cut.text, whole.text.substr(0, at));
      EXPECT_EQ(cut.ended, ContinuationEnd::stop);
      ASSERT_LE(cut.ids.size(), whole.ids.size());
      EXPECT_TRUE(std::equal(cut.ids.begin(), cut.ids.end(), whole.ids.begin()));
      EXPECT_NEAR(cut.log_prob, log_prob_by_forward(prompt, cut), 1e-3) << "the end is not counted";
      stopped += cut.ids.size() < whole.ids.size() ? 1 : 0;
      config.stop = {"no such text"};
      EXPECT_EQ(generate_one(config, prompt).text, whole.text);
    }
  }
  EXPECT_GT(stopped, 0);
}

TEST_P(Generation, APieceOfThePromptIsNotRepeated) {
  const auto without_repeats =
      generate({.max_new_tokens = 15, .samples = 8, .options = {.no_repeat_ngram = 1}}, {"the dog"});
  for (const Continuation& one : without_repeats[0]) {
    for (const std::int32_t id : tokenizer_.encode("the dog")) EXPECT_EQ(std::ranges::count(one.ids, id), 0);
    EXPECT_EQ(std::set(one.ids.begin(), one.ids.end()).size(), one.ids.size());
  }
}

TEST_P(Generation, TheLimitHolds) {
  std::size_t at_limit = 0;
  const auto limited = generate({.max_new_tokens = 3, .samples = 20}, {"a cat"});
  for (const Continuation& one : limited[0]) {
    EXPECT_LE(one.ids.size(), 3);
    EXPECT_EQ(one.ids.size() == 3, one.ended == ContinuationEnd::limit);
    at_limit += one.ended == ContinuationEnd::limit ? 1 : 0;
  }
  EXPECT_GT(at_limit, 0);
}

TEST_P(Generation, APromptThatLeavesNoPositionsIsRefused) {
  const std::int64_t pieces = std::ssize(tokenizer_.encode("the dog sees a cat"));
  const GenerateConfig most{.max_new_tokens = 40 - pieces}, more{.max_new_tokens = 41 - pieces};
  EXPECT_NO_THROW(generate(most, {"the dog sees a cat"}));
  EXPECT_NO_THROW(generate({}, {"the dog sees a cat"})) << "as many as there are positions for";
  if (GetParam().name != "learned") {
    EXPECT_NO_THROW(generate(more, {"the dog sees a cat"}));
    return;
  }
  const std::string refused = error_and_remedy_of([&] { generate(more, {"a", "the dog sees a cat"}); });
  EXPECT_TRUE(refused.starts_with("prompts:the dog sees a cat: ")) << refused;
  EXPECT_NE(refused.find("40 positions | "), std::string::npos) << refused;
  EXPECT_TRUE(refused.ends_with("--max-new-tokens " + std::to_string(40 - pieces))) << refused;
}

TEST_P(Generation, InvalidUtf8IsContinued) {
  const Continuation found = generate_one({.max_new_tokens = 5}, "\xff dog");
  EXPECT_TRUE(std::isfinite(found.log_prob));
  EXPECT_FALSE(found.ids.empty());
}

TEST_P(Generation, ProgressCountsPrompts) {
  WorkProgress progress({.total = 2, .is_shown = false});
  Generator generator(*model_, tokenizer_, {.max_new_tokens = 2, .samples = 3}, &progress);
  generator.generate(std::vector<GenerationPrompt>{{.text = "a", .place = ""}, {.text = "", .place = ""}});
  EXPECT_EQ(progress.done(), 2);
}

// Random bytes are mostly no characters, and some of them line breaks.
TEST(GenerationStream, IsTheTextAsItGrows) {
  const Tokenizer tokenizer = small_tokenizer({.size = 316, .byte_fallback = true});
  const LanguageModel model = random_language_model(continuing_models()[1].options, tokenizer.size());
  std::size_t parts = 0, replaced = 0, stopped = 0;
  for (std::int64_t seed = 0; seed < 40; ++seed) {
    GenerateConfig config{.max_new_tokens = 25, .options = {.seed = seed, .temperature = 3}};
    const GenerationPrompt prompt{.text = seed % 2 == 0 ? "the dog" : "", .place = ""};
    const auto generated = [&] {
      return Generator(*model, tokenizer, config).generate(std::vector<GenerationPrompt>{prompt})[0][0];
    };
    for (const bool with_stops : {false, true}) {
      if (with_stops) {
        const std::string whole = generated().text;
        const std::size_t begin = std::min(whole.find_first_of("abcdefghijklmnopqrstuvwxyz"), whole.size());
        if (begin + 3 > whole.size()) continue;
        config.stop = {whole.substr(begin, 3), whole.substr(begin, 2) + "#"};
      }
      std::string streamed;
      const Continuation found = Generator(*model, tokenizer, config).stream(prompt, [&](std::string_view part) {
        streamed += part;
        ++parts;
      });
      EXPECT_EQ(streamed, found.text) << seed;
      EXPECT_EQ(found.text, generated().text);
      EXPECT_EQ(found.text.find('\n'), std::string::npos);
      replaced += found.text.find("\uFFFD") != std::string::npos ? 1 : 0;
      stopped += found.ended == ContinuationEnd::stop ? 1 : 0;
    }
  }
  EXPECT_GT(parts, 100);
  EXPECT_GT(replaced, 5);
  EXPECT_GT(stopped, 5);
}

// The pieces of a byte-level BPE have line breaks, which are spaces in the text that is shown.
TEST(GenerationStop, IsALineBreak) {
  const Tokenizer tokenizer =
      Tokenizer::load(std::filesystem::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures/gpt2/model/tokenizer.json");
  const LanguageModel model = random_language_model(continuing_models()[1].options, tokenizer.size());
  const std::int32_t line_break = tokenizer.id_of("\u010a");
  const std::vector<GenerationPrompt> prompt = {{.text = "the dog", .place = ""}};
  GenerateConfig config{.max_new_tokens = 40, .samples = 100, .options = {.temperature = 5}};
  const std::vector<Continuation> whole = Generator(*model, tokenizer, config).generate(prompt)[0];
  config.stop = {"\\n"};
  const std::vector<Continuation> cut = Generator(*model, tokenizer, config).generate(prompt)[0];
  std::size_t stopped = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto end = std::ranges::find(whole[i].ids, line_break);
    if (end == whole[i].ids.end()) continue;
    ++stopped;
    EXPECT_EQ(cut[i].ids, ContinuedIds(whole[i].ids.begin(), end + 1)) << whole[i].text;
    EXPECT_EQ(cut[i].ended, ContinuationEnd::stop);
    EXPECT_EQ(cut[i].text + ' ', whole[i].text.substr(0, cut[i].text.size() + 1));
  }
  EXPECT_GT(stopped, 0) << "no sample has a line break";
  EXPECT_EQ(user_error_of([&] { Generator(*model, small_tokenizer({.size = 64}), config); }),
            "--stop: a line break, which no piece of the model's tokenizer has");
}

TEST(GenerateOptions, StopsMayHaveLineBreaksAndBackslashes) {
  EXPECT_EQ((GenerateConfig{.stop = {"\\n", "a\\\\n", "\\b\\"}}.stops()),
            (std::vector<std::string>{"\n", "a\\n", "\\b\\"}));
}

TEST(GenerateOptions, AskForTheirSearch) {
  const SearchConfig plain = GenerateConfig{}.search();
  EXPECT_EQ(plain.sample, 1);
  EXPECT_EQ(plain.temperature, 1);
  const SearchConfig greedy = GenerateConfig{.options = {.temperature = 0}}.search();
  EXPECT_EQ(greedy.sample, 0);
  EXPECT_EQ(greedy.beam, 1);
  const SearchConfig beam =
      GenerateConfig{.beam = 4, .options = {.length_penalty = 0.5, .no_repeat_ngram = 3}}.search();
  EXPECT_EQ(beam.sample, 0);
  EXPECT_EQ(beam.beam, 4);
  EXPECT_EQ(beam.length_penalty, 0.5);
  EXPECT_EQ(beam.no_repeat_ngram, 3);
  const GenerateConfig given{
      .samples = 7, .epsilon = 0.2, .options = {.seed = 9, .temperature = 0.5, .top_k = 3, .top_p = 0.8, .min_p = 0.1}};
  const SearchConfig samples = given.search();
  EXPECT_EQ(samples.sample, 7);
  EXPECT_EQ(samples.temperature, 0.5);
  EXPECT_EQ(samples.top_k, 3);
  EXPECT_EQ(samples.top_p, 0.8);
  EXPECT_EQ(samples.min_p, 0.1);
  EXPECT_EQ(samples.epsilon, 0.2);
  EXPECT_EQ(samples.seed, 9);
}

}  // namespace
}  // namespace attend
