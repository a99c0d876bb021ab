// The stream of training batches: epochs without end, prepared ahead on a background thread.
#pragma once

#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "data/corpus/batch_order.hpp"

namespace attend {

// The share of one of `count` processes that split a stream: batch `index` of every `count`.
struct Shard {
  std::int64_t index = 0, count = 1;
};

template <class Batch>
struct StreamedBatch {
  Batch batch;
  DataPosition position;
  DataPosition after;  // past the `count` batches of all processes; checkpoints store it once these are consumed
};

// The source of an epoch's batches: a pure function of the epoch and the number of the batch.
template <class Source, class Batch>
concept BatchSource = requires(Source& source, std::int64_t n) {
  { source.begin_epoch(n) } -> std::convertible_to<std::int64_t>;  // returns the number of batches
  { source.batch(n) } -> std::convertible_to<Batch>;               // a batch of that epoch
};

// Makes batches ahead of their use on a background thread, in order; at most kAhead are queued.
template <class Batch>
class BatchStream {
 public:
  static constexpr std::size_t kAhead = 8;

  // Starts at `start`; a position past the last batch of an epoch is the first of the next epoch.
  template <BatchSource<Batch> Source>
  BatchStream(Source source, DataPosition start, Shard shard = {})
      : make_([source = std::move(source), position = start, shard, epoch = std::int64_t{-1},
               size = std::int64_t{0}]() mutable {
          const auto begin = [&](std::int64_t wanted) {
            if (epoch != wanted) size = source.begin_epoch(wanted), epoch = wanted;
          };
          StreamedBatch<Batch> own;
          for (std::int64_t i = 0; i < shard.count; ++i) {
            begin(position.epoch);
            const DataPosition here = position.within(size);
            begin(here.epoch);
            if (i == shard.index) own.batch = source.batch(here.batch), own.position = here;
            position = {here.epoch, here.batch + 1,
                        here.phase};  // may be past the end: the next epoch is made when needed
          }
          own.after = position.within(size);
          return own;
        }),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  // Waits for the next batch. Rethrows exceptions of the background thread.
  StreamedBatch<Batch> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || failure_; });
    if (ready_.empty()) std::rethrow_exception(failure_);
    StreamedBatch<Batch> batch = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return batch;
  }

 private:
  void run(const std::stop_token& stop) {
    try {
      for (;;) {
        StreamedBatch<Batch> batch = make_();
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [&] { return ready_.size() < kAhead; });
        if (stop.stop_requested()) return;
        ready_.push_back(std::move(batch));
        lock.unlock();
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  std::function<StreamedBatch<Batch>()> make_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<StreamedBatch<Batch>> ready_;
  std::exception_ptr failure_;
  std::jthread thread_;  // stopped and joined before the others are destroyed
};

}  // namespace attend
