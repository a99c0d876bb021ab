#include "train/finetuning/job.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/answers/answers.hpp"
#include "models/layers/initialise.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/kind.hpp"
#include "models/run/run.hpp"
#include "train/pretraining/config.hpp"
#include "train/run_directory.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// The numbers of --label-weights; none without it, or if it is "balanced". Throws UserError if they do not fit the
// labels.
std::vector<double> given_label_weights(const std::vector<std::string>& given, const LabelledTask& task) {
  std::vector<double> weights;
  if (given.empty() || given == std::vector<std::string>{"balanced"}) return weights;
  for (const std::string& word : given) {
    const auto weight = parse_number<double>(word);
    if (!weight || *weight < 0) {
      throw UserError("--label-weights: \"" + word + "\" is not a number of at least 0",
                      "give one for every label, or balanced");
    }
    weights.push_back(*weight);
  }
  if (weights.size() != task.labels.size()) {
    throw UserError("--label-weights: " + counted(std::ssize(weights), "number") + ", but the task has " +
                        counted(std::ssize(task.labels), "label"),
                    "give one for every label, or balanced");
  }
  if (std::ranges::all_of(weights, [](double weight) { return weight == 0; })) {
    throw UserError("--label-weights: all are 0, which leaves nothing to learn", "give one above 0");
  }
  return weights;
}

// The weight of errors on each label: as given, or if balanced n / (L n_l), where n_l of the n training labels are l.
// Their mean over the training labels is 1.
torch::Tensor label_weights(const std::vector<std::string>& given, const LabelledTask& task, const TaskSplit& train,
                            torch::Device device) {
  if (given.empty()) return {};
  std::vector<double> weights = given_label_weights(given, task);
  if (weights.empty()) {
    const std::size_t labels = task.labels.size();
    std::vector<double> counts(labels);
    for (const Sample& sample : train.samples) {
      for (const std::int64_t tag : sample.tags) counts[tag] += 1;
      if (sample.gold.label) counts[*sample.gold.label] += 1;
      for (std::size_t label = 0; label < sample.gold.labels.size(); ++label) {
        counts[label] += static_cast<double>(sample.gold.labels[label]);
      }
    }
    const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
    for (const double count : counts) weights.push_back(count > 0 ? all / (static_cast<double>(labels) * count) : 0);
  }
  return at::tensor(weights, at::kDouble).to(device, at::kFloat);
}

// The loss of a task's head.
class HeadObjective : public Objective<LabelledBatch> {
 public:
  // Errors are weighted by their label's weight if `label_weights_L` is defined.
  HeadObjective(TextModel model, torch::Tensor label_weights_L)
      : model_(std::move(model)), label_weights_L_(std::move(label_weights_L)) {}

  std::vector<LossTerm> terms(const LabelledBatch& batch) const override {
    return {{.name = "loss", .weight = 1, .count = model_->head().count(batch)}};
  }

  std::vector<LossSum> losses(const LabelledBatch& batch, Pass& pass) const override {
    const torch::Tensor loss = model_->head().loss(model_->logits(batch, pass), batch, label_weights_L_);
    return {{.loss = loss, .reported = loss.detach()}};
  }

 private:
  TextModel model_;
  torch::Tensor label_weights_L_;
};

// The name of the score on a validation file after the first.
std::string score_name(const fs::path& file) { return file.stem().string() + "_score"; }

// The training samples, reshuffled every epoch.
class ShuffledSamples {
 public:
  ShuffledSamples(const std::vector<Sample>& samples, std::int64_t batch_size, std::uint64_t seed)
      : samples_(&samples), batch_size_(batch_size), seed_(seed), order_(samples.size()) {}

  std::int64_t begin_epoch(std::int64_t epoch) {
    std::iota(order_.begin(), order_.end(), 0U);
    RandomStream random(combine_keys(seed_, epoch, 0x5a17));
    shuffle(order_, random);
    return (std::ssize(order_) + batch_size_ - 1) / batch_size_;
  }
  LabelledBatch batch(std::int64_t number) const {
    std::vector<const Sample*> samples;
    const std::int64_t from = number * batch_size_, to = std::min(from + batch_size_, std::ssize(order_));
    for (std::int64_t i = from; i < to; ++i) samples.push_back(&(*samples_)[order_[i]]);
    return make_labelled_batch(samples);
  }

 private:
  const std::vector<Sample>* samples_;
  std::int64_t batch_size_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> order_;
};

// The metrics of validation, with the score of each file after the first.
std::vector<std::string> metric_names(const LabelledTask& task, const std::vector<std::string>& valid_files) {
  std::vector<std::string> names = {"loss"};
  for (const std::string_view name : format_of(task.kind).metrics(task)) names.emplace_back(name);
  names.emplace_back("score");
  for (std::size_t i = 1; i < valid_files.size(); ++i) names.push_back(score_name(valid_files[i]));
  return names;
}

}  // namespace

FinetuningTask::FinetuningTask(TextModel model, const LabelledTask& task, const Tokenizer& tokenizer,
                               const FinetuningConfig& config, TaskSplit train, std::vector<TaskSplit> valid)
    : StreamTask(std::make_unique<HeadObjective>(
                     model, label_weights(config.label_weights, task, train, torch::Device(config.run.device))),
                 identity_of(config.model, task, tokenizer), torch::Device(config.run.device)),
      model_(std::move(model)),
      labelled_(task),
      config_(config),
      train_(std::move(train)),
      valid_(std::move(valid)) {
  for (const auto& parameter : model_->named_parameters()) {
    top_ = std::max(top_, model_->encoder().layer_of(parameter.key()).value_or(0));
  }
  for (const auto& parameter : model_->named_parameters()) {
    if (depth(parameter.key()) < config.freeze) parameter.value().set_requires_grad(false);
  }
}

// A norm above all layers belongs to the highest layer.
std::int64_t FinetuningTask::depth(const std::string& parameter) const {
  const TextEncoder& encoder = model_->encoder();
  return encoder.owns(parameter) ? encoder.layer_of(parameter).value_or(top_) : top_ + 1;
}

double FinetuningTask::rate_of(const std::string& parameter) const {
  return std::pow(config_.layer_decay, top_ + 1 - depth(parameter));
}

std::int64_t FinetuningTask::batches_per_epoch() const {
  return (std::ssize(train_.samples) + config_.batch_size - 1) / config_.batch_size;
}

std::unique_ptr<BatchStream<LabelledBatch>> FinetuningTask::stream_from(DataPosition position, Shard shard) {
  const ShuffledSamples source(train_.samples, config_.batch_size, config_.trainer.seed);
  return std::make_unique<BatchStream<LabelledBatch>>(source, position, shard);
}

std::vector<std::int64_t> FinetuningTask::lines_of(const LabelledBatch& batch) const {
  std::vector<std::int64_t> lines = batch.examples;
  for (std::int64_t& line : lines) line = train_.line(line);
  return lines;
}

MicroBatch FinetuningTask::largest() {
  std::vector<const Sample*> samples(train_.samples.size());
  std::ranges::transform(train_.samples, samples.begin(), [](const Sample& sample) { return &sample; });
  std::ranges::stable_sort(samples, std::greater<>(), [](const Sample* sample) { return sample->ids.size(); });
  samples.resize(std::min<std::size_t>(samples.size(), config_.batch_size));
  return micro_batch(make_labelled_batch(samples));
}

std::vector<std::string> FinetuningTask::metrics() const {
  std::vector<std::string> files;
  for (const TaskSplit& split : valid_) files.push_back(split.file);
  return metric_names(labelled_, files);
}

std::vector<ValidationMetric> FinetuningTask::validate(const fs::path& /*run*/, std::int64_t /*step*/, Ranks& ranks) {
  std::vector<ValidationMetric> found;
  for (const std::string& name : metrics()) found.push_back({.name = name});
  const std::vector<double> values = ranks.on_first([&] {
    std::map<std::string, double> by_name;
    for (const TaskSplit& split : valid_) {
      const std::unique_ptr<TaskAnswers> answers =
          answer(*model_, split, labelled_, config_.answers, torch::Device(config_.run.device), Labelled::yes);
      const bool first = by_name.empty();
      if (first) by_name["loss"] = answers->loss.value();
      for (const MetricValue& metric : score(*answers, /*with_intervals=*/false)) {
        if (first) by_name[metric.name] = metric.value;
        if (!first && metric.name == "score") by_name[score_name(split.file)] = metric.value;
      }
    }
    std::vector<double> in_order;
    for (const ValidationMetric& metric : found) in_order.push_back(by_name.at(metric.name));
    return in_order;
  });
  for (std::size_t i = 0; i < found.size(); ++i) found[i].value = values[i];
  return found;
}

namespace {

// Keeps the samples of a fraction of the examples; the samples of an example are adjacent.
void keep_share(std::vector<Sample>& samples, double share, std::uint64_t seed) {
  std::vector<std::int64_t> examples;
  for (const Sample& sample : samples) {
    if (examples.empty() || examples.back() != sample.example) examples.push_back(sample.example);
  }
  RandomStream random(combine_keys(seed, 0xe7a3));
  shuffle(examples, random);
  const std::size_t all = examples.size();
  const double count = std::ceil(share * static_cast<double>(all) - 1e-9);  // 0.07 of 100 is 7.000000000000001
  examples.resize(static_cast<std::size_t>(std::max(1.0, count)));
  log::info("training on {} of {} examples", examples.size(), all);
  const std::set<std::int64_t> kept(examples.begin(), examples.end());
  std::erase_if(samples, [&kept](const Sample& sample) { return !kept.contains(sample.example); });
}

// The run named by --init-from (for several seeds the best one): its properties, read once.
struct Ancestor {
  fs::path run;
  RunKind kind;
  TextModelOptions model;
  std::optional<LabelledTask> task;              // the task it was fine-tuned for
  std::optional<PretrainingConfig> pretraining;  // its options, if pretrained by attend
  bool imported = false;

  static Ancestor read(const fs::path& named) {
    const fs::path run = run_of_best_seed(named);
    if (kind_of_run(run) == RunKind::train) check_is_run(run, RunKind::pretrain);  // throws
    Ancestor ancestor{.run = run,
                      .kind = kind_of_run(run),
                      .model = read_config<TextModelOptions>(run / "config.toml", UnknownKeys::ignore),
                      .task = {},
                      .pretraining = {},
                      .imported = !was_trained(run)};
    if (ancestor.kind == RunKind::language) {
      const bool hybrid = objective_of_run(run) == PretrainingKind::hybrid;
      ancestor.model.model = hybrid ? TextEncoderKind::hybrid : TextEncoderKind::language;
    }
    if (!ancestor.is_pretrained()) {
      ancestor.task = load_run_task(run);
    } else if (!ancestor.imported) {
      ancestor.pretraining = read_config<PretrainingConfig>(run / "config.toml", UnknownKeys::ignore);
    }
    return ancestor;
  }

  bool is_pretrained() const { return kind == RunKind::pretrain || kind == RunKind::language; }

  // True if its head reads the same vectors as that of `other`, so that its pooling and weights can be reused.
  bool pools_as(const LabelledTask& other) const {
    return task && is_of_sequences(task->kind) && is_of_sequences(other.kind) && task->text.size() == other.text.size();
  }

  // True if its own training included an objective on [CLS].
  bool teaches_cls() const {
    if (pretraining) return pretraining->relates_parts();
    return task && is_of_sequences(task->kind) && model.pooling_of_run() == Pooling::cls;
  }
};

// The pooling if --pooling is auto. Two texts are compared by their alignment, since [CLS] represents a pair well only
// after more pretraining than an encoder of attend usually gets. For a single text, [CLS] is useless unless an
// objective has trained it.
std::optional<Pooling> default_pooling(const TextModelOptions& model, const LabelledTask& task,
                                       const std::optional<Ancestor>& ancestor) {
  if (!is_of_sequences(task.kind)) return std::nullopt;
  if (ancestor && ancestor->pools_as(task)) return ancestor->model.pooling_of_run();
  if (!model.attends_to_both_sides() || (ancestor && ancestor->imported)) return model.pooling_of_run();
  if (task.text.size() == 2) return Pooling::alignment;
  return !ancestor || ancestor->teaches_cls() ? Pooling::cls : Pooling::mean;
}

class FinetuningJob : public Job {
 public:
  explicit FinetuningJob(FinetuningConfig config) : config_(std::move(config)) {}

  RunKind kind() const override { return RunKind::finetune; }
  SessionConfig config() override { return SessionConfig(config_); }

  void adopt_model(const OptionOrigins& origins) override {
    ancestor_ = Ancestor::read(config_.run.init_from);
    TextModelOptions theirs = ancestor_->model;
    theirs.pooling = config_.model.pooling;  // belongs to the head, which may be new
    // Pretraining has another default of this option, which applies only to a table of positions.
    StackOptions& stack = theirs.encoder;
    if (stack.block.positions != PositionKind::learned) stack.initial_positions = InitialPositions::random;
    name_sizes(stack, origins);
    adopt_model_options(bind(config_.model), bind(theirs), ancestor_->run, origins);
  }

  void validate(const OptionOrigins& origins) const override { config_.refuse_contradictions(origins); }

  Inputs load(bool resumed) override {
    const fs::path run = config_.run.run;
    task_ = resumed ? load_run_task(run) : find_task(config_.task);
    const std::string train_file =
        config_.train.empty() ? find_file(config_.data, task_.train)->string() : config_.train[0];
    const std::vector<std::string> valid_files = validation_files();
    check_text_file(train_file);
    std::ranges::for_each(valid_files, check_text_file);
    task_.labels = labels_of_task(task_, train_file);
    task_.validate(train_file);
    const RecordFormat& format = format_of(task_.kind);
    refuse_inapplicable(config_, option_place, facts_of(task_.kind));
    config_.trainer.check_best_metric(metric_names(task_, valid_files), option_place);
    given_label_weights(config_.label_weights, task_);  // throws
    if (!resumed) choose_pooling();
    if (!resumed && !config_.model.head_dropout) config_.model.head_dropout = config_.model.encoder.dropout;
    tokenizer_ = obtain_tokenizer(resumed);
    SampleConfig& samples = config_.samples;
    const std::int64_t longest = config_.model.longest();
    if (!samples.length) samples.length = std::min(format.default_length(), longest);
    if (*samples.length > longest) {
      throw UserError("--length " + std::to_string(*samples.length) + ": the encoder reads at most " +
                          std::to_string(longest) + " tokens",
                      "lower --length");
    }
    train_ = open(train_file);
    task_.may_lack_answers = train_->questions.may_lack_answers;
    format.keep_learnable(*train_);
    if (train_->samples.empty())
      throw UserError(train_file + ": no usable training examples", "check that it is the right file");
    if (config_.examples < 1) {
      keep_share(train_->samples, config_.examples, config_.trainer.seed);
    }
    if (format.all_alike(*train_)) refuse_one_label(format.label_name());
    for (const std::string& file : valid_files) valid_.push_back(open(file));
    Inputs inputs = {{"the tokenizer", tokenizer_->hash(), "tokenizer/"},
                     {"the text to learn from", train_->hash, "--train " + train_->file}};
    std::set<std::string> names;
    for (const TaskSplit& split : valid_) {
      if (names.insert(fs::path(split.file).stem()).second) continue;
      throw UserError("--valid: two files have the name " + fs::path(split.file).stem().string() +
                          ", which names their scores in the log",
                      "rename one of them");
    }
    for (std::size_t i = 0; i < valid_.size(); ++i) {
      inputs.push_back({"validation text " + std::to_string(i + 1), valid_[i].hash, "--valid " + valid_[i].file});
    }
    return inputs;
  }
  void save_inputs(const fs::path& run) const override {
    save_run_tokenizer(*tokenizer_, run);
    save_run_task(task_, run);
  }

  std::unique_ptr<Task> make_task(bool initial_weights) override {
    TextModel model(config_.model, task_, tokenizer_->size());
    initialise(*model, {.matrices = config_.model.encoder.initialiser}, config_.trainer.seed);
    if (initial_weights && !config_.start.vectors.empty()) {
      start_with(config_.start.vectors, *tokenizer_, model->encoder().table());
    }
    if (initial_weights && !config_.run.init_from.empty()) {
      if (!ancestor_)
        ancestor_ = Ancestor::read(config_.run.init_from);  // if the run was stopped before its first update
      load_encoder(*model);
    }
    return std::make_unique<FinetuningTask>(model, task_, *tokenizer_, config_, std::move(*train_), std::move(valid_));
  }

  UsualSchedule usual_schedule(const Task& task) const override {
    return usual_of_finetuning(config_.trainer, task.batches_per_epoch(), width_of(config_.model.encoder),
                               !ancestor_            ? EncoderOrigin::random
                               : ancestor_->imported ? EncoderOrigin::imported
                                                     : EncoderOrigin::pretrained);
  }

  JobDescription description() const override {
    return {.model = std::string(name_of(config_.model.model)) + " for " + std::string(name_of(task_.kind)),
            .memory_remedy = "lower --batch-size (now " + std::to_string(config_.batch_size) +
                             ") or --length, and raise --accumulate, or choose a smaller --shape"};
  }

 private:
  void choose_pooling() {
    if (!config_.model.pooling) config_.model.pooling = default_pooling(config_.model, task_, ancestor_);
    const bool reads_cls = config_.model.attends_to_both_sides() && config_.model.pooling == Pooling::cls;
    if (!reads_cls || !ancestor_ || ancestor_->imported || ancestor_->teaches_cls()) return;
    log::warn(
        "[CLS] is untrained in {}, whose training had no objective on it: use --pooling mean, or an encoder pretrained "
        "with --sequence-objective next or order",
        ancestor_->run.string());
  }

  std::vector<std::string> validation_files() const {
    if (!config_.valid.empty()) return config_.valid;
    std::vector<std::string> files;
    for (const std::string& name : task_.valid) {
      if (const auto file = find_file(config_.data, name)) files.push_back(file->string());
    }
    return files;
  }

  [[noreturn]] void refuse_one_label(std::string_view label) const {
    const bool sampled = config_.examples < 1;
    throw UserError(train_->file + ": all records" + (sampled ? " kept by --examples" : "") + " have the same " +
                        std::string(label),
                    sampled ? "raise --examples" : "give a file with at least two different ones");
  }

  Tokenizer obtain_tokenizer(bool resumed) const {
    if (resumed) return load_run_tokenizer(config_.run.run);
    if (!config_.tokenizer.empty()) return load_encoder_tokenizer(config_.tokenizer);
    if (ancestor_) return tokenizer_of_ancestor();
    throw UserError(
        "no tokenizer: neither --init-from nor --tokenizer is given",
        "give --init-from RUN of attend pretrain, or, to start from random weights, --tokenizer FILE of attend vocab");
  }

  // The tokenizer of a language model may lack the special pieces of an encoder.
  Tokenizer tokenizer_of_ancestor() const {
    if (ancestor_->kind != RunKind::language) return load_run_tokenizer(ancestor_->run);
    const fs::path file = ancestor_->run / "tokenizer" / kJointTokenizer;
    Tokenizer tokenizer = Tokenizer::load(file);
    const SpecialIds& ids = tokenizer.special();
    if (ids.cls >= 0 && ids.sep >= 0 && ids.mask >= 0) return tokenizer;
    throw UserError(file.string() + ": no pieces \"[CLS]\", \"[SEP]\" and \"[MASK]\", which fine-tuning needs",
                    "describe the task in a prompt: attend predict " + ancestor_->run.string() +
                        " --prompt FILE; or fine-tune a run of attend pretrain with a tokenizer of attend vocab");
  }

  TaskSplit open(const std::string& file) const {
    TaskSplit split = read_split(file, task_, *tokenizer_, config_.samples, Labelled::yes);
    log::info("{}: {}", file, split.report());
    return split;
  }

  // The weights of the model that the ancestor may have, under their names there. A run of a language model has the
  // encoder alone, without its prefix.
  NamedTensors names_in_ancestor(const TextModelImpl& model) const {
    NamedTensors weights = weights_of(model);
    if (ancestor_->kind != RunKind::language) return weights;
    std::erase_if(weights, [&](const auto& weight) { return !model.encoder().owns(weight.first); });
    for (auto& [name, tensor] : weights) name.erase(0, model.encoder().name().size() + 1);
    return weights;
  }

  void load_encoder(const TextModelImpl& model) const {
    const fs::path weights = find_weights(ancestor_->run, "auto");
    NamedTensors taken = names_in_ancestor(model);
    // A head for other labels is reinitialised, even if their number is the same.
    const bool other_labels = ancestor_->task && ancestor_->task->labels != task_.labels;
    if (other_labels) std::erase_if(taken, [](const auto& named) { return named.first.starts_with("classifier."); });
    const WeightReport report = load_common_weights(weights, model, taken);
    const auto is_of_encoder = [&](const std::string& name) {
      return ancestor_->kind == RunKind::language || model.encoder().owns(name);
    };
    for (const auto& [names, problem] :
         {std::pair(&report.missing, " is missing"), std::pair(&report.mismatched, "")}) {
      const auto found = std::ranges::find_if(*names, is_of_encoder);
      if (found == names->end()) continue;
      throw UserError(weights.string() + " does not fit the encoder: " + *found + problem,
                      "leave the model options out: they are adopted with the weights");
    }
    log::info("{}: {} tensors loaded, {} newly initialised, {} unused", weights.string(), report.loaded,
              weights_of(model).size() - report.loaded, report.unused.size());
    if (other_labels) log::info("  the head is randomly initialised: the labels differ");
    for (const std::string& other : report.mismatched) log::info("  randomly initialised: {}", other);
    const bool has_positions = ancestor_->kind != RunKind::language || !ancestor_->model.language().is_recurrent();
    if (ancestor_->pretraining && has_positions) warn_of_length(ancestor_->pretraining->longest());
  }

  void warn_of_length(std::int64_t longest) const {
    const auto longer = [longest](const Sample& sample) { return std::ssize(sample.ids) > longest; };
    const auto count = std::ranges::count_if(train_->samples, longer);
    if (count == 0) return;
    log::warn(
        "{} of {} samples are longer than the {} tokens that the encoder was trained with: later positions are "
        "untrained",
        count, train_->samples.size(), longest);
  }

  FinetuningConfig config_;
  std::optional<Ancestor> ancestor_;  // only for a new run
  LabelledTask task_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<TaskSplit> train_;
  std::vector<TaskSplit> valid_;
};

}  // namespace

void finetune(const FinetuningConfig& config, const OptionOrigins& origins, const ProcessHooks& hooks) {
  FinetuningJob job(config);
  train(job, origins, hooks);
}

}  // namespace attend
