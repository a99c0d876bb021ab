// Memory that was freed and that the allocator keeps for its next use.
#pragma once

namespace attend {

// Returns pages that the allocator keeps to the system, at most once in two seconds; does nothing where the allocator
// is not jemalloc. For loops over batches of ever different sizes, each of which would leave pages behind between
// longer-lived tensors: 30 to 45 kB for every translated line (bench/memory). A training step takes and frees about the
// same sizes over and over, and pages that are cleared for it each time cost a sixth of its speed.
void return_freed_memory();

}  // namespace attend
