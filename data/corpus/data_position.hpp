// Where a training is in its data.
#pragma once

#include <cstdint>

namespace attend {

// A place between two batches of the stream that epochs make: epoch follows epoch, without end.
struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  // in that epoch
  std::int64_t phase = 0;  // of a training whose sequences change on the way; epochs begin anew with it

  // The same place where an epoch has so many batches: behind the last of them the next epoch begins.
  DataPosition within(std::int64_t batches) const {
    return batch < batches ? *this : DataPosition{epoch + 1, 0, phase};
  }
  // The place behind the next batch.
  DataPosition after(std::int64_t batches) const { return DataPosition{epoch, batch + 1, phase}.within(batches); }

  bool operator==(const DataPosition&) const = default;
};

}  // namespace attend
