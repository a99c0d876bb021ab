// What every command that uses a trained model needs to know: the checkpoint, the device and the precision.
#pragma once

#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include <string>

#include "core/options.hpp"
#include "models/ops/weight.hpp"

namespace attend {

// Accepts cpu, cuda, cuda:N and auto (CUDA if available). Throws UserError if there is no such device.
c10::Device device_named(const std::string& name);

// Resolves `automatic`: bf16 on a GPU or a processor with bf16 instructions, else fp32. Other precisions are returned
// unchanged.
Precision precision_for(Precision precision, c10::Device device);

// Warns if bf16 is used on a processor without bf16 instructions.
void warn_of_slow(Precision precision, c10::Device device);

// Lets a GPU compute products of fp32 matrices in TF32, whose factors have 10 bits of mantissa. True if it is a GPU.
bool use_tf32(c10::Device device);

// Converts every weight below `root` to its form for inference; the model can then no longer be trained. Returns the
// resolved precision. Throws UserError for int8 on a GPU.
Precision freeze(const torch::nn::Module& root, Precision precision);

// Options of all commands that use a trained model.
struct ModelOptions {
  std::string checkpoint = "auto";
  Precision precision = Precision::automatic;
  std::string device = "auto";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit, const Condition& of_precision = {}) {
    visit_checkpoint(self.checkpoint, visit);
    visit("precision", self.precision,
          {.help = "precision of matrix products; auto: bf16 if the processor supports it natively, else fp32",
           .only = of_precision});
    visit("device", self.device, {.help = "auto, cpu, cuda or cuda:N", .placeholder = "NAME", .common = true});
  }
  static void visit_checkpoint(auto& checkpoint, auto& visit) {
    visit(
        "checkpoint", checkpoint,
        {.help =
             "best, last, step-N, or the path of a checkpoint; auto: best, or another one, with a warning, if that is "
             "damaged",
         .placeholder = "auto|best|last|step-N|PATH",
         .common = true});
  }
};

}  // namespace attend
