// Options of all commands that use a trained model.
#pragma once

#include <string>

#include "core/options.hpp"
#include "models/ops/weight.hpp"

namespace attend {

struct ModelOptions {
  std::string checkpoint = "auto";
  Precision precision = Precision::automatic;
  std::string device = "auto";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit_checkpoint(self.checkpoint, visit);
    visit("precision", self.precision,
          {.help = "precision of matrix products; auto: bf16 if the processor supports it natively, else fp32"});
    visit("device", self.device, {.help = "auto, cpu, cuda or cuda:N", .placeholder = "NAME"});
  }
  static void visit_checkpoint(auto& checkpoint, auto& visit) {
    visit(
        "checkpoint", checkpoint,
        {.help = "best, last, step-N, or the path of a checkpoint; auto: best, or another one, with a warning, if that is "
                 "damaged",
         .placeholder = "auto|best|last|step-N|PATH"});
  }
};

}  // namespace attend
