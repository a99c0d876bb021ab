// The processes that train one model together, each a rank. All ranks call the same functions in the same order; of one
// process alone each is the identity.
//
// A rank that has died, was stopped or lost its network is noticed by those that wait for it: they say so and end.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/batch/batch_stream.hpp"
#include "train/distributed/communicator.hpp"
#include "train/distributed/launch.hpp"

namespace attend {

class Ranks {
 public:
  // One process alone.
  Ranks();
  // Meets the others. UserError when they do not come within five minutes, or this build has no c10d.
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

  // What this rank begins to do, for the message of those that lose it: "update 12".
  void doing(const std::string& activity);

  // This rank ends by an error that it reports itself: the others end without a word. After leave() it is nobody's
  // business.
  void fail();

  // All of these throw Interrupted when a rank is lost or fails.

  // Over the ranks, element by element.
  void sum(std::span<double> numbers);
  double sum(double number);
  // Begins to sum a contiguous tensor, in place. Every rank gets the same bits. Of several ranks only.
  std::unique_ptr<PendingSum> begin_sum(torch::Tensor tensor);

  // Of the first rank.
  std::string from_first(std::string text);
  void from_first(torch::Tensor tensor);
  // Runs `work`; Interrupted on all when that of one throws it.
  void together(const std::function<void()>& work);
  // The same, on the first rank alone while the others wait: its result, on all.
  std::vector<double> on_first(const std::function<std::vector<double>()>& work);

  // Of every rank, in their order.
  std::vector<std::string> gather(const std::string& text);
  // Until all are here, to end.
  void leave();

  // What all ranks must have alike: UserError on the first that has it otherwise than rank 0.
  void compare(const std::vector<std::pair<std::string, std::string>>& named_values);

 private:
  Launch launch_;
  std::unique_ptr<Communicator> communicator_;  // none of one process alone
  bool left_ = false;
};

}  // namespace attend
