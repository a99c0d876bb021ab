#include "core/host.hpp"

#include <unistd.h>

#include <array>

namespace attend {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace attend
