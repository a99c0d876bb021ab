#include "models/layers/weights_io.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "models/layers/layers.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

ModelConfig tiny() {
  ModelConfig config;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 8;
  config.block.heads = 2;
  config.dropout = 0.1;
  return config;
}

std::string message_of(const std::filesystem::path& path, const torch::nn::Module& module) {
  return user_error_of([&] { load_weights(path, module); });
}

TEST(WeightsIo, ComeBackBitForBit) {
  const TemporaryDirectory directory;
  const auto path = directory / "model.safetensors";
  const auto model = make_seq2seq(tiny(), {.src = 11, .tgt = 11}, 1);
  save_tensors(path, parameters_of(*model));
  const auto other = make_seq2seq(tiny(), {.src = 11, .tgt = 11}, std::nullopt);
  load_weights(path, *other);
  for (const auto& [name, tensor] : parameters_of(*other)) {
    EXPECT_TRUE(torch::equal(tensor, model->named_parameters()[name])) << name;
  }
}

TEST(WeightsIo, AreParametersAndTheStateOfLayers) {
  const TemporaryDirectory directory;
  const auto path = directory / "model.safetensors";
  ModelConfig config = tiny();
  config.block.norm_kind = NormKind::batch;
  const auto model = make_seq2seq(config, {.src = 11, .tgt = 11}, 1);
  const NamedTensors buffers = buffers_of(*model);
  // A mean and a variance of five norms; not the table of positions.
  EXPECT_EQ(buffers.size(), 10U);
  EXPECT_EQ(weights_of(*model).size(), parameters_of(*model).size() + 10);
  for (const auto& [name, tensor] : buffers) tensor.uniform_(1, 2);
  save_tensors(path, weights_of(*model));
  const auto other = make_seq2seq(config, {.src = 11, .tgt = 11}, 1);
  load_weights(path, *other);
  for (const auto& [name, tensor] : buffers) {
    EXPECT_TRUE(torch::equal(other->named_buffers()[name], tensor)) << name;
  }
}

TEST(WeightsIo, SaysWhatDoesNotFit) {
  const TemporaryDirectory directory;
  const auto path = directory / "model.safetensors";
  auto tensors = parameters_of(*make_seq2seq(tiny(), {.src = 11, .tgt = 11}, 1));
  const auto other = make_seq2seq(tiny(), {.src = 11, .tgt = 11}, 2);
  const auto before = parameters_of(*other)[0].second.detach().clone();
  tensors[0].second = torch::zeros({3, 8});
  tensors[1].first = "stranger";
  const std::string missing = parameters_of(*other)[1].first;
  save_tensors(path, tensors);
  const std::string message = message_of(path, *other);
  EXPECT_NE(message.find("missing " + missing), std::string::npos) << message;
  EXPECT_NE(message.find("unused stranger"), std::string::npos) << message;
  EXPECT_NE(message.find("F32 [3, 8], expected F32 [11, 8]"), std::string::npos) << message;
  EXPECT_TRUE(torch::equal(parameters_of(*other)[0].second, before));
}

TEST(WeightsIo, LoadsWhatIsCommonAndLeavesTheRest) {
  const TemporaryDirectory directory;
  const auto path = directory / "model.safetensors";
  const auto source = make_seq2seq(tiny(), {.src = 11, .tgt = 11}, 1),
             model = make_seq2seq(tiny(), {.src = 11, .tgt = 11}, 2);
  auto theirs = parameters_of(*source);
  const auto ours = parameters_of(*model);
  theirs[0].second = torch::zeros({3, 8});
  theirs[1].first = "stranger";
  save_tensors(path, theirs);
  NamedTensors before, wanted = ours;
  for (const auto& [name, tensor] : ours) before.emplace_back(name, tensor.detach().clone());
  const std::string left = wanted.back().first;  // in the file, but not asked for
  wanted.pop_back();
  visit_weights(*model, [](ops::Weight& weight) { weight.set_precision(Precision::bf16); });
  WeightReport report = load_common_weights(path, *model, wanted);
  EXPECT_EQ(report.missing, std::vector<std::string>{ours[1].first});
  ASSERT_EQ(report.mismatched.size(), 1U);
  EXPECT_NE(report.mismatched[0].find(ours[0].first), std::string::npos) << report.mismatched[0];
  std::ranges::sort(report.unused);
  EXPECT_EQ(report.unused, (std::vector<std::string>{left, "stranger"}));
  EXPECT_EQ(report.loaded, ours.size() - 3);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const bool loaded = i > 1 && i + 1 < ours.size();
    EXPECT_TRUE(torch::equal(ours[i].second, loaded ? theirs[i].second : before[i].second)) << ours[i].first;
  }
  // The copies that matrix products read are of the loaded weights.
  visit_weights(*model, [](ops::Weight& weight) {
    EXPECT_TRUE(torch::equal(weight.working(), weight.master().to(torch::kBFloat16)));
  });
}

}  // namespace
}  // namespace attend
