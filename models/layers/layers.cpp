#include "models/layers/layers.hpp"

#include <ATen/core/grad_mode.h>

#include <numbers>

#include "core/error.hpp"
#include "core/process.hpp"

namespace attend {
namespace {

template <class Draw>
void fill(const torch::Tensor& parameter, const Draw& draw) {
  ensure(parameter.is_cpu() && parameter.is_contiguous(), "the parameter is contiguous and on the CPU");
  auto* data = parameter.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < parameter.numel(); ++i) data[i] = static_cast<float>(draw());
}

// The Box-Muller transform (1958); 1 - u keeps the logarithm finite.
double draw_normal(RandomStream& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

// Normal with mean 0, truncated at two standard deviations: numbers beyond are redrawn.
void fill_truncated_normal(const torch::Tensor& parameter, double deviation, RandomStream& random) {
  fill(parameter, [&] {
    double x = draw_normal(random);
    while (std::abs(x) > 2) x = draw_normal(random);
    return deviation * x;
  });
}

}  // namespace

void initialise(const torch::nn::Module& root, std::uint64_t seed) {
  std::vector<Layer*> layers;
  for_each_layer(root, [&](Layer& layer) {
    const bool has_own = !layer.parameters(/*recurse=*/false).empty() || !layer.buffers(/*recurse=*/false).empty();
    if (has_own) layers.push_back(&layer);
  });
  in_parallel(layers.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      RandomStream random(combine_keys(seed, i));
      layers[i]->initialise(random);
      layers[i]->visit_weights([](ops::Weight& weight) { weight.refresh(); });
    }
  });
}

std::vector<DescribedParameter> described_parameters(const torch::nn::Module& root) {
  std::vector<DescribedParameter> parameters;
  root.apply([&](const std::string& name, const torch::nn::Module& module) {
    const auto* layer = dynamic_cast<const Layer*>(&module);
    for (const auto& own : module.named_parameters(/*recurse=*/false)) {
      const torch::Tensor& tensor = own.value();
      parameters.push_back({.name = name.empty() ? own.key() : name + "." + own.key(),
                            .tensor = tensor,
                            .traits = layer != nullptr ? layer->traits_of(tensor) : usual_traits(tensor)});
    }
  });
  return parameters;
}

void visit_weights(const torch::nn::Module& root, const std::function<void(ops::Weight&)>& f) {
  for_each_layer(root, [&](Layer& layer) { layer.visit_weights(f); });
}

void refresh_weights(const torch::nn::Module& root) {
  visit_weights(root, [](ops::Weight& weight) { weight.refresh(); });
}

void fill_uniform(const torch::Tensor& parameter, double bound, RandomStream& random) {
  fill(parameter, [&] { return (2 * random.uniform() - 1) * bound; });
}

void fill_normal(const torch::Tensor& parameter, double deviation, RandomStream& random) {
  fill(parameter, [&] { return deviation * draw_normal(random); });
}

torch::Tensor sinusoids(std::int64_t first, std::int64_t length, std::int64_t width) {
  torch::Tensor table = torch::empty({length, width}, torch::kFloat32);
  float* row = table.data_ptr<float>();
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < width; i += 2) {
    frequencies.push_back(std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(width)));
  }
  for (std::int64_t t = first; t < first + length; ++t, row += width) {
    for (std::int64_t i = 0; i < width; ++i) {
      const double angle = static_cast<double>(t) * frequencies[i / 2];
      row[i] = static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

LinearImpl::LinearImpl(const LinearConfig& config)
    : weight(register_parameter("weight", torch::empty({config.out, config.in}))), config_(config) {
  if (config.bias) bias = register_parameter("bias", torch::empty({config.out}));
}

void LinearImpl::initialise(RandomStream& random) {
  if (config_.deviation > 0) {
    fill_truncated_normal(weight.master(), config_.deviation, random);
  } else {
    const std::int64_t fans = config_.in + config_.out / config_.fused;
    fill_uniform(weight.master(), config_.gain * std::sqrt(6 / static_cast<double>(fans)), random);
  }
  const at::NoGradGuard no_grad;
  if (bias.defined()) bias.zero_();
}

EmbeddingImpl::EmbeddingImpl(const EmbeddingConfig& config)
    : weight(register_parameter("weight", torch::empty({config.vocabulary, config.width}))),
      deviation_(config.deviation),
      sinusoids_(config.sinusoids) {}

torch::Tensor EmbeddingImpl::forward(const Sequences& tokens, double scale, const torch::Tensor& positions_TH,
                                     ops::Dropout dropout, ops::Dropout words) const {
  if (words.rate == 0) return ops::embed(tokens, weight, scale, positions_TH, dropout);
  const torch::Tensor rows_ME = ops::embed(tokens, weight, scale, {}, {});
  const auto fp32 = rows_ME.options().dtype(at::kFloat).requires_grad(false);
  torch::Tensor x_ME = rows_ME * ops::dropout(at::ones({rows_ME.size(0), 1}, fp32), words);
  if (positions_TH.defined()) x_ME = x_ME + positions_TH.index_select(0, tokens.layout.on(x_ME.device()).places_M);
  return ops::dropout(x_ME.to(rows_ME.scalar_type()), dropout);
}

torch::Tensor EmbeddingImpl::embed(const Sequences& tokens, const torch::Tensor& positions_TH, double dropout,
                                   double words, Pass& pass) const {
  const ops::Dropout of_words = pass.optional_dropout(words);  // takes its key first
  return forward(tokens, unit_scale(), positions_TH, pass.dropout(dropout), of_words);
}

void EmbeddingImpl::initialise(RandomStream& random) {
  const torch::Tensor& table = weight.master();
  const double deviation = deviation_ > 0 ? deviation_ : 1 / unit_scale();
  if (sinusoids_) {
    const at::NoGradGuard no_grad;
    // The standard deviation of a sine is 1 / sqrt(2).
    table.copy_(sinusoids(0, table.size(0), table.size(1)) * (deviation * std::numbers::sqrt2));
  } else if (deviation_ > 0) {
    fill_truncated_normal(table, deviation, random);
  } else {
    fill_normal(table, deviation, random);
  }
}

}  // namespace attend
