// Process-wide settings of the training commands.
#pragma once

#include "train/session.hpp"

namespace attend {

// Polls signals, refuses memory beyond the machine's, and sizes oneDNN's cache for the model.
ProcessHooks training_process();

}  // namespace attend
