#include "cli/model_use.hpp"

#include "core/error.hpp"
#include "models/text_run.hpp"

namespace attend {

void adopt_answers(AnswerConfig& answers, const std::filesystem::path& run, const LabelledTask& task,
                   const OptionOrigins& origins) {
  auto theirs = read_config<AnswerConfig>(run_of_best_seed(run) / "config.toml", UnknownKeys::ignore);
  const BoundOptions ours = bind(answers), trained = bind(theirs);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string_view name = ours[i].name;
    if (!origins.given(name)) {
      ours[i].set(trained[i].get());
    } else if (task.kind != TaskKind::spans) {
      throw UserError(origins(name) + " has no meaning for " + std::string(name_of(task.kind)), "leave it out");
    }
  }
}

}  // namespace attend
