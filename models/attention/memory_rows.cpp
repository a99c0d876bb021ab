#include "models/attention/memory_rows.hpp"

#include <utility>

#include "models/ops/ops.hpp"
#include "models/ops/padded.hpp"

namespace attend {

using torch::Tensor;

MemoryRows::MemoryRows(const Keys& keys, std::vector<std::int64_t> sentences)
    : keys_(&keys), sentences_(std::move(sentences)), all_(std::make_shared<Padded>()) {}

const MemoryRows::Padded& MemoryRows::rows() const {
  if (rows_.keys.defined()) return rows_;
  const Layout& layout = keys_->layout;
  if (!all_->keys.defined()) {
    *all_ = {.keys = ops::pad(keys_->keys_SA, layout).to(at::kFloat),
             .values = ops::pad(keys_->values_SW, layout).to(at::kFloat),
             .padding = layout.on(keys_->keys_SA.device()).padding_BT};
  }
  const Tensor index = ops::to_tensor(sentences_, keys_->keys_SA);
  rows_ = all_->map([&](const Tensor& x_BS) { return x_BS.index_select(0, index); });
  return rows_;
}

MemoryRows MemoryRows::select(std::span<const std::int64_t> rows) const {
  MemoryRows chosen = *this;
  chosen.rows_ = {};
  chosen.sentences_.clear();
  for (const std::int64_t row : rows) chosen.sentences_.push_back(sentences_[row]);
  return chosen;
}

void MemoryRows::keep_first(std::int64_t count) {
  if (count == std::ssize(sentences_)) return;
  sentences_.resize(count);
  if (rows_.keys.defined()) rows_ = rows_.map([&](const Tensor& x_RS) { return x_RS.narrow(0, 0, count); });
}

}  // namespace attend
