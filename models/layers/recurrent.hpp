// LSTM layers (Hochreiter and Schmidhuber 1997) stacked as torch.nn.LSTM stacks them, parameters under its names, so
// that weights are exchanged without renaming. Sentences are ragged; a backward direction starts at each one's last
// token.
#pragma once

#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/layers/layers.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

struct LstmConfig {
  std::int64_t input = 0;
  std::int64_t hidden = 0;  // of each direction
  std::int64_t layers = 1;
  bool bidirectional = false;
};

// The output of the top layer at each token [M, D * H], and where each layer stopped reading.
struct LstmOutput {
  torch::Tensor output_MH;
  std::vector<ops::LstmState> last;
};

// Weights begin uniform in ±0.1 (arXiv 1508.04025, 4.1); biases 0, but 1 for forget gates, so that cells remember from
// the start (Jozefowicz, Zaremba and Sutskever 2015).
class LstmImpl : public Layer {
 public:
  explicit LstmImpl(const LstmConfig& config);

  // Reads whole sentences from states of zero. Dropout falls between layers.
  LstmOutput forward(const torch::Tensor& x_MI, const Layout& layout, double dropout, Pass& pass) const;

  // The cells of all layers, from the bottom; of a layer of two directions the forward one first.
  std::span<const ops::LstmCell> cells() const { return cells_; }

  void initialise(RandomStream& random) override;
  void visit_weights(const std::function<void(ops::Weight&)>& f) override;

 private:
  std::int64_t directions_;
  std::vector<ops::LstmCell> cells_;
};
TORCH_MODULE(Lstm);

}  // namespace attend
