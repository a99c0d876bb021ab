#include "cli/model_options.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "data/task/record_format.hpp"
#include "models/run/text_run.hpp"
#include "train/session.hpp"

namespace attend {

void adopt_answers(AnswerConfig& answers, const std::filesystem::path& run, const LabelledTask& task,
                   const OptionOrigins& origins) {
  auto theirs = read_config<AnswerConfig>(run_of_best_seed(run) / "config.toml", UnknownKeys::ignore);
  const BoundOptions ours = bind(answers);
  for (const std::string_view option : format_of(task.kind).foreign_options()) {
    if (!origins.given(option)) continue;
    throw UserError(origins(option) + " has no meaning for " + std::string(name_of(task.kind)), "leave it out");
  }
  adopt_options(ours, bind(theirs), origins);
}

}  // namespace attend
