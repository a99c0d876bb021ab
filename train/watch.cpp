#include "train/watch.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <regex>

#include "eval/attention.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr std::int64_t kWatchedSentences = 16, kWatchedTokens = 1024;

struct LayerName {
  std::string name;
  bool in_stack = false;
};

// PLACE.LAYER of a parameter in a layer, as observers name it: of "encoder.layers.3.linear1.weight" of a Transformer,
// "decoder.weight_ih_l1_reverse" of an RNN, or "layers.weight_ih_l1" of a recurrent language model, whose place is the
// encoder. For any other parameter, the name of its module.
LayerName layer_of(const std::string& parameter) {
  static const std::regex in_stack(R"((?:.*\.)?(encoder|decoder)\.(?:layers\.(\d+)\..*|\w+_l(\d+)(?:_reverse)?))");
  static const std::regex of_language_model(R"(layers\.\w+_l(\d+))");
  std::smatch found;
  if (std::regex_match(parameter, found, in_stack)) return {found.str(1) + "." + found.str(2) + found.str(3), true};
  if (std::regex_match(parameter, found, of_language_model)) return {"encoder." + found.str(1), true};
  const std::size_t end = parameter.rfind('.');
  return {end == parameter.npos ? parameter : parameter.substr(0, end)};
}

Tensor norm_of(const std::vector<Tensor>& tensors) {
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(tensors)));
}

// ‖x‖ of each token.
Tensor norms_of(const Tensor& x_MH) { return at::linalg_vector_norm(x_MH, 2, {1}, false, at::kDouble); }

}  // namespace

Tensor rank_one_distance(const Tensor& x_MH, const Layout& layout) {
  const LayoutTensors& on = layout.on(x_MH.device());
  const Tensor x = x_MH.to(at::kDouble);
  const auto sums = [&](const Tensor& rows) {
    return at::zeros({layout.size(), rows.size(1)}, rows.options()).index_add_(0, on.sentences_M, rows);
  };
  const Tensor mean_BH = sums(x) / on.lengths_B.unsqueeze(1);
  const Tensor rest = x - mean_BH.index_select(0, on.sentences_M);
  const auto squares_B1 = [&](const Tensor& rows) { return sums(rows.square().sum(1, /*keepdim=*/true)); };
  return (squares_B1(rest) / squares_B1(x)).sqrt().mean();
}

// The squares of the singular values are the eigenvalues of W Wᵀ, whose fp64 accuracy suffices here.
Tensor effective_rank(const Tensor& matrix) {
  const Tensor w = matrix.to(at::kDouble);
  const Tensor gram = w.size(0) < w.size(1) ? w.mm(w.t()) : w.t().mm(w);
  const Tensor singular = at::linalg_eigvalsh(gram.cpu()).clamp_min(0).sqrt();
  const Tensor sum = singular.sum();
  return at::special_entr(singular / sum.clamp_min(1e-300)).sum().exp().mul(sum > 0).to(matrix.device());
}

std::int64_t num_watched(const Layout& layout) {
  std::int64_t count = std::min(kWatchedSentences, layout.size());
  while (count > 1 && layout.offsets[count] > kWatchedTokens) --count;
  return count;
}

Watch::Watch(const torch::nn::Module& model) {
  const torch::NoGradGuard no_grad;
  for (const auto& named : model.named_parameters()) {
    if (!named.value().requires_grad()) continue;
    const LayerName layer = layer_of(named.key());
    Part& part = parts_[layer.name];
    part.parameters.push_back(named.value());
    part.before.push_back(named.value().detach().clone());
    part.in_stack = layer.in_stack;
  }
  for (const auto& [name, part] : parts_) {
    std::vector<Tensor> gradients;
    for (const Tensor& parameter : part.parameters) {
      if (parameter.grad().defined()) gradients.push_back(parameter.grad());
    }
    if (!gradients.empty()) note("gradient/" + name, norm_of(gradients));
  }
}

void Watch::update_made() {
  const torch::NoGradGuard no_grad;
  for (auto& [name, part] : parts_) {
    const std::vector<Tensor> updates = at::_foreach_sub(part.parameters, part.before);
    note("update/" + name, norm_of(updates) / norm_of(part.before));
    if (!part.in_stack) continue;
    const auto size = [](const Tensor& w) { return w.dim() == 2 ? w.numel() : 0; };
    const auto largest = std::ranges::max_element(part.before, {}, size) - part.before.begin();
    if (size(part.before[largest]) == 0) continue;
    note("weight_rank/" + name, effective_rank(part.parameters[largest]));
    note("update_rank/" + name, effective_rank(updates[largest]));
  }
  parts_.clear();
}

Pass Watch::pass(const Layout& encoder, const Layout& decoder) {
  encoder_ = encoder, decoder_ = decoder;
  return Pass::inference(this);
}

void Watch::on_attention(AttentionPlace place, std::int64_t layer, const Tensor& weights_BNTS) {
  const Tensor entropy_N =
      at::special_entr(weights_BNTS.to(at::kDouble)).sum({0, 2, 3}) / layout_of(place).num_tokens();
  for (std::int64_t head = 0; head < entropy_N.size(0); ++head) {
    note(fmt::format("entropy/{}.{}.{}", name_of(place), layer, head), entropy_N[head]);
  }
}

void Watch::on_hidden(AttentionPlace place, std::int64_t layer, const Tensor& x_MH) {
  note(fmt::format("hidden/{}.{}", name_of(place), layer), norms_of(x_MH).mean());
  note(fmt::format("rank_one/{}.{}", name_of(place), layer), rank_one_distance(x_MH, layout_of(place)));
}

void Watch::on_sub_layer(AttentionPlace place, std::int64_t layer, std::string_view sub_layer, const Tensor& x_MH,
                         const Tensor& output_MH) {
  note(fmt::format("{}/{}.{}", sub_layer, name_of(place), layer), norms_of(output_MH).mean() / norms_of(x_MH).mean());
}

void Watch::note(std::string name, const Tensor& scalar) {
  names_.push_back(std::move(name));
  numbers_.push_back(scalar.detach().to(at::kDouble));
}

std::vector<std::pair<std::string_view, double>> Watch::values() const {
  const Tensor numbers = at::stack(numbers_).cpu();  // waits for the device once
  std::vector<std::pair<std::string_view, double>> values;
  for (std::size_t i = 0; i < names_.size(); ++i) values.emplace_back(names_[i], numbers.const_data_ptr<double>()[i]);
  return values;
}

}  // namespace attend
