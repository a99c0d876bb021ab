// Produces values ahead of their use on a background thread, in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace attend {

template <class T>
class Prefetcher {
 public:
  static constexpr std::size_t kAhead = 8;

  // `make` is called repeatedly on the background thread until destruction; at most kAhead values are queued.
  explicit Prefetcher(std::function<T()> make)
      : make_(std::move(make)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  // Waits for the next value. Rethrows exceptions of `make`.
  T next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || failure_; });
    if (ready_.empty()) std::rethrow_exception(failure_);
    T value = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return value;
  }

 private:
  void run(const std::stop_token& stop) {
    try {
      for (;;) {
        T value = make_();
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [&] { return ready_.size() < kAhead; });
        if (stop.stop_requested()) return;
        ready_.push_back(std::move(value));
        lock.unlock();
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  std::function<T()> make_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<T> ready_;
  std::exception_ptr failure_;
  std::jthread thread_;  // stopped and joined before the others are destroyed
};

}  // namespace attend
