// Freed memory that the allocator keeps for reuse.
#pragma once

namespace attend {

// Returns pages kept by the allocator to the system, at most once every two seconds; does nothing unless the allocator
// is jemalloc. For loops over batches of varying sizes, each of which would leave unused pages between longer-lived
// tensors: 30 to 45 kB per translated line (bench/memory). Not for training: an update allocates and frees about the
// same sizes again and again, and fresh pages, which the kernel clears, would cost a sixth of its speed.
void return_freed_memory();

}  // namespace attend
