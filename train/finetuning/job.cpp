#include "train/finetuning/job.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/random.hpp"
#include "data/task/record_format.hpp"
#include "data/task/samples.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "models/layers/initialise.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/run.hpp"
#include "train/finetuning/task.hpp"
#include "train/pretraining/config.hpp"
#include "train/run_directory.hpp"
#include "train/session.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

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
