#include "models/ops/recurrent.hpp"

#include <ATen/core/grad_mode.h>

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops {

using torch::Tensor;

namespace {

void check(const Keys& memory, const Tensor& query) {
  const std::int64_t S = memory.layout.num_tokens();
  ensure(memory.keys_SA.size(0) == S && memory.values_SW.size(0) == S, "the layout matches keys and values");
  ensure(query.scalar_type() == memory.keys_SA.scalar_type() && query.scalar_type() == memory.values_SW.scalar_type(),
         "queries, keys and values have the same type");
}

void check(const AttentionForm& form, const DecoderInput& input, std::size_t num_layers, std::size_t num_dropouts) {
  check(input.memory, input.embedded_ME);
  ensure(!form.coverage_A.defined(), "only single steps support coverage");
  ensure(input.embedded_ME.size(0) == input.layout.num_tokens(), "the layout matches the input");
  ensure(input.layout.size() == input.memory.layout.size(), "each target sentence has a source sentence");
  ensure(num_layers == input.start.size() && num_layers == num_dropouts + 1,
         "each layer has a start state, and each but the last a dropout");
}

}  // namespace

CellState CellState::select(const Tensor& rows) const {
  CellState chosen;
  for (const Tensor& part : parts) chosen.parts.push_back(part.index_select(0, rows));
  return chosen;
}

CellState CellState::first(std::int64_t count) const {
  CellState kept;
  for (const Tensor& part : parts) kept.parts.push_back(part.narrow(0, 0, count));
  return kept;
}

CellState cell_step(const Tensor& x_RI, const CellState& state, const CellWeights& cell) {
  if (has_gpu_product(x_RI, cell.weight_ih)) return gpu::cell_step(x_RI, state, cell);
  const bool is_fast = has_fast_path(x_RI) && !at::GradMode::is_enabled();
  return is_fast ? fast::cell_step(x_RI, state, cell) : plain::cell_step(x_RI, state, cell);
}

LayerOutput recurrent_layer(const LayerInput& input, std::span<const Direction> directions) {
  ensure(input.x_MI.size(0) == input.layout.num_tokens(), "the layout matches the input");
  ensure(directions.size() == 1 || directions.size() == 2, "a layer has one or two directions");
  if (has_gpu_path(input.x_MI)) return gpu::recurrent_layer(input, directions);
  const bool is_fast = has_fast_path(input.x_MI) && input.x_MI.size(0) > 0;
  return is_fast ? fast::recurrent_layer(input, directions) : plain::recurrent_layer(input, directions);
}

Attended attention_step(const AttentionForm& form, const Tensor& query_RH, const Keys& memory,
                        const AttendingRows& rows) {
  const std::int64_t R = query_RH.size(0);
  ensure(R == std::ssize(rows.sentences), "there is one sentence per row");
  ensure(!form.coverage_A.defined() || rows.coverage_RS.sizes() == at::IntArrayRef({R, memory.layout.max_length}),
         "coverage is laid out like the weights");
  check(memory, query_RH);
  return fast::attention_step(form, query_RH, memory, rows);
}

Tensor luong_decoder(const LuongDecoder& decoder, const DecoderInput& input) {
  check(decoder.attention, input, decoder.layers.size(), decoder.layer_dropouts.size());
  return fast::luong_decoder(decoder, input);
}

BahdanauOutput bahdanau_decoder(const BahdanauDecoder& decoder, const DecoderInput& input) {
  check(decoder.attention, input, decoder.layers.size(), decoder.layer_dropouts.size());
  return fast::bahdanau_decoder(decoder, input);
}

}  // namespace attend::ops
