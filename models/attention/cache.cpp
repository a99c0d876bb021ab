#include "models/attention/cache.hpp"

#include <ATen/ATen.h>

#include <numeric>

#include "core/error.hpp"

namespace attend {

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
