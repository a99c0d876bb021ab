// The device that tests of models run on: ATTEND_TEST_DEVICE, which scripts/test --device sets; else the CPU.
#pragma once

#include <cstdlib>

#include "models/run/device.hpp"

namespace attend {

inline c10::Device test_device() {
  const char* name = std::getenv("ATTEND_TEST_DEVICE");
  return device_named(name != nullptr && *name != '\0' ? name : "cpu");
}

}  // namespace attend
