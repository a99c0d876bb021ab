#include "cli/model_use.hpp"

#include "core/error.hpp"
#include "models/run/text_run.hpp"

namespace attend {

void adopt_answers(AnswerConfig& answers, const std::filesystem::path& run, const LabelledTask& task,
                   const OptionOrigins& origins) {
  auto theirs = read_config<AnswerConfig>(run_of_best_seed(run) / "config.toml", UnknownKeys::ignore);
  const BoundOptions ours = bind(answers);
  for (const BoundOption& option : ours) {
    if (task.kind == TaskKind::spans || !origins.given(option.name)) continue;
    throw UserError(origins(option.name) + " has no meaning for " + std::string(name_of(task.kind)), "leave it out");
  }
  adopt_options(ours, bind(theirs), origins);
}

std::pair<std::string, std::string> two_texts(const std::string& line, const std::string& place,
                                              const std::string& remedy) {
  const auto tab = line.find('\t');
  const bool one = tab == std::string::npos;
  if (one || line.find('\t', tab + 1) != std::string::npos) {
    throw UserError(place + ": " + (one ? "one text" : "more than one tab") + ", expected two with a tab between",
                    remedy);
  }
  return {line.substr(0, tab), line.substr(tab + 1)};
}

}  // namespace attend
