#include "cli/model_options.hpp"

#include "models/run/text_run.hpp"
#include "train/session.hpp"

namespace attend {

void adopt_answers(AnswerConfig& answers, const std::filesystem::path& run, const OptionOrigins& origins) {
  auto theirs = read_config<AnswerConfig>(run_of_best_seed(run) / "config.toml", UnknownKeys::ignore);
  adopt_options(bind(answers), bind(theirs), origins);
}

}  // namespace attend
