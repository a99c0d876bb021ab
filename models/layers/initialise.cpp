#include "models/layers/initialise.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/random.hpp"
#include "models/layers/layers.hpp"

namespace attend {
namespace {

// A matrix or table, the number of matrices stacked in its rows, and its role in the model.
struct Matrix {
  torch::Tensor tensor;
  std::int64_t stacked = 1;
  bool is_table = false;
  bool has_sinusoids = false;  // which stay
  bool is_recurrent = false;   // from hidden state to gates
};

// weight_hh_l0 has H columns and H rows per gate; weight_ih_l0 has as many gates.
std::int64_t gates_of(const Layer& layer, std::string name) {
  const auto at = name.find("weight_ih");
  if (at != name.npos) name.replace(at, 9, "weight_hh");
  const torch::Tensor hidden = layer.named_parameters(/*recurse=*/false)[name];
  return hidden.size(0) / hidden.size(1);
}

std::vector<Matrix> matrices_of(const Layer& layer) {
  std::vector<Matrix> matrices;
  for (const auto& parameter : layer.named_parameters(/*recurse=*/false)) {
    const ParameterRole role = layer.role_of(parameter.value());
    if (role == ParameterRole::bias) continue;
    Matrix& matrix = matrices.emplace_back(Matrix{.tensor = parameter.value()});
    matrix.is_table = role == ParameterRole::table;
    matrix.is_recurrent = parameter.key().starts_with("weight_hh");
    if (const auto* table = dynamic_cast<const EmbeddingImpl*>(&layer)) {
      matrix.has_sinusoids = table->begins_with_sinusoids();
    }
    if (const auto* linear = dynamic_cast<const LinearImpl*>(&layer)) matrix.stacked = linear->fused();
    if (matrix.is_recurrent || parameter.key().starts_with("weight_ih")) {
      matrix.stacked = gates_of(layer, parameter.key());
    }
  }
  return matrices;
}

void fill_by(Initialiser rule, const Matrix& matrix, RandomStream& random) {
  const auto in = static_cast<double>(matrix.tensor.size(-1));
  const double out = static_cast<double>(matrix.tensor.size(-2)) / static_cast<double>(matrix.stacked);
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

void initialise_matrix(const Matrix& matrix, const InitialiserConfig& config, RandomStream random) {
  if (matrix.is_recurrent && config.recurrent == RecurrentInitialiser::orthogonal) {
    fill_orthogonal(matrix.tensor, random);
  } else if (!matrix.is_table || (config.matrices == Initialiser::uniform && !matrix.has_sinusoids)) {
    fill_by(config.matrices, matrix, random);
  }
}

}  // namespace

void initialise(const torch::nn::Module& root, const InitialiserConfig& config, std::uint64_t seed) {
  initialise(root, seed);
  constexpr std::uint64_t kStream = 0x6d617472;  // streams different from those of the layers
  std::vector<Matrix> matrices;
  for_each_layer(root,
                 [&](const Layer& layer) { std::ranges::move(matrices_of(layer), std::back_inserter(matrices)); });
  in_parallel(matrices.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      initialise_matrix(matrices[i], config, RandomStream(combine_keys(seed, kStream, i)));
    }
  });
  refresh_weights(root);
}

}  // namespace attend
