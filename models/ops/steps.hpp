// The order in which a recurrence reads a ragged batch without padding: sentences by decreasing length, then position
// by position, so that finished sentences drop out and the rows of a step are a prefix of the previous step's rows.
//
// Three sentences a0 a1, b0 b1 b2, c0 are
//   order b a c,  rows b0 a0 c0 | b1 a1 | b2,  begin 0 3 5 6
// Step t consists of the packed rows [begin[t], begin[t + 1]); row i of a step continues in row i of the next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "data/batch/batch.hpp"

namespace attend::ops {

struct Steps {
  // `reverse`: reads sentences from their last token.
  explicit Steps(const Layout& layout, bool reverse = false) : order(layout.size()), packed(layout.num_tokens()) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return layout.length(a) > layout.length(b); });
    for (std::int64_t t = 0; t < layout.max_length; ++t) {
      for (const std::int64_t b : order) {
        if (layout.length(b) <= t) break;
        const std::int64_t row = reverse ? layout.offsets[b + 1] - 1 - t : layout.offsets[b] + t;
        packed[row] = static_cast<std::int64_t>(rows.size());
        rows.push_back(row);
      }
      begin.push_back(static_cast<std::int64_t>(rows.size()));
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int64_t count(std::int64_t t) const { return t < size() ? begin[t + 1] - begin[t] : 0; }

  std::vector<std::int64_t> order;
  std::vector<std::int64_t> begin = {0};
  std::vector<std::int64_t> rows;    // the ragged row of each packed row
  std::vector<std::int64_t> packed;  // the packed row of each ragged row
};

}  // namespace attend::ops
