#include "train/distributed/c10d/heartbeat.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/process.hpp"

namespace attend {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr seconds kInterval{1};
constexpr seconds kSilence{20};       // after which a rank counts as lost
constexpr seconds kBrokenSilence{5};  // the same once a connection broke
constexpr seconds kPatience{30};      // until a broken connection is reported without a culprit
constexpr seconds kTimeForOthers{3};  // to read that this rank ends
constexpr seconds kBeforeNaming{5};   // of waiting, until missing ranks are named

std::string key_of(int rank) { return "alive/" + std::to_string(rank); }

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

class Heartbeat::Beats {
 public:
  // The last heartbeat read from a rank.
  struct Beat {
    std::string text = {};
    Clock::time_point changed = Clock::now();
    Leaving leaving = Leaving::no;
    std::string who = {}, activity = {};

    void read(const std::vector<std::uint8_t>& bytes, int rank) {
      std::string now(bytes.begin(), bytes.end());
      if (now == text) return;
      text = std::move(now);
      changed = Clock::now();
      const auto said = nlohmann::json::parse(text);
      leaving = static_cast<Leaving>(said.at("leaving").get<int>());
      activity = said.at("activity");
      who = fmt::format("rank {} ({}, process {})", rank, said.at("host").get<std::string>(),
                        said.at("process").get<std::int64_t>());
    }
  };

  // A loss: the rank, if known, and the message, unless it was already reported.
  struct Loss {
    std::optional<int> rank;
    std::string message;
  };

  Beats(const Launch& launch, c10::intrusive_ptr<c10d::Store> store)
      : rank_(launch.rank), where_(launch.where()), store_(std::move(store)), host_(host_name()) {
    for (int rank = 0; rank < launch.size; ++rank) keys_.push_back(key_of(rank));
    beats_.resize(keys_.size());
  }

  void meet() {
    write();
    const auto start = Clock::now(), end = start + store_->getTimeout();
    const auto limit = std::chrono::duration_cast<seconds>(store_->getTimeout()).count();
    bool noticed = false;
    for (std::size_t rank = 0; rank < keys_.size(); ++rank) {
      while (!store_->check({keys_[rank]})) {
        signals::throw_if_stopped("stopped before all processes had connected");
        if (Clock::now() > end) {
          throw UserError(
              fmt::format("rank {} of {} did not connect to {} within {} s", rank, keys_.size(), where_, limit),
              "start as many processes as WORLD_SIZE says, each with a RANK of its own");
        }
        if (Clock::now() - start > kBeforeNaming && !std::exchange(noticed, true)) notice_missing(limit);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
    answered_ = Clock::now();
    read();
  }

  // Runs on its own thread until stop().
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      lock.unlock();
      try {
        write();
        read();
      } catch (const std::exception&) {  // NOLINT: loss() reports a store that stays silent
      }
      lock.lock();
      changed_.notify_all();
      wake_.wait_for(lock, kInterval, [&] { return stopping_ || hurry_; });
      hurry_ = false;
    }
    stopped_ = true;
    changed_.notify_all();
  }

  // Waits for the thread, but not if it hangs in the store.
  void stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
    changed_.wait_for(lock, kInterval, [&] { return stopped_; });
  }

  void doing(const std::string& activity) {
    const std::lock_guard lock(mutex_);
    activity_ = activity;
  }

  // Announces that this rank leaves, at once; returns false if that was announced before.
  bool leave(Leaving how) {
    std::unique_lock lock(mutex_);
    if (leaving_ != Leaving::no) return false;
    leaving_ = how;
    hurry_ = true;
    const std::int64_t begun = begun_;
    wake_.notify_all();
    changed_.wait_for(lock, kInterval, [&] { return written_ > begun; });
    return true;
  }

  std::optional<Loss> loss(seconds silence) {
    const std::lock_guard lock(mutex_);
    const auto unanswered = Clock::now() - answered_;
    if (unanswered > kSilence) {
      return Loss{.rank = {},
                  .message = fmt::format("{}, where the ranks meet, has not answered rank {} for {} s", where_, rank_,
                                         std::chrono::duration_cast<seconds>(unanswered).count())};
    }
    std::optional<Loss> left;
    for (std::size_t rank = 0; rank < beats_.size(); ++rank) {
      const Beat& beat = beats_[rank];
      if (static_cast<int>(rank) == rank_) continue;
      if (beat.leaving == Leaving::failed) return Loss{.rank = static_cast<int>(rank), .message = {}};
      const auto silent = answered_ - beat.changed;  // as far as this rank knows
      if (beat.leaving == Leaving::lost_another) {
        if (silent > kBrokenSilence)
          left = {.rank = {}, .message = beat.who + " has left because it lost another rank"};
      } else if (silent > silence) {
        return Loss{.rank = static_cast<int>(rank),
                    .message = fmt::format("{} has not answered for {} s; last activity: {}", beat.who,
                                           std::chrono::duration_cast<seconds>(silent).count(), beat.activity)};
      }
    }
    return left;
  }

 private:
  // Names the missing ranks; the first rank that has come speaks for all.
  void notice_missing(std::int64_t limit) {
    constexpr std::size_t kMostNamed = 8;
    std::vector<std::size_t> missing;
    std::optional<int> speaker;
    for (std::size_t rank = 0; rank < keys_.size(); ++rank) {
      if (!store_->check({keys_[rank]})) {
        missing.push_back(rank);
      } else if (!speaker) {
        speaker = static_cast<int>(rank);
      }
    }
    if (missing.empty() || speaker != rank_) return;
    const std::size_t more = missing.size() - std::min(missing.size(), kMostNamed);
    missing.resize(missing.size() - more);
    log::notice("waiting up to {} s for rank {}{} of {} to come to {}", limit, fmt::join(missing, ", "),
                more > 0 ? fmt::format(" and {} more", more) : "", keys_.size(), where_);
  }

  void write() {
    std::unique_lock lock(mutex_);
    const std::string text = nlohmann::json{
        {"beat", begun_++},
        {"leaving", static_cast<int>(leaving_)},
        {"activity", activity_},
        {"host", host_},
        {"process", getpid()}}.dump();
    lock.unlock();
    store_->set(key_of(rank_), bytes_of(text));
    lock.lock();
    ++written_;
    changed_.notify_all();
  }

  void read() {
    const auto texts = store_->multiGet(keys_);
    const std::lock_guard lock(mutex_);
    for (std::size_t rank = 0; rank < texts.size(); ++rank) beats_[rank].read(texts[rank], static_cast<int>(rank));
    answered_ = Clock::now();
  }

  const int rank_;
  const std::string where_;
  const c10::intrusive_ptr<c10d::Store> store_;
  const std::string host_;
  std::vector<std::string> keys_;

  std::mutex mutex_;
  std::condition_variable wake_, changed_;
  bool stopping_ = false, stopped_ = false, hurry_ = false;
  std::int64_t begun_ = 0, written_ = 0;  // beats
  std::string activity_ = "start";
  Leaving leaving_ = Leaving::no;
  std::vector<Beat> beats_;
  Clock::time_point answered_ = Clock::now();
};

Heartbeat::Heartbeat(const Launch& launch, c10::intrusive_ptr<c10d::Store> store)
    : launch_(launch), beats_(std::make_shared<Beats>(launch, std::move(store))) {
  beats_->meet();
  std::thread([beats = beats_] { beats->run(); }).detach();
}

Heartbeat::~Heartbeat() { beats_->stop(); }

void Heartbeat::doing(const std::string& activity) { beats_->doing(activity); }

void Heartbeat::fail() { leave(Leaving::failed); }

void Heartbeat::leave(Leaving how) {
  if (beats_->leave(how) && launch_.listens)
    std::this_thread::sleep_for(kTimeForOthers);  // the store ends with this process
}

void Heartbeat::check() {
  const std::optional<Beats::Loss> loss = beats_->loss(kSilence);
  if (!loss) return;
  report(loss->rank, loss->message);
}

void Heartbeat::find_lost(const std::string& reason) {
  const auto start = Clock::now();
  std::optional<Beats::Loss> loss;
  while (!(loss = beats_->loss(kBrokenSilence)) && Clock::now() - start < kPatience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
  if (!loss) loss = {.rank = {}, .message = "the connection to another rank broke: " + reason};
  report(loss->rank, loss->message);
}

void Heartbeat::report(std::optional<int> rank, const std::string& message) {
  // One process per machine reports: the first, or the second if the first is lost.
  const int first_here = launch_.rank - launch_.local_rank;
  const int speaker = rank == first_here ? first_here + 1 : first_here;
  if (!message.empty() && launch_.rank == speaker) {
    log::error("{}\n  all ranks end; --resume auto resumes from the last checkpoint", message);
  }
  leave(Leaving::lost_another);
  throw Interrupted("");
}

}  // namespace attend
