// Options and steps common to all commands that use a trained model.
#pragma once

#include <filesystem>
#include <string>

#include "core/options.hpp"
#include "eval/answers/answers.hpp"
#include "models/ops/weight.hpp"
#include "models/run/text_run.hpp"

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
    visit("checkpoint", checkpoint,
          {.help =
               "best, last, or the path of a checkpoint; auto: best, or, if it is damaged, another one, with a warning",
           .placeholder = "auto|best|last|PATH"});
  }
};

// Sets `answers` to the values used in validating a fine-tuned run, except for given options.
inline void adopt_answers(AnswerConfig& answers, const std::filesystem::path& run, const OptionOrigins& origins) {
  auto theirs = read_config<AnswerConfig>(run_of_best_seed(run) / "config.toml", UnknownKeys::ignore);
  adopt_options(bind(answers), bind(theirs), origins);
}

}  // namespace attend
