// Ranks on c10d, PyTorch's library of collective communication: Gloo between CPUs, NCCL between GPUs.
#include <arpa/inet.h>
#include <c10/util/Logging.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#ifdef ATTEND_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "train/distributed/c10d/heartbeat.hpp"
#include "train/distributed/launch.hpp"

namespace attend {
namespace {

#ifdef ATTEND_NCCL
constexpr bool kHasNccl = true;
#else
constexpr bool kHasNccl = false;
#endif

constexpr std::chrono::minutes kToMeet{5};
constexpr std::chrono::hours kUnlimited{24 * 365};  // the heartbeat limits waiting instead
constexpr std::chrono::seconds kBeforeNotice{5};    // of waiting for others
constexpr std::chrono::milliseconds kSlice{500};    // of waiting, between checks of the heartbeat
constexpr std::chrono::microseconds kPoll{200};     // of a GPU
constexpr timeval kToConnect{.tv_sec = 2, .tv_usec = 0};

// LibTorch appends a backtrace to its messages.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Silences c10d, which logs a backtrace for every broken connection; attend reports it in one line.
void silence_c10d() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") != nullptr) return c10::initLogging();  // for debugging
  FLAGS_caffe2_log_level = c10::GLOG_FATAL;
}

// Opens a socket for each address of the rendezvous host until `take` accepts one. Returns an error message if the host
// name cannot be resolved, else "".
std::string open_ways(const Launch& launch, int type, const std::function<bool(int, const addrinfo&)>& take) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = type;
  const int error = getaddrinfo(launch.address.c_str(), std::to_string(launch.port).c_str(), &hints, &found);
  if (error != 0) return gai_strerror(error);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> freed(found, freeaddrinfo);
  for (const addrinfo* way = found; way != nullptr; way = way->ai_next) {
    const Descriptor descriptor(socket(way->ai_family, type, 0));
    if (take(descriptor.number(), *way)) break;
  }
  return "";
}

// The reason why nothing can be reached at the rendezvous address; empty if a listener answers.
std::string unreachable(const Launch& launch) {
  std::string why = "it has no address";
  const std::string wrong = open_ways(launch, SOCK_STREAM, [&](int number, const addrinfo& way) {
    setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &kToConnect, sizeof kToConnect);
    const bool reached = number >= 0 && connect(number, way.ai_addr, way.ai_addrlen) == 0;
    why = reached ? "" : errno == EINPROGRESS ? "it does not answer" : std::strerror(errno);
    return reached;
  });
  return wrong.empty() ? why : wrong;
}

// c10d would wait, too, but without reacting to signals.
void wait_for_listener(const Launch& launch) {
  const auto start = std::chrono::steady_clock::now(), end = start + kToMeet;
  bool noticed = false;
  for (std::string why; !(why = unreachable(launch)).empty(); std::this_thread::sleep_for(kSlice)) {
    signals::throw_if_stopped("stopped before all processes had connected");
    const auto now = std::chrono::steady_clock::now();
    if (now - start > kBeforeNotice && !std::exchange(noticed, true)) {
      log::notice("waiting up to {} s for rank 0 to listen at {}: {}", std::chrono::seconds(kToMeet).count(),
                  launch.where(), why);
    }
    if (now < end) continue;
    throw UserError("MASTER_ADDR and MASTER_PORT are " + launch.where() + ": " + why,
                    "start the process of rank 0 there, or correct the address, the port and the firewall");
  }
}

// A client of the store where the ranks of this attempt meet; on the listening rank, also its server.
c10::intrusive_ptr<c10d::Store> store_of(const Launch& launch, bool serves) {
  c10d::TCPStoreOptions options;
  options.port = launch.port;
  options.isServer = serves;
  options.waitWorkers = false;
  options.timeout = kToMeet;
  if (!serves) wait_for_listener(launch);
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
  std::optional<std::string> result;
  open_ways(launch, SOCK_DGRAM, [&](int number, const addrinfo& way) {
    sockaddr_storage own{};
    auto* const generic = reinterpret_cast<sockaddr*>(&own);
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    if (number >= 0 && connect(number, way.ai_addr, way.ai_addrlen) == 0 && getsockname(number, generic, &size) == 0 &&
        getnameinfo(generic, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      result = text.data();
    }
    return result.has_value();
  });
  return result;
}

std::shared_ptr<gloo::transport::Device> gloo_device(const Launch& launch) {
  using Gloo = c10d::ProcessGroupGloo;
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr && *interface != '\0') return Gloo::createDeviceForInterface(interface);
  const auto address = own_address(launch);
  return address ? Gloo::createDeviceForHostname(*address) : Gloo::createDefaultDevice();
}

class C10dCommunicator : public Communicator {
 public:
  C10dCommunicator(const Launch& launch, CommunicationBackend backend)
      : launch_(launch),
        backend_(backend),
        store_(store_of(launch, launch.listens)),
        heartbeat_(launch, store_of(launch, false)) {
    auto options = c10d::ProcessGroupGloo::Options::create(kUnlimited);
    options->devices.push_back(gloo_device(launch));
    processors_ = c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>("gloo", store_),
                                                              launch.rank, launch.size, options);
  }

  // Destroying a process group waits for its ranks, so that of a lost rank is leaked.
  ~C10dCommunicator() override {
    if (!broken_) return;
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

  void doing(const std::string& activity) override { heartbeat_.doing(activity); }
  void fail() override {
    broken_ = true;
    heartbeat_.fail();
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
      lost(error);
    }
  }

  void wait(c10d::Work& work, bool on_gpu) {
    for (;;) {
      try {
        // Polls a GPU operation: waiting on its stream would not notice a lost rank.
        const auto slice_end = std::chrono::steady_clock::now() + kSlice;
        while (on_gpu && !work.isCompleted() && std::chrono::steady_clock::now() < slice_end) {
          std::this_thread::sleep_for(kPoll);
        }
        if ((!on_gpu || work.isCompleted()) && work.wait(on_gpu ? kNoTimeout : kSlice)) return;
      } catch (const std::exception& error) {
        if (work.isCompleted() && work.isSuccess()) return;
        if (work.isCompleted()) lost(error);
      }
      watch();
    }
  }

  void watch() {
    try {
      heartbeat_.check();
    } catch (const Interrupted&) {
      broken_ = true;
      throw;
    }
  }

  [[noreturn]] void lost(const std::exception& error) {
    broken_ = true;
    heartbeat_.find_lost(first_line(error.what()));
  }

  const Launch launch_;
  const CommunicationBackend backend_;
  c10::intrusive_ptr<c10d::Store> store_;
  Heartbeat heartbeat_;
  c10::intrusive_ptr<c10d::Backend> processors_;
  c10::intrusive_ptr<c10d::Backend> gpus_;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<Communicator> join(const Launch& launch, CommunicationBackend backend) {
  silence_c10d();
  try {
    return std::make_unique<C10dCommunicator>(launch, backend);
  } catch (const c10::Error& error) {
    throw UserError("the ranks did not all meet at " + launch.where() + ": " + first_line(error.what()),
                    "read the messages of the other ranks; each must be able to connect to every other, at any port");
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
