// The interface of Ranks to a library for collective communication: c10d/communicator.cpp, or no_c10d.cpp in a build
// without c10d.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>

#include "train/distributed/launch.hpp"

namespace attend {

// A sum in progress.
class PendingSum {
 public:
  virtual ~PendingSum() = default;
  // Throws Interrupted if a rank is lost.
  virtual void wait() = 0;
};

// All ranks call the same functions in the same order.
class Communicator {
 public:
  virtual ~Communicator() = default;

  // Starts to sum a contiguous tensor over the ranks, in place. Every rank gets the same bits.
  virtual std::unique_ptr<PendingSum> begin_sum(torch::Tensor tensor) = 0;
  // Copies the first rank's contiguous tensor to the others. Throws Interrupted if a rank is lost.
  virtual void from_first(torch::Tensor tensor) = 0;

  // Sets the current activity of this rank, which the others report if they lose it.
  virtual void doing(const std::string& activity) = 0;
  // Announces that this rank ends with an error that it reports itself.
  virtual void fail() = 0;
};

// Meets the other processes. Throws UserError if they do not all arrive within five minutes, or this build has no c10d.
std::unique_ptr<Communicator> join(const Launch& launch, CommunicationBackend backend);

// Throws UserError if this build or device does not support the backend.
void check_backend(CommunicationBackend backend, bool on_cpu);

// The library that sums the gradients, for the log, such as "NCCL" or, on a GPU, "Gloo through the host's memory".
std::string gradient_carrier(CommunicationBackend backend, bool on_cpu);

}  // namespace attend
