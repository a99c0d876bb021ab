// The options of commands that use a trained model (ModelOptions), and the step that fine-tuned ones share.
#pragma once

#include <filesystem>

#include "core/options.hpp"
#include "eval/answers/answers.hpp"
#include "models/run/model_options.hpp"
#include "models/run/text_run.hpp"

namespace attend {

// Sets `answers` to the values used in validating a fine-tuned run, except for given options.
inline void adopt_answers(AnswerConfig& answers, const std::filesystem::path& run, const OptionOrigins& origins) {
  auto theirs = read_config<AnswerConfig>(run_of_best_seed(run) / "config.toml", UnknownKeys::ignore);
  adopt_options(bind(answers), bind(theirs), origins);
}

}  // namespace attend
