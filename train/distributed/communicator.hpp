// What Ranks asks of a library of collective communication: c10d/communicator.cpp, or no_c10d.cpp where the build has
// none.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>

#include "train/distributed/launch.hpp"

namespace attend {

// A collective operation that has begun.
class PendingSum {
 public:
  virtual ~PendingSum() = default;
  // Interrupted when a rank is lost.
  virtual void wait() = 0;
};

// All ranks call the same functions in the same order.
class Communicator {
 public:
  virtual ~Communicator() = default;

  // Begins to sum a contiguous tensor over the ranks, in place. Every rank gets the same bits.
  virtual std::unique_ptr<PendingSum> begin_sum(torch::Tensor tensor) = 0;
  // Copies the first rank's contiguous tensor to the others. Interrupted when a rank is lost.
  virtual void from_first(torch::Tensor tensor) = 0;

  // What this rank begins to do, for the message of those that lose it.
  virtual void doing(const std::string& activity) = 0;
  // This rank ends by an error of which it says itself what it is.
  virtual void fail() = 0;
};

// Meets the other processes. UserError when they do not come within five minutes.
std::unique_ptr<Communicator> join(const Launch& launch, CommunicationBackend backend);

// UserError for what this build or device has not.
void check_backend(CommunicationBackend backend, bool on_cpu);

}  // namespace attend
