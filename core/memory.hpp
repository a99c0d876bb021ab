// How the process asks the system for memory.
#pragma once

namespace attend {

// Memory that is freed stays with the process from now on, so that work which takes and frees the same sizes over and
// over does not have its pages cleared each time: of encoding with a large model that was a sixth of the time. Not for
// training, whose many lasting tensors would leave gaps. Where malloc is not glibc's, nothing changes.
void keep_freed_memory();

}  // namespace attend
