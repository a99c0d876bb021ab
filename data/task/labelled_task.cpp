#include "data/task/labelled_task.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "data/task/record_format.hpp"

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

// The key of a name: sst2 for "SST-2".
std::string key_of(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c != '-' && c != '_') key += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return key;
}

}  // namespace

void LabelledTask::validate(const std::string& source) const {
  const auto place = [&](std::string_view key) { return source + ": " + std::string(key); };
  refuse_inapplicable(*this, place, facts_of(kind));
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
  if (to_toml(*this).size() > kMaxConfigBytes) {
    throw UserError(source + ": the labels have more bytes than the file of a task, " + std::to_string(kMaxConfigBytes),
                    "shorten their names, or check that it is the right column");
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
  format_of(kind).validate(*this, source);
  if (!positive.empty() && !labels.empty() && !seen.contains(positive)) {
    throw UserError(source + ": positive is \"" + positive + "\", which is not one of the labels",
                    "name the label whose F1 to report");
  }
  const std::vector<std::string_view> known = format_of(kind).metrics(*this);
  const auto unknown = std::ranges::find_if(
      metrics, [&](const std::string& metric) { return std::ranges::find(known, metric) == known.end(); });
  if (unknown != metrics.end()) {
    throw UserError(source + ": no metric \"" + *unknown + "\" for " + std::string(name_of(kind)),
                    fmt::format("choose from: {}", fmt::join(known, ", ")));
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
    throw UserError("--task " + name_or_file + ": neither a built-in task nor a file",
                    nearest.empty() ? fmt::format("the built-in tasks are {}", fmt::join(names, ", "))
                                    : "did you mean " + std::string(nearest) + "?");
  }
  auto task = read_config<LabelledTask>(name_or_file);
  task.validate(name_or_file);
  return task;
}

std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder, const std::string& name) {
  const std::vector<std::string> names = split_at(name, '|');
  for (const std::string& candidate : names) {
    if (!candidate.empty() && std::filesystem::exists(folder / candidate)) return folder / candidate;
  }
  if (names.back().empty()) return std::nullopt;
  const std::string list = fmt::format("{}", fmt::join(names, " or "));
  throw UserError((folder / names.front()).string() + ": no such file" + (names.size() > 1 ? ", nor " + list : ""),
                  "set --data to the folder that contains " + list);
}

}  // namespace attend
