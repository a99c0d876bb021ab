#include "models/device.hpp"

#include <ATen/Context.h>

#include <algorithm>

#include "core/error.hpp"

namespace attend {

c10::Device device_named(const std::string& name) {
  if (name == "auto") return at::hasCUDA() ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU);
  try {
    const c10::Device device(name);
    if (device.is_cpu()) return device;
    if (device.is_cuda()) {
      if (!at::hasCUDA()) {
        throw UserError("--device " + name + ": there is no CUDA device, or LibTorch is built without",
                        "use --device cpu");
      }
      return c10::Device(c10::kCUDA, std::max<c10::DeviceIndex>(device.index(), 0));
    }
  } catch (const c10::Error&) {  // not the name of a device
  }
  throw UserError("--device " + name + ": not a device", "use auto, cpu, cuda or cuda:N");
}

}  // namespace attend
