// How the processes of one training were launched, and how they communicate.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/options.hpp"

namespace attend {

// How the processes of one training were launched, one per rank, as read from the environment variables of torchrun;
// any launcher that sets them will do.
//
//   RANK WORLD_SIZE               number of this process, and number of processes
//   LOCAL_RANK LOCAL_WORLD_SIZE   the same on this machine; 0 and 1 if missing
//   MASTER_ADDR MASTER_PORT       the rendezvous address
//   TORCHELASTIC_USE_AGENT_STORE  True: torchrun listens there; otherwise rank 0 does
//   TORCHELASTIC_RESTART_COUNT    number of restarts by torchrun

// Communication backend: NCCL between GPUs and Gloo between CPUs, or always Gloo.
enum class CommunicationBackend { automatic, gloo, nccl };
template <>
inline constexpr auto kEnumNames<CommunicationBackend> =
    std::to_array<EnumName<CommunicationBackend>>({{CommunicationBackend::automatic, "auto"},
                                                   {CommunicationBackend::gloo, "gloo"},
                                                   {CommunicationBackend::nccl, "nccl"}});

struct Launch {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;
  std::string address = {};
  std::uint16_t port = 0;
  bool listens = false;  // this process serves address:port
  int attempt = 0;

  // A single process if the variables are not set. Throws UserError if some are missing or invalid.
  static Launch from_environment();

  bool several() const { return size > 1; }
  std::string where() const { return address + ":" + std::to_string(port); }
};

// The interface of Ranks to a library for collective communication: c10d/communicator.cpp, or no_c10d.cpp in a build
// without c10d.

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
};

// Meets the other processes. Throws UserError if they do not all arrive within a minute, or this build has no c10d.
std::unique_ptr<Communicator> join(const Launch& launch, CommunicationBackend backend);

// Throws UserError if this build or device does not support the backend.
void check_backend(CommunicationBackend backend, bool on_cpu);

// The library that sums the gradients, for the log, such as "NCCL" or, on a GPU, "Gloo through the host's memory".
std::string gradient_carrier(CommunicationBackend backend, bool on_cpu);

}  // namespace attend
