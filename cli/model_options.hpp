// The options and steps that all commands which use a trained model share.
#pragma once

#include <filesystem>
#include <string>

#include "core/options.hpp"
#include "data/task/labelled_task.hpp"
#include "eval/answers/answers.hpp"
#include "models/ops/weight.hpp"

namespace attend {

struct ModelOptions {
  std::string checkpoint = "auto";
  Precision precision = Precision::automatic;
  std::string device = "auto";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("checkpoint", self.checkpoint,
          {.help =
               "best, last, or the path of a checkpoint; auto: best, or where that is damaged another, with a warning",
           .placeholder = "auto|best|last|PATH"});
    visit("precision", self.precision,
          {.help = "of matrix products; auto: bf16 where the processor multiplies it natively, else fp32"});
    visit("device", self.device, {.help = "auto, cpu, cuda or cuda:N", .placeholder = "NAME"});
  }
};

// Sets `answers` to the values that a fine-tuned run was validated with, except for given options. UserError for a
// given option that has no meaning for its task.
void adopt_answers(AnswerConfig& answers, const std::filesystem::path& run, const LabelledTask& task,
                   const OptionOrigins& origins);

}  // namespace attend
