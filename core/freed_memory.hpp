// Freed memory that the allocator keeps for reuse.
#pragma once

namespace attend {

// Returns pages kept by the allocator to the system, at most once every two seconds; does nothing unless the allocator
// is jemalloc. For loops over batches of varying sizes, each of which would leave unused pages between longer-lived
// tensors (bench/memory). Not for training: updates allocate about the same sizes again and again, and would be slowed
// down by fresh pages, which the kernel clears.
void return_freed_memory();

}  // namespace attend
