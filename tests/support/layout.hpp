// The layout of sentences of given lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch/batch.hpp"

namespace attend {

inline Layout layout_of(const std::vector<std::int64_t>& lengths) {
  Layout layout;
  for (const auto length : lengths) layout.append(length);
  return layout;
}

}  // namespace attend
