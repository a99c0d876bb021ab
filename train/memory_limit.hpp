// Running out of memory ends in an error message instead of a kill by the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace attend {

// From now on, an allocation beyond the free memory of the machine or container fails; Linux would grant it and kill
// the process once the memory is used. `processes` share the free memory equally.
void refuse_memory_beyond_machine(int processes);

// Runs `work`; a failed allocation in it becomes a UserError with `remedy`.
void with_memory_remedy(const std::string& remedy, const std::function<void()>& work);

// The peak resident memory of this process.
std::int64_t peak_resident_bytes();

}  // namespace attend
