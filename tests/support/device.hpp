// The device on which tests of models run: ATTEND_TEST_DEVICE, set by scripts/test --device, or the CPU.
#pragma once

#include <cstdlib>

#include "models/run/device.hpp"

namespace attend {

inline c10::Device test_device() {
  const char* name = std::getenv("ATTEND_TEST_DEVICE");
  return device_named(name != nullptr && *name != '\0' ? name : "cpu");
}

}  // namespace attend
