#include "models/attention/memory_rows.hpp"

#include "models/ops/ops.hpp"
#include "models/ops/padded.hpp"

namespace attend {

using torch::Tensor;

void MemoryRows::make_padded() const {
  if (keys_RSA_.defined()) return;
  const Tensor rows = ops::to_tensor(sentences_, keys_->keys_SA);
  const auto padded = [&](const Tensor& ragged) {
    return ops::pad(ragged, keys_->layout).index_select(0, rows).to(at::kFloat);
  };
  keys_RSA_ = padded(keys_->keys_SA);
  values_RSW_ = padded(keys_->values_SW);
  padding_RS_ = ops::missing(ops::lengths(keys_->layout, rows), keys_->layout.max_length).index_select(0, rows);
}

const Tensor& MemoryRows::keys_RSA() const {
  make_padded();
  return keys_RSA_;
}

const Tensor& MemoryRows::values_RSW() const {
  make_padded();
  return values_RSW_;
}

const Tensor& MemoryRows::padding_RS() const {
  make_padded();
  return padding_RS_;
}

MemoryRows MemoryRows::select(std::span<const std::int64_t> rows) const {
  std::vector<std::int64_t> chosen;
  for (const std::int64_t row : rows) chosen.push_back(sentences_[row]);
  return MemoryRows(*keys_, std::move(chosen));
}

void MemoryRows::keep_first(std::int64_t count) {
  if (count == std::ssize(sentences_)) return;
  sentences_.resize(count);
  if (!keys_RSA_.defined()) return;
  keys_RSA_ = keys_RSA_.narrow(0, 0, count);
  values_RSW_ = values_RSW_.narrow(0, 0, count);
  padding_RS_ = padding_RS_.narrow(0, 0, count);
}

}  // namespace attend
