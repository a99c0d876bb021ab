// The device that a model computes on.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace attend {

// cpu, cuda or cuda:N; auto is CUDA where there is some. UserError where there is no such device.
c10::Device device_named(const std::string& name);

}  // namespace attend
