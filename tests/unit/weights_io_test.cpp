#include "models/layers/weights_io.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

ModelConfig tiny() {
  ModelConfig config;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 8;
  config.heads = 2;
  config.dropout = 0.1;
  return config;
}

std::string message_of(const std::filesystem::path& path, const torch::nn::Module& module) {
  try {
    load_weights(path, module);
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
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

}  // namespace
}  // namespace attend
