// The machine that this process runs on.
#pragma once

#include <cstdint>
#include <string>

namespace attend {

std::string host_name();

// The model name in /proc/cpuinfo; empty if there is none.
std::string processor_name();

// Processors that this process may use: those of its affinity mask (taskset, cpusets), at least 1.
std::int64_t usable_processors();

}  // namespace attend
