// How the processes of one training were launched, one per rank, as read from the environment variables of torchrun;
// any launcher that sets them will do.
//
//   RANK WORLD_SIZE               number of this process, and number of processes
//   LOCAL_RANK LOCAL_WORLD_SIZE   the same on this machine; 0 and 1 if missing
//   MASTER_ADDR MASTER_PORT       the rendezvous address
//   TORCHELASTIC_USE_AGENT_STORE  True: torchrun listens there; otherwise rank 0 does
//   TORCHELASTIC_RESTART_COUNT    number of restarts by torchrun
#pragma once

#include <cstdint>
#include <string>

#include "core/options.hpp"

namespace attend {

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

}  // namespace attend
