// Replaces c10d/communicator.cpp in a build without c10d.
#include "core/error.hpp"
#include "train/distributed/ranks.hpp"

namespace attend {
namespace {

constexpr const char* kBuildRemedy =
    "build it where Gloo's headers are installed (apt-get install libgloo-dev, or scripts/setup)";

}  // namespace

std::unique_ptr<Communicator> join(const Launch& launch, CommunicationBackend /*backend*/) {
  throw UserError("WORLD_SIZE is " + std::to_string(launch.size) + ", but this build of attend trains with one process",
                  kBuildRemedy);
}

void check_backend(CommunicationBackend backend, bool /*on_cpu*/) {
  if (backend == CommunicationBackend::automatic) return;
  throw UserError("--backend " + std::string(name_of(backend)) + ": this build of attend trains with one process",
                  kBuildRemedy);
}

std::string gradient_carrier(CommunicationBackend /*backend*/, bool /*on_cpu*/) { return "nothing"; }

}  // namespace attend
