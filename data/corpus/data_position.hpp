// The position of a training run in its data.
#pragma once

#include <cstdint>

namespace attend {

// A position between two batches in the endless stream of epochs.
struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  // in that epoch
  std::int64_t phase = 0;  // for runs whose sequences change during training; a new phase restarts the epoch count

  // The same position, normalised for epochs of `batches`: the end of one epoch is the start of the next.
  DataPosition within(std::int64_t batches) const {
    return batch < batches ? *this : DataPosition{epoch + 1, 0, phase};
  }

  bool operator==(const DataPosition&) const = default;
};

}  // namespace attend
