// Memory that the machine does not have: refused with a message, not by the kernel's kill.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace attend {

// From here on an allocation beyond what machine and container have free fails, where Linux would grant it and kill the
// process when it is used.
void refuse_memory_beyond_machine();

// Runs `work`; an allocation that fails inside becomes a UserError with this remedy.
void with_memory_remedy(const std::string& remedy, const std::function<void()>& work);

// The most memory that the process has had resident.
std::int64_t peak_resident_bytes();

}  // namespace attend
