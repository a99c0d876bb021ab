// The machine that this process runs on.
#pragma once

#include <string>

namespace attend {

// As the system calls it.
std::string host_name();

}  // namespace attend
