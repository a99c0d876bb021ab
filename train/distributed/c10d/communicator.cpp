// Ranks on c10d, PyTorch's library of collective communication: Gloo between CPUs, NCCL between GPUs.
#include <arpa/inet.h>
#include <c10/util/Logging.h>
#include <netdb.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>
#ifdef ATTEND_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "train/distributed/ranks.hpp"

namespace attend {
namespace {

#ifdef ATTEND_NCCL
constexpr bool kHasNccl = true;
#else
constexpr bool kHasNccl = false;
#endif

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kToMeet{55};       // for all ranks, from the start of this one
constexpr std::chrono::seconds kToComeIn{45};     // for each rank, as seen by another: says who is missing before that
constexpr std::chrono::seconds kToConnect{25};    // for c10d, which tries twice as long
constexpr std::chrono::seconds kBeforeNotice{5};  // of waiting for others
constexpr std::chrono::seconds kInterval{1};      // between heartbeats
constexpr std::chrono::seconds kSilence{20};      // after which a rank counts as lost
constexpr std::chrono::hours kUnlimited{24 * 365};  // the heartbeat limits waiting instead
constexpr std::chrono::milliseconds kSlice{500};    // of waiting, between checks of the heartbeat
constexpr std::chrono::microseconds kPoll{200};     // of a GPU

// LibTorch appends a backtrace to its messages.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Silences c10d, which logs a backtrace for every broken connection; attend reports it in one line. Gloo may write to a
// connection that another rank has closed, and relies on Python to ignore the signal of that.
void silence_c10d() {
  std::signal(SIGPIPE, SIG_IGN);
  if (std::getenv("TORCH_CPP_LOG_LEVEL") != nullptr) return c10::initLogging();  // for debugging
  FLAGS_caffe2_log_level = c10::GLOG_FATAL;
}

// A client of the store where the ranks of this attempt meet; on the listening rank, also its server.
c10::intrusive_ptr<c10d::Store> store_of(const Launch& launch, bool serves) {
  c10d::TCPStoreOptions options;
  options.port = launch.port;
  options.isServer = serves;
  options.waitWorkers = false;
  options.timeout = kToConnect;
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(launch.address, options);
    return c10::make_intrusive<c10d::PrefixStore>("attend/attempt_" + std::to_string(launch.attempt), store);
  } catch (const std::exception& error) {
    throw UserError("MASTER_ADDR and MASTER_PORT are " + launch.where() + ": " + first_line(error.what()),
                    serves ? "choose another MASTER_PORT, or end what listens there"
                           : "start the process of rank 0 there, or correct the address, the port and the firewall");
  }
}

// This machine's address in the network of the rendezvous; no packet is sent.
std::optional<std::string> own_address(const Launch& launch) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (getaddrinfo(launch.address.c_str(), std::to_string(launch.port).c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> freed(found, freeaddrinfo);
  for (const addrinfo* way = found; way != nullptr; way = way->ai_next) {
    const Descriptor descriptor(socket(way->ai_family, SOCK_DGRAM, 0));
    const int number = descriptor.number();
    sockaddr_storage own{};
    auto* const generic = reinterpret_cast<sockaddr*>(&own);
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    if (number >= 0 && connect(number, way->ai_addr, way->ai_addrlen) == 0 &&
        getsockname(number, generic, &size) == 0 &&
        getnameinfo(generic, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      return text.data();
    }
  }
  return {};
}

std::shared_ptr<gloo::transport::Device> gloo_device(const Launch& launch) {
  using Gloo = c10d::ProcessGroupGloo;
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr && *interface != '\0') return Gloo::createDeviceForInterface(interface);
  const auto address = own_address(launch);
  return address ? Gloo::createDeviceForHostname(*address) : Gloo::createDefaultDevice();
}

// Detects ranks that are stopped or lose their machine or network: c10d, whose operations fail at once when a process
// ends, cannot tell these from ranks that are slow. Each rank tells the store every second that it is alive, on a
// thread of its own, and reads what the others have told. That thread may hang in a network that was cut.
class Heartbeat {
 public:
  // `store` must be used by this object alone; it has a heartbeat of every rank.
  Heartbeat(const Launch& launch, c10::intrusive_ptr<c10d::Store> store)
      : rank_(launch.rank), where_(launch.where()), store_(std::move(store)), last_(launch.size) {
    for (int rank = 0; rank < launch.size; ++rank) keys_.push_back(key_of(rank));
  }

  static std::string key_of(int rank) { return "rank_" + std::to_string(rank); }

  static void begin(const std::shared_ptr<Heartbeat>& heartbeat) {
    std::thread([heartbeat] { heartbeat->run(); }).detach();
  }

  // Waits for the thread, but not if it hangs in the store.
  void end() {
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, kInterval, [&] { return ended_; });
  }

  // Who has been silent for too long; empty if nobody has.
  std::string lost() {
    const auto text = [](Clock::duration silent) {
      return std::chrono::duration_cast<std::chrono::seconds>(silent).count();
    };
    const std::lock_guard lock(mutex_);
    if (const auto silent = Clock::now() - answered_; silent > kSilence) {
      return fmt::format("{}, where the ranks meet, has not answered for {} s", where_, text(silent));
    }
    for (int rank = 0; rank < std::ssize(last_); ++rank) {
      const Beat& last = last_[rank];
      const auto silent = answered_ - last.changed;  // as far as this rank knows
      if (rank == rank_ || silent <= kSilence) continue;
      return fmt::format("rank {} ({}) has not answered for {} s", rank,
                         std::string(last.said.begin(), last.said.end()), text(silent));
    }
    return "";
  }

 private:
  using Bytes = std::vector<std::uint8_t>;
  struct Beat {
    Bytes said = {};
    Clock::time_point changed = Clock::now();
  };

  void run() {
    const auto start = Clock::now();
    std::unique_lock lock(mutex_);
    while (!ending_) {
      lock.unlock();
      const std::string own =
          fmt::format("{}, process {}, last heard of {} s after its start", host_name(), getpid(),
                      std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count());
      std::vector<Bytes> said;
      try {
        store_->set(key_of(rank_), own);
        said = store_->multiGet(keys_);
      } catch (const std::exception&) {  // NOLINT: lost() reports a store that stays silent
      }
      lock.lock();
      if (!said.empty()) answered_ = Clock::now();
      for (std::size_t rank = 0; rank < said.size(); ++rank) {
        if (said[rank] != last_[rank].said) last_[rank] = {.said = std::move(said[rank]), .changed = answered_};
      }
      changed_.wait_for(lock, kInterval, [&] { return ending_; });
    }
    ended_ = true;
    changed_.notify_all();
  }

  const int rank_;
  const std::string where_;
  const c10::intrusive_ptr<c10d::Store> store_;
  std::vector<std::string> keys_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false, ended_ = false;
  std::vector<Beat> last_;  // of each rank
  Clock::time_point answered_ = Clock::now();
};

// What joins a rank to the others.
struct Connections {
  c10::intrusive_ptr<c10d::Store> store, of_heartbeat;
  c10::intrusive_ptr<c10d::Backend> processors;
};

Connections connect_to_ranks(const Launch& launch) {
  Connections made{
      .store = store_of(launch, launch.listens), .of_heartbeat = store_of(launch, false), .processors = {}};
  made.of_heartbeat->set(Heartbeat::key_of(launch.rank), host_name());
  for (int rank = 0; rank < launch.size; ++rank) {
    try {
      made.store->wait({Heartbeat::key_of(rank)}, kToComeIn);
    } catch (const c10::Error&) {
      throw UserError(fmt::format("rank {} of {} did not connect to {} within {} s", rank, launch.size, launch.where(),
                                  kToComeIn.count()),
                      "start as many processes as WORLD_SIZE says, each with a RANK of its own");
    }
  }
  auto options = c10d::ProcessGroupGloo::Options::create(kUnlimited);
  options->devices.push_back(gloo_device(launch));
  made.processors = c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>("gloo", made.store), launch.rank, launch.size, options);
  return made;
}

class C10dCommunicator : public Communicator {
 public:
  C10dCommunicator(const Launch& launch, CommunicationBackend backend, Connections connections)
      : launch_(launch),
        backend_(backend),
        store_(std::move(connections.store)),
        heartbeat_(std::make_shared<Heartbeat>(launch, std::move(connections.of_heartbeat))),
        processors_(std::move(connections.processors)) {
    Heartbeat::begin(heartbeat_);
  }

  // Destroying a process group waits for its operations, and these for other ranks: if one is lost, or this one ends
  // with an error, it is leaked. The end of the process closes its connections, which the others notice.
  ~C10dCommunicator() override {
    heartbeat_->end();
    if (!broken_ && std::uncaught_exceptions() == 0) return;
    static_cast<void>(processors_.release());
    static_cast<void>(gpus_.release());
  }

  std::unique_ptr<PendingSum> begin_sum(torch::Tensor tensor) override {
    return std::make_unique<Sum>(*this, std::move(tensor));
  }

  void from_first(torch::Tensor tensor) override {
    std::vector<torch::Tensor> tensors = {on_carrier(tensor)};
    c10d::BroadcastOptions options;
    options.rootRank = 0;
    wait(*begin([&] { return carrier(tensors[0]).broadcast(tensors, options); }), tensors[0].is_cuda());
    if (!tensors[0].is_same(tensor)) tensor.copy_(tensors[0]);
  }

 private:
  using Work = c10::intrusive_ptr<c10d::Work>;

  class Sum : public PendingSum {
   public:
    Sum(C10dCommunicator& communicator, torch::Tensor tensor)
        : communicator_(communicator), tensor_(std::move(tensor)), carried_{communicator.on_carrier(tensor_)} {
      work_ = communicator_.begin([&] { return communicator_.carrier(carried_[0]).allreduce(carried_); });
    }
    void wait() override {
      communicator_.wait(*work_, carried_[0].is_cuda());
      if (!carried_[0].is_same(tensor_)) tensor_.copy_(carried_[0]);
    }

   private:
    C10dCommunicator& communicator_;
    torch::Tensor tensor_;
    std::vector<torch::Tensor> carried_;
    Work work_;
  };

  // The tensor that is sent: NCCL reads it on the GPU, Gloo a copy on the CPU.
  torch::Tensor on_carrier(const torch::Tensor& tensor) const {
    return kHasNccl && backend_ != CommunicationBackend::gloo ? tensor : tensor.cpu();
  }

  // NCCL starts with the first tensor on a GPU: a training on CPUs does not need it.
  c10d::Backend& carrier([[maybe_unused]] const torch::Tensor& tensor) {
#ifdef ATTEND_NCCL
    if (tensor.is_cuda()) {
      if (!gpus_) {
        auto options = c10d::ProcessGroupNCCL::Options::create();
        options->timeout = kUnlimited;  // by default c10d aborts the process after ten minutes of one operation
        gpus_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::PrefixStore>("nccl", store_),
                                                            launch_.rank, launch_.size, std::move(options));
      }
      return *gpus_;
    }
#endif
    return *processors_;
  }

  template <class Begin>
  Work begin(const Begin& operation) {
    if (broken_) throw Interrupted("");
    try {
      return operation();
    } catch (const std::exception& error) {
      lost(broken_by(error));
    }
  }

  void wait(c10d::Work& work, bool on_gpu) {
    for (;;) {
      try {
        // Polls a GPU operation: waiting on its stream would not notice a lost rank.
        const auto slice_end = Clock::now() + kSlice;
        while (on_gpu && !work.isCompleted() && Clock::now() < slice_end) std::this_thread::sleep_for(kPoll);
        if ((!on_gpu || work.isCompleted()) && work.wait(on_gpu ? kNoTimeout : kSlice)) return;
      } catch (const std::exception& error) {
        if (work.isCompleted() && work.isSuccess()) return;
        if (work.isCompleted()) lost(broken_by(error));
      }
      if (const std::string who = heartbeat_->lost(); !who.empty()) lost(who);
    }
  }

  // Gloo says "[…/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.7]:5123. This is typically …".
  static std::string broken_by(const std::exception& error) {
    std::string why = first_line(error.what());
    if (why.starts_with('[')) why.erase(0, why.find("] ") + 2);
    return "another rank has ended, or the connection to it broke: " + why.substr(0, why.find(". "));
  }

  [[noreturn]] void lost(const std::string& what) {
    broken_ = true;
    log::error("{}\n  this rank ends, too; --resume auto resumes from the last checkpoint", what);
    throw Interrupted("");
  }

  const Launch launch_;
  const CommunicationBackend backend_;
  c10::intrusive_ptr<c10d::Store> store_;
  const std::shared_ptr<Heartbeat> heartbeat_;  // shared with its thread
  c10::intrusive_ptr<c10d::Backend> processors_;
  c10::intrusive_ptr<c10d::Backend> gpus_;
  bool broken_ = false;
};

constexpr const char* kMeetRemedy =
    "read the messages of the other ranks; each must be able to connect to every other, at any port";

}  // namespace

std::unique_ptr<Communicator> join(const Launch& launch, CommunicationBackend backend) {
  const std::string did_not_meet = "the ranks did not all meet at " + launch.where();
  silence_c10d();
  // On another thread, since c10d waits without reacting to signals, and without end where another program listens.
  std::packaged_task<Connections()> connect([launch] { return connect_to_ranks(launch); });
  std::future<Connections> connections = connect.get_future();
  std::thread(std::move(connect)).detach();
  const auto start = Clock::now();
  for (bool noticed = false; connections.wait_for(kSlice) != std::future_status::ready;) {
    signals::throw_if_stopped("stopped before all processes had connected");
    const auto waited = Clock::now() - start;
    if (waited > kBeforeNotice && launch.local_rank == 0 && !std::exchange(noticed, true)) {
      log::notice("waiting up to {} s for all {} ranks to connect to {}", kToMeet.count(), launch.size, launch.where());
    }
    if (waited > kToMeet) throw UserError(fmt::format("{} within {} s", did_not_meet, kToMeet.count()), kMeetRemedy);
  }
  try {
    return std::make_unique<C10dCommunicator>(launch, backend, connections.get());
  } catch (const c10::Error& error) {
    throw UserError(did_not_meet + ": " + first_line(error.what()), kMeetRemedy);
  }
}

void check_backend(CommunicationBackend backend, bool on_cpu) {
  if (backend != CommunicationBackend::nccl) return;
  if (!kHasNccl) {
    throw UserError("--backend nccl: this build of attend has no NCCL",
                    "leave it out, or build attend with a LibTorch for CUDA where nccl.h is installed");
  }
  if (on_cpu) throw UserError("--backend nccl: the device is the processor", "leave it out: Gloo joins processors");
}

std::string gradient_carrier(CommunicationBackend backend, bool on_cpu) {
  if (on_cpu) return "Gloo";
  if (kHasNccl && backend != CommunicationBackend::gloo) return "NCCL";
  return kHasNccl ? "Gloo through the host's memory" : "Gloo through the host's memory: this build has no NCCL";
}

}  // namespace attend
