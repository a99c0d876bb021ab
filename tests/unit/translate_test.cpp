// A run directory made by hand, loaded and translated with: what comes out is one line for each line, in order, however
// many workers there are.
#include "eval/translate.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/safetensors.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"
#include "models/translation/factory.hpp"
#include "models/translation/transformer.hpp"
#include "tests/support/small_run.hpp"
#include "tests/support/temporary.hpp"
#include "train/translation/job.hpp"

namespace attend {
namespace {

class Translating : public testing::Test {
 protected:
  Translating() {
    directory_.write("text", small_text());
    const Tokenizer tokenizer = small_tokenizer({.size = 64});
    TokenizerPair{.src = tokenizer, .tgt = tokenizer}.save(run_ / "tokenizer");
    ModelConfig config;
    config.encoder_layers = config.decoder_layers = 1;
    config.width = 12;
    config.block.heads = 2;
    config.dropout = 0.1;
    write_file_atomic(run_ / "run.json", record_of_kind(RunKind::train).dump());
    write_file_atomic(run_ / "config.toml", to_toml(config) + "max-steps = 7  # of another reader\n");
    const auto model = make_seq2seq(config, {.src = tokenizer.size(), .tgt = tokenizer.size()}, 5);
    make_directories(checkpoint_path(run_, 3));
    save_tensors(checkpoint_path(run_, 3) / "model.safetensors", parameters_of(*model));
    write_manifest(checkpoint_path(run_, 3));
  }

  static TranslatorConfig config(std::int64_t workers, std::int64_t batch_size) {
    TranslatorConfig config;
    config.search.max_length = 12;
    config.batch_size = batch_size;
    config.workers = workers;
    return config;
  }

  std::vector<std::string> translate(const TranslatorConfig& config, const std::vector<std::string>& lines) const {
    const TranslationRun run = load_run_as<TranslationRun>(run_);
    Translator translator(*run.model, run.tokenizers, config);
    std::vector<std::string> results;
    for (const auto& translations : translator.translate(lines)) results.push_back(translations.at(0).text);
    return results;
  }

  TemporaryDirectory directory_;
  std::filesystem::path run_ = directory_ / "run";
};

const std::vector<std::string> kTranslatedLines = {"the dog", "",      "a cat and 7 birds sees the number 12",
                                                   "   ",     "birds", "\xe4\xb8\xad\xe6\x96\x87",
                                                   "dog dog", "\xff",  "number 3 sees a dog"};

TEST_F(Translating, OneLineForEachLineWhateverTheWorkersAndBatches) {
  const auto expected = translate(config(1, 1), kTranslatedLines);
  ASSERT_EQ(expected.size(), kTranslatedLines.size());
  EXPECT_EQ(expected[1], "");
  EXPECT_EQ(expected[3], "");
  EXPECT_NE(expected[0], "");
  EXPECT_EQ(translate(config(1, 4), kTranslatedLines), expected);
  EXPECT_EQ(translate(config(3, 2), kTranslatedLines), expected);
}

TEST_F(Translating, AStreamIsAnsweredInOrderAndAtOnceWhereWanted) {
  const TranslationRun run = load_run_as<TranslationRun>(run_);
  const auto expected = translate(config(1, 1), kTranslatedLines);
  for (const bool at_once : {false, true}) {
    const TranslatorConfig settings = config(2, 1);
    Translator translator(*run.model, run.tokenizers, settings);
    std::size_t read = 0;
    std::vector<std::string> answers;
    translator.translate_stream(
        [&](std::string& line) {
          EXPECT_TRUE(!at_once || answers.size() == read);
          if (read == kTranslatedLines.size()) return false;
          line = kTranslatedLines[read++];
          return true;
        },
        [&](const std::vector<Translation>& translations) { answers.push_back(translations.at(0).text); }, at_once);
    EXPECT_EQ(answers, expected);
  }
}

TEST_F(Translating, ProgressCountsEveryLine) {
  const TranslationRun run = load_run_as<TranslationRun>(run_);
  const TranslatorConfig settings = config(2, 2);
  WorkProgress progress({.total = std::ssize(kTranslatedLines), .is_shown = false});
  Translator translator(*run.model, run.tokenizers, settings, &progress);
  translator.translate(kTranslatedLines);
  EXPECT_EQ(progress.done(), std::ssize(kTranslatedLines));
}

TEST_F(Translating, ALineTooLongIsCutAndCounted) {
  const TranslationRun run = load_run_as<TranslationRun>(run_);
  const TranslatorConfig settings = config(1, 8);
  Translator translator(*run.model, run.tokenizers, settings);
  std::string line;
  while (line.size() < 100'000) line += "dog ";
  EXPECT_EQ(translator.translate({{"a cat"}, {line}}).size(), 2);
  EXPECT_EQ(translator.translate({{line}}).size(), 1);
  EXPECT_EQ(translator.cut().report(1024), "2 lines were cut to 1024 pieces, the first is line 2");
}

// bf16 rounds to 2^-9 and int8 to 1/254 of the largest of a row: log probabilities of up to 12 tokens stay within a few
// hundredths each, and seldom is another token the likeliest.
TEST_F(Translating, FrozenInEveryPrecisionItSaysTheSame) {
  TranslatorConfig settings = config(1, 4);
  settings.search.beam = 4;
  settings.search.nbest = 4;
  const auto in = [&](std::optional<Precision> precision) {
    const TranslationRun run = load_run_as<TranslationRun>(run_);
    if (precision) freeze(*run.model, *precision);
    Translator translator(*run.model, run.tokenizers, settings);
    return translator.translate(kTranslatedLines);
  };
  const auto expected = in(std::nullopt);
  std::set<double> scores;  // of the first line in each precision
  for (const auto precision : {Precision::fp32, Precision::bf16, Precision::int8}) {
    const auto found = in(precision);
    ASSERT_EQ(found.size(), expected.size());
    std::size_t same = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].size(), expected[i].size());
      same += found[i][0].text == expected[i][0].text;
      for (std::size_t k = 0; k < found[i].size(); ++k) {
        EXPECT_NEAR(found[i][k].hypothesis.score, expected[i][k].hypothesis.score,
                    precision == Precision::fp32 ? 1e-5 : 0.02)
            << name_of(precision) << ", line " << i << ", hypothesis " << k;
      }
    }
    EXPECT_GE(same, precision == Precision::fp32 ? found.size() : found.size() - 2) << name_of(precision);
    scores.insert(found[0][0].hypothesis.score);
  }
  EXPECT_EQ(scores.size(), 3U) << "each precision rounds otherwise";
}

// Logits of bf16 factors are fp32 numbers: not all of them have 8 bits.
TEST_F(Translating, LogitsInBf16AreNotRounded) {
  const at::NoGradGuard no_grad;
  const TranslationRun run = load_run_as<TranslationRun>(run_);
  freeze(*run.model, Precision::bf16);
  Pass pass = Pass::inference();
  const auto memory =
      run.model->encode({.ids_M = torch::tensor({5, 6, 3}), .layout = {.offsets = {0, 3}, .max_length = 3}}, pass);
  const auto state = run.model->start(*memory, std::vector<std::int64_t>{0});
  const auto logits = run.model->step(*memory, *state, torch::tensor({2}), pass);
  EXPECT_FALSE(torch::equal(logits.to(torch::kBFloat16).to(torch::kFloat), logits));
}

// Who encoded which batches.
class WatchedTransformer : public TransformerImpl {
 public:
  explicit WatchedTransformer(std::int64_t vocabulary)
      : TransformerImpl({.src_vocabulary = vocabulary,
                         .tgt_vocabulary = vocabulary,
                         .encoder = {.layers = 1, .width = 12, .block = {.heads = 2, .feed_forward = 24}},
                         .decoder = {.layers = 1, .width = 12, .block = {.heads = 2, .feed_forward = 24}}}) {
    initialise(*this, 3);
  }
  std::shared_ptr<const Memory> encode(const Sequences& src, Pass& pass) const override {
    {
      const std::lock_guard lock(mutex_);
      threads.insert(std::this_thread::get_id());
      sentences.push_back(src.layout.size());
    }
    return TransformerImpl::encode(src, pass);
  }
  mutable std::set<std::thread::id> threads;
  mutable std::vector<std::int64_t> sentences;

 private:
  mutable std::mutex mutex_;
};

TEST_F(Translating, ABatchHasRoomForWhatItsHypothesesMayGrowTo) {
  const auto tokenizers = TokenizerPair::load(run_ / "tokenizer");
  std::string line = "the dog";
  for (int i = 0; i < 6; ++i) line += " sees a cat";
  for (const auto rows : {&SearchConfig::beam, &SearchConfig::sample}) {
    const WatchedTransformer model(tokenizers.src.size());
    TranslatorConfig settings = config(1, 32);
    settings.search.*rows = 40;
    settings.search.min_length = settings.search.max_length.emplace(160);
    Translator(model, tokenizers, settings).translate(std::vector<std::string>(11, line));
    for (const std::int64_t sentences : model.sentences) EXPECT_LE(sentences * 40 * 160, 32768);
    EXPECT_EQ(model.sentences.size(), 3);
  }
}

TEST_F(Translating, AValidationUsesTheThreadsOfItsTraining) {
  const auto tokenizers = TokenizerPair::load(run_ / "tokenizer");
  const std::string text = (directory_ / "text").string();
  const auto corpus = [&] {
    return EncodedCorpus::open({text, text, tokenizers.src, tokenizers.tgt}, {}, directory_ / "cache");
  };
  TranslationConfig settings;
  settings.run.device = "cpu";
  settings.run.threads = 1;
  settings.valid = {text, text};
  settings.batches.max_tokens = 4096;
  const auto model = std::make_shared<WatchedTransformer>(tokenizers.src.size());
  Ranks alone;
  TranslationTask(model, tokenizers, settings, corpus(), corpus()).validate(run_, 3, alone);
  EXPECT_GE(model->sentences.size(), 4);  // so that other threads would have found work
  EXPECT_EQ(model->threads, std::set{std::this_thread::get_id()});
}

TEST_F(Translating, ARunThatIsNoneIsRefused) {
  EXPECT_THROW(load_run_as<TranslationRun>(directory_ / "nowhere"), UserError);
  EXPECT_THROW(load_run_as<TranslationRun>(directory_ / "text"), UserError);
  EXPECT_THROW(load_run_as<TranslationRun>(directory_.path()), UserError);
  write_file_atomic(run_ / "config.toml", "width = 16\nheads = 2\n");  // edited
  EXPECT_THROW(load_run_as<TranslationRun>(run_), UserError);
}

}  // namespace
}  // namespace attend
