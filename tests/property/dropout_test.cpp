// Dropout masks are independent: for successive keys of a training (places of a pass, batches of an update, updates,
// seeds), and between the rows and columns of one mask.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "models/layers/pass.hpp"

namespace attend {
namespace {

constexpr std::int64_t kMasks = 192, kPlaces = 16384;
constexpr double kRate = 0.3;

// [n, kPlaces], each mask with mean 0 and variance 1.
torch::Tensor standardised(const torch::Tensor& dropped) { return (dropped - kRate) / std::sqrt(kRate * (1 - kRate)); }

torch::Tensor mask_of(ops::Dropout dropout, std::int64_t size) {
  return ops::dropout(at::ones({size}), dropout).eq(0).to(at::kFloat);
}

// Of independent masks sqrt(n) r, for every two of them, is standard normal. Its square has mean 1 over the 18,336
// pairs with a standard deviation of sqrt(2 / 18336) = 0.0104, and the chance that any is beyond 6 is 1 in 27,000.
void expect_independent(const torch::Tensor& masks, const std::string& what) {
  const torch::Tensor z = standardised(masks);
  EXPECT_NEAR(z.mean().item<double>(), 0, 5 / std::sqrt(static_cast<double>(z.numel()))) << what;
  // Beside each other, and one shifted against the other.
  for (const std::int64_t shift : {0, 1, 2, 64}) {
    const std::int64_t length = z.size(1) - shift;
    const torch::Tensor r =
        z.narrow(1, 0, length).matmul(z.narrow(1, shift, length).t()) / std::sqrt(static_cast<double>(length));
    const torch::Tensor pairs = r.masked_select(at::ones_like(r).triu(1).to(at::kBool));
    EXPECT_NEAR(pairs.square().mean().item<double>(), 1, 0.055) << what << ", shifted by " << shift;
    EXPECT_LT(pairs.abs().max().item<double>(), 6) << what << ", shifted by " << shift;
    if (shift > 0) {
      EXPECT_LT(r.diagonal().abs().max().item<double>(), 6) << what << ", itself shifted by " << shift;
    }
  }
}

TEST(DropoutMasks, OfNeighbouringKeysAreIndependent) {
  const auto masks = [](const std::function<ops::Dropout(std::int64_t)>& dropout) {
    std::vector<torch::Tensor> rows;
    for (std::int64_t i = 0; i < kMasks; ++i) rows.push_back(mask_of(dropout(i), kPlaces));
    return at::stack(rows);
  };
  Pass pass = Pass::train(1);
  expect_independent(masks([&](std::int64_t) { return pass.dropout(kRate); }), "places of a pass");
  const auto first_place = [](std::uint64_t key) {
    Pass first = Pass::train(key);
    return first.dropout(kRate);
  };
  expect_independent(masks([&](std::int64_t i) { return first_place(combine_keys(1, i, 0)); }), "updates");
  expect_independent(masks([&](std::int64_t i) { return first_place(combine_keys(1, 5, i)); }), "batches of an update");
  expect_independent(masks([&](std::int64_t i) { return first_place(combine_keys(i, 5, 0)); }), "seeds");
}

// Keys that are not hashed, as those of a pass are, give masks that are not: this test would see it.
TEST(DropoutMasks, OfKeysThatDifferInTheirHighBitsAloneAreNot) {
  const torch::Tensor one = standardised(mask_of({.rate = kRate, .key = 5}, kPlaces));
  const torch::Tensor other = standardised(mask_of({.rate = kRate, .key = 5 + (1ULL << 32)}, kPlaces));
  EXPECT_GT(std::abs(one.dot(other).item<double>()) / std::sqrt(static_cast<double>(kPlaces)), 20);
}

TEST(DropoutMasks, OfRowsAndColumnsAreIndependent) {
  Pass pass = Pass::train(2);
  const torch::Tensor mask = mask_of(pass.dropout(kRate), kMasks * kPlaces);
  expect_independent(mask.view({kMasks, kPlaces}), "rows");
  expect_independent(mask.view({kPlaces, kMasks}).t(), "columns");
}

}  // namespace
}  // namespace attend
