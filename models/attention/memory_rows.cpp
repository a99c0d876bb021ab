#include "models/attention/memory_rows.hpp"

#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "models/ops/ops.hpp"

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

void KeyValueCache::begin_step(std::int64_t rows) {
  ensure(ancestry.empty() || std::ssize(ancestry.back()) == rows, "a step is of the hypotheses that there are");
  std::vector<std::int64_t>& own = ancestry.emplace_back(rows);
  std::iota(own.begin(), own.end(), 0);
}

void KeyValueCache::select(std::span<const std::int64_t> rows) {
  std::vector<std::int64_t> chosen(rows.size());
  for (std::size_t t = 0; t < ancestry.size(); ++t) {
    for (std::size_t r = 0; r < rows.size(); ++r) chosen[r] = ancestry[t][rows[r]];
    ancestry[t] = chosen;
    drop_unread(t);
  }
}

// Removes the rows of a step from which no hypothesis descends, once they are at least half of its rows.
void KeyValueCache::drop_unread(std::size_t step) {
  std::vector<std::int64_t> place(kv.front()[step].size(0), -1);
  for (const std::int64_t row : ancestry[step]) place[row] = 0;
  std::vector<std::int64_t> read;
  for (std::size_t row = 0; row < place.size(); ++row) {
    if (place[row] < 0) continue;
    place[row] = std::ssize(read);
    read.push_back(static_cast<std::int64_t>(row));
  }
  if (2 * read.size() > place.size()) return;
  for (std::int64_t& row : ancestry[step]) row = place[row];
  const torch::Tensor index = at::tensor(read, at::kLong).to(kv.front()[step].device());
  for (std::vector<torch::Tensor>& layer : kv) layer[step] = layer[step].index_select(0, index);
}

}  // namespace attend
