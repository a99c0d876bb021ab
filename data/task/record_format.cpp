#include "data/task/record_format.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"

namespace attend {

const RecordFormat& format_of(TaskKind kind) {
  static const auto classification = classification_format(), multi_label = multi_label_format(),
                    regression = regression_format(), spans = span_format(), tags = tag_format();
  switch (kind) {
    case TaskKind::classification: return *classification;
    case TaskKind::multi_label: return *multi_label;
    case TaskKind::regression: return *regression;
    case TaskKind::spans: return *spans;
    case TaskKind::tags: return *tags;
  }
  ensure(false, "the kind of task is known");
  return *classification;
}

// One label per text or pair of texts.

namespace {

class ClassificationFormat : public TextFormat {
 public:
  void validate(const LabelledTask& task, const std::string& source) const override {
    TextFormat::validate(task, source);
    if (task.labels.size() == 1) {
      throw UserError(source + ": labels has only one name",
                      "name at least two labels, or none to use those of the training file");
    }
  }

  std::vector<std::string_view> metrics(const LabelledTask& /*task*/) const override {
    return {"accuracy", "f1", "matthews"};
  }

 protected:
  Gold gold_of(const std::string& value, const LabelledTask& task, const std::string& place) const override {
    return {.label = number_of_label(trimmed(value), task, place)};
  }
};

}  // namespace

std::unique_ptr<RecordFormat> classification_format() { return std::make_unique<ClassificationFormat>(); }

// Any number of labels per text or pair of texts, in one column, joined by a separator.

namespace {

class MultiLabelFormat : public TextFormat {
 public:
  void validate(const LabelledTask& task, const std::string& source) const override {
    TextFormat::validate(task, source);
    if (task.separator.empty() || task.separator.find_first_of("\t\r\n") != std::string::npos) {
      throw UserError(source + ": separator is empty or contains a tab or line break",
                      "choose a separator without them");
    }
    for (const std::string& name : task.labels) {
      if (name.find(task.separator) == std::string::npos) continue;
      throw UserError(source + ": the label \"" + name + "\" contains the separator \"" + task.separator + "\"",
                      "choose another separator");
    }
  }

  std::vector<std::string_view> metrics(const LabelledTask& /*task*/) const override { return {"f1", "accuracy"}; }

 protected:
  std::string separator(const LabelledTask& task) const override { return task.separator; }
  std::size_t fewest_labels() const override { return 1; }

  std::vector<std::string> split_labels(const std::string& value, const LabelledTask& task) const override {
    std::vector<std::string> labels;
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(task.separator, begin), value.size());
      std::string label = trimmed(std::string_view(value).substr(begin, end - begin));
      if (!label.empty()) labels.push_back(std::move(label));
      begin = end + task.separator.size();
    }
    return labels;
  }

  Gold gold_of(const std::string& value, const LabelledTask& task, const std::string& place) const override {
    Gold gold{.labels = std::vector<float>(task.labels.size())};
    for (const std::string& label : split_labels(value, task)) gold.labels[number_of_label(label, task, place)] = 1;
    return gold;
  }
};

}  // namespace

std::unique_ptr<RecordFormat> multi_label_format() { return std::make_unique<MultiLabelFormat>(); }

// One number per text or pair of texts.

namespace {

constexpr double kLargest = 1e15;

class RegressionFormat : public TextFormat {
 public:
  std::vector<std::string_view> metrics(const LabelledTask& /*task*/) const override { return {"pearson", "spearman"}; }
  std::vector<std::string_view> default_metrics(const LabelledTask& task) const override { return metrics(task); }
  std::string_view label_name() const override { return "number"; }
  std::vector<std::string> labels_in(const std::string& /*file*/, const LabelledTask& /*task*/) const override {
    return {};
  }

 protected:
  Gold gold_of(const std::string& value, const LabelledTask& /*task*/, const std::string& place) const override {
    const std::optional<double> number = parse_number<double>(trimmed(value));
    if (!number)
      throw UserError(place + "\"" + value + "\" is not a number",
                      "write a number; the labels of a regression task are numbers");
    if (std::abs(*number) > kLargest) {
      throw UserError(place + "\"" + value + "\" exceeds 1e15, so its squared error would lose precision",
                      "use a larger unit for the labels");
    }
    return {.number = *number};
  }

  void refuse_hidden(const TaskSplit& split) const override {
    const auto hidden = [](const LabelledText& text) { return text.gold.number == -1.0; };
    if (split.texts.size() < 2 || !std::ranges::all_of(split.texts, hidden)) return;
    throw UserError(split.file + ":" + std::to_string(split.texts[0].line) + ": the labels are hidden (-1)",
                    "predict this file; it cannot be scored");
  }
};

}  // namespace

std::unique_ptr<RecordFormat> regression_format() { return std::make_unique<RegressionFormat>(); }

// Questions whose answers are spans of their context, in SQuAD's JSON.

namespace {

class SpanFormat : public RecordFormat {
 public:
  std::vector<std::string_view> metrics(const LabelledTask& /*task*/) const override { return {"f1", "exact"}; }
  std::int64_t default_length() const override { return 384; }
  std::int64_t longest(const SampleConfig& config) const override { return config.longest_question(); }

  void read_texts(TaskSplit& split, const LabelledTask& /*task*/, Labelled labelled) const override {
    split.questions = read_squad(split.file, labelled);
  }
  void read_file(TaskSplit& split, const LabelledTask& task, Labelled labelled, SampleMaker& maker) const override {
    read_texts(split, task, labelled);
    for (const std::string& context : split.questions.contexts) {
      split.contexts.push_back(maker.tokenizer().encode_pieces(context));
    }
    for (const Question& question : split.questions.questions) add_windows(split, question, maker);
  }

  void add_line(TaskSplit& split, const LabelledTask& /*task*/, const Line& line, SampleMaker& maker) const override {
    const auto [question, context] = two_texts(line.text, line.place, "the task reads two texts");
    split.questions.contexts.push_back(context);
    split.contexts.push_back(maker.tokenizer().encode_pieces(context));
    add_windows(
        split, split.questions.questions.emplace_back(Question{.text = question, .context = split.contexts.size() - 1}),
        maker);
  }

  void keep_learnable(TaskSplit& split) const override {
    const QuestionSet& set = split.questions;
    std::erase_if(split.samples,
                  [&](const Sample& sample) { return !set.can_be_learnt(set.questions[sample.example]); });
  }

 private:
  static void add_windows(TaskSplit& split, const Question& question, SampleMaker& maker) {
    const std::int64_t example = &question - split.questions.questions.data();
    std::ranges::move(maker.of_question(question, split.contexts[question.context], example),
                      std::back_inserter(split.samples));
  }
};

}  // namespace

std::unique_ptr<RecordFormat> span_format() { return std::make_unique<SpanFormat>(); }

// One tag per word of a sentence, in CoNLL's columns.

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

  void read_texts(TaskSplit& split, const LabelledTask& task, Labelled labelled) const override {
    split.sentences = read_conll(split.file, tag_column(task), labelled);
    check_tags(split, task.labels);
  }
  void read_file(TaskSplit& split, const LabelledTask& task, Labelled labelled, SampleMaker& maker) const override {
    read_texts(split, task, labelled);
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
