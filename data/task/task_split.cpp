#include "data/task/task_split.hpp"

#include <algorithm>
#include <iterator>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace attend {
namespace {

void check_tags(const TaskSplit& split, const std::vector<std::string>& tags) {
  for (const TaggedSentence& sentence : split.sentences) {
    for (std::size_t word = 0; word < sentence.tags.size(); ++word) {
      if (std::ranges::find(tags, sentence.tags[word]) != tags.end()) continue;
      throw UserError(split.file + ":" + std::to_string(sentence.line + word) + ": the tag " + sentence.tags[word] +
                          " does not occur in the training file",
                      "correct it, or name all tags with the task's `labels`");
    }
  }
}

}  // namespace

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
  std::int64_t example = 0;
  if (task.kind == TaskKind::spans) {
    split.questions = read_squad(file, labelled);
    for (const std::string& context : split.questions.contexts) {
      split.contexts.push_back(tokenizer.encode_pieces(context));
    }
    for (const Question& question : split.questions.questions) {
      std::ranges::move(maker.of_question(question, split.contexts[question.context], example++),
                        std::back_inserter(split.samples));
    }
  } else if (task.kind == TaskKind::tags) {
    split.sentences = read_conll(file, tag_column(task), labelled);
    check_tags(split, task.labels);
    split.samples = maker.of_sentences(split.sentences, task.labels, 0);
  } else {
    split.texts = read_labelled_texts(file, task, labelled);
    for (const LabelledText& text : split.texts) split.samples.push_back(maker.of_text(text, example++));
  }
  split.hash = hash_hex_of_file(file);  // the readers have refused endless files
  split.num_cut = maker.num_cut();
  split.length = config.longest(task.kind);
  return split;
}

std::vector<std::string> labels_of_task(const LabelledTask& task, const std::string& file) {
  if (!task.labels.empty() || task.kind == TaskKind::regression || task.kind == TaskKind::spans) return task.labels;
  if (task.kind != TaskKind::tags) return labels_in(file, task);
  return tag_set(read_conll(file, tag_column(task), Labelled::yes), task.chunks);
}

}  // namespace attend
