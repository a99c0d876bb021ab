// Notices ranks that die, are stopped or lose their network. Each rank writes into the store, every second, that it
// lives and what it does, and reads what the others wrote.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <memory>
#include <optional>
#include <string>

#include "train/distributed/launch.hpp"

namespace attend {

class Heartbeat {
 public:
  // `store` is of this object alone. Returns when all ranks are there: UserError naming one that does not come within
  // the store's time limit.
  Heartbeat(const Launch& launch, c10::intrusive_ptr<c10d::Store> store);
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  ~Heartbeat();

  void doing(const std::string& activity);
  // The others learn that this rank ends by an error that it reports itself; returns when they could.
  void fail();

  // Throws Interrupted when a rank is lost, which one process on each machine reports.
  void check();
  // After an operation failed, with this reason: waits until it is known which rank is lost.
  [[noreturn]] void find_lost(const std::string& reason);

 private:
  class Beats;
  enum class Leaving { no, failed, lost_another };

  void leave(Leaving how);
  [[noreturn]] void report(std::optional<int> rank, const std::string& message);

  Launch launch_;
  std::shared_ptr<Beats> beats_;  // shared with its thread, which may hang in a network that was cut
};

}  // namespace attend
