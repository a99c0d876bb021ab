#include "train/distributed/launch.hpp"

#include <cstdlib>
#include <string_view>

#include "core/error.hpp"
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

}  // namespace attend
