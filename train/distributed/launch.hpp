// How the processes of one training were started: by torchrun, or by anything else that sets its variables, one process
// a rank.
//
//   RANK WORLD_SIZE               the number of this process, and how many there are
//   LOCAL_RANK LOCAL_WORLD_SIZE   the same on this machine; 0 and 1 where they are missing
//   MASTER_ADDR MASTER_PORT       where the processes find each other
//   TORCHELASTIC_USE_AGENT_STORE  True: torchrun listens there; else the first process does
//   TORCHELASTIC_RESTART_COUNT    how often torchrun has started them anew
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/options.hpp"

namespace attend {

// What carries the gradients of several processes: NCCL between GPUs and Gloo between processors, or Gloo always.
enum class CommunicationBackend { automatic, gloo, nccl };
template <>
struct EnumNames<CommunicationBackend> {
  static constexpr std::array names{std::pair{CommunicationBackend::automatic, std::string_view("auto")},
                                    std::pair{CommunicationBackend::gloo, std::string_view("gloo")},
                                    std::pair{CommunicationBackend::nccl, std::string_view("nccl")}};
};

struct Launch {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;
  std::string address = {};
  std::uint16_t port = 0;
  bool listens = false;  // this process, at address:port
  int attempt = 0;

  // One process alone where the variables are not set. UserError when they contradict each other.
  static Launch from_environment();

  bool several() const { return size > 1; }
  std::string where() const { return address + ":" + std::to_string(port); }
};

}  // namespace attend
