// Gradients of several processes: their sum, wherever each has some.
#include "train/distributed/gradient_sum.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <string>
#include <vector>

#include "tests/support/several_ranks.hpp"

namespace attend {
namespace {

// Weights of odd sizes, of several buckets, and some that not all ranks use.
class Uneven : public torch::nn::Module {
 public:
  Uneven() {
    at::manual_seed(8);
    const auto add = [&](const char* name, torch::IntArrayRef shape) {
      return register_parameter(name, at::randn(shape));
    };
    first = add("first", {13});
    large = add("large", {2100, 1001});    // more than a bucket
    middle = add("middle", {3, 100'001});  // more than the first bucket
    of_one = add("of_one", {7});
    of_another = add("of_another", {2, 3});
    of_none = add("of_none", {5});
    fixed = add("fixed", {4});
    fixed.set_requires_grad(false);
    both = add("both", {37});
  }

  // Of a batch, whose gradients differ from those of other batches.
  torch::Tensor loss(int rank, int batch) const {
    at::manual_seed(static_cast<std::uint64_t>(100 * rank + batch));
    torch::Tensor sum = (both * at::randn({37})).sum() * fixed.sum();
    for (const torch::Tensor& shared : {first, large, middle}) sum = sum + (shared * at::randn_like(shared)).sum();
    return sum + (rank == 0 ? of_one * of_one * (batch + 1) : of_another * of_another * (batch + 3)).sum();
  }

  torch::Tensor first, large, middle, of_one, of_another, of_none, fixed, both;
};

using Gradients = std::vector<torch::Tensor>;

Gradients gradients_of(const Uneven& model) {
  Gradients gradients;
  for (const torch::Tensor& parameter : model.parameters()) {
    gradients.push_back(parameter.grad().defined() ? parameter.grad().clone() : torch::Tensor());
  }
  return gradients;
}

void forget(const Uneven& model) {
  for (torch::Tensor& parameter : model.parameters()) parameter.mutable_grad().reset();
}

// One rank's own gradient of its first batches.
Gradients of_rank(int rank, int batches) {
  const Uneven model;
  for (int batch = 0; batch < batches; ++batch) model.loss(rank, batch).backward();
  return gradients_of(model);
}

// Two summands have one sum, in whatever order.
Gradients sum_of(const Gradients& left, const Gradients& right) {
  Gradients sums;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i].defined() || !right[i].defined()) {
      sums.push_back(left[i].defined() ? left[i] : right[i]);
    } else {
      sums.push_back(left[i] + right[i]);
    }
  }
  return sums;
}

void expect_same_bits(const Uneven& model, const Gradients& expected, const std::string& when) {
  const Gradients found = gradients_of(model);
  const auto named = model.named_parameters();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string& name = named[i].key();
    ASSERT_EQ(found[i].defined(), expected[i].defined()) << name << ", " << when;
    EXPECT_TRUE(!found[i].defined() || at::equal(found[i], expected[i])) << name << ", " << when;
  }
}

TEST_F(SeveralRanks, SumTheirGradients) {
  in_ranks(2, [](Ranks& ranks) {
    const Uneven model;
    GradientSum gradients(model, ranks);
    const auto learn = [&](int batches) {
      forget(model);
      for (int batch = 0; batch < batches; ++batch) {
        if (batch + 1 == batches) gradients.begin();
        model.loss(ranks.rank(), batch).backward();
      }
      gradients.finish();
    };
    const Gradients expected = sum_of(of_rank(0, 1), of_rank(1, 1));
    EXPECT_FALSE(expected[5].defined());  // of_none
    for (int update = 0; update < 3; ++update) {
      learn(1);
      expect_same_bits(model, expected, "update " + std::to_string(update));
    }
    learn(3);
    expect_same_bits(model, sum_of(of_rank(0, 3), of_rank(1, 3)), "three batches in an update");
    // At the end of the last epoch one has fewer batches, or none.
    learn(ranks.first() ? 2 : 1);
    expect_same_bits(model, sum_of(of_rank(0, 2), of_rank(1, 1)), "two batches and one");
    learn(ranks.first() ? 1 : 0);
    expect_same_bits(model, of_rank(0, 1), "one batch and none");
    learn(1);
    expect_same_bits(model, expected, "and again");
  });
}

TEST_F(SeveralRanks, LeaveOtherBackwardPassesAlone) {
  in_ranks(2, [](Ranks& ranks) {
    const Uneven model;
    const Gradients own = of_rank(ranks.rank(), 1);
    {
      GradientSum gradients(model, ranks);
      model.loss(ranks.rank(), 0).backward();  // none that was announced, as in a rehearsal
      expect_same_bits(model, own, "before begin()");
    }
    forget(model);
    model.loss(ranks.rank(), 0).backward();
    expect_same_bits(model, own, "after its end");
  });
}

TEST(GradientSumAlone, DoesNothing) {
  Ranks alone;
  const Uneven model;
  GradientSum gradients(model, alone);
  gradients.begin();
  model.loss(0, 0).backward();
  gradients.finish();
  expect_same_bits(model, of_rank(0, 1), "alone");
}

}  // namespace
}  // namespace attend
