// The machine that this process runs on.
#pragma once

#include <string>

namespace attend {

// The host name of the system.
std::string host_name();

}  // namespace attend
