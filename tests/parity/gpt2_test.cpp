// Hugging Face's GPT-2, as transformers saves it (make_fixtures_gpt2.py): equal logits, gradients, losses of updates
// and continuation, and equal tensors when it is written again.
#include "models/exchange/gpt2.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"
#include "data/tokenizer/hugging_face_vocabulary.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/ops.hpp"
#include "tests/support/parity.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

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

}  // namespace
}  // namespace attend
