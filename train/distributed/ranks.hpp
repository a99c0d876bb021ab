// The processes that train one model together, each called a rank. All ranks call the same functions in the same order;
// a single process has nothing to exchange.
//
// If a rank ends, is stopped or loses its network, the others notice while they wait for it, report it and end.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/batch/batch_stream.hpp"
#include "train/distributed/launch.hpp"

namespace attend {

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
