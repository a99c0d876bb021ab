// The measurements of `attend compare` for runs of `attend finetune` and predictions of other programs, on the records
// of a task.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "analysis/attention_output.hpp"
#include "analysis/breakdowns.hpp"
#include "analysis/compared_inputs.hpp"
#include "analysis/compared_runs.hpp"
#include "analysis/cost.hpp"
#include "analysis/cross_scores.hpp"
#include "analysis/explanations.hpp"
#include "analysis/trained_run.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"
#include "eval/attention.hpp"
#include "eval/metrics/tokenizers.hpp"

namespace attend {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kMostTexts = 100;                // whose answers differ
constexpr std::size_t kMostWeightsOfTexts = 4U << 20;  // bytes

// What the metrics are, by their names in eval/answers.
struct AnswerMetric {
  std::string_view key, name, meaning;
};
constexpr AnswerMetric kAnswerMetrics[] = {
    {"accuracy", "Accuracy", "share of right answers"},
    {"f1", "F1", "harmonic mean of precision and recall"},
    {"matthews", "Matthews", "Matthews' correlation, times 100"},
    {"pearson", "Pearson", "correlation, times 100"},
    {"spearman", "Spearman", "correlation of ranks, times 100"},
    {"exact", "Exact match", "share of answers that are a gold answer"},
    {"precision", "Precision", "share of predicted chunks that are right"},
    {"recall", "Recall", "share of gold chunks that are found"},
};

// The attention of the tokens from whose states the head computes its answer: the learnt query of the pooling, [CLS],
// the last token, or all tokens, of which only the last layer is kept. Missing without attention.
void add_attention(SystemAnswer& answer, const TextRun& run, const Sample& sample) {
  const c10::InferenceMode inference;
  const Sample* const alone = &sample;
  const LabelledBatch batch = on_device(make_labelled_batch({&alone, 1}), run.model->parameters().front().device());
  AttentionRecorder recorder;
  Pass pass = Pass::inference(&recorder);
  run.model->logits(batch, pass);
  std::optional<Pooling> pooling;
  if (is_of_sequences(run.task.kind)) pooling = run.options.pooling_of_run();
  Lines pieces;
  for (const std::int32_t id : sample.ids) pieces.push_back(run.tokenizer.piece(id));
  const bool one = pooling == Pooling::cls || pooling == Pooling::last;
  const std::int64_t row = pooling == Pooling::last ? std::ssize(pieces) - 1 : 0;
  // Of weights or a rollout, [N, T, S].
  const auto read_by_head = [&](const std::vector<at::Tensor>& layers_NTS, const Lines& queries) {
    SentenceAttention read{.source = pieces, .target = one ? Lines{pieces[row]} : queries, .layers = {}};
    for (std::size_t layer = 0; layer < layers_NTS.size(); ++layer) {
      const at::Tensor& weights = layers_NTS[layer];
      read.layers.push_back({.place = AttentionPlace::cross,
                             .layer = static_cast<std::int64_t>(layer),
                             .weights = one ? weights.narrow(1, row, 1) : weights});
    }
    return maps_of(read, AttentionPlace::cross, {});
  };
  std::vector<at::Tensor> pooled_NTS, encoder_NTS, means_TT;
  for (const LayerAttention& layer : recorder.layers) {
    (layer.place == AttentionPlace::cross ? pooled_NTS : encoder_NTS).push_back(layer.weights[0]);
    if (layer.place != AttentionPlace::cross) means_TT.push_back(layer.weights[0].mean(0));
  }
  if (!pooled_NTS.empty()) answer.weights = read_by_head(pooled_NTS, {"(query)"});
  if (encoder_NTS.empty()) return;
  if (pooling != Pooling::attention) {
    const auto has_other_heads = [&](const at::Tensor& weights) {
      return weights.size(0) != encoder_NTS.back().size(0);
    };
    if (!one || std::ranges::any_of(encoder_NTS, has_other_heads))
      encoder_NTS.erase(encoder_NTS.begin(), encoder_NTS.end() - 1);
    answer.weights = read_by_head(encoder_NTS, pieces);
  }
  answer.rollout = read_by_head({attention_rollout(means_TT).unsqueeze(0)}, pieces);
}

std::size_t weights_of(const AnsweredText& text) {
  std::size_t bytes = 0;
  for (const SystemAnswer& system : text.systems) {
    for (const auto* maps : {&system.weights, &system.rollout}) bytes += *maps ? (*maps)->weights.size() : 0;
  }
  return bytes;
}

std::set<std::string_view> set_of_words(const std::string& text) {
  const std::vector<std::string_view> words = spaced_words(text);
  return {words.begin(), words.end()};
}

class TaskMeasurement : ComparedRuns<TrainedTextRun, TaskComparison> {
 public:
  using ComparedRuns::ComparedRuns;

  TaskComparison run() {
    load_systems();
    answer_all();
    score_answers();
    measure_systems([&](MeasuredRun& run, std::size_t number) { add_cost_of_use(run.cost, number); });
    break_down();
    count_decisions();
    add_texts();
    return std::move(result_);
  }

 private:
  using Records = std::vector<std::size_t>;

  // The answers of a run, or given ones.
  struct Output {
    std::unique_ptr<TaskSplit> split = {};  // with the samples of a run
    std::unique_ptr<TaskAnswers> answers = {};
    std::vector<NamedMeasure> measures = {};  // parallel to the metrics
    double seconds = 0;
  };

  void load_systems() {
    given_ = parse_named_files("--hypothesis", "other=labels.txt", config_.hypothesis);
    load_runs();
    const std::string& file = config_.test[0];
    if (runs_.empty()) {
      task_ = find_task(config_.task);
      task_.labels = labels_of_task(task_, file);
      task_.validate(file);
    } else {
      task_ = runs_[0].run.task;
    }
    for (const TrainedTextRun& run : runs_) refuse_other_task(run);
    test_ = read_texts(file, task_, Labelled::yes);
    if (task_.kind == TaskKind::spans) task_.may_lack_answers = test_.questions.may_lack_answers;
    for (const GivenSystem& given : given_) {
      add_system(given.name, given.file, "predictions in " + given.file,
                 UserError(fmt::format("--hypothesis {}={}: a run has this name", given.name, given.file),
                           "give the predictions another name"));
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(test_.size()); ++i) texts_.push_back(parts_of(test_, i));
    result_.units = {.segment = is_of_sequences(task_.kind)     ? "text"
                                : task_.kind == TaskKind::spans ? "question"
                                                                : "sentence",
                     .token = "token",
                     .word = "word",
                     .text = "test set",
                     .predicts_pieces = false};
    result_.test = {.files = file, .task = std::string(name_of(task_.kind)), .records = test_.size(), .words = 0};
    for (const Lines& parts : texts_) {
      for (const std::string& part : parts) result_.test.words += std::ssize(spaced_words(part));
    }
  }

  void refuse_other_task(const TrainedTextRun& run) const {
    const BoundOptions ours = bind(task_), theirs = bind(run.run.task);
    for (const std::string_view name : {"kind", "text", "label", "labels", "positive", "separator", "chunks"}) {
      const auto of = [&](const BoundOptions& options) {
        return text_of(std::ranges::find(options, name, &BoundOption::name)->get());
      };
      if (of(ours) == of(theirs)) continue;
      throw UserError(fmt::format("{}: a run of another task than {}: {} is {}, not {}", run.facts.path,
                                  runs_[0].facts.path, name, of(theirs), of(ours)),
                      "compare runs of one task");
    }
  }

  // The one or two texts of a record.
  static Lines parts_of(const TaskSplit& split, std::size_t i) {
    if (!split.sentences.empty()) return {fmt::format("{}", fmt::join(split.sentences[i].tokens, " "))};
    if (split.texts.empty()) {
      const Question& question = split.questions.questions[i];
      return {question.text, split.questions.contexts[question.context]};
    }
    const LabelledText& text = split.texts[i];
    return text.second ? Lines{text.first, *text.second} : Lines{text.first};
  }

  std::string gold_of(std::size_t i) const {
    if (task_.kind == TaskKind::tags) return fmt::format("{}", fmt::join(test_.sentences[i].tags, " "));
    if (task_.kind == TaskKind::spans) {
      const std::vector<Answer>& answers = test_.questions.questions[i].answers;
      return answers.empty() ? std::string() : answers[0].text;
    }
    const Gold& gold = test_.texts[i].gold;
    if (gold.number) return fmt::format("{:.3f}", *gold.number);
    Lines labels;
    for (std::size_t label = 0; label < task_.labels.size(); ++label) {
      if (has_label(i, label)) labels.push_back(task_.labels[label]);
    }
    return fmt::format("{}", fmt::join(labels, task_.separator));
  }

  bool has_label(std::size_t i, std::size_t label) const {
    const Gold& gold = test_.texts[i].gold;
    return gold.label ? *gold.label == label : gold.labels[label] > 0;
  }

  void answer_all() {
    for (const TrainedTextRun& trained : runs_) {
      const TextRun& run = trained.run;
      Output& output = outputs_.emplace_back();
      output.split =
          std::make_unique<TaskSplit>(read_split(config_.test[0], run.task, run.tokenizer, run.samples, Labelled::yes));
      log::info("{}: answering {}", trained.facts.path, output.split->report());
      WorkProgress progress({.unit = "records", .total = output.split->size()});
      const auto start = std::chrono::steady_clock::now();
      output.answers = answer(*run.model, *output.split, run.task, trained.config.answers, device_named(config_.device),
                              Labelled::yes, &progress);
      output.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    for (const GivenSystem& given : given_) {
      Output& output = outputs_.emplace_back();
      output.answers = make_answers(test_, task_, {});
      output.answers->read(given.file);
    }
    std::vector<std::string_view> main(task_.metrics.begin(), task_.metrics.end());
    if (main.empty()) main = format_of(task_.kind).default_metrics(task_);
    for (Output& output : outputs_) {
      output.measures = output.answers->measures();
      std::ranges::stable_partition(output.measures, [&](const NamedMeasure& measure) {
        return std::ranges::find(main, measure.name) != main.end();
      });
    }
    for (const NamedMeasure& measure : outputs_[0].measures) {
      const AnswerMetric& metric = *std::ranges::find(kAnswerMetrics, measure.name, &AnswerMetric::key);
      result_.metrics.push_back(
          {.key = measure.name, .name = std::string(metric.name), .meaning = std::string(metric.meaning)});
    }
    note_conditions();
    for (const SystemRuns& system : trained()) {
      const TaskSplit& split = *outputs_[system.runs[0]].split;
      if (split.num_cut > 0) result_.notes.push_back(fmt::format("{}: {}.", system.name, split.report()));
    }
  }

  // Metrics that are the share of records with a right answer.
  bool counts_right(const std::string& metric) const {
    return metric == "exact" || (metric == "accuracy" && task_.kind != TaskKind::tags);
  }

  void score_answers() {
    const auto records = static_cast<std::size_t>(test_.size());
    const metrics::Resamples samples = resamples(records);
    for (const Output& output : outputs_) {
      std::vector<ScoredOutput>& scored = scored_.emplace_back();
      for (const NamedMeasure& measure : output.measures) {
        refuse_if_stopped();
        scored.push_back(scored_by(measure, counts_right(measure.name), records, samples));
      }
    }
  }

  void add_cost_of_use(Cost& cost, std::size_t number) const {
    const Output& output = outputs_[number];
    double tokens = 0;
    for (const Sample& sample : output.split->samples) tokens += static_cast<double>(sample.ids.size());
    const auto samples = static_cast<double>(output.split->samples.size()), records = static_cast<double>(test_.size());
    cost.flops_per_sentence = flops_per_text(runs_[number].run, tokens / samples) * samples / records;
    cost.texts_per_second = records / output.seconds;
  }

  // The output of a system's first run.
  const Output& first(std::size_t system) const { return outputs_[systems_[system].runs[0]]; }

  using Groups = std::vector<std::pair<std::string, Records>>;
  // A metric, by default the main one, by groups of records; those without records are left out.
  void add_breakdown(const std::string& id, const std::string& title, const Groups& groups, std::size_t metric = 0) {
    Breakdown breakdown{
        .id = id, .title = title, .measure = result_.metrics[metric].name, .unit = result_.units.segment + "s"};
    for (const auto& [name, records] : groups) {
      if (records.empty()) continue;
      BreakdownGroup& group = breakdown.groups.emplace_back(BreakdownGroup{.name = name, .count = std::ssize(records)});
      for (std::size_t s = 0; s < systems_.size(); ++s) {
        group.values.emplace_back(estimate(records, first(s).measures[metric].of));
      }
    }
    result_.where.push_back(std::move(breakdown));
  }

  static Estimate estimate(const Records& records, const std::function<double(NamedMeasure::Subset)>& measure) {
    return estimate_over(records.size(), [&](std::span<const std::size_t> drawn) {
      Records chosen;
      for (const std::size_t i : drawn) chosen.push_back(records[i]);
      return 100 * measure(chosen);
    });
  }

  void break_down() {
    Lines whole;
    for (const Lines& parts : texts_) whole.push_back(fmt::format("{}", fmt::join(parts, " ")));
    Groups lengths;
    for (LengthGroup& group : length_groups(whole)) lengths.emplace_back(group.name, std::move(group.sentences));
    add_breakdown("length", "Length in words", lengths);
    by_frequency();
    if (task_.kind == TaskKind::tags && task_.chunks) by_type();
    if (task_.kind == TaskKind::classification || task_.kind == TaskKind::multi_label) {
      Groups labels;
      for (std::size_t label = 0; label < task_.labels.size(); ++label) {
        Records& records = labels.emplace_back(task_.labels[label], Records()).second;
        for (std::size_t i = 0; i < texts_.size(); ++i) {
          if (has_label(i, label)) records.push_back(i);
        }
      }
      const auto accuracy = std::ranges::find(result_.metrics, "accuracy", &ComparedMetric::key);
      const bool one_label = task_.kind == TaskKind::classification;
      add_breakdown("label", "Gold label", labels, one_label ? accuracy - result_.metrics.begin() : 0);
    }
    if (texts_[0].size() == 2) by_overlap();
  }

  void by_overlap() {
    Groups groups = {
        {"under 20 %", {}}, {"20 to 39 %", {}}, {"40 to 59 %", {}}, {"60 to 79 %", {}}, {"80 % and more", {}}};
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const std::string a = metrics::lower_case(texts_[i][0]), b = metrics::lower_case(texts_[i][1]);
      const std::set<std::string_view> words = set_of_words(a), others = set_of_words(b);
      const auto shared = static_cast<std::size_t>(
          std::ranges::count_if(words, [&](std::string_view word) { return others.contains(word); }));
      const std::size_t fewer = std::max<std::size_t>(1, std::min(words.size(), others.size()));
      groups[std::min<std::size_t>(5 * shared / fewer, 4)].second.push_back(i);
    }
    add_breakdown("overlap", "Words of the shorter text that the other has", groups);
  }

  static Lines words_of_text(const std::string& text, TaskKind kind) {
    const std::string tokens =
        kind == TaskKind::tags ? text : metrics::tokenize(text, metrics::Tokenization::mteval_13a);
    const std::vector<std::string_view> words = spaced_words(tokens);
    return {words.begin(), words.end()};
  }

  // By the rarest word of a text, or of tags by their words.
  void by_frequency() {
    const Lines files = training_text();
    if (files.empty()) return;
    WordFrequencies frequencies;
    for (const std::string& file : files) {
      const TaskSplit split = read_texts(file, task_, Labelled::yes);
      for (std::size_t i = 0; i < static_cast<std::size_t>(split.size()); ++i) {
        for (const std::string& part : parts_of(split, i)) {
          for (std::string& word : words_of_text(part, task_.kind)) ++frequencies[std::move(word)];
        }
      }
    }
    const Lines& names = frequency_names();
    if (task_.kind != TaskKind::tags) {
      Groups groups;
      for (const std::string& name : names) groups.emplace_back(name, Records());
      for (std::size_t i = 0; i < texts_.size(); ++i) {
        std::size_t rarest = names.size() - 1;
        for (const std::string& part : texts_[i]) {
          for (const std::string& word : words_of_text(part, task_.kind))
            rarest = std::min(rarest, frequency_group(frequencies, word));
        }
        groups[rarest].second.push_back(i);
      }
      return add_breakdown("frequency", "Frequency of the rarest word in the training set", groups);
    }
    RecallByGroup recall(names, systems_.size(), texts_.size());
    for (std::size_t s = 0; s < systems_.size(); ++s) {
      for (std::size_t i = 0; i < texts_.size(); ++i) {
        const std::vector<Decision> decisions = first(s).answers->decisions(i);
        for (std::size_t word = 0; word < decisions.size(); ++word) {
          if (task_.chunks && test_.sentences[i].tags[word] == "O") continue;
          const std::size_t group = frequency_group(frequencies, test_.sentences[i].tokens[word]);
          recall.add(group, s, i, decisions[word].right);
        }
      }
    }
    result_.where.push_back({.id = "frequency",
                             .title = "Frequency of the word in the training set",
                             .measure = "right tags in percent",
                             .unit = task_.chunks ? "words in chunks" : "words",
                             .groups = recall.groups()});
  }

  // F1 of each type of chunk: of tags without those of other types.
  void by_type() {
    std::set<std::string> types;
    for (const std::string& tag : task_.labels) {
      if (tag != "O") types.insert(tag.substr(2));
    }
    Breakdown breakdown{.id = "label", .title = "Type of chunk", .measure = "F1", .unit = "chunks"};
    for (const std::string& type : types) {
      BreakdownGroup group{.name = type};
      for (std::size_t s = 0; s < systems_.size(); ++s) {
        std::vector<metrics::ChunkTally> tallies(texts_.size());
        Records all(texts_.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        for (std::size_t i = 0; i < texts_.size(); ++i) {
          Lines predicted, gold;
          for (const Decision& decision : first(s).answers->decisions(i)) {
            const auto of_type = [&](std::size_t tag) {
              return task_.labels[tag].ends_with("-" + type) ? task_.labels[tag] : std::string("O");
            };
            predicted.push_back(of_type(*decision.predicted));
            gold.push_back(of_type(*decision.gold));
          }
          tallies[i].add(predicted, gold);
        }
        const auto total = [&](NamedMeasure::Subset subset) {
          metrics::ChunkTally sum;
          for (const std::size_t i : subset) sum.add(tallies[i]);
          return sum.total();
        };
        group.count = static_cast<std::int64_t>(total(all).gold);
        group.values.emplace_back(estimate(all, [&](NamedMeasure::Subset subset) { return total(subset).f1(); }));
      }
      if (group.count > 0) breakdown.groups.push_back(std::move(group));
    }
    result_.where.push_back(std::move(breakdown));
  }

  // Confusion, and calibration of the systems that have probabilities.
  void count_decisions() {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<std::int64_t>> counts;
    for (std::size_t s = 0; s < systems_.size(); ++s) {
      std::vector<Confidence> choices;
      for (std::size_t i = 0; i < texts_.size(); ++i) {
        for (const Decision& decision : first(s).answers->decisions(i)) {
          choices.push_back({decision.probability, decision.right});
          if (!decision.gold) continue;
          std::vector<std::int64_t>& count = counts[{*decision.gold, *decision.predicted}];
          count.resize(systems_.size());
          ++count[s];
        }
      }
      result_.calibration.emplace_back();
      if (s < num_trained_ && !choices.empty()) result_.calibration.back() = calibration(choices);
    }
    for (const auto& [labels, count] : counts) {
      result_.confusions.push_back(
          {.gold = task_.labels[labels.first], .predicted = task_.labels[labels.second], .counts = count});
    }
  }

  // Of one answer: F1 of a span, the error of a number, else accuracy.
  double score_of(const Output& output, std::size_t i) const {
    if (task_.kind == TaskKind::regression) {
      return std::abs(parse_number<double>(output.answers->text(i)).value_or(0) - *test_.texts[i].gold.number);
    }
    return 100 * std::ranges::find(output.measures, result_.score, &NamedMeasure::name)->of({&i, 1});
  }

  // The texts whose answers differ, those first whose scores differ most.
  void add_texts() {
    result_.lower_is_better = task_.kind == TaskKind::regression;
    result_.score = result_.lower_is_better ? "error" : task_.kind == TaskKind::spans ? "f1" : "accuracy";
    struct Differing {
      std::size_t record;
      double spread;
    };
    std::vector<Differing> differing;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      std::set<std::string> answers;
      std::vector<double> scores;
      for (std::size_t s = 0; s < systems_.size(); ++s) {
        answers.insert(first(s).answers->text(i));
        scores.push_back(score_of(first(s), i));
      }
      if (answers.size() < 2) continue;
      const auto [least, greatest] = std::ranges::minmax(scores);
      differing.push_back({i, greatest - least});
    }
    result_.disagreements = std::ssize(differing);
    std::ranges::stable_sort(differing, std::ranges::greater(), &Differing::spread);
    if (differing.size() > kMostTexts) differing.resize(kMostTexts);
    if (systems_.size() > 1) {
      result_.notes.push_back(fmt::format("The systems give different answers to {} of {}; section 7 shows {}.",
                                          fixed(result_.disagreements), counted(test_.size(), result_.units.segment),
                                          differing.size() < static_cast<std::size_t>(result_.disagreements)
                                              ? fmt::format("{} of them", differing.size())
                                              : "them"));
    }
    std::size_t weights = 0;
    for (const auto& [i, spread] : differing) {
      refuse_if_stopped();
      AnsweredText& text =
          result_.texts.emplace_back(AnsweredText{.line = test_.line(static_cast<std::int64_t>(i)),
                                                  .text = fmt::format("{}", fmt::join(texts_[i], " | ")),
                                                  .gold = gold_of(i)});
      for (std::size_t s = 0; s < systems_.size(); ++s) {
        const Output& output = first(s);
        SystemAnswer& shown =
            text.systems.emplace_back(SystemAnswer{.answer = output.answers->text(i), .score = score_of(output, i)});
        if (s >= num_trained_) continue;
        shown.probability = output.answers->probability(i);
        const auto sample = std::ranges::find(output.split->samples, static_cast<std::int64_t>(i), &Sample::example);
        if (weights < kMostWeightsOfTexts && sample != output.split->samples.end()) {
          add_attention(shown, runs_[systems_[s].runs[0]].run, *sample);
        }
      }
      weights += weights_of(text);
    }
  }

  LabelledTask task_;
  TaskSplit test_;            // without samples
  std::vector<Lines> texts_;  // the one or two texts of each record
  std::vector<GivenSystem> given_;
  std::vector<Output> outputs_;
};

}  // namespace

TaskComparison compare_tasks(const CompareConfig& config) { return TaskMeasurement(config).run(); }

}  // namespace attend
