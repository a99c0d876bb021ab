#include "models/layers/norm.hpp"

namespace attend {

using torch::Tensor;

NormImpl::NormImpl(std::int64_t width, bool with_bias)
    : weight(register_parameter("weight", torch::empty({width}))),
      bias(with_bias ? register_parameter("bias", torch::empty({width})) : Tensor()) {}

void NormImpl::initialise(RandomStream& /*random*/) {
  const at::NoGradGuard no_grad;
  weight.fill_(1);
  if (bias.defined()) bias.zero_();
}

BatchNormImpl::BatchNormImpl(std::int64_t width, double eps)
    : NormImpl(width, /*with_bias=*/true),
      running_mean(register_buffer("running_mean", torch::zeros({width}))),
      running_var(register_buffer("running_var", torch::ones({width}))),
      eps_(eps) {}

void BatchNormImpl::initialise(RandomStream& random) {
  NormImpl::initialise(random);
  running_mean.zero_();
  running_var.fill_(1);
}

Tensor BatchNormImpl::forward(const Tensor& x_MH, const Pass& pass) const {
  constexpr double kMomentum = 0.1;
  const bool of_batch = pass.training() && weight.requires_grad() && x_MH.size(0) > 1;
  return at::batch_norm(x_MH.to(at::kFloat), weight, bias, running_mean, running_var, of_batch, kMomentum, eps_,
                        /*cudnn_enabled=*/false)
      .to(x_MH.scalar_type());
}

Norm make_norm(NormKind kind, std::int64_t width, double eps) {
  switch (kind) {
    case NormKind::layer: return std::make_shared<LayerNormImpl>(width, eps);
    case NormKind::rms: return std::make_shared<LayerNormImpl>(width, eps, /*centred=*/false);
    case NormKind::batch: return std::make_shared<BatchNormImpl>(width, eps);
  }
  return nullptr;
}

}  // namespace attend
