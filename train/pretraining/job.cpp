#include "train/pretraining/job.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "data/text/documents.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/initialise.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/run.hpp"
#include "train/pretraining/task.hpp"
#include "train/session.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// The common part of all kinds of pretraining: text, tokenizer and schedule.
class PretrainingJob : public Job {
 public:
  explicit PretrainingJob(PretrainingConfig config) : config_(std::move(config)) {}

  SessionConfig config() override { return SessionConfig(config_); }

  void validate(const OptionOrigins& origins) const override { config_.refuse_contradictions(origins); }

  Inputs load(bool resumed) override {
    for (const auto* files : {&config_.train, &config_.valid}) std::ranges::for_each(*files, check_text_file);
    tokenizer_ = tokenizer(resumed);
    resolve(resumed);
    if (!config_.vocabulary.size) config_.vocabulary.size = tokenizer_->size();
    train_ = open(config_.train);
    if (!config_.valid.empty()) valid_ = open(config_.valid);
    if (!config_.max_tokens) {
      // A CPU is busy with few tokens, and more updates on the same tokens learn more.
      const std::int64_t usual = torch::Device(config_.run.device).is_cpu() ? 1024 : 4096;
      config_.max_tokens = std::max(usual, config_.longest());
    }
    return {{"the tokenizer", tokenizer_->hash(), "tokenizer/"},
            {"the text to learn from", train_->identity(), "--train " + name_of_files(config_.train)},
            {"the text to validate on", valid_ ? valid_->identity() : "", "--valid " + name_of_files(config_.valid)}};
  }
  void save_inputs(const fs::path& run) const override { save_run_tokenizer(*tokenizer_, run); }

  UsualSchedule usual_schedule(const Task& task) const override {
    const StackOptions& stack = config_.model.stack;
    const bool tolerant = config_.is_causal() && (config_.model.is_recurrent() || stack.block.norm == NormPlace::pre);
    return usual_of_pretraining(config_.trainer, task.batches_per_epoch(), width_of(stack), tolerant,
                                config_.schedule.end == ScheduleEnd::max_time);
  }

  JobDescription description() const override {
    return {.model = config_.is_causal() ? std::string(name_of(config_.model.cell)) : "BERT",
            .memory_remedy = "lower --max-tokens (now " + std::to_string(*config_.max_tokens) +
                             ") and raise --accumulate to keep the size of updates, or choose a smaller --shape"};
  }

 protected:
  // Loads a tokenizer. Throws UserError if it lacks special pieces that this kind needs.
  virtual Tokenizer load_tokenizer(const fs::path& file) const = 0;
  Tokenizer tokenizer_of(const fs::path& run) const { return load_tokenizer(run / "tokenizer" / kJointTokenizer); }
  // Checks and resolves options of this kind only.
  virtual void resolve(bool resumed) = 0;

  // Initialises the weights randomly, then, if `initial`, from the run of --init-from by calling `load` with its file.
  void initialise_weights(torch::nn::Module& model, bool initial, const std::function<void(const fs::path&)>& load) {
    initialise(model, {.matrices = config_.model.stack.initialiser}, config_.trainer.seed);
    if (!initial || config_.run.init_from.empty()) return;
    const fs::path from = config_.run.init_from;
    if (tokenizer_of(from).hash() != tokenizer_->hash()) {
      throw UserError("--init-from " + from.string() + ": that run has another tokenizer than --tokenizer",
                      "leave --tokenizer out: the tokenizer is adopted with the weights");
    }
    load(find_weights(from, "auto"));
  }

  // Adopts the options of the run of --init-from for those that were not given.
  template <class Options>
  void adopt(Options& ours, RunKind kind, const OptionOrigins& origins) const {
    check_is_run(config_.run.init_from, kind);
    auto theirs = read_config<Options>(fs::path(config_.run.init_from) / "config.toml", UnknownKeys::ignore);
    if constexpr (std::is_same_v<Options, StackOptions>) {
      name_sizes(theirs, origins);
    } else {
      name_sizes(theirs.stack, origins);
    }
    adopt_model_options(bind(ours), bind(theirs), config_.run.init_from, origins);
  }

  PretrainingConfig config_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<DocumentCorpus> train_, valid_;

 private:
  Tokenizer tokenizer(bool resumed) const {
    if (resumed) return tokenizer_of(config_.run.run);
    if (config_.tokenizer.empty() && config_.run.init_from.empty()) {
      log::info("training a tokenizer on {}", name_of_files(config_.train));
      return train_tokenizer(config_.train, config_.vocabulary);
    }
    const Tokenizer given =
        config_.tokenizer.empty() ? tokenizer_of(config_.run.init_from) : load_tokenizer(config_.tokenizer[0]);
    warn_of_other(config_.vocabulary, given);
    return given;
  }

  DocumentCorpus open(const std::vector<std::string>& files) const {
    DocumentCorpus corpus = DocumentCorpus::open(files, *tokenizer_, config_.cache.resolved());
    log::info("{}: {}", corpus.name(), corpus.counts().report(corpus.num_tokens()));
    return corpus;
  }
};

// A BERT, which predicts masked tokens, or tokens in a permuted order.
class MaskedJob final : public PretrainingJob {
 public:
  using PretrainingJob::PretrainingJob;

  RunKind kind() const override { return RunKind::pretrain; }

  void adopt_model(const OptionOrigins& origins) override { adopt(config_.model.stack, kind(), origins); }

  std::unique_ptr<Task> make_task(bool initial_weights) override {
    BertForPretraining model = make_bert(config_.model.stack, *tokenizer_, config_.objective);
    initialise_weights(*model, initial_weights, [&](const fs::path& weights) { load_pretrained(weights, *model); });
    for (const std::optional<DocumentCorpus>* corpus : {&train_, &valid_}) {
      if (*corpus) warn_of_single_sentences(**corpus);
    }
    return std::make_unique<PretrainingTask>(model, *tokenizer_, config_, std::move(*train_), std::move(valid_));
  }

 private:
  Tokenizer load_tokenizer(const fs::path& file) const override { return load_encoder_tokenizer(file); }

  void resolve(bool resumed) override {
    if (config_.short_first) return;
    const bool from_nothing =
        !resumed && config_.run.init_from.empty() && config_.phases.empty() && !config_.trainer.max_epochs;
    config_.short_first = from_nothing ? 0.2 : 0;
  }

  void warn_of_single_sentences(const DocumentCorpus& corpus) const {
    if (!config_.relates_parts() || corpus.num_single_sentences() == 0) return;
    log::warn("{}: skipped {} of one sentence, which has no next sentence; --sequence-objective none uses them",
              corpus.name(), counted(corpus.num_single_sentences(), "document"));
  }
};

// A language model, which predicts each token from those before it, and as a hybrid masked tokens, too.
class CausalJob final : public PretrainingJob {
 public:
  using PretrainingJob::PretrainingJob;

  RunKind kind() const override { return RunKind::language; }

  void adopt_model(const OptionOrigins& origins) override { adopt(config_.model, kind(), origins); }

  std::unique_ptr<Task> make_task(bool initial_weights) override {
    const LanguageModel model = make_language_model(config_.model, tokenizer_->size(), config_.objective);
    initialise_weights(*model, initial_weights, [&](const fs::path& weights) { load_weights(weights, *model); });
    return std::make_unique<LanguageTask>(model, *tokenizer_, config_, std::move(*train_), std::move(valid_));
  }

 private:
  Tokenizer load_tokenizer(const fs::path& file) const override {
    Tokenizer tokenizer = config_.is_hybrid() ? load_encoder_tokenizer(file) : Tokenizer::load(file);
    check_ends_texts(tokenizer, file);
    return tokenizer;
  }

  void resolve(bool resumed) override {
    if (!resumed || !config_.model.carries()) return;
    // An update has one batch of each stream of text, and each stream has its own state.
    const auto began = read_config<TrainerConfig>(fs::path(config_.run.run) / "config.toml", UnknownKeys::ignore);
    if (began.accumulate == config_.trainer.accumulate) return;
    throw UserError("--accumulate: " + std::to_string(config_.trainer.accumulate) + ", but the run in " +
                        config_.run.run + " carries the state of its texts in " + std::to_string(began.accumulate) +
                        " batches per update",
                    "resume with the same value, or start another run from its weights with --init-from");
  }
};

}  // namespace

void pretrain(const PretrainingConfig& given, const OptionOrigins& origins, const ProcessHooks& hooks) {
  PretrainingConfig config = given;
  const RunConfig& run = config.run;
  if (!origins.given("objective") && run.resume != "never" && !run.run.empty() &&
      fs::exists(fs::path(run.run) / "run.json")) {
    config.objective = objective_of_run(run.run);
  }
  config.set_defaults(origins);
  if (!config.is_causal()) {
    MaskedJob job(config);
    return train(job, origins, hooks);
  }
  if (!config.model.is_recurrent() && config.model.stack.block.norm == NormPlace::post) {
    log::info("{}: post; the default of --objective {}, and GPT-2's, is pre", origins("norm"),
              name_of(config.objective));
  }
  CausalJob job(config);
  train(job, origins, hooks);
}

}  // namespace attend
