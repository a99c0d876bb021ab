#include "train/pretraining/job.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "data/batch/batch_stream.hpp"
#include "data/batch/sources.hpp"
#include "data/corpus/document_corpus.hpp"
#include "data/text/documents.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "models/bert/bert.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/initialise.hpp"
#include "models/layers/layers.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/kind.hpp"
#include "models/run/run.hpp"
#include "train/pretraining/objective.hpp"
#include "train/task.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// What both tasks have in common: the model, the text to learn from and that to validate on, which may be absent, and
// batches of about the same size.
template <class Model, class Batch, class HeldOut>
class RawTextTask : public StreamTask<Batch> {
 public:
  ~RawTextTask() override { this->stop(); }

  torch::nn::Module& model() override { return *model_; }
  std::int64_t batches_per_epoch() const override { return batches_per_epoch_; }
  bool batches_are_alike() const override { return true; }
  std::vector<std::string> metrics() const override {
    return valid_ ? config_.metric_names() : std::vector<std::string>();
  }

 protected:
  RawTextTask(Model model, std::unique_ptr<Objective<Batch>> objective, TensorMetadata identity,
              const Tokenizer& tokenizer, const PretrainingConfig& config, DocumentCorpus train,
              std::optional<DocumentCorpus> valid)
      : StreamTask<Batch>(std::move(objective), std::move(identity), torch::Device(config.run.device)),
        model_(std::move(model)),
        tokenizer_(tokenizer),
        config_(config),
        train_(std::move(train)),
        valid_(std::move(valid)) {}

  std::vector<std::int64_t> lines_of(const Batch& batch) const override { return batch.lines; }

  Model model_;
  Tokenizer tokenizer_;
  PretrainingConfig config_;
  DocumentCorpus train_;
  std::int64_t batches_per_epoch_ = 0;
  std::optional<DocumentCorpus> valid_;
  std::optional<HeldOut> held_out_;  // refers to valid_
};

constexpr std::uint64_t kCounted = 10'000'000;

// -ln of the frequency of each piece among the first tokens of the text, with add-one smoothing, [V].
torch::Tensor unigram_nll(const DocumentCorpus& corpus, std::int64_t vocabulary) {
  std::vector<std::int32_t> ids;
  corpus.append(0, std::min(kCounted, corpus.num_tokens()), ids);
  const auto all = torch::from_blob(ids.data(), {std::ssize(ids)}, torch::kInt32).to(torch::kLong);
  const torch::Tensor counts_V = at::bincount(all, {}, vocabulary).to(torch::kFloat64) + 1;
  return (counts_V.sum().log() - counts_V.log()).to(torch::kFloat32);
}

// Pretraining of a BERT on raw text: masked or permuted tokens, and the relation of two parts of a sequence.
class PretrainingTask : public RawTextTask<BertForPretraining, PretrainingBatch, PretrainingData> {
 public:
  static constexpr std::int64_t kPlateauSteps = 1000;
  static constexpr double kPlateauGain = 0.2;

  PretrainingTask(BertForPretraining model, const Tokenizer& tokenizer, const PretrainingConfig& config,
                  DocumentCorpus train, std::optional<DocumentCorpus> valid)
      : RawTextTask(model, std::make_unique<PretrainingObjective>(model), identity_of(config.model.stack, tokenizer),
                    tokenizer, config, std::move(train), std::move(valid)),
        phases_(config.lengths("--phase", *config.max_tokens)) {
    batches_per_epoch_ = training_data(std::ssize(phases_) - 1).num_batches();
    // The same masks or orders at every validation, and the masking of the paper whatever the options, so that runs are
    // comparable. The length is that of the last phase.
    if (valid_) held_out_.emplace(data(*valid_, MaskingConfig{}, 0, phases_.back()));
  }

  std::int64_t phase_at(double share) const override {
    const auto found = std::ranges::find_if(phases_, [share](const Phase& phase) { return share < phase.end; });
    return std::min(found - phases_.begin(), std::ssize(phases_) - 1);
  }

  // All batches of a phase have about the same size; longer sequences with the same number of tokens need more memory.
  MicroBatch largest() override {
    const auto size = [](const Phase& phase) { return std::pair(phase.max_tokens, phase.length); };
    return micro_batch(training_data(std::ranges::max_element(phases_, {}, size) - phases_.begin()).batch(0));
  }

  // Loss, perplexity and accuracy of the predicted tokens, and accuracy of pairs if they are trained. Warns if, after
  // kPlateauSteps and in the last phase, the model is hardly better than predicting by the frequency of the pieces.
  std::vector<ValidationMetric> validate(const fs::path& /*run*/, std::int64_t step, Ranks& ranks) override {
    std::vector<torch::Tensor> labels;
    std::array<double, 5> sums = {};
    auto& [nll, masked, masked_correct, pairs, pairs_correct] = sums;
    measure_held_out(*held_out_, config_.valid_tokens, ranks, [&](const PretrainingBatch& batch) {
      Pass pass = Pass::inference();
      const auto losses = model_->forward(batch, pass);
      nll += losses.masked.nll().item<double>();
      labels.push_back(batch.labels_K.cpu());
      masked += static_cast<double>(batch.labels_K.size(0));
      masked_correct += losses.masked.num_correct.item<double>();
      if (!batch.relations_B.defined()) return;
      pairs += static_cast<double>(batch.relations_B.size(0));
      pairs_correct += losses.sequence.num_correct.item<double>();
    });
    ranks.sum(sums);
    const double loss = nll / masked;
    if (step >= kPlateauSteps && phase_ == std::ssize(phases_) - 1) warn_of_plateau(loss, labels, ranks);
    std::vector<ValidationMetric> metrics = {{.name = "loss", .value = loss},
                                             {.name = "ppl", .value = std::exp(loss)},
                                             {.name = "accuracy", .value = 100 * masked_correct / masked}};
    if (pairs > 0) metrics.push_back({.name = "sequence_accuracy", .value = 100 * pairs_correct / pairs});
    return metrics;
  }

 private:
  std::unique_ptr<BatchStream<PretrainingBatch>> stream_from(DataPosition position, Shard shard) override {
    if (position.phase >= std::ssize(phases_)) {
      throw UserError("the checkpoint is in phase " + std::to_string(position.phase) + ", but the training has " +
                          std::to_string(phases_.size()) + " phases, counted from 0",
                      "its state.json was edited or is damaged");
    }
    phase_ = position.phase;
    if (phases_.size() > 1) {
      const Phase& phase = phases_[phase_];
      log::info("phase {} of {}: sequences of {} tokens, batches of {}", phase_ + 1, phases_.size(), phase.length,
                phase.max_tokens);
    }
    return std::make_unique<BatchStream<PretrainingBatch>>(training_data(position.phase), position, shard);
  }

  std::int64_t tokens_of(const PretrainingBatch& batch) const override { return batch.input.tokens.ids_M.size(0); }

  PretrainingData data(const DocumentCorpus& corpus, const MaskingConfig& masking, std::uint64_t seed,
                       const Phase& phase) const {
    InstanceConfig instances = config_.instances;
    instances.length = phase.length;
    if (!phase.pairs || !config_.relates_parts()) instances.sequence_objective = SequenceObjective::none;
    return {corpus, tokenizer_, instances, masking, phase.max_tokens, seed, config_.objective};
  }

  PretrainingData training_data(std::int64_t phase) const {
    MaskingConfig masking = config_.masking;
    masking.mask_rate = phases_.at(phase).mask_rate.value_or(masking.mask_rate);
    return data(train_, masking, combine_keys(config_.trainer.seed, phase), phases_.at(phase));
  }

  void warn_of_plateau(double loss, const std::vector<torch::Tensor>& labels, Ranks& ranks) {
    if (!unigram_loss_) {
      const torch::Tensor nll_V = unigram_nll(train_, tokenizer_.size());
      std::array<double, 2> nll_and_count = {};
      for (const torch::Tensor& labels_K : labels) {
        nll_and_count[0] += nll_V.index_select(0, labels_K).sum().item<double>();
        nll_and_count[1] += static_cast<double>(labels_K.size(0));
      }
      ranks.sum(nll_and_count);
      unigram_loss_ = nll_and_count[0] / nll_and_count[1];
    }
    if (loss < *unigram_loss_ - kPlateauGain) return;
    log::warn(
        "the loss is {:.2f}, and predicting by the frequency of the pieces would give {:.2f}: the model does not "
        "attend to the neighbours of a masked token yet. It learns this sooner with a longer phase of short sequences, "
        "such as --short-first 0.4, --initial-positions sinusoids, --dropout 0, --sequence-objective none or a lower "
        "--learning-rate",
        loss, *unigram_loss_);
  }

  std::vector<Phase> phases_;
  std::int64_t phase_ = 0;              // the current phase
  std::optional<double> unigram_loss_;  // held-out loss of predicting by frequency
};

std::int64_t lanes_of(const PretrainingConfig& config) {
  return config.model.carries() ? config.trainer.accumulate : 0;
}

// Pretraining of a language model on raw text.
class LanguageTask : public RawTextTask<LanguageModel, LanguageBatch, CausalData> {
 public:
  // The tokenizer must have an end token. Throws UserError as CausalData does.
  LanguageTask(LanguageModel model, const Tokenizer& tokenizer, const PretrainingConfig& config, DocumentCorpus train,
               std::optional<DocumentCorpus> valid)
      : RawTextTask(
            model,
            std::make_unique<LanguageObjective>(model, lanes_of(config), *config.max_tokens / config.instances.length,
                                                torch::Device(config.run.device)),
            identity_of(config.model, tokenizer), tokenizer, config, std::move(train), std::move(valid)) {
    batches_per_epoch_ = training_data().num_batches();
    if (!valid_) return;
    const bool carries = config.model.carries();  // in one lane, so that all models read the same text
    CausalDataConfig held_out{.length = config.instances.length,
                              .max_tokens = carries ? config.instances.length : *config.max_tokens,
                              .lanes = carries ? 1 : 0};
    held_out_.emplace(*valid_, tokenizer.special().eos, held_out);
    if (!config.is_hybrid()) return;
    held_out.hybrid = HybridConfig{.vocabulary = MaskVocabulary(tokenizer)};  // the masking of the BERT paper
    masked_held_out_.emplace(*valid_, tokenizer.special().eos, held_out);
  }

  // With a memory, a batch that finds it full; this overwrites the state of the objective.
  MicroBatch largest() override {
    LanguageBatch batch = training_data().batch(0);
    batch.begins = config_.model.memory == 0;
    if (!batch.begins) {
      for (const auto& [name, part] : objective_state()) {
        if (part.dim() == 1) part.fill_(static_cast<double>(config_.model.memory));  // the memory is full
      }
    }
    return micro_batch(std::move(batch));
  }

  // Loss, perplexity and accuracy over the first --valid-tokens tokens of the text; state is carried as in training. Of
  // a hybrid, loss and accuracy of both predictions in all of these segments, and the trained loss.
  std::vector<ValidationMetric> validate(const fs::path& /*run*/, std::int64_t /*step*/, Ranks& ranks) override {
    // The mean loss of the tokens that `predict` predicts, and their accuracy in percent.
    const auto measure = [&](const CausalData& data, const auto& predict) {
      std::array<double, 3> sums = {};
      auto& [nll, count, correct] = sums;
      measure_held_out(data, config_.valid_tokens, ranks, [&](const LanguageBatch& batch) {
        Pass pass = Pass::inference();
        const ops::CrossEntropy result = predict(batch, pass);
        nll += result.nll().item<double>();
        count += static_cast<double>(result.nll_M.size(0));
        correct += result.num_correct.item<double>();
      });
      ranks.sum(sums);
      return std::pair(nll / count, 100 * correct / count);
    };
    Carried carried;  // if the model has one, there is a single rank
    const auto [loss, accuracy] = measure(*held_out_, [&](const LanguageBatch& batch, Pass& pass) {
      const torch::Tensor hidden_MH = model_->forward(batch.tokens, pass, &carried);
      return ops::cross_entropy(hidden_MH, model_->output_table(), {}, batch.labels_M, 0);
    });
    if (!masked_held_out_) {
      return {{.name = "loss", .value = loss},
              {.name = "ppl", .value = std::exp(loss)},
              {.name = "accuracy", .value = accuracy}};
    }
    const auto [masked_loss, masked_accuracy] = measure(*masked_held_out_, [&](const LanguageBatch& batch, Pass& pass) {
      return predict_masked(*model_, batch.masked, pass);
    });
    const double share = config_.causal_share;
    return {{.name = "loss", .value = share * loss + (1 - share) * masked_loss},
            {.name = "causal_loss", .value = loss},
            {.name = "causal_accuracy", .value = accuracy},
            {.name = "masked_loss", .value = masked_loss},
            {.name = "masked_accuracy", .value = masked_accuracy}};
  }

 private:
  std::unique_ptr<BatchStream<LanguageBatch>> stream_from(DataPosition position, Shard shard) override {
    return std::make_unique<BatchStream<LanguageBatch>>(training_data(), position, shard);
  }
  std::int64_t tokens_of(const LanguageBatch& batch) const override { return batch.num_tokens(); }

  CausalData training_data() const {
    CausalDataConfig data{.length = config_.instances.length,
                          .max_tokens = *config_.max_tokens,
                          .lanes = lanes_of(config_),
                          .seed = config_.trainer.seed};
    if (config_.is_hybrid()) {
      data.hybrid = HybridConfig{
          .causal_share = config_.causal_share, .masking = config_.masking, .vocabulary = MaskVocabulary(tokenizer_)};
    }
    return {train_, tokenizer_.special().eos, data};
  }

  std::optional<CausalData> masked_held_out_;  // of a hybrid: the same segments as held_out_
};

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
