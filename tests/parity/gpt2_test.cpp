// Models in the formats of Hugging Face.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"
#include "data/tokenizer/hugging_face_vocabulary.hpp"
#include "eval/translate.hpp"
#include "models/exchange/gpt2.hpp"
#include "models/exchange/marian.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/ops.hpp"
#include "tests/support/parity.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

// Hugging Face's GPT-2, as transformers saves it (make_fixtures_gpt2.py): equal logits, gradients, losses of updates
// and continuation, and equal tensors when it is written again.

namespace fs = std::filesystem;

struct ImportedGpt2 {
  Gpt2Config config;
  LanguageModel model;
  WeightReport report;
};

ImportedGpt2 import_gpt2_from(const fs::path& directory) {
  const Gpt2Config config = read_gpt2_config(directory / "config.json");
  const LanguageModel model = make_language_model(config.options, config.vocabulary);
  const WeightReport report = load_gpt2_weights(TensorDirectory(directory), *model);
  model->to(test_device());
  refresh_weights(*model);
  return {.config = config, .model = model, .report = report};
}

class Gpt2Parity : public testing::Test {
 protected:
  Gpt2Parity()
      : folder_(fs::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures/gpt2"),
        fixture_("gpt2/recorded"),
        recorded_(read_json(folder_ / "recorded.json")),
        gpt2_(import_gpt2_from(folder_ / "model")) {}

  // [M, V], of both texts.
  torch::Tensor logits(Pass pass) const {
    const torch::Tensor hidden_MH = gpt2_.model->forward(fixture_.sequences("ids", "lengths"), pass);
    return ops::logits(hidden_MH, gpt2_.model->output_table(), {});
  }

  // Leaves the gradients of the mean loss in the parameters, and returns it.
  double backward() const {
    for (const auto& parameter : gpt2_.model->parameters()) parameter.mutable_grad().reset();
    const torch::Tensor loss = at::cross_entropy_loss(logits(Pass::train(1)), fixture_.tensor("labels"));
    loss.backward();
    return loss.item<double>();
  }

  fs::path folder_;
  Fixture fixture_;
  nlohmann::json recorded_;
  ImportedGpt2 gpt2_;
};

TEST_F(Gpt2Parity, EveryWeightIsUsed) {
  EXPECT_EQ(gpt2_.report.missing, std::vector<std::string>());
  EXPECT_EQ(gpt2_.report.mismatched, std::vector<std::string>());
  EXPECT_EQ(gpt2_.report.unused, std::vector<std::string>());
}

TEST_F(Gpt2Parity, Logits) {
  const at::NoGradGuard no_grad;
  expect_close(logits(Pass::inference()), fixture_.tensor("logits"), "logits");
}

TEST_F(Gpt2Parity, TheLossAndEveryGradient) {
  const auto loss = fixture_.tensor("loss").item<double>();
  EXPECT_NEAR(backward(), loss, 1e-5 * loss);
  NamedTensors gradients;
  for (const auto& [name, parameter] : parameters_of(*gpt2_.model)) gradients.emplace_back(name, parameter.grad());
  for (const auto& [name, gradient] : to_gpt2(gradients)) {
    expect_close(gradient, fixture_.tensor("gradient." + name), name);
  }
}

TEST_F(Gpt2Parity, TheLossesOfTenUpdates) {
  expect_losses_of_updates(*gpt2_.model, fixture_, [&] { return backward(); });
}

TEST_F(Gpt2Parity, AGreedyContinuation) {
  const at::NoGradGuard no_grad;
  const std::unique_ptr<DecoderState> state = gpt2_.model->start(1);
  Pass pass = Pass::inference();
  const auto next = [&](std::int64_t id) {
    const torch::Tensor previous_R = torch::tensor({id}, torch::TensorOptions(torch::kLong).device(test_device()));
    return gpt2_.model->step(*state, previous_R, pass).argmax(1).item<std::int64_t>();
  };
  std::int64_t id = 0;
  for (const std::int64_t given : recorded_["prompt"].get<std::vector<std::int64_t>>()) id = next(given);
  std::vector<std::int64_t> ids;
  const auto expected = recorded_["greedy"].get<std::vector<std::int64_t>>();
  for (; ids.size() < expected.size(); id = next(id)) ids.push_back(id);
  EXPECT_EQ(ids, expected);
}

// The ids that the fixture was made with.
TEST_F(Gpt2Parity, ReadsTheTokenizer) {
  const Tokenizer tokenizer = import_gpt2_tokenizer(folder_ / "model");
  EXPECT_EQ(tokenizer.size(), gpt2_.config.vocabulary);
  EXPECT_EQ(tokenizer.special().eos, gpt2_.config.eos);
  std::vector<std::int32_t> prompt = tokenizer.encode("The cat");
  prompt.insert(prompt.begin(), tokenizer.special().eos);
  EXPECT_EQ(prompt, recorded_["prompt"].get<std::vector<std::int32_t>>());
}

// Written and read again: the same tensors under the same names, bit by bit, and the same options.
TEST_F(Gpt2Parity, ThereAndBack) {
  const TemporaryDirectory copy;
  write_file_atomic(copy / "config.json", to_gpt2_config(gpt2_.config));
  save_tensors(copy / "model.safetensors", to_gpt2(parameters_of(*gpt2_.model)));
  const TensorDirectory original(folder_ / "model"), written(copy.path());
  std::size_t compared = 0;
  for (const TensorView& view : original.files().front().tensors()) {
    const TensorView* found = written.find(view.name);
    ASSERT_NE(found, nullptr) << view.name;
    EXPECT_TRUE(at::equal(as_fp32(*found), as_fp32(view))) << view.name;
    ++compared;
  }
  EXPECT_EQ(compared, written.files().front().tensors().size());
  const ImportedGpt2 again = import_gpt2_from(copy.path());
  EXPECT_EQ(to_toml(again.config.options), to_toml(gpt2_.config.options));
  const NamedTensors ours = parameters_of(*gpt2_.model), theirs = parameters_of(*again.model);
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(at::equal(ours[i].second, theirs[i].second)) << ours[i].first;
  }
}

// Files without the prefix, with masks and with the tied table, as older versions and GPT2Model write them; and one
// with a superfluous layer, a missing tensor, and one that is not transposed.
TEST_F(Gpt2Parity, OtherFilesAreReadOrReported) {
  const TemporaryDirectory copy;
  std::filesystem::copy(folder_ / "model" / "config.json", copy / "config.json");
  const NamedTensors usual = to_gpt2(parameters_of(*gpt2_.model));
  const auto imported_from = [&](const NamedTensors& tensors) {
    save_tensors(copy / "model.safetensors", tensors);
    return import_gpt2_from(copy.path());
  };
  NamedTensors older;
  for (const auto& [name, tensor] : usual) older.emplace_back(name.substr(std::string("transformer.").size()), tensor);
  older.emplace_back("h.0.attn.bias", at::ones({1, 1, 24, 24}));
  older.emplace_back("h.0.attn.masked_bias", at::full({1}, -1e4));
  older.emplace_back("lm_head.weight", usual.front().second);
  const ImportedGpt2 read = imported_from(older);
  EXPECT_EQ(read.report.loaded, usual.size());
  EXPECT_TRUE(read.report.unused.empty());
  const NamedTensors ours = parameters_of(*gpt2_.model), theirs = parameters_of(*read.model);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(at::equal(ours[i].second, theirs[i].second)) << ours[i].first;
  }
  NamedTensors damaged = usual;
  std::erase_if(damaged, [](const auto& entry) { return entry.first == "transformer.h.1.ln_2.bias"; });
  for (auto& [name, tensor] : damaged) {
    if (name == "transformer.h.0.mlp.c_fc.weight") tensor = tensor.t();
  }
  damaged.emplace_back("transformer.h.2.ln_1.bias", at::zeros({32}));
  const WeightReport report = imported_from(damaged).report;
  EXPECT_EQ(report.missing, std::vector<std::string>{"transformer.h.1.ln_2.bias"});
  EXPECT_EQ(report.unused, std::vector<std::string>{"transformer.h.2.ln_1.bias"});
  EXPECT_EQ(report.mismatched,
            std::vector<std::string>{"transformer.h.0.mlp.c_fc.weight (F32 [48, 32], expected F32 [32, 48])"});
}

// Hugging Face's MarianMT, as transformers saves it: equal ids, hidden states, logits and translations, and equal
// tokenizers and tensors when it is written again.

struct MarianModel {
  MarianConfig config;
  MarianTokenizers tokenizers;
  Seq2Seq model;
  WeightReport report;
};

MarianModel imported(const fs::path& directory) {
  MarianConfig config = read_marian_config(directory / "config.json");
  const MarianTokenizers tokenizers = import_marian_tokenizers(directory, config.ids);
  const Tokenizer &src = tokenizers.pair.src, &tgt = tokenizers.pair.tgt;
  const TensorDirectory tensors(directory);
  config.model.output_bias = has_marian_bias(tensors);
  const Seq2Seq model = make_seq2seq(config.model, {.src = src.size(), .tgt = tgt.size()}, std::nullopt);
  const WeightReport report =
      load_marian_weights(tensors, *model, config, {.src = src.special().unk, .tgt = tgt.special().unk});
  model->eval();
  return {.config = config, .tokenizers = tokenizers, .model = model, .report = report};
}

// Columns in MarianMT's order: those of sines, then those of cosines.
torch::Tensor in_their_order(const torch::Tensor& hidden_MH) {
  using at::indexing::None;
  using at::indexing::Slice;
  return at::cat({hidden_MH.index({Slice(), Slice(0, None, 2)}), hidden_MH.index({Slice(), Slice(1, None, 2)})}, 1);
}

class HiddenStates final : public Observer {
 public:
  void on_attention(AttentionPlace, std::int64_t, const torch::Tensor&) override {}
  void on_hidden(AttentionPlace place, std::int64_t, const torch::Tensor& x_MH) override {
    states[place].push_back(in_their_order(x_MH));
  }
  std::map<AttentionPlace, std::vector<torch::Tensor>> states;
};

class MarianParity : public testing::TestWithParam<std::string> {
 protected:
  MarianParity()
      : directory_(fs::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures/marian" / GetParam()),
        fixture_("marian/" + GetParam()),
        recorded_(read_json(directory_.parent_path() / (GetParam() + ".json"))),
        marian_(imported(directory_)) {}

  std::size_t size() const { return recorded_["texts"].size(); }
  std::string text(std::size_t i) const { return recorded_["texts"][i]; }
  std::string target(std::size_t i) const { return recorded_["targets"][i]; }
  const Tokenizer& src() const { return marian_.tokenizers.pair.src; }
  const Tokenizer& tgt() const { return marian_.tokenizers.pair.tgt; }

  // transformers does not know ids after its vocabulary.
  static std::int32_t their_id(std::int32_t id, std::int64_t vocabulary, const Tokenizer& tokenizer) {
    return id < vocabulary ? id : tokenizer.special().unk;
  }

  std::vector<std::int32_t> translated(std::size_t i, std::int64_t beam) const {
    const SearchConfig config{.beam = beam, .max_length = 60};
    const SpecialIds special = tgt().special();
    const std::vector<std::int32_t> ids = src().encode(text(i));
    const TargetIds of_target{.bos = special.bos, .eos = special.eos, .pad = special.pad};
    return translate({.model = *marian_.model, .ids = of_target, .config = config},
                     concatenate(std::vector<std::span<const std::int32_t>>{ids}, -1, src().special().eos))
        .front()
        .front()
        .ids;
  }

  fs::path directory_;
  Fixture fixture_;
  nlohmann::json recorded_;
  MarianModel marian_;
};

TEST_P(MarianParity, EveryWeightIsUsed) {
  EXPECT_EQ(marian_.report.missing, std::vector<std::string>());
  EXPECT_EQ(marian_.report.mismatched, std::vector<std::string>());
  EXPECT_EQ(marian_.report.unused, std::vector<std::string>());
}

TEST_P(MarianParity, Ids) {
  for (std::size_t i = 0; i < size(); ++i) {
    const auto expect_ids = [&](const Tokenizer& tokenizer, const std::string& line, std::int64_t vocabulary,
                                const nlohmann::json& expected) {
      std::vector<std::int32_t> ids = tokenizer.encode(line);
      for (std::int32_t& id : ids) id = their_id(id, vocabulary, tokenizer);
      ids.push_back(tokenizer.special().eos);
      EXPECT_EQ(ids, expected.get<std::vector<std::int32_t>>()) << line;
    };
    const nlohmann::json& ids = recorded_["ids"][i];
    expect_ids(src(), text(i), marian_.tokenizers.src_vocabulary, ids["source"]);
    expect_ids(tgt(), target(i), marian_.tokenizers.tgt_vocabulary, ids["target"]);
  }
}

TEST_P(MarianParity, HiddenStatesAndLogits) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < size(); ++i) {
    const std::string number = std::to_string(i);
    const std::vector<std::int32_t> source_ids = src().encode(text(i)), target_ids = tgt().encode(target(i));
    const Batch batch = batch_of_pairs({source_ids}, {target_ids}, batch_ids(marian_.tokenizers.pair));
    HiddenStates seen;
    Pass pass = Pass::inference(&seen);
    const torch::Tensor hidden_MH = marian_.model->forward(batch, pass);
    for (const auto& [place, stack] :
         {std::pair(AttentionPlace::encoder, "encoder."), std::pair(AttentionPlace::decoder, "decoder.")}) {
      const std::string name = stack + number;
      const torch::Tensor theirs = fixture_.tensor(name).cpu();
      ASSERT_EQ(seen.states[place].size(), theirs.size(0));
      for (std::int64_t layer = 0; layer < theirs.size(0); ++layer) {
        expect_close(seen.states[place][layer], theirs[layer], name);
      }
    }
    const torch::Tensor logits_MV = ops::logits(hidden_MH, marian_.model->output_table(), marian_.model->output_bias());
    const torch::Tensor theirs = fixture_.tensor("logits." + number).cpu();
    expect_close(logits_MV.narrow(1, 0, theirs.size(1)), theirs, "logits." + number);
    expect_close(logits_MV.log_softmax(1).narrow(1, 0, theirs.size(1)), theirs.log_softmax(1), "log-probabilities");
  }
}

TEST_P(MarianParity, Translations) {
  for (std::size_t i = 0; i < size(); ++i) {
    for (const auto& [kind, beam] : {std::pair("greedy", 1), std::pair("beam", 4)}) {
      const nlohmann::json& expected = recorded_[kind][i];
      const std::vector<std::int32_t> ids = translated(i, beam);
      EXPECT_EQ(ids, expected["ids"].get<std::vector<std::int32_t>>()) << kind << ": " << text(i);
    }
  }
}

// Written and read again: the same tokenizers, byte by byte, and the same weights, but for the rounding of the start,
// which is written as a part of the first position.
TEST_P(MarianParity, ThereAndBack) {
  const TemporaryDirectory copy;
  MarianConfig config = marian_.config;
  config.vocabulary = {.src = src().size(), .tgt = tgt().size()};
  const MarianOrder order = export_marian_tokenizers(marian_.tokenizers.pair, copy.path());
  EXPECT_EQ(order.ids.eos, config.ids.eos);
  EXPECT_EQ(order.ids.pad, config.ids.pad);
  write_file_atomic(copy / "config.json", to_marian_config(config));
  save_tensors(copy / "model.safetensors", to_marian(parameters_of(*marian_.model), config, order));
  const MarianModel again = imported(copy.path());
  EXPECT_EQ(again.tokenizers.pair, marian_.tokenizers.pair);
  EXPECT_EQ(again.tokenizers.src_vocabulary, src().size());
  const NamedTensors ours = parameters_of(*marian_.model), theirs = parameters_of(*again.model);
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].first, theirs[i].first);
    const double rounding = ours[i].first == "tgt_embedding.weight" ? 1e-6 : 0;
    EXPECT_TRUE(at::allclose(ours[i].second, theirs[i].second, rounding, 0)) << ours[i].first;
  }
  const TensorDirectory original(directory_), written(copy.path());
  for (const SafetensorsFile& file : original.files()) {
    for (const TensorView& view : file.tensors()) {
      const TensorView* found = written.find(view.name);
      ASSERT_NE(found, nullptr) << view.name;
      torch::Tensor tensor = as_fp32(*found);
      if (tensor.sizes().vec() != view.shape) {  // rows after the vocabulary
        const std::int64_t rows = view.name == "final_logits_bias" ? 1 : 0;
        tensor = tensor.narrow(rows, 0, view.shape[rows]);
      }
      const torch::Tensor expected = as_fp32(view).clone();
      if (view.name == "model.shared.weight" || view.name == "model.decoder.embed_tokens.weight") {
        EXPECT_TRUE(expected[config.ids.start].any().item<bool>());
        expected[config.ids.start].zero_();
      }
      EXPECT_TRUE(at::equal(tensor, expected)) << view.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, MarianParity, testing::Values("tied", "untied"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace attend
