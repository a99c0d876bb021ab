// Tables of one or two texts and their labels: the common part of the kinds of tasks on whole texts.
#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"
#include "data/text/table.hpp"

namespace attend {
namespace {

constexpr std::string_view kHidden = "-1";

std::string at(const std::string& file, std::uint64_t line) { return file + ":" + std::to_string(line) + ": "; }

}  // namespace

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

void TextFormat::validate(const LabelledTask& task, const std::string& source) const {
  const std::vector<std::string>& text = task.text;
  if (text.empty() || text.size() > 2) {
    throw UserError(source + ": text names " + std::to_string(text.size()) + " columns, expected one or two",
                    "name one or two columns");
  }
  if (std::ranges::find(text, task.label) != text.end()) {
    throw UserError(source + ": the column \"" + task.label + "\" is both text and label", "name different columns");
  }
  if (text.size() == 2 && text[0] == text[1]) {
    throw UserError(source + ": text names the column \"" + text[0] + "\" twice", "name two different columns, or one");
  }
  if (!task.test_text.empty() && task.test_text.size() != text.size()) {
    throw UserError(source + ": test-text names " + std::to_string(task.test_text.size()) +
                        " columns, but text names " + std::to_string(text.size()),
                    "name the same number of columns");
  }
}

std::vector<std::string> TextFormat::split_labels(const std::string& value, const LabelledTask& /*task*/) const {
  return {trimmed(value)};
}

void TextFormat::read_file(TaskSplit& split, const LabelledTask& task, Labelled labelled, SampleMaker& maker) const {
  read_texts(split, task, labelled);
  for (const LabelledText& text : split.texts) split.samples.push_back(maker.of_text(text, std::ssize(split.samples)));
}

void TextFormat::read_texts(TaskSplit& split, const LabelledTask& task, Labelled labelled) const {
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

LabelledText text_of_line(const std::string& line, const std::string& place, const LabelledTask& task) {
  if (task.text.size() == 2) {
    const auto [first, second] = two_texts(line, place, "the task reads two texts");
    return {.first = first, .second = second};
  }
  refuse_tab(line, place);
  return {.first = line};
}

void TextFormat::add_line(TaskSplit& split, const LabelledTask& task, const Line& line, SampleMaker& maker) const {
  split.texts.push_back(text_of_line(line.text, line.place, task));
  split.samples.push_back(maker.of_text(split.texts.back(), std::ssize(split.samples)));
}

bool TextFormat::all_alike(const TaskSplit& split) const {
  return std::ranges::all_of(split.samples,
                             [&](const Sample& sample) { return sample.gold == split.samples.front().gold; });
}

std::vector<std::string> TextFormat::labels_in(const std::string& file, const LabelledTask& task) const {
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
    throw UserError(
        file + ": " + (labels.empty() ? "no labels" : "only one label, " + labels[0]) + ", in the column " + task.label,
        "give a file with at least two different labels");
  }
  if (!numbers && found.contains(std::string(kHidden))) {
    throw UserError(file + ": hidden labels (-1) among others, in the column " + task.label,
                    "remove these lines, or name all labels in the task");
  }
  if (numbers) std::ranges::sort(labels, {}, [](const std::string& label) { return *parse_number<double>(label); });
  return labels;
}

}  // namespace attend
