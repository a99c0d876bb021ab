// What the commands that train set for the whole process.
#pragma once

#include "train/session.hpp"

namespace attend {

// Signals are polled, memory beyond the machine's is refused, and oneDNN's cache fits the model.
ProcessHooks training_process();

}  // namespace attend
