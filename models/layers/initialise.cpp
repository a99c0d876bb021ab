#include "models/layers/initialise.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/random.hpp"
#include "models/layers/layers.hpp"

namespace attend {
namespace {

void fill_by(Initialiser rule, const DescribedParameter& matrix, RandomStream& random) {
  const std::int64_t columns = matrix.tensor.size(-1);
  const auto in = static_cast<double>(columns);
  const auto out = static_cast<double>(matrix.tensor.numel() / columns / matrix.traits.stacked);
  switch (rule) {
    case Initialiser::of_family: break;
    case Initialiser::xavier_uniform: return fill_uniform(matrix.tensor, std::sqrt(6 / (in + out)), random);
    case Initialiser::xavier_normal: return fill_normal(matrix.tensor, std::sqrt(2 / (in + out)), random);
    case Initialiser::kaiming_uniform: return fill_uniform(matrix.tensor, std::sqrt(6 / in), random);
    case Initialiser::uniform: return fill_uniform(matrix.tensor, 0.1, random);
  }
}

// Eight sums in a fixed order, which vectorise.
double dot(std::span<const double> a, std::span<const double> b) {
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{};
  std::size_t i = 0;
  for (; i + kSums <= a.size(); i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < a.size(); ++i) sums[0] += a[i] * b[i];
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

void subtract(std::span<double> row, std::span<const double> other, double share) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] -= share * other[i];
}

// Gram-Schmidt orthogonalisation of the rows of a square matrix. For a matrix of normal numbers, this gives the
// orthogonal factor of its QR decomposition with a positive diagonal, which is uniformly distributed (Mezzadri 2007,
// math-ph/0609050).
void make_orthogonal(std::span<double> matrix, std::size_t width) {
  const auto row = [&](std::size_t i) { return matrix.subspan(i * width, width); };
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t j = 0; j < i; ++j) subtract(row(i), row(j), dot(row(i), row(j)));
    const double length = std::sqrt(dot(row(i), row(i)));
    for (double& x : row(i)) x /= length;
  }
}

// Fills a contiguous fp32 matrix [blocks * H, H] with an orthogonal matrix for each block.
void fill_orthogonal(const torch::Tensor& blocks_GH, RandomStream& random) {
  const std::int64_t width = blocks_GH.size(1);
  ensure(blocks_GH.size(0) % width == 0, "a recurrent matrix is a stack of square ones");
  fill_normal(blocks_GH, 1, random);
  auto* data = blocks_GH.mutable_data_ptr<float>();
  const auto size = static_cast<std::size_t>(width * width);
  for (std::int64_t block = 0; block < blocks_GH.size(0) / width; ++block, data += size) {
    std::vector<double> matrix(data, data + size);
    make_orthogonal(matrix, static_cast<std::size_t>(width));
    std::ranges::transform(matrix, data, [](double x) { return static_cast<float>(x); });
  }
}

void initialise_matrix(const DescribedParameter& matrix, const InitialiserConfig& config, RandomStream random) {
  const ParameterTraits& traits = matrix.traits;
  const bool looked_up = traits.role == ParameterRole::table;
  if (traits.is_recurrent && config.recurrent == RecurrentInitialiser::orthogonal) {
    fill_orthogonal(matrix.tensor, random);
  } else if (!looked_up || (config.matrices == Initialiser::uniform && !traits.has_sinusoids)) {
    fill_by(config.matrices, matrix, random);
  }
}

}  // namespace

void initialise(const torch::nn::Module& root, const InitialiserConfig& config, std::uint64_t seed) {
  initialise(root, seed);
  constexpr std::uint64_t kStream = 0x6d617472;  // streams different from those of the layers
  std::vector<DescribedParameter> matrices = described_parameters(root);
  std::erase_if(matrices, [](const DescribedParameter& it) { return it.traits.role == ParameterRole::bias; });
  in_parallel(matrices.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      initialise_matrix(matrices[i], config, RandomStream(combine_keys(seed, kStream, i)));
    }
  });
  refresh_weights(root);
}

}  // namespace attend
