// One tag per word of a sentence, in CoNLL's columns.
#include <algorithm>

#include "core/error.hpp"
#include "core/number.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

class TagFormat : public RecordFormat {
 public:
  void validate(const LabelledTask& task, const std::string& source) const override {
    if (task.label == LabelledTask().label || parse_number<std::uint64_t>(task.label).value_or(0) != 0) return;
    throw UserError(source + ": label is \"" + task.label + "\", expected the number of the column of the tags",
                    "number the columns from 1, or remove label to use the last one");
  }

  std::vector<std::string_view> metrics(const LabelledTask& task) const override {
    if (!task.chunks) return {"accuracy"};
    return {"f1", "precision", "recall", "accuracy"};
  }
  std::string_view label_name() const override { return "tag"; }
  std::vector<std::string> labels_in(const std::string& file, const LabelledTask& task) const override {
    return tag_set(read_conll(file, tag_column(task), Labelled::yes), task.chunks);
  }

  void read_file(TaskSplit& split, const LabelledTask& task, Labelled labelled, SampleMaker& maker) const override {
    split.sentences = read_conll(split.file, tag_column(task), labelled);
    check_tags(split, task.labels);
    split.samples = maker.of_sentences(split.sentences, task.labels);
  }

  void add_line(TaskSplit& split, const LabelledTask& /*task*/, const Line& line,
                SampleMaker& /*maker*/) const override {
    refuse_tab(line.text, line.place);
    const std::vector<std::string_view> words = spaced_words(line.text);
    split.sentences.push_back({.document = line.document, .tokens = {words.begin(), words.end()}});
  }
  // Sentences are read together with their neighbours.
  void finish_lines(TaskSplit& split, const LabelledTask& task, SampleMaker& maker) const override {
    split.samples = maker.of_sentences(split.sentences, task.labels);
  }

  bool all_alike(const TaskSplit& split) const override {
    const std::int64_t first = split.samples.front().tags.front();
    return std::ranges::all_of(split.samples, [first](const Sample& sample) {
      return std::ranges::all_of(sample.tags, [first](std::int64_t tag) { return tag == first; });
    });
  }

 private:
  static void check_tags(const TaskSplit& split, const std::vector<std::string>& tags) {
    for (const TaggedSentence& sentence : split.sentences) {
      for (std::size_t word = 0; word < sentence.tags.size(); ++word) {
        if (std::ranges::find(tags, sentence.tags[word]) != tags.end()) continue;
        throw UserError(split.file + ":" + std::to_string(sentence.line + word) + ": the tag " + sentence.tags[word] +
                            " does not occur in the training file",
                        "correct it, or name all tags with the task's `labels`");
      }
    }
  }
};

}  // namespace

std::unique_ptr<RecordFormat> tag_format() { return std::make_unique<TagFormat>(); }

}  // namespace attend
