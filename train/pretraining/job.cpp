#include "train/pretraining/job.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/error.hpp"
#include "core/log.hpp"
#include "data/text/documents.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "models/layers/initialise.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "train/pretraining/task.hpp"
#include "train/session.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

class PretrainingJob : public Job {
 public:
  explicit PretrainingJob(PretrainingConfig config) : config_(std::move(config)) {}

  RunKind kind() const override { return RunKind::pretrain; }
  SessionConfig config() override { return SessionConfig(config_); }

  void adopt_model(const OptionOrigins& origins) override {
    check_is_run(config_.run.init_from, RunKind::pretrain);
    auto theirs = read_config<BertOptions>(fs::path(config_.run.init_from) / "config.toml", UnknownKeys::ignore);
    adopt_model_options(bind(config_.model), bind(theirs), config_.run.init_from, origins);
  }

  void validate(const OptionOrigins& origins) const override { config_.refuse_contradictions(origins); }

  Inputs load(bool resumed) override {
    for (const auto* files : {&config_.train, &config_.valid}) std::ranges::for_each(*files, check_text_file);
    tokenizer_ = tokenizer(resumed);
    if (!config_.vocabulary.size) config_.vocabulary.size = tokenizer_->size();
    train_ = open(config_.train);
    if (!config_.valid.empty()) valid_ = open(config_.valid);
    if (!config_.max_tokens) {
      // A CPU is busy with few tokens, and more updates on the same tokens learn more.
      const std::int64_t usual = torch::Device(config_.run.device).is_cpu() ? 1024 : 4096;
      config_.max_tokens = std::max(usual, config_.longest());
    }
    if (!config_.short_first) {
      const bool from_nothing =
          !resumed && config_.run.init_from.empty() && config_.phases.empty() && !config_.trainer.max_epochs;
      config_.short_first = from_nothing ? 0.2 : 0;
    }
    const TrainerConfig& trainer = config_.trainer;
    const bool by_clock = trainer.max_time && !trainer.max_steps && !trainer.max_epochs;
    if (!config_.schedule.end && by_clock) config_.schedule.end = ScheduleEnd::max_time;
    return {{"the tokenizer", tokenizer_->hash(), "tokenizer/"},
            {"the text to learn from", train_->identity(), "--train " + name_of_files(config_.train)},
            {"the text to validate on", valid_ ? valid_->identity() : "", "--valid " + name_of_files(config_.valid)}};
  }
  void save_inputs(const fs::path& run) const override { save_run_tokenizer(*tokenizer_, run); }

  std::unique_ptr<Task> make_task(bool initial_weights) override {
    BertForPretraining model(bert_config(config_.model, tokenizer_->size()));
    const auto seed = static_cast<std::uint64_t>(config_.trainer.seed);
    initialise(*model, {.matrices = config_.model.initialiser}, seed);
    if (initial_weights && !config_.run.init_from.empty()) {
      const fs::path from = config_.run.init_from;
      if (load_run_tokenizer(from).hash() != tokenizer_->hash()) {
        throw UserError("--init-from " + from.string() + ": that run has another tokenizer than --tokenizer",
                        "leave --tokenizer out: the tokenizer is adopted with the weights");
      }
      load_pretrained(find_weights(from, "auto"), *model);
    }
    return std::make_unique<PretrainingTask>(model, *tokenizer_, config_, std::move(*train_), std::move(valid_));
  }

  void resolve_schedule(const Task& task) override {
    TrainerConfig& trainer = config_.trainer;
    const std::int64_t epoch = trainer.updates_of(task.batches_per_epoch());
    if (!trainer.max_steps) {
      trainer.max_steps = trainer.max_epochs ? trainer.updates_of(*trainer.max_epochs * task.batches_per_epoch())
                                             : std::clamp<std::int64_t>(3 * epoch, 1000, 1'000'000);
    }
    if (!config_.schedule.learning_rate) {
      // Wider models need smaller rates: 7e-4 at width 256, 2.3e-4 at 768.
      const auto width = static_cast<double>(bert_config(config_.model, tokenizer_->size()).block.width);
      config_.schedule.learning_rate = std::min(7e-4 * 256 / width, 1e-3);
    }
    if (!config_.schedule.warmup_steps) {
      const bool counted = config_.schedule.end != ScheduleEnd::max_time;
      const std::int64_t longest = *trainer.max_steps / 10;
      config_.schedule.warmup_steps =
          counted ? std::min(std::clamp<std::int64_t>(*trainer.max_steps / 100, 100, 10'000), longest) : 300;
    }
    if (!trainer.valid_every) trainer.valid_every = std::clamp<std::int64_t>(epoch / 4, 100, 5000);
    if (!trainer.save_every) trainer.save_every = trainer.valid_every;
  }

  std::string model_name() const override { return "BERT"; }
  std::string memory_remedy() const override {
    return "lower --max-tokens (now " + std::to_string(*config_.max_tokens) +
           ") and raise --accumulate to keep the size of updates, or choose a smaller --shape";
  }

 private:
  Tokenizer tokenizer(bool resumed) const {
    if (resumed) return load_run_tokenizer(config_.run.run);
    if (config_.tokenizer.empty() && config_.run.init_from.empty()) {
      log::info("training a tokenizer on {}", name_of_files(config_.train));
      return train_tokenizer(config_.train, config_.vocabulary);
    }
    const Tokenizer given = config_.tokenizer.empty() ? load_run_tokenizer(config_.run.init_from)
                                                      : load_encoder_tokenizer(config_.tokenizer[0]);
    warn_of_other(config_.vocabulary, given);
    return given;
  }

  DocumentCorpus open(const std::vector<std::string>& files) const {
    DocumentCorpus corpus = DocumentCorpus::open(files, *tokenizer_, config_.cache.resolved());
    log::info("{}: {}", corpus.name(), corpus.counts().report(corpus.num_tokens()));
    if (config_.instances.sequence_objective != SequenceObjective::none && corpus.num_single_sentences() > 0) {
      log::warn(
          "{}: skipped {} documents of one sentence, which has no next sentence; --sequence-objective none uses "
          "them",
          corpus.name(), corpus.num_single_sentences());
    }
    return corpus;
  }

  PretrainingConfig config_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<DocumentCorpus> train_, valid_;
};

}  // namespace

void pretrain(const PretrainingConfig& config, const OptionOrigins& origins, const ProcessHooks& hooks) {
  PretrainingJob job(config);
  train(job, origins, hooks);
}

}  // namespace attend
