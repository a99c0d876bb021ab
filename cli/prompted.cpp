#include "cli/prompted.hpp"

#include <vector>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "data/task/record_format.hpp"

namespace attend {

PromptedRun::PromptedRun(const std::filesystem::path& run, const ModelOptions& use, const PromptConfig& config,
                         const std::string& data)
    : prompt_(Prompt::load(config.prompt)), run_(load_run_as<LanguageRun>(run, use)) {
  const std::vector<LabelledText> shots = read_shots(config, data);
  model_.emplace(*run_.model, run_.tokenizer, prompt_, shots, config.calibrate);
  if (model_->divides()) {
    log::info("{}: the words of the labels have different numbers of pieces, by which log-probabilities are divided",
              config.prompt);
  }
}

std::vector<LabelledText> PromptedRun::read_shots(const PromptConfig& config, const std::string& data) const {
  if (config.shots == 0) return {};
  const std::string file = find_file(data.empty() ? "." : data, task().train)->string();
  prompt_.check_labels(format_of(task().kind).labels_in(file, task()), file);
  const TaskSplit split = read_texts(file, task(), Labelled::yes);
  if (config.shots > split.size()) {
    throw UserError("--shots " + std::to_string(config.shots) + ": " + file + " has " + counted(split.size(), "text"),
                    "give at most as many");
  }
  std::vector<LabelledText> shots;
  for (const std::size_t i : draw_shots(split.texts, task().labels.size(), static_cast<std::size_t>(config.shots),
                                        static_cast<std::uint64_t>(config.shots_seed))) {
    shots.push_back(split.texts[i]);
  }
  log::info("{}: {} of {} in the prompt", file, counted(config.shots, "example"), split.size());
  return shots;
}

std::unique_ptr<TaskAnswers> PromptedRun::answer(const TaskSplit& split, WorkProgress& progress) const {
  std::unique_ptr<TaskAnswers> answers = make_answers(split, task(), {});
  if (split.texts.empty()) return answers;
  std::vector<Sample> records(split.texts.size());  // answers read only their numbers
  std::vector<const Sample*> in_order;
  for (Sample& record : records) {
    record.example = std::ssize(in_order);
    in_order.push_back(&record);
  }
  answers->add(in_order, model_->probabilities(split, &progress));
  answers->finish();
  return answers;
}

}  // namespace attend
