// The processes that train one model together: how they were launched, and what they exchange.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/batch/batch_stream.hpp"

namespace attend {

// Communication backend: NCCL between GPUs and Gloo between CPUs, or always Gloo.
enum class CommunicationBackend { automatic, gloo, nccl };
template <>
inline constexpr auto kEnumNames<CommunicationBackend> =
    std::to_array<EnumName<CommunicationBackend>>({{CommunicationBackend::automatic, "auto"},
                                                   {CommunicationBackend::gloo, "gloo"},
                                                   {CommunicationBackend::nccl, "nccl"}});

// How the processes of one training were launched, one per rank, as read from the environment variables of torchrun;
// any launcher that sets them will do.
//
//   RANK WORLD_SIZE               number of this process, and number of processes
//   LOCAL_RANK LOCAL_WORLD_SIZE   the same on this machine; 0 and 1 if missing
//   MASTER_ADDR MASTER_PORT       the rendezvous address
//   TORCHELASTIC_USE_AGENT_STORE  True: torchrun listens there; otherwise rank 0 does
//   TORCHELASTIC_RESTART_COUNT    number of restarts by torchrun
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

// The processes that train one model together, each called a rank. All ranks call the same functions in the same order;
// a single process has nothing to exchange.
//
// If a rank ends, is stopped or loses its network, the others notice while they wait for it, report it and end.
class Ranks {
 public:
  // A single process.
  Ranks();
  // Meets the others. Throws UserError if they do not arrive within a minute, or this build has no c10d.
  Ranks(const Launch& launch, CommunicationBackend backend);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  const Launch& launch() const { return launch_; }
  int rank() const { return launch_.rank; }
  int size() const { return launch_.size; }
  bool several() const { return launch_.several(); }
  bool first() const { return launch_.rank == 0; }
  // This rank's batches.
  Shard shard() const { return {.index = launch_.rank, .count = launch_.size}; }

  // All functions below throw Interrupted if a rank is lost or ends.

  // Sums over the ranks, element by element.
  void sum(std::span<double> numbers);
  double sum(double number);
  // Starts to sum a contiguous tensor, in place. Every rank gets the same bits. Requires several ranks.
  std::unique_ptr<PendingSum> begin_sum(torch::Tensor tensor);

  // Returns the first rank's text on all ranks.
  std::string from_first(std::string text);
  void from_first(torch::Tensor tensor);
  // Runs `work`; throws Interrupted on all ranks if one of them throws it.
  void together(const std::function<void()>& work);
  // Runs `work` on the first rank while the others wait; returns its result on all ranks.
  std::vector<double> on_first(const std::function<std::vector<double>()>& work);

  // Returns the texts of all ranks, in order.
  std::vector<std::string> gather(const std::string& text);
  // Waits until all ranks are ready to end.
  void leave();

  // Throws UserError on the first rank with a value other than that of rank 0, and Interrupted on the others.
  void compare(const std::vector<std::pair<std::string, std::string>>& named_values);
  // Throws UserError on the second of two ranks that would share a GPU, and Interrupted on the others. `device` is cpu
  // or cuda:N.
  void refuse_shared_gpu(const std::string& device);

 private:
  Launch launch_;
  std::unique_ptr<Communicator> communicator_;  // none for a single process
};

}  // namespace attend
