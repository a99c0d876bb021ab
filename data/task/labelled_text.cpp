#include "data/task/labelled_text.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/number.hpp"

namespace attend {
namespace {

constexpr std::string_view kHidden = "-1";
constexpr double kLargest = 1e15;  // regression target

std::string at(const std::string& file, std::uint64_t line) { return file + ":" + std::to_string(line) + ": "; }

std::vector<std::string> split(const std::string& value, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(separator, begin), value.size());
    std::string part = trimmed(std::string_view(value).substr(begin, end - begin));
    if (!part.empty()) parts.push_back(std::move(part));
    begin = end + separator.size();
  }
  return parts;
}

// The separator of labels; empty unless multi-label.
std::string list_separator(const LabelledTask& task) {
  return task.kind == TaskKind::multi_label ? task.separator : std::string();
}

// Trimmed: surrounding spaces would make them different labels.
std::vector<std::string> labels_of(const std::string& value, const LabelledTask& task) {
  return task.kind == TaskKind::multi_label ? split(value, task.separator) : std::vector{trimmed(value)};
}

std::size_t number_of_label(const std::string& label, const LabelledTask& task, const std::string& place) {
  const auto found = std::ranges::find(task.labels, label);
  if (found != task.labels.end()) return static_cast<std::size_t>(found - task.labels.begin());
  if (label == kHidden) throw UserError(place + "the labels are hidden (-1)", "predict this file; it cannot be scored");
  constexpr std::size_t kShown = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(task.labels.size(), kShown); ++i) list += (i ? ", " : "") + task.labels[i];
  if (task.labels.size() > kShown) list += ", …";
  throw UserError(place + "\"" + label + "\" is not a label of the task", "the labels are: " + list);
}

std::vector<double> targets_of(const std::string& value, const LabelledTask& task, const std::string& place) {
  const std::vector<std::string> labels = labels_of(value, task);
  if (task.kind == TaskKind::regression) {
    const std::optional<double> number = parse_number<double>(labels[0]);
    if (!number)
      throw UserError(place + "\"" + value + "\" is not a number", "write a number as the label of a regression");
    if (std::abs(*number) > kLargest) {
      throw UserError(place + "\"" + value + "\" exceeds 1e15, so its squared error would lose precision",
                      "use a larger unit for the labels");
    }
    return {*number};
  }
  if (task.kind == TaskKind::classification) return {static_cast<double>(number_of_label(labels[0], task, place))};
  std::vector<double> targets(task.labels.size());
  for (const std::string& label : labels) targets[number_of_label(label, task, place)] = 1;
  return targets;
}

}  // namespace

std::vector<LabelledText> read_labelled_texts(const std::string& file, const LabelledTask& task, Labelled labelled) {
  const bool own_columns = labelled == Labelled::no && !task.test_text.empty();
  TableShape shape{.columns = own_columns ? task.test_text : task.text,
                   .format = task.format,
                   .header = own_columns || task.header,
                   .separator = list_separator(task),
                   .skip_incomplete = task.skip_incomplete && labelled == Labelled::yes};
  const std::size_t num_texts = shape.columns.size();
  if (labelled == Labelled::yes) shape.columns.push_back(task.label);
  TableReader table(file, shape);
  std::vector<LabelledText> texts;
  for (Record record; table.next(record);) {
    const std::string place = at(file, record.line);
    for (std::size_t i = 0; i < num_texts; ++i) {
      if (is_blank(record.values[i])) {
        throw UserError(place + "an empty text in the column " + shape.columns[i], "fill it in, or remove the line");
      }
    }
    texts.push_back({.line = record.line,
                     .first = record.values[0],
                     .second = num_texts == 2 ? std::optional(record.values[1]) : std::nullopt,
                     .targets = {}});
    if (labelled == Labelled::yes) texts.back().targets = targets_of(record.values[num_texts], task, place);
  }
  if (texts.empty()) throw UserError(file + ": no texts", "check that it is the right file");
  const auto hidden = [](const LabelledText& text) { return text.targets == std::vector<double>{-1}; };
  if (task.kind == TaskKind::regression && texts.size() > 1 && std::ranges::all_of(texts, hidden)) {
    throw UserError(at(file, texts[0].line) + "the labels are hidden (-1)", "predict this file; it cannot be scored");
  }
  if (table.num_incomplete() > 0) log::warn("{}: skipped {} incomplete rows", file, table.num_incomplete());
  return texts;
}

std::vector<std::string> labels_in(const std::string& file, const LabelledTask& task) {
  TableReader table(file, {.columns = {task.label},
                           .format = task.format,
                           .header = task.header,
                           .separator = list_separator(task),
                           .skip_incomplete = task.skip_incomplete});
  std::set<std::string> found;
  bool numbers = true;
  for (Record record; table.next(record);) {
    for (const std::string& label : labels_of(record.values[0], task)) {
      if (label.empty()) throw UserError(at(file, record.line) + "an empty label", "fill it in, or remove the line");
      found.insert(label);
      numbers = numbers && parse_number<double>(label).has_value();
    }
  }
  std::vector<std::string> labels(found.begin(), found.end());
  if (labels.size() < (task.kind == TaskKind::multi_label ? 1 : 2)) {
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

std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder, const std::string& name) {
  const std::vector<std::string> names = alternatives(name);
  for (const std::string& candidate : names) {
    if (!candidate.empty() && std::filesystem::exists(folder / candidate)) return folder / candidate;
  }
  if (names.back().empty()) return std::nullopt;
  std::string list;
  for (const std::string& candidate : names) list += (list.empty() ? "" : " or ") + candidate;
  throw UserError((folder / names.front()).string() + ": no such file" + (names.size() > 1 ? ", nor " + list : ""),
                  "set --data to the folder that contains " + list);
}

}  // namespace attend
