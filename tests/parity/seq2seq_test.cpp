// Each family beside its formulation in PyTorch: hidden states, every gradient, and ten updates.
#include "models/seq2seq.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/safetensors.hpp"
#include "models/factory.hpp"
#include "models/weights_io.hpp"

namespace attend {
namespace {

struct Family {
  std::string name;  // of the fixture
  ModelConfig config;
};

std::vector<Family> families() {
  ModelConfig post;
  post.encoder_layers = 2;
  post.decoder_layers = 3;
  post.width = 12;
  post.heads = 3;
  post.feed_forward = 19;
  post.dropout = 0;
  ModelConfig pre = post;
  pre.norm = NormPlace::pre;
  ModelConfig luong;
  luong.model = ModelKind::luong;
  luong.encoder_layers = 2;
  luong.decoder_layers = 2;
  luong.width = 13;
  luong.dropout = 0;
  return {{"transformer_post", post}, {"transformer_pre", pre}, {"luong", luong}};
}

class Seq2SeqParity : public testing::TestWithParam<Family> {
 protected:
  Seq2SeqParity()
      : file_(std::filesystem::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures" / (GetParam().name + ".safetensors")) {
    model_ = make_seq2seq(GetParam().config, {.src = 23, .tgt = 23}, std::nullopt);
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : parameters_of(*model_)) parameter.copy_(tensor("weight." + name));
    batch_ = {.src = sequences("src"), .tgt = sequences("tgt"), .labels_M = tensor("labels"), .examples = {}};
  }

  torch::Tensor tensor(const std::string& name) const {
    const TensorView* found = file_.find(name);
    if (found == nullptr) throw std::out_of_range(name);
    const auto type = found->dtype == DType::i64 ? torch::kLong : torch::kFloat32;
    return torch::from_blob(const_cast<std::byte*>(found->bytes.data()), found->shape, type).clone();
  }

  Sequences sequences(const std::string& name) const {
    Sequences result{.ids_M = tensor(name), .layout = {}};
    const torch::Tensor lengths = tensor(name + "_lengths");
    for (std::int64_t b = 0; b < lengths.size(0); ++b) {
      const auto length = lengths[b].item<std::int64_t>();
      result.layout.offsets.push_back(result.layout.offsets.back() + length);
      result.layout.max_length = std::max(result.layout.max_length, length);
    }
    return result;
  }

  // Gradients land in the parameters; gives the loss.
  double backward() {
    Context context = Context::train(1);
    for (const auto& parameter : model_->parameters()) parameter.mutable_grad().reset();
    const OutputHead head = model_->output_head();
    const auto loss =
        ops::cross_entropy(model_->forward(batch_, context), head.weight_VH, head.bias_V, batch_.labels_M, 0.1).loss;
    loss.backward();
    return loss.item<double>();
  }

  // Relative to the largest value: both sides round in fp32, in another order.
  static void expect_close(const torch::Tensor& ours, const torch::Tensor& theirs, const std::string& name) {
    ASSERT_EQ(ours.sizes(), theirs.sizes()) << name;
    EXPECT_LE((ours - theirs).abs().max().item<double>(), 1e-5 * std::max(1.0, theirs.abs().max().item<double>()))
        << name;
  }

  SafetensorsFile file_;
  Seq2Seq model_;
  Batch batch_;
};

TEST_P(Seq2SeqParity, HiddenStates) {
  Context context = Context::inference();
  expect_close(model_->forward(batch_, context).detach(), tensor("hidden"), "hidden");
}

TEST_P(Seq2SeqParity, EveryGradient) {
  backward();
  for (const auto& [name, parameter] : parameters_of(*model_)) {
    expect_close(parameter.grad(), tensor("gradient." + name), name);
  }
}

TEST_P(Seq2SeqParity, TheLossesOfTenUpdates) {
  constexpr double kRate = 1e-3, kBeta1 = 0.9, kBeta2 = 0.98, kEps = 1e-9, kDecay = 0.01;
  const torch::Tensor expected = tensor("losses");
  const auto parameters = model_->parameters();
  std::vector<torch::Tensor> m, v;
  for (const auto& parameter : parameters) {
    m.push_back(torch::zeros_like(parameter));
    v.push_back(torch::zeros_like(parameter));
  }
  for (int step = 1; step <= 10; ++step) {
    const auto target = expected[step - 1].item<double>();
    EXPECT_NEAR(backward(), target, 1e-5 * target) << "step " << step;
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters.size(); ++i) {  // AdamW, arXiv 1711.05101
      const auto& gradient = parameters[i].grad();
      m[i].mul_(kBeta1).add_(gradient, 1 - kBeta1);
      v[i].mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
      const auto root = (v[i] / (1 - std::pow(kBeta2, step))).sqrt_().add_(kEps);
      parameters[i].mul_(1 - kRate * kDecay).addcdiv_(m[i], root, -kRate / (1 - std::pow(kBeta1, step)));
    }
    model_->for_each_weight([](ops::Weight& weight) { weight.refresh(); });
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Seq2SeqParity, testing::ValuesIn(families()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace attend
