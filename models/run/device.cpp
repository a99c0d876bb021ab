#include "models/run/device.hpp"

#include <ATen/Context.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <cstdint>

#include "core/error.hpp"
#include "core/log.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/dispatch.hpp"

namespace attend {

c10::Device device_named(const std::string& name) {
  if (name == "auto") return at::hasCUDA() ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU);
  try {
    const c10::Device device(name);
    if (device.is_cpu()) return device;
    if (device.is_cuda()) {
      if (!c10::impl::hasDeviceGuardImpl(c10::kCUDA)) {
        throw UserError("--device " + name + ": this LibTorch is built without CUDA",
                        "use --device cpu, or a PyTorch for CUDA (docs/gpu.md)");
      }
      const auto index = std::max<c10::DeviceIndex>(device.index(), 0);
      const std::int64_t devices = at::hasCUDA() ? at::detail::getCUDAHooks().deviceCount() : 0;
      if (index >= devices) {
        throw UserError("--device " + name + ": LibTorch finds " + std::to_string(devices) + " CUDA devices",
                        devices == 0 ? "use --device cpu" : "they are numbered from cuda:0");
      }
      return c10::Device(c10::kCUDA, index);
    }
  } catch (const c10::Error&) {  // not a device name
  }
  throw UserError("--device " + name + " is not a device", "use auto, cpu, cuda or cuda:N");
}

Precision precision_for(Precision precision, c10::Device device) {
  if (precision != Precision::automatic) return precision;
  return !device.is_cpu() || ops::has_native_bf16() ? Precision::bf16 : Precision::fp32;
}

void warn_of_slow(Precision precision, c10::Device device) {
  if (precision != Precision::bf16 || !device.is_cpu() || ops::has_native_bf16()) return;
  log::warn("--precision bf16 is slow on this processor, which has no bf16 instructions; fp32 is faster");
}

bool use_tf32(c10::Device device) {
  if (!device.is_cuda()) return false;
  at::globalContext().setFloat32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL, at::Float32Precision::TF32);
  return true;
}

Precision freeze(const torch::nn::Module& root, Precision precision) {
  const torch::Device device = root.parameters().front().device();
  precision = precision_for(precision, device);
  warn_of_slow(precision, device);
  if (!device.is_cpu() && precision == Precision::int8) {
    throw UserError("--precision int8 is not available on " + device.str(), "use bf16, or --device cpu");
  }
  // On a GPU, LibTorch's libraries choose the layout of weights.
  visit_weights(
      root, [&](ops::Weight& weight) { device.is_cpu() ? weight.freeze(precision) : weight.set_precision(precision); });
  return precision;
}

}  // namespace attend
