#include "data/task/task_split.hpp"

#include "core/hash.hpp"
#include "data/task/record_format.hpp"

namespace attend {

std::int64_t TaskSplit::size() const {
  return std::ssize(texts) + std::ssize(questions.questions) + std::ssize(sentences);
}

std::int64_t TaskSplit::line(std::int64_t example) const {
  if (!texts.empty()) return static_cast<std::int64_t>(texts[example].line);
  if (!sentences.empty()) return static_cast<std::int64_t>(sentences[example].line);
  return example + 1;
}

std::string TaskSplit::report() const {
  const auto counted = [](std::int64_t n, const char* what) { return std::to_string(n) + " " + what; };
  std::string text = counted(size(), !texts.empty() ? "texts" : !sentences.empty() ? "sentences" : "questions");
  if (!questions.questions.empty()) text += " in " + counted(std::ssize(samples), "windows");
  if (num_cut > 0) text += ", " + counted(num_cut, "cut to ") + counted(length, "tokens");
  if (questions.moved > 0) text += ", " + counted(questions.moved, "answers with wrong offsets corrected");
  if (questions.lost > 0) text += ", " + counted(questions.lost, "answers not found in their context");
  return text;
}

TaskSplit read_split(const std::string& file, const LabelledTask& task, const Tokenizer& tokenizer,
                     const SampleConfig& config, Labelled labelled) {
  TaskSplit split{.file = file};
  SampleMaker maker(tokenizer, config);
  format_of(task.kind).read_file(split, task, labelled, maker);
  split.hash = hash_hex_of_file(file);  // not endless: the readers have checked it
  split.num_cut = maker.num_cut();
  split.length = format_of(task.kind).longest(config);
  return split;
}

TaskSplit read_texts(const std::string& file, const LabelledTask& task, Labelled labelled) {
  TaskSplit split{.file = file};
  format_of(task.kind).read_texts(split, task, labelled);
  split.hash = hash_hex_of_file(file);
  return split;
}

std::vector<std::string> labels_of_task(const LabelledTask& task, const std::string& file) {
  return task.labels.empty() ? format_of(task.kind).labels_in(file, task) : task.labels;
}

}  // namespace attend
