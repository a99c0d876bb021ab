// A run of attend pretrain --objective causal or hybrid with a prompt, which attend predict and evaluate use without
// fine-tuning.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "data/task/labelled_task.hpp"
#include "data/task/samples.hpp"
#include "eval/answers/answers.hpp"
#include "eval/prompt.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"

namespace attend {

// Answers to all records of a split, which must outlive them; from such a run or a fine-tuned one.
using AnswerSplit = std::function<std::unique_ptr<TaskAnswers>(const TaskSplit&, WorkProgress&)>;

class PromptedRun {
 public:
  // Loads the run and the prompt, with examples from the task's training file in the folder `data`.
  PromptedRun(const std::filesystem::path& run, const ModelOptions& use, const PromptConfig& config,
              const std::string& data);
  PromptedRun(const PromptedRun&) = delete;  // the model refers to other members
  PromptedRun& operator=(const PromptedRun&) = delete;

  const LabelledTask& task() const { return prompt_.task(); }
  // Answers to all texts of a split, which must outlive them.
  std::unique_ptr<TaskAnswers> answer(const TaskSplit& split, WorkProgress& progress) const;

 private:
  std::vector<LabelledText> read_shots(const PromptConfig& config, const std::string& data) const;

  Prompt prompt_;
  LanguageRun run_;
  std::optional<PromptedModel> model_ = {};
};

}  // namespace attend
