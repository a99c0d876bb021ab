#include "train/distributed/ranks.hpp"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

constexpr std::string_view kRemedy = "start the processes by torchrun, or set the variables in docs/distributed.md";

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

int number(const char* name, int least, int most, int missing = 0) {
  const char* text = variable(name);
  if (text == nullptr) return missing;
  const auto value = parse_number<int>(std::string_view(text));
  if (!value || *value < least || *value > most) {
    throw UserError(std::string(name) + "=" + text + ": expected a number from " + std::to_string(least) + " to " +
                        std::to_string(most),
                    std::string(kRemedy));
  }
  return *value;
}

}  // namespace

Launch Launch::from_environment() {
  constexpr int kMost = 65535;
  if (!variable("WORLD_SIZE") && !variable("RANK")) return {};
  for (const auto& [missing, set] : {std::pair{"RANK", "WORLD_SIZE"}, {"WORLD_SIZE", "RANK"}}) {
    if (variable(missing)) continue;
    throw UserError(std::string(set) + " is set in the environment, but " + missing + " is not",
                    "unset it to train with one process; for several, " + std::string(kRemedy));
  }
  Launch launch;
  launch.size = number("WORLD_SIZE", 1, kMost);
  launch.rank = number("RANK", 0, launch.size - 1);
  launch.local_size = number("LOCAL_WORLD_SIZE", 1, launch.size, /*missing=*/1);
  launch.local_rank = number("LOCAL_RANK", 0, launch.local_size - 1);
  if (!launch.several()) return launch;
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT"}) {
    if (variable(name)) continue;
    throw UserError(std::string("WORLD_SIZE=") + variable("WORLD_SIZE") + ", but " + name + " is not set",
                    std::string(kRemedy));
  }
  launch.address = variable("MASTER_ADDR");
  launch.port = static_cast<std::uint16_t>(number("MASTER_PORT", 1, kMost));
  const char* agent = variable("TORCHELASTIC_USE_AGENT_STORE");
  launch.listens = launch.rank == 0 && (agent == nullptr || std::string_view(agent) != "True");
  launch.attempt = number("TORCHELASTIC_RESTART_COUNT", 0, 1'000'000);
  return launch;
}

namespace {

torch::Tensor bytes_of(const std::string& text) {
  return at::from_blob(const_cast<char*>(text.data()), {std::ssize(text)}, at::kByte).clone();
}

std::string text_of(const torch::Tensor& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.const_data_ptr<std::uint8_t>()), bytes.numel());
}

// Copied, since a pending operation may still write to the tensor after a rank is lost.
torch::Tensor tensor_of(std::span<const double> numbers) {
  return at::from_blob(const_cast<double*>(numbers.data()), {std::ssize(numbers)}, at::kDouble).clone();
}
void copy(const torch::Tensor& numbers, std::span<double> to) {
  std::copy_n(numbers.const_data_ptr<double>(), to.size(), to.begin());
}

}  // namespace

Ranks::Ranks() = default;

Ranks::Ranks(const Launch& launch, CommunicationBackend backend) : launch_(launch) {
  if (several()) communicator_ = join(launch, backend);
}

Ranks::~Ranks() = default;

void Ranks::sum(std::span<double> numbers) {
  if (!communicator_ || numbers.empty()) return;
  const torch::Tensor sums = tensor_of(numbers);
  begin_sum(sums)->wait();
  copy(sums, numbers);
}

double Ranks::sum(double number) {
  sum(std::span(&number, 1));
  return number;
}

std::unique_ptr<PendingSum> Ranks::begin_sum(torch::Tensor tensor) {
  return communicator_->begin_sum(std::move(tensor));
}

std::string Ranks::from_first(std::string text) {
  if (!communicator_) return text;
  torch::Tensor size = at::full({1}, std::ssize(text), at::kLong);
  from_first(size);
  torch::Tensor bytes = first() ? bytes_of(text) : at::empty({size.item<std::int64_t>()}, at::kByte);
  if (bytes.numel() > 0) from_first(bytes);
  return text_of(bytes);
}

void Ranks::from_first(torch::Tensor tensor) {
  if (communicator_) communicator_->from_first(std::move(tensor));
}

void Ranks::together(const std::function<void()>& work) {
  if (!communicator_) return work();
  bool interrupted = false;
  try {
    work();
  } catch (const Interrupted&) {
    interrupted = true;
  }
  if (sum(interrupted ? 1 : 0) > 0) throw Interrupted("a rank was asked to stop");
}

std::vector<double> Ranks::on_first(const std::function<std::vector<double>()>& work) {
  std::vector<double> result;
  together([&] {
    if (first()) result = work();
  });
  if (!communicator_) return result;
  result.resize(static_cast<std::size_t>(sum(static_cast<double>(result.size()))));
  if (result.empty()) return result;
  const torch::Tensor numbers = tensor_of(result);
  from_first(numbers);
  copy(numbers, result);
  return result;
}

std::vector<std::string> Ranks::gather(const std::string& text) {
  if (!communicator_) return {text};
  std::vector<double> sizes(size());
  sizes[rank()] = static_cast<double>(text.size());
  sum(sizes);
  const auto longest = static_cast<std::int64_t>(std::ranges::max(sizes));
  torch::Tensor rows = at::zeros({size(), std::max<std::int64_t>(longest, 1)}, at::kByte);
  if (!text.empty()) rows[rank()].narrow(0, 0, std::ssize(text)).copy_(bytes_of(text));
  begin_sum(rows)->wait();
  std::vector<std::string> texts;
  texts.reserve(sizes.size());
  for (int r = 0; r < size(); ++r) {
    texts.push_back(text_of(rows[r].narrow(0, 0, static_cast<std::int64_t>(sizes[r]))));
  }
  return texts;
}

void Ranks::leave() { sum(0.0); }

void Ranks::compare(const std::vector<std::pair<std::string, std::string>>& named_values) {
  if (!communicator_) return;
  const std::vector<std::string> all = gather(nlohmann::json(named_values).dump());
  using Values = std::vector<std::pair<std::string, std::string>>;
  const auto value_of = [](const Values& values, const std::string& name) {
    const auto found = std::ranges::find(values, name, &Values::value_type::first);
    return found == values.end() || found->second.empty() ? "not given" : found->second;
  };
  const auto expected = nlohmann::json::parse(all[0]).get<Values>();
  for (std::size_t other = 1; other < all.size(); ++other) {
    const auto found = nlohmann::json::parse(all[other]).get<Values>();
    for (const Values* names : {&expected, &found}) {
      for (const auto& [name, ignored] : *names) {
        const std::string here = value_of(found, name), there = value_of(expected, name);
        if (here == there) continue;
        if (static_cast<int>(other) != rank()) throw Interrupted("");
        throw UserError(name + " is " + here + ", but on rank 0 " + there,
                        "start all ranks with the same options and the same build");
      }
    }
  }
}

void Ranks::refuse_shared_gpu(const std::string& device) {
  if (!communicator_) return;
  std::string place;  // none on a CPU
  if (device != "cpu") {
    place = host_name() + " " + device;
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}) {  // they renumber or hide GPUs
      if (const char* value = std::getenv(name)) place += std::string(" ") + name + "=" + value;
    }
  }
  const std::vector<std::string> places = gather(place);
  for (auto second = places.begin(); second != places.end(); ++second) {
    const auto first = std::find(places.begin(), second, *second);
    if (second->empty() || first == second) continue;
    if (second - places.begin() != rank()) throw Interrupted("");
    throw UserError(
        fmt::format("ranks {} and {} would both use {} of {}", first - places.begin(), rank(), device, host_name()),
        "set LOCAL_RANK to the number of the process on its machine, as torchrun does, or give each process its "
        "own --device");
  }
}

}  // namespace attend
