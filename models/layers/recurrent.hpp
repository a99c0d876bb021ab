// Layers of recurrent cells, stacked as torch.nn.LSTM stacks them and with parameters under its names, so that weights
// are exchanged without renaming. Sentences are ragged; a backward direction starts at each one's last token.
#pragma once

#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/layers/cell.hpp"
#include "models/layers/layers.hpp"

namespace attend {

struct RecurrenceConfig {
  CellKind cell = CellKind::lstm;
  std::int64_t input = 0;
  std::int64_t hidden = 0;  // of each direction
  std::int64_t layers = 1;
  bool bidirectional = false;
};

// The output of the top layer at each token, [M, directions * H], and the final state of each layer.
struct RecurrenceOutput {
  torch::Tensor output_MD;
  std::vector<CellState> last;
};

class RecurrenceImpl : public Layer {
 public:
  explicit RecurrenceImpl(const RecurrenceConfig& config);

  // Reads whole sentences from zero states. Dropout is applied between layers.
  RecurrenceOutput forward(const torch::Tensor& x_MI, const Layout& layout, double dropout, Pass& pass) const;

  // The cells of all layers, from the bottom; in a bidirectional layer the forward one comes first.
  const std::vector<std::unique_ptr<Cell>>& cells() const { return cells_; }

  void initialise(RandomStream& random) override;
  void visit_weights(const std::function<void(ops::Weight&)>& f) override;

 private:
  std::size_t directions_;
  std::vector<std::unique_ptr<Cell>> cells_;
};
TORCH_MODULE(Recurrence);

}  // namespace attend
