#include "eval/prompt.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"
#include "eval/forced_decoding.hpp"

namespace attend {
namespace {

using torch::Tensor;

// Texts whose prompts are kept at a time.
constexpr std::size_t kTextsTogether = 256;

// Σ log p of the pieces from Sample::first on, for each sample.
std::vector<double> log_probs_of_words(const LanguageModelImpl& model, const std::vector<const Sample*>& samples) {
  std::vector<std::vector<std::int32_t>> texts;  // without the end token, which begins all
  std::vector<WindowOfText> windows;
  std::vector<std::size_t> chosen;
  for (const Sample* sample : samples) {
    const std::vector<std::int32_t>& text = texts.emplace_back(sample->ids.begin() + 1, sample->ids.end());
    chosen.push_back(windows.size());
    windows.push_back({.text = windows.size(), .window = {.scored = sample->first - 1, .end = std::ssize(text)}});
  }
  const WindowBatch batch = make_window_batch(texts, windows, chosen, samples.front()->ids.front(), model.device());
  Pass pass = Pass::inference();
  const Tensor log_p_K =
      log_probs_of_labels(batch.scored.of(model.forward(batch.tokens, pass)), model.output_table(), {}, batch.labels_K);
  std::vector<double> sums(samples.size());
  const float* next = log_p_K.const_data_ptr<float>();
  for (const std::size_t s : chosen) {
    for (std::int64_t k = 0; k < windows[s].window.num_scored(); ++k) sums[s] += *next++;
  }
  return sums;
}

[[noreturn]] void refuse_prompt(const std::string& place, const std::string& what, const std::string& remedy) {
  throw UserError(place + ": " + what, remedy);
}

}  // namespace

Prompt Prompt::load(const std::filesystem::path& file) {
  Prompt prompt;
  prompt.file_ = file.string();
  std::optional<PlacedText> form, task;
  std::vector<PlacedText> labels;
  for (PlacedText& text : read_placed_texts(file)) {
    if (text.table == "labels") {
      labels.push_back(std::move(text));
    } else if (text.table.empty() && text.key == "template") {
      form = std::move(text);
    } else if (text.table.empty() && text.key == "separator") {
      prompt.separator_ = text.text;
    } else if (text.table.empty() && text.key == "task") {
      task = std::move(text);
    } else {
      refuse_prompt(text.place, (text.table.empty() ? "" : "[" + text.table + "] ") + text.key + ": no such key",
                    "a prompt has the keys template, separator and task, and the table [labels]");
    }
  }
  if (!form) {
    refuse_prompt(prompt.file_, "template is missing", "write one: template = \"Text: {text}\\nSentiment: {label}\"");
  }
  if (task) prompt.read_task(task->text, task->place);
  prompt.read_template(*form);
  prompt.read_labels(labels);
  return prompt;
}

void Prompt::read_task(const std::string& name, const std::string& place) {
  task_ = find_task(name);
  if (task_.kind == TaskKind::classification) return;
  refuse_prompt(place, "task is " + name + ", which is of kind " + std::string(name_of(task_.kind)),
                "name a task of kind classification; others are learnt: attend finetune");
}

void Prompt::read_template(const PlacedText& given) {
  using enum PartKind;
  constexpr std::array<std::pair<std::string_view, PartKind>, 4> kPlaces = {
      {{"{text}", first}, {"{first}", first}, {"{second}", second}, {"{label}", label}}};
  const bool pair = task_.text.size() == 2;
  const auto stands = [&](std::string_view name) { return given.text.find(name) != std::string::npos; };
  for (const std::string_view name : pair ? std::vector{"{first}", "{second}"} : std::vector{"{text}"}) {
    if (stands(name)) continue;
    refuse_prompt(given.place, "template has no " + std::string(name),
                  pair                ? "write {first} and {second} where the two texts of the task belong"
                  : stands("{first}") ? "name a task with two texts: task = \"NAME\"; or write {text}"
                                      : "write {text} where the text belongs");
  }
  for (const std::string_view name : pair ? std::vector{"{text}"} : std::vector{"{first}", "{second}"}) {
    if (!stands(name)) continue;
    refuse_prompt(given.place, "template has " + std::string(name) + ", but the task reads " + (pair ? "two" : "one"),
                  pair ? "write {first} and {second}" : "write {text}");
  }
  for (std::size_t at = 0; at < given.text.size();) {
    const auto* const here = std::ranges::find_if(
        kPlaces, [&](const auto& place) { return given.text.compare(at, place.first.size(), place.first) == 0; });
    if (here != kPlaces.end()) {
      parts_.push_back({.kind = here->second});
      at += here->first.size();
      continue;
    }
    if (parts_.empty() || parts_.back().kind != literal) parts_.emplace_back();
    parts_.back().text += given.text[at++];
  }
  const auto labels = std::ranges::count(parts_, label, &Part::kind);
  if (labels != 1) {
    refuse_prompt(given.place, labels == 0 ? "template has no {label}" : "template has {label} more than once",
                  "write {label} once, where the words of the label belong");
  }
  const auto behind = std::ranges::find(parts_, label, &Part::kind);
  if (std::any_of(behind, parts_.end(), [](const Part& part) { return part.kind == first || part.kind == second; })) {
    refuse_prompt(given.place, "template has a text after {label}, where the model has not read it yet",
                  "write the texts before {label}");
  }
}

void Prompt::read_labels(const std::vector<PlacedText>& given) {
  if (given.size() < 2) {
    refuse_prompt(file_, "[labels] has " + counted(std::ssize(given), "label") + ", expected two or more",
                  "give each label of the task its words: [labels] and a line such as positive = \"good\"");
  }
  if (task_.labels.empty()) {
    for (const PlacedText& label : given) task_.labels.push_back(label.key);
    task_.validate(file_);
  }
  words_.resize(task_.labels.size());
  places_.resize(task_.labels.size());
  for (const PlacedText& label : given) {
    const auto found = std::ranges::find(task_.labels, label.key);
    if (found == task_.labels.end()) {
      refuse_prompt(label.place, label.key + " is not a label of the task",
                    fmt::format("the labels are: {}", fmt::join(task_.labels, ", ")));
    }
    const std::string words = trimmed(label.text);
    if (words.empty()) refuse_prompt(label.place, label.key + " has no words", "write some");
    const auto same = std::ranges::find(words_, words);
    if (same != words_.end()) {
      refuse_prompt(
          label.place,
          label.key + " has the words \"" + words + "\", which " + task_.labels[same - words_.begin()] + " has too",
          "give each label words of its own");
    }
    words_[found - task_.labels.begin()] = words;
    places_[found - task_.labels.begin()] = label.place;
  }
  const auto without = std::ranges::find(words_, "");
  if (without != words_.end()) {
    refuse_prompt(file_,
                  "[labels] has no words for " + task_.labels[without - words_.begin()] + ", a label of the task",
                  "add a line for it");
  }
}

std::string Prompt::beginning(const LabelledText& text) const {
  std::string written;
  for (const Part& part : parts_) {
    if (part.kind == PartKind::label) break;
    written += part.kind == PartKind::first    ? text.first
               : part.kind == PartKind::second ? text.second.value_or("")
                                               : part.text;
  }
  return written;
}

std::string Prompt::example(const LabelledText& text, const std::string& words) const {
  const bool ends_with_label = parts_.back().kind == PartKind::label;  // at most one literal is behind it
  return beginning(text) + words + (ends_with_label ? "" : parts_.back().text);
}

void Prompt::check_labels(const std::vector<std::string>& labels, const std::string& source) const {
  for (const std::string& label : labels) {
    if (std::ranges::find(task_.labels, label) != task_.labels.end()) continue;
    refuse_prompt(file_, "[labels] has no words for " + label + ", a label in " + source, "add a line for it");
  }
}

std::vector<std::size_t> draw_shots(std::span<const LabelledText> texts, std::size_t num_labels, std::size_t count,
                                    std::uint64_t seed) {
  ensure(count <= texts.size(), "there are as many texts");
  RandomStream random(combine_keys(seed, 0x5407));
  std::vector<std::vector<std::size_t>> of_label(num_labels);
  for (std::size_t i = 0; i < texts.size(); ++i) of_label[texts[i].gold.label.value()].push_back(i);
  for (std::vector<std::size_t>& numbers : of_label) shuffle(numbers, random);
  shuffle(of_label, random);  // whose labels get the remainder
  std::vector<std::size_t> drawn;
  for (std::size_t round = 0; drawn.size() < count; ++round) {
    for (const std::vector<std::size_t>& numbers : of_label) {
      if (round < numbers.size() && drawn.size() < count) drawn.push_back(numbers[round]);
    }
  }
  shuffle(drawn, random);
  return drawn;
}

PromptedModel::PromptedModel(const LanguageModelImpl& model, const Tokenizer& tokenizer, const Prompt& prompt,
                             std::span<const LabelledText> shots, bool calibrate)
    : model_(model), tokenizer_(tokenizer), prompt_(prompt) {
  for (const LabelledText& shot : shots) {
    shots_ += prompt.example(shot, prompt.words()[shot.gold.label.value()]) + prompt.separator();
  }
  // An empty text gives what all prompts have in common.
  const bool pair = prompt.task().text.size() == 2;
  const TaskSplit empty{.file = prompt.file(), .texts = {{.second = pair ? std::optional("") : std::nullopt}}};
  std::vector<std::size_t> num_pieces;
  for (std::size_t label = 0; label < prompt.words().size(); ++label) {
    const Sample words = sample(empty, 0, label);
    const std::span<const std::int32_t> pieces = std::span(words.ids).subspan(words.first);
    if (pieces.empty() || std::ranges::find(pieces, tokenizer.special().unk) != pieces.end()) {
      throw UserError(prompt.place(label) + ": the vocabulary lacks pieces of \"" + prompt.words()[label] + "\"",
                      "choose words that the model has read");
    }
    num_pieces.push_back(pieces.size());
  }
  divides_ = std::ranges::adjacent_find(num_pieces, std::not_equal_to()) != num_pieces.end();
  if (calibrate) of_empty_L_ = raw_scores(empty, nullptr).squeeze(0);
}

Sample PromptedModel::sample(const TaskSplit& split, std::size_t text, std::size_t label) const {
  const LabelledText& asked = split.texts[text];
  const std::string before = shots_ + prompt_.beginning(asked);
  Sample sample{.ids = {tokenizer_.special().eos},
                .example = static_cast<std::int64_t>(text * prompt_.words().size() + label)};
  // The space before the words is the beginning of their first piece, or a piece of its own, and so belongs to them.
  const std::size_t end = before.find_last_not_of(" \t\n\r") + 1;
  for (const Piece& piece : tokenizer_.encode_pieces(before + prompt_.words()[label])) {
    if (sample.first == 0 && std::max(piece.begin + 1, piece.end) > end) {
      sample.first = static_cast<std::uint32_t>(sample.ids.size());
    }
    sample.ids.push_back(piece.id);
  }
  if (sample.first == 0) sample.first = static_cast<std::uint32_t>(sample.ids.size());
  const std::int64_t length = std::ssize(sample.ids) - 1;  // the last piece is not read
  if (const auto longest = model_.longest(); longest && length > *longest) {
    throw UserError(fmt::format("{}{}: the prompt has {} tokens, but the model reads at most {}", split.file,
                                asked.line > 0 ? ":" + std::to_string(asked.line) : "", length, *longest),
                    "lower --shots, or shorten the template or the text");
  }
  return sample;
}

Tensor PromptedModel::raw_scores(const TaskSplit& split, WorkProgress* progress) const {
  const c10::InferenceMode inference;
  const std::size_t num_labels = prompt_.words().size();
  const std::size_t num_texts = split.texts.size();
  Tensor scores_N = at::empty({static_cast<std::int64_t>(num_texts * num_labels)}, at::kDouble);
  for (std::size_t first = 0; first < num_texts; first += kTextsTogether) {
    const std::size_t end = std::min(first + kTextsTogether, num_texts);
    std::vector<Sample> samples;
    for (std::size_t text = first; text < end; ++text) {
      for (std::size_t label = 0; label < num_labels; ++label) samples.push_back(sample(split, text, label));
    }
    for (const std::vector<const Sample*>& batch : batches_by_length(samples)) {
      signals::throw_if_stopped("stopped before all texts were labelled");
      const std::vector<double> sums = log_probs_of_words(model_, batch);
      for (std::size_t s = 0; s < batch.size(); ++s) {
        const auto pieces = static_cast<double>(batch[s]->ids.size() - batch[s]->first);
        scores_N.mutable_data_ptr<double>()[batch[s]->example] = divides_ ? sums[s] / pieces : sums[s];
      }
    }
    return_freed_memory();
    if (progress != nullptr) progress->add(end - first);
  }
  return scores_N.view({-1, static_cast<std::int64_t>(num_labels)});
}

Tensor PromptedModel::scores(const TaskSplit& split, WorkProgress* progress) const {
  const Tensor scores_NL = raw_scores(split, progress);
  return of_empty_L_.defined() ? scores_NL - of_empty_L_ : scores_NL;
}

Tensor PromptedModel::probabilities(const TaskSplit& split, WorkProgress* progress) const {
  return at::softmax(scores(split, progress), 1).to(at::kFloat);
}

namespace {

// The examples of --shots.
std::vector<LabelledText> read_shots(const Prompt& prompt, const PromptConfig& config, const std::string& data) {
  if (config.shots == 0) return {};
  const LabelledTask& task = prompt.task();
  const std::string file = find_file(data.empty() ? "." : data, task.train)->string();
  prompt.check_labels(format_of(task.kind).labels_in(file, task), file);
  const TaskSplit split = read_texts(file, task, Labelled::yes);
  if (config.shots > split.size()) {
    throw UserError("--shots " + std::to_string(config.shots) + ": " + file + " has " + counted(split.size(), "text"),
                    "give at most as many");
  }
  std::vector<LabelledText> shots;
  for (const std::size_t i : draw_shots(split.texts, task.labels.size(), static_cast<std::size_t>(config.shots),
                                        static_cast<std::uint64_t>(config.shots_seed))) {
    shots.push_back(split.texts[i]);
  }
  log::info("{}: {} of {} in the prompt", file, counted(config.shots, "example"), split.size());
  return shots;
}

}  // namespace

PromptedRun::PromptedRun(const std::filesystem::path& run, const ModelOptions& use, const PromptConfig& config,
                         const std::string& data)
    : prompt_(Prompt::load(config.prompt)), run_(load_run_as<LanguageRun>(run, use)) {
  const std::vector<LabelledText> shots = read_shots(prompt_, config, data);
  model_.emplace(*run_.model, run_.tokenizer, prompt_, shots, config.calibrate);
  if (model_->divides()) {
    log::info("{}: the words of the labels have different numbers of pieces, by which log-probabilities are divided",
              config.prompt);
  }
}

std::unique_ptr<TaskAnswers> PromptedRun::answer(const TaskSplit& split, WorkProgress& progress) const {
  std::unique_ptr<TaskAnswers> answers = make_answers(split, task(), {});
  if (split.texts.empty()) return answers;
  std::vector<Sample> records(split.texts.size());  // answers read only their numbers
  std::vector<const Sample*> in_order;
  for (Sample& record : records) {
    record.example = std::ssize(in_order);
    in_order.push_back(&record);
  }
  answers->add(in_order, model_->probabilities(split, &progress));
  answers->finish();
  return answers;
}

}  // namespace attend
