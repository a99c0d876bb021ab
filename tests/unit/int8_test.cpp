// 8-bit products: the kernels against the plain loop (the same bits), both against fp32.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "models/ops/kernels/packed.hpp"

namespace attend::ops::kernels {
namespace {

std::vector<float> uniform(std::int64_t size, std::uint64_t key) {
  RandomStream random(key);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.uniform() * 2 - 1);
  return values;
}

void int8_linear(const float* x, std::int64_t rows, const Int8Weight& weight, const float* bias, bool relu, float* y,
                 Int8Kernel kernel) {
  multiply({.x = x, .rows = rows, .weight = weight, .bias = bias, .relu = relu, .y = y}, 0, weight.groups(), kernel);
}

struct Shape {
  std::int64_t rows, outputs, inputs;
};

std::vector<Int8Kernel> fast_kernels() {
  std::vector<Int8Kernel> kernels;
  for (const Int8Kernel kernel : {Int8Kernel::avx2, Int8Kernel::vnni}) {
    if (kernel <= best_int8_kernel()) kernels.push_back(kernel);
  }
  return kernels;
}

class Int8Test : public testing::TestWithParam<Shape> {};

TEST_P(Int8Test, TheKernelsGiveTheBitsOfThePlainLoop) {
  const auto [rows, outputs, inputs] = GetParam();
  const auto x = uniform(rows * inputs, 1), w = uniform(outputs * inputs, 2), bias = uniform(outputs, 3);
  const Int8Weight packed = pack_int8(w.data(), outputs, inputs);
  for (const bool relu : {false, true}) {
    for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
      std::vector<float> plain(rows * outputs), fast(rows * outputs);
      int8_linear(x.data(), rows, packed, b, relu, plain.data(), Int8Kernel::plain);
      for (const Int8Kernel kernel : fast_kernels()) {
        int8_linear(x.data(), rows, packed, b, relu, fast.data(), kernel);
        EXPECT_EQ(plain, fast);
      }
    }
  }
}

// What threads share: each makes groups of outputs of its own.
TEST_P(Int8Test, PartsGiveTheBitsOfTheWhole) {
  const auto [rows, outputs, inputs] = GetParam();
  const auto x = uniform(rows * inputs, 1), w = uniform(outputs * inputs, 2), bias = uniform(outputs, 3);
  const Int8Weight packed = pack_int8(w.data(), outputs, inputs);
  std::vector<float> whole(rows * outputs), parts(rows * outputs);
  int8_linear(x.data(), rows, packed, bias.data(), true, whole.data(), best_int8_kernel());
  const Int8Product product{
      .x = x.data(), .rows = rows, .weight = packed, .bias = bias.data(), .relu = true, .y = parts.data()};
  for (std::int64_t g = 0; g < packed.groups(); ++g) multiply(product, g, g + 1, best_int8_kernel());
  EXPECT_EQ(whole, parts);
}

TEST_P(Int8Test, IsCloseToFp32) {
  const auto [rows, outputs, inputs] = GetParam();
  const auto x = uniform(rows * inputs, 1), w = uniform(outputs * inputs, 2), bias = uniform(outputs, 3);
  std::vector<float> y(rows * outputs);
  int8_linear(x.data(), rows, pack_int8(w.data(), outputs, inputs), bias.data(), false, y.data(), Int8Kernel::plain);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      double exact = bias[o];
      for (std::int64_t i = 0; i < inputs; ++i) exact += static_cast<double>(x[r * inputs + i]) * w[o * inputs + i];
      // Each factor is off by at most half a step of 1/127, each product so by about 1/127.
      EXPECT_NEAR(y[r * outputs + o], exact, static_cast<double>(inputs) / 127);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OddSizes, Int8Test,
                         testing::Values(Shape{1, 1, 1}, Shape{13, 37, 7}, Shape{7, 64, 16}, Shape{6, 80, 13},
                                         Shape{32, 131, 256}));

TEST(Int8, ExactWhereTheValuesAreIntegers) {
  const std::vector<float> x = {127, -3, 2}, w = {1, 2, 127, -127, 0, 5};
  std::vector<float> y(2);
  int8_linear(x.data(), 1, pack_int8(w.data(), 2, 3), nullptr, false, y.data(), Int8Kernel::plain);
  EXPECT_FLOAT_EQ(y[0], 127 - 6 + 254);
  EXPECT_FLOAT_EQ(y[1], -127 * 127 + 10);
}

TEST(Int8, ARowThatIsNotFiniteStaysSo) {
  const std::vector<float> x = {1, std::numeric_limits<float>::infinity(), 1, 1}, w = {1, 1};
  std::vector<float> y(2);
  int8_linear(x.data(), 2, pack_int8(w.data(), 1, 2), nullptr, false, y.data(), best_int8_kernel());
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_NEAR(y[1], 2, 0.05);
}

TEST(Int8, NumbersTooSmallToBeScaledAreZeros) {
  const std::vector<float> x = {1e-38F, 3e-38F, 2e-38F}, w = {1, 1, 1, 2e-38F, 1e-38F, 1e-38F};
  std::vector<float> y(2);
  for (const Int8Kernel kernel : {Int8Kernel::plain, best_int8_kernel()}) {
    int8_linear(x.data(), 1, pack_int8(w.data(), 2, 3), nullptr, false, y.data(), kernel);
    EXPECT_EQ(y, (std::vector<float>{0, 0}));
    int8_linear(w.data(), 1, pack_int8(w.data(), 2, 3), nullptr, false, y.data(), kernel);
    EXPECT_NEAR(y[0], 3, 0.05);
    EXPECT_EQ(y[1], 0);
  }
}

}  // namespace
}  // namespace attend::ops::kernels
