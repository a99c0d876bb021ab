// Stacked recurrent layers, with the order and the names of parameters of torch.nn.LSTM, so that weights are exchanged
// without renaming. Sentences are ragged; a reversed layer starts at the last token of each sentence.
#pragma once

#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

using ops::CellState;

// A part of a cell's state (ops/recurrent.hpp): its name, and the activation that maps any number into its range.
struct StatePart {
  std::string_view name;
  ops::Activation activation;
  bool fp32;  // even if activations are bf16
};
std::span<const StatePart> state_parts(CellKind kind);

// The reading direction: both, with two cells (Schuster and Paliwal 1997); from the first token; or from the last
// (Sutskever et al. 2014, arXiv 1409.3215).
enum class Direction { both, forward, reversed };
template <>
inline constexpr auto kEnumNames<Direction> = std::to_array<EnumName<Direction>>({{Direction::both, "both"},
                                                                                  {Direction::forward, "forward"},
                                                                                  {Direction::reversed, "reversed"}});

struct RecurrenceConfig {
  CellKind cell = CellKind::lstm;
  std::int64_t input = 0;
  std::int64_t hidden = 0;  // of each direction
  std::int64_t layers = 1;
  Direction reading = Direction::forward;
};

// The output of the top layer at each token, [M, directions * H], and the final state of each layer.
struct RecurrenceOutput {
  torch::Tensor output_MC;
  torch::Tensor memory_MC;  // cell states of the top LSTM layer, fp32, if wanted
  std::vector<CellState> last;
};

class RecurrenceImpl : public Layer {
 public:
  explicit RecurrenceImpl(const RecurrenceConfig& config);

  // Reads whole sentences from the given start states of each layer, or from zeros. Dropout is applied between layers.
  // An observer receives the hidden states at AttentionPlace::encoder.
  RecurrenceOutput forward(const torch::Tensor& x_MI, const Layout& layout, double dropout, Pass& pass,
                           const std::vector<CellState>& start = {}, bool wants_memory = false) const;

  // The cells of all layers, from the bottom; in a bidirectional layer the forward cell comes first.
  const std::vector<ops::CellWeights>& cells() const { return cells_; }

  // Weights are uniform in ±0.1 (arXiv 1508.04025, 4.1) and biases 0, except the bias of an LSTM's forget gate, 1, so
  // that the cell remembers from the start (Jozefowicz, Zaremba and Sutskever 2015).
  void initialise(RandomStream& random) override;
  ParameterTraits traits_of(const torch::Tensor& parameter) const override;
  void visit_weights(const std::function<void(ops::Weight&)>& f) override;

 private:
  Direction reading_;
  std::vector<ops::CellWeights> cells_;
};
TORCH_MODULE(Recurrence);

}  // namespace attend
