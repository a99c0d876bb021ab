#include "data/task/record_format.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "core/log.hpp"
#include "core/text.hpp"
#include "data/text/table.hpp"

namespace attend {
namespace {

constexpr std::string_view kHidden = "-1";

std::string at(const std::string& file, std::uint64_t line) { return file + ":" + std::to_string(line) + ": "; }

// One or two texts and their gold label, in the columns of a table.
class TextFormat : public RecordFormat {
 public:
  void validate(const LabelledTask& task, const std::string& source) const override {
    const std::vector<std::string>& text = task.text;
    if (text.empty() || text.size() > 2) {
      throw UserError(source + ": text names " + std::to_string(text.size()) + " columns, expected one or two",
                      "name one or two columns");
    }
    if (std::ranges::find(text, task.label) != text.end()) {
      throw UserError(source + ": the column \"" + task.label + "\" is both text and label", "name different columns");
    }
    if (text.size() == 2 && text[0] == text[1]) {
      throw UserError(source + ": text names the column \"" + text[0] + "\" twice",
                      "name two different columns, or one");
    }
    if (!task.test_text.empty() && task.test_text.size() != text.size()) {
      throw UserError(source + ": test-text names " + std::to_string(task.test_text.size()) +
                          " columns, but text names " + std::to_string(text.size()),
                      "name the same number of columns");
    }
  }

  std::vector<std::string> labels_in(const std::string& file, const LabelledTask& task) const override {
    TableReader table(file, {.columns = {task.label},
                             .format = task.format,
                             .header = task.header,
                             .separator = separator(task),
                             .skip_incomplete = task.skip_incomplete});
    std::set<std::string> found;
    bool numbers = true;
    for (Record record; table.next(record);) {
      for (const std::string& label : split_labels(record.values[0], task)) {
        if (label.empty()) throw UserError(at(file, record.line) + "an empty label", "fill it in, or remove the line");
        found.insert(label);
        numbers = numbers && parse_number<double>(label).has_value();
      }
    }
    std::vector<std::string> labels(found.begin(), found.end());
    if (labels.size() < fewest_labels()) {
      throw UserError(file + ": " + (labels.empty() ? "no labels" : "only one label, " + labels[0]) +
                          ", in the column " + task.label,
                      "give a file with at least two different labels");
    }
    if (!numbers && found.contains(std::string(kHidden))) {
      throw UserError(file + ": hidden labels (-1) among others, in the column " + task.label,
                      "remove these lines, or name all labels in the task");
    }
    if (numbers) std::ranges::sort(labels, {}, [](const std::string& label) { return *parse_number<double>(label); });
    return labels;
  }

  void read_texts(TaskSplit& split, const LabelledTask& task, Labelled labelled) const override {
    const bool own_columns = labelled == Labelled::no && !task.test_text.empty();
    TableShape shape{.columns = own_columns ? task.test_text : task.text,
                     .format = task.format,
                     .header = own_columns || task.header,
                     .separator = separator(task),
                     .skip_incomplete = task.skip_incomplete && labelled == Labelled::yes};
    const std::size_t num_texts = shape.columns.size();
    if (labelled == Labelled::yes) shape.columns.push_back(task.label);
    TableReader table(split.file, shape);
    for (Record record; table.next(record);) {
      const std::string place = at(split.file, record.line);
      for (std::size_t i = 0; i < num_texts; ++i) {
        if (!is_blank(record.values[i])) continue;
        throw UserError(place + "an empty text in the column " + shape.columns[i], "fill it in, or remove the line");
      }
      split.texts.push_back({.line = record.line,
                             .first = record.values[0],
                             .second = num_texts == 2 ? std::optional(record.values[1]) : std::nullopt,
                             .gold = {}});
      if (labelled == Labelled::yes) split.texts.back().gold = gold_of(record.values[num_texts], task, place);
    }
    if (split.texts.empty()) throw UserError(split.file + ": no texts", "check that it is the right file");
    refuse_hidden(split);
    table.warn_of_invalid_utf8();
    if (table.num_incomplete() > 0) log::warn("{}: skipped {} incomplete rows", split.file, table.num_incomplete());
  }

  void add_line(TaskSplit& split, const LabelledTask& task, const Line& line) const override {
    split.texts.push_back(text_of_line(line.text, line.place, task));
  }
  void make_samples(TaskSplit& split, const LabelledTask& /*task*/, SampleMaker& maker) const override {
    for (const LabelledText& text : split.texts) {
      split.samples.push_back(maker.of_text(text, std::ssize(split.samples)));
    }
  }

  bool all_alike(const TaskSplit& split) const override {
    return std::ranges::all_of(split.samples,
                               [&](const Sample& sample) { return sample.gold == split.samples.front().gold; });
  }

 protected:
  // The separator of a text's labels; empty if it has only one.
  virtual std::string separator(const LabelledTask& /*task*/) const { return {}; }
  // The labels in a value, without surrounding spaces.
  virtual std::vector<std::string> split_labels(const std::string& value, const LabelledTask& /*task*/) const {
    return {trimmed(value)};
  }

  virtual std::size_t fewest_labels() const { return 2; }
  // Throws UserError if the labels of the whole file are hidden.
  virtual void refuse_hidden(const TaskSplit& /*split*/) const {}
};

// One label per text or pair of texts.
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

// Any number of labels per text or pair of texts, in one column, joined by a separator.
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

// One number per text or pair of texts.
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
    constexpr double kLargest = 1e15;
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

// Questions whose answers are spans of their context, in SQuAD's JSON.
class SpanFormat : public RecordFormat {
 public:
  std::vector<std::string_view> metrics(const LabelledTask& /*task*/) const override { return {"f1", "exact"}; }
  std::int64_t default_length() const override { return 384; }
  std::int64_t longest(const SampleConfig& config) const override { return config.longest_question(); }

  void read_texts(TaskSplit& split, const LabelledTask& /*task*/, Labelled labelled) const override {
    split.questions = read_squad(split.file, labelled);
  }
  void add_line(TaskSplit& split, const LabelledTask& /*task*/, const Line& line) const override {
    const auto [question, context] = two_texts(line.text, line.place, "the task reads two texts");
    split.questions.contexts.push_back(context);
    split.questions.questions.push_back({.text = question, .context = split.questions.contexts.size() - 1});
  }
  void make_samples(TaskSplit& split, const LabelledTask& /*task*/, SampleMaker& maker) const override {
    for (const std::string& context : split.questions.contexts) {
      split.contexts.push_back(maker.tokenizer().encode_pieces(context));
    }
    std::int64_t example = 0;
    for (const Question& question : split.questions.questions) {
      std::ranges::move(maker.of_question(question, split.contexts[question.context], example++),
                        std::back_inserter(split.samples));
    }
  }

  void keep_learnable(TaskSplit& split) const override {
    const QuestionSet& set = split.questions;
    std::erase_if(split.samples,
                  [&](const Sample& sample) { return !set.can_be_learnt(set.questions[sample.example]); });
  }
};

// One tag per word of a sentence, in CoNLL's columns.
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
  void add_line(TaskSplit& split, const LabelledTask& /*task*/, const Line& line) const override {
    refuse_tab(line.text, line.place);
    const std::vector<std::string_view> words = spaced_words(line.text);
    split.sentences.push_back({.document = line.document, .tokens = {words.begin(), words.end()}});
  }
  void make_samples(TaskSplit& split, const LabelledTask& task, SampleMaker& maker) const override {
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

const RecordFormat& format_of(TaskKind kind) {
  static const ClassificationFormat classification;
  static const MultiLabelFormat multi_label;
  static const RegressionFormat regression;
  static const SpanFormat spans;
  static const TagFormat tags;
  switch (kind) {
    case TaskKind::classification: return classification;
    case TaskKind::multi_label: return multi_label;
    case TaskKind::regression: return regression;
    case TaskKind::spans: return spans;
    case TaskKind::tags: return tags;
  }
  ensure(false, "the kind of task is known");
  return classification;
}

LabelledText text_of_line(const std::string& line, const std::string& place, const LabelledTask& task) {
  if (task.text.size() == 2) {
    const auto [first, second] = two_texts(line, place, "the task reads two texts");
    return {.first = first, .second = second};
  }
  refuse_tab(line, place);
  return {.first = line};
}

std::size_t number_of_label(const std::string& label, const LabelledTask& task, const std::string& place) {
  const auto found = std::ranges::find(task.labels, label);
  if (found != task.labels.end()) return found - task.labels.begin();
  if (label == kHidden) throw UserError(place + "the labels are hidden (-1)", "predict this file; it cannot be scored");
  constexpr std::size_t kShown = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(task.labels.size(), kShown); ++i) list += (i ? ", " : "") + task.labels[i];
  if (task.labels.size() > kShown) list += ", …";
  throw UserError(place + "\"" + label + "\" is not a label of the task", "the labels are: " + list);
}

}  // namespace attend
