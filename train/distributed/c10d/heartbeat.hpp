// Detects ranks that die, are stopped or lose their network. Every second, each rank writes a heartbeat with its
// current activity into the store and reads those of the others.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <memory>
#include <optional>
#include <string>

#include "train/distributed/launch.hpp"

namespace attend {

class Heartbeat {
 public:
  // `store` must be used by this object alone. Returns when all ranks have arrived; throws UserError naming a rank that
  // does not arrive within the store's time limit.
  Heartbeat(const Launch& launch, c10::intrusive_ptr<c10d::Store> store);
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  ~Heartbeat();

  void doing(const std::string& activity);
  // Tells the other ranks that this one ends with an error that it reports itself, and leaves them time to read that.
  void fail();

  // Throws Interrupted if a rank is lost; one process per machine reports that.
  void check();
  // Called after an operation failed for `reason`: waits until the lost rank is known, at most 30 s, then as check().
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
