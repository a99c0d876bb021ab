#include "data/task/labelled_task.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/number.hpp"

namespace attend {
namespace {

using Names = std::vector<std::string>;

const Names kTruth = {"0", "1"};
const Names kEntailment = {"entailment", "not_entailment"};
const Names kInference = {"entailment", "neutral", "contradiction"};

LabelledTask of_pairs(const char* first, const char* second, const Names& labels) {
  return {.text = {first, second}, .labels = labels};
}

LabelledTask similarity() {
  return {.kind = TaskKind::regression, .text = {"sentence1", "sentence2"}, .label = "score"};
}

LabelledTask in_files(TaskKind kind, const char* train, const char* valid, const char* test) {
  return {.kind = kind, .train = train, .valid = {valid}, .test = test};
}

LabelledTask questions(const char* train, const char* valid, const char* test, bool may_lack_answers) {
  LabelledTask task = in_files(TaskKind::spans, train, valid, test);
  task.may_lack_answers = may_lack_answers;
  return task;
}

using Tasks = std::map<std::string, LabelledTask, std::less<>>;

// Files and columns of GLUE (Wang et al. 2018, arXiv 1804.07461) and of `attend toy`.
const Tasks& built_in() {
  static const Tasks tasks = {
      {"cola",
       {.text = {"4"},
        .label = "2",
        .labels = kTruth,
        .positive = "1",
        .metrics = {"matthews"},
        .header = false,
        .test_text = {"sentence"}}},
      {"sst2", {.labels = kTruth, .positive = "1"}},
      {"mrpc",
       {.text = {"#1 String", "#2 String"},
        .label = "Quality",
        .labels = kTruth,
        .positive = "1",
        .metrics = {"accuracy", "f1"}}},
      {"stsb", similarity()},
      {"qqp",
       {.text = {"question1", "question2"},
        .label = "is_duplicate|label",
        .labels = kTruth,
        .positive = "1",
        .metrics = {"accuracy", "f1"},
        .skip_incomplete = true}},  // its training file has incomplete rows
      {"mnli",
       {.text = {"sentence1", "sentence2"},
        .label = "gold_label|label",
        .labels = kInference,
        .valid = {"dev_matched.tsv|dev.tsv", "dev_mismatched.tsv|"},
        .test = "test_matched.tsv"}},
      {"qnli", of_pairs("question", "sentence", kEntailment)},
      {"rte", of_pairs("sentence1", "sentence2", kEntailment)},
      {"wnli", of_pairs("sentence1", "sentence2", kTruth)},
      {"squad", questions("train-v1.1.json", "dev-v1.1.json", "dev-v1.1.json", /*may_lack_answers=*/false)},
      {"squad2", questions("train-v2.0.json", "dev-v2.0.json", "dev-v2.0.json", /*may_lack_answers=*/true)},
      {"conll2003", in_files(TaskKind::tags, "eng.train", "eng.testa", "eng.testb")},
      {"sentiment", {}},
      {"acceptability", {.metrics = {"matthews"}}},
      {"inference", of_pairs("premise", "hypothesis", kInference)},
      {"similarity", similarity()},
      {"questions", questions("train.json", "dev.json", "test.json", /*may_lack_answers=*/true)},
      {"entities", in_files(TaskKind::tags, "train.txt", "dev.txt", "test.txt")},
  };
  return tasks;
}

// "SST-2" is sst2.
std::string key_of(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c != '-' && c != '_') key += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return key;
}

}  // namespace

std::vector<std::string_view> metrics_of(const LabelledTask& task) {
  switch (task.kind) {
    case TaskKind::classification:
      return {"accuracy", "f1", "matthews"};
    case TaskKind::multi_label:
      return {"f1", "accuracy"};
    case TaskKind::regression:
      return {"pearson", "spearman"};
    case TaskKind::spans:
      return {"f1", "exact"};
    case TaskKind::tags:
      if (!task.chunks) return {"accuracy"};
      return {"f1", "precision", "recall", "accuracy", "strict_f1"};
  }
  return {};
}

std::vector<std::string_view> LabelledTask::foreign_keys() const {
  const bool spans = kind == TaskKind::spans, tags = kind == TaskKind::tags;
  std::vector<std::string_view> keys;
  if (!is_of_sequences(kind)) keys = {"text", "test-text", "format", "header", "skip-incomplete"};
  if (spans) keys.push_back("label");
  if (spans || kind == TaskKind::regression) keys.push_back("labels");
  if (kind != TaskKind::classification) keys.push_back("positive");
  if (kind != TaskKind::multi_label) keys.push_back("separator");
  if (!spans) keys.push_back("may-lack-answers");
  if (!tags) keys.push_back("chunks");
  return keys;
}

void LabelledTask::validate(const std::string& source) const {
  const bool columns = is_of_sequences(kind), multi_label = kind == TaskKind::multi_label;
  const bool tags = kind == TaskKind::tags;
  refuse_changed(*this, foreign_keys(), name_of(kind), source + ": ");
  if (columns && (text.empty() || text.size() > 2)) {
    throw UserError(source + ": text names " + std::to_string(text.size()) + " columns, expected one or two",
                    "name one or two columns");
  }
  if (columns && std::ranges::find(text, label) != text.end()) {
    throw UserError(source + ": the column \"" + label + "\" is both text and label", "name different columns");
  }
  if (columns && text.size() == 2 && text[0] == text[1]) {
    throw UserError(source + ": text names the column \"" + text[0] + "\" twice", "name two different columns, or one");
  }
  if (!test_text.empty() && test_text.size() != text.size()) {
    throw UserError(source + ": test-text names " + std::to_string(test_text.size()) + " columns, but text names " +
                        std::to_string(text.size()),
                    "name the same number of columns");
  }
  if (tags && label != LabelledTask().label && parse_number<std::uint64_t>(label).value_or(0) == 0) {
    throw UserError(source + ": label is \"" + label + "\", expected the number of the column of the tags",
                    "number the columns from 1, or remove label to use the last one");
  }
  constexpr std::size_t kMostLabels = 10'000, kLongestLabel = 200;
  if (labels.size() > kMostLabels) {
    throw UserError(source + ": " + std::to_string(labels.size()) + " distinct labels, expected at most " +
                        std::to_string(kMostLabels),
                    "check that it is the right column");
  }
  std::set<std::string> seen;
  for (const std::string& name : labels) {
    const bool odd = std::ranges::any_of(name, [](unsigned char c) { return c < ' '; });
    if (!name.empty() && name.size() <= kLongestLabel && !odd && seen.insert(name).second) continue;
    throw UserError(source + ": the label \"" + name.substr(0, std::min<std::size_t>(name.find('\0'), 40)) + "\" " +
                        (name.empty()                  ? "is empty"
                         : odd                         ? "has control characters"
                         : name.size() > kLongestLabel ? "is longer than " + std::to_string(kLongestLabel) + " bytes"
                                                       : "is a duplicate"),
                    "rename it, or check that it is the right column");
  }
  std::vector<std::string> needed = {train, test};
  if (!valid.empty()) needed.push_back(valid[0]);
  for (const std::string& name : needed) {
    if (!name.empty() && name.back() != '|') continue;
    throw UserError(
        source + ": \"" + name + "\" makes the file optional, which is allowed only in valid after the first",
        "name a file");
  }
  if (valid.empty())
    throw UserError(source + ": valid is empty", "name a validation file; it selects the best checkpoint");
  if (kind == TaskKind::classification && labels.size() == 1) {
    throw UserError(source + ": labels has only one name",
                    "name at least two labels, or none to use those of the training file");
  }
  if (multi_label && (separator.empty() || separator.find_first_of("\t\r\n") != std::string::npos)) {
    throw UserError(source + ": separator is empty or contains a tab or line break",
                    "choose one that can join labels on a line");
  }
  const auto split = std::ranges::find_if(
      labels, [&](const std::string& name) { return multi_label && name.find(separator) != std::string::npos; });
  if (split != labels.end()) {
    throw UserError(source + ": the label \"" + *split + "\" contains the separator \"" + separator + "\"",
                    "choose another separator");
  }
  if (!positive.empty() && !labels.empty() && !seen.contains(positive)) {
    throw UserError(source + ": positive is \"" + positive + "\", which is not one of the labels",
                    "name the label whose F1 to report");
  }
  const std::vector<std::string_view> known = metrics_of(*this);
  const auto unknown = std::ranges::find_if(
      metrics, [&](const std::string& metric) { return std::ranges::find(known, metric) == known.end(); });
  if (unknown != metrics.end()) {
    std::string list;
    for (const std::string_view name : known) list += (list.empty() ? "" : ", ") + std::string(name);
    throw UserError(source + ": no metric \"" + *unknown + "\" for " + std::string(name_of(kind)),
                    "choose from: " + list);
  }
}

std::vector<std::string> built_in_tasks() {
  std::vector<std::string> names;
  for (const auto& [name, task] : built_in()) names.push_back(name);
  return names;
}

TagColumn tag_column(const LabelledTask& task) {
  return {.number = parse_number<std::size_t>(task.label).value_or(0), .chunks = task.chunks};
}

LabelledTask find_task(const std::string& name_or_file) {
  if (const auto found = built_in().find(key_of(name_or_file)); found != built_in().end()) return found->second;
  if (!std::filesystem::exists(name_or_file)) {
    const std::vector<std::string> names = built_in_tasks();
    const std::string_view nearest =
        nearest_name(key_of(name_or_file), std::vector<std::string_view>(names.begin(), names.end()));
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    throw UserError("--task " + name_or_file + ": neither a built-in task nor a file",
                    nearest.empty() ? "the built-in tasks are " + list : "did you mean " + std::string(nearest) + "?");
  }
  auto task = read_config<LabelledTask>(name_or_file);
  task.validate(name_or_file);
  return task;
}

}  // namespace attend
