#include "train/distributed/gradient_sum.hpp"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <functional>
#include <ranges>

namespace attend {
namespace {

constexpr std::int64_t kAlignment = 16;         // in floats: 64 bytes
constexpr std::int64_t kFirstBucket = 1 << 18;  // in floats: small, so that communication begins early
constexpr std::int64_t kBucket = 1 << 21;

class Hook : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit Hook(std::function<void()> call) : call_(std::move(call)) {}
  void operator()(const torch::Tensor& /*parameter*/) override { call_(); }

 private:
  std::function<void()> call_;
};

}  // namespace

GradientSum::GradientSum(const torch::nn::Module& model, Ranks& ranks) : ranks_(ranks) {
  if (!ranks.several()) return;
  std::vector<torch::Tensor> parameters;
  for (const torch::Tensor& parameter : model.parameters()) {
    if (parameter.requires_grad()) parameters.push_back(parameter);
  }
  // The backward pass computes the gradients of the last layers first.
  for (const torch::Tensor& parameter : std::views::reverse(parameters)) {
    const std::int64_t full = buckets_.size() == 1 ? kFirstBucket : kBucket;
    if (buckets_.empty() || buckets_.back().end >= full) buckets_.emplace_back();
    Bucket& bucket = buckets_.back();
    bucket.parameters.push_back(parameter);
    bucket.begins.push_back(bucket.end);
    bucket.end += (parameter.numel() + kAlignment - 1) / kAlignment * kAlignment;
  }
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    Bucket& bucket = buckets_[b];
    const torch::Tensor& some = bucket.parameters.front();
    bucket.sums = at::zeros({bucket.end + std::ssize(bucket.parameters)}, some.options().requires_grad(false));
    for (const torch::Tensor& parameter : bucket.parameters) {
      torch::autograd::impl::set_post_acc_grad_hooks(parameter,
                                                     std::make_unique<Hook>([this, b] { gradient_made(b); }));
    }
  }
}

GradientSum::~GradientSum() {
  for (const Bucket& bucket : buckets_) {
    for (const torch::Tensor& parameter : bucket.parameters) {
      torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
    }
  }
}

void GradientSum::begin() { begun_ = true; }

void GradientSum::gradient_made(std::size_t bucket) {
  if (!begun_) return;
  buckets_[bucket].made += 1;
  while (launched_ < buckets_.size() && buckets_[launched_].made == buckets_[launched_].parameters.size())
    launch_next();
}

void GradientSum::launch_next() {
  const torch::NoGradGuard no_grad;
  Bucket& bucket = buckets_[launched_++];
  torch::Tensor holders = bucket.holders();
  for (std::size_t p = 0; p < bucket.parameters.size(); ++p) {
    const torch::Tensor& parameter = bucket.parameters[p];
    torch::Tensor place = bucket.place_of(p);
    if (parameter.grad().defined()) {
      place.copy_(parameter.grad());
    } else {
      place.zero_();
    }
    holders[static_cast<std::int64_t>(p)].fill_(parameter.grad().defined() ? 1 : 0);
  }
  bucket.pending = ranks_.begin_sum(bucket.sums);
}

void GradientSum::finish() {
  if (buckets_.empty()) return;
  while (launched_ < buckets_.size()) launch_next();
  std::vector<torch::Tensor> holders_of_buckets;
  for (Bucket& bucket : buckets_) {
    bucket.pending->wait();
    bucket.pending.reset();
    bucket.made = 0;
    holders_of_buckets.push_back(bucket.holders());
  }
  const torch::Tensor all_holders = at::cat(holders_of_buckets).cpu();
  const float* holders = all_holders.const_data_ptr<float>();
  for (Bucket& bucket : buckets_) {
    for (std::size_t p = 0; p < bucket.parameters.size(); ++p) {
      bucket.parameters[p].mutable_grad() = *holders++ > 0 ? bucket.place_of(p) : torch::Tensor();
    }
  }
  begun_ = false;
  launched_ = 0;
}

}  // namespace attend
