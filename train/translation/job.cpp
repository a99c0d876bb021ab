#include "train/translation/job.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <sstream>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "data/text/lines.hpp"
#include "data/text/parallel.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "eval/translate.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/kind.hpp"
#include "models/translation/factory.hpp"
#include "train/translation/objective.hpp"

namespace attend {

TranslationTask::TranslationTask(Seq2Seq model, const TokenizerPair& tokenizers, const TranslationConfig& config,
                                 EncodedCorpus train, std::optional<EncodedCorpus> valid,
                                 std::vector<PieceLinks> guides)
    : StreamTask(
          std::make_unique<TranslationObjective>(model, config.objective, config.model.attention == ChoiceKind::hard,
                                                 config.guided, config.relations, config.model.prune_heads.value_or(0)),
          identity_of(config.model, tokenizers), torch::Device(config.run.device)),
      model_(std::move(model)),
      tokenizers_(tokenizers),
      metrics_(config.metrics),
      metric_names_(config.metric_names()),
      threads_(*config.run.threads),
      ids_(batch_ids(tokenizers)),
      train_(std::move(train)),
      order_(train_, config.batches, config.trainer.seed),
      guides_(std::move(guides)) {
  if (config.sampling.samples()) {
    sampled_.emplace(train_, tokenizers_, config.sampling, config.trainer.seed,
                     std::min(config.corpus.max_length, *config.batches.max_tokens - 1));
  }
  // With sampled pieces an estimate, since sampling the whole text takes long.
  const double growth = sampled_ ? sampled_->growth() : 1;
  batches_per_epoch_ = std::llround(static_cast<double>(order_.epoch(0).size()) * growth);
  if (!valid) return;
  BatchOrder order(*valid, config.batches, 0);
  valid_.emplace(Validation{.corpus = std::move(*valid), .order = std::move(order), .src = {}, .tgt = {}});
  ParallelReader reader(config.valid[0], config.valid[1]);
  for (TextPair pair; std::ssize(valid_->src) < config.bleu_sentences && reader.next(pair);) {
    valid_->src.push_back(pair.src);
    valid_->tgt.push_back(pair.tgt);
  }
}

ParallelBatches TranslationTask::batches() const { return {train_, order_, ids_, sampled_ ? &*sampled_ : nullptr}; }

Batch TranslationTask::guided(Batch batch) const {
  for (const PieceLinks& links : guides_) links.add_to(batch, train_);
  return batch;
}

std::unique_ptr<BatchStream<Batch>> TranslationTask::stream_from(DataPosition position, Shard shard) {
  struct GuidedBatches {  // decorates the source
    const TranslationTask* task;
    ParallelBatches batches;

    std::int64_t begin_epoch(std::int64_t epoch) { return batches.begin_epoch(epoch); }
    Batch batch(std::int64_t number) const { return task->guided(batches.batch(number)); }
  };
  return std::make_unique<BatchStream<Batch>>(GuidedBatches{this, batches()}, position, shard);
}

std::vector<std::int64_t> TranslationTask::lines_of(const Batch& batch) const {
  std::vector<std::int64_t> lines;
  for (const std::int64_t example : batch.examples) lines.push_back(train_.line(example));
  return lines;
}

MicroBatch TranslationTask::largest() {
  ParallelBatches source = batches();
  source.begin_epoch(0);
  return micro_batch(guided(source.largest()));
}

std::vector<ValidationMetric> TranslationTask::validate(const std::filesystem::path& run, std::int64_t step,
                                                        Ranks& ranks) {
  ParallelBatches held_out(valid_->corpus, valid_->order, ids_);
  held_out.begin_epoch(0);
  std::array<double, 2> nll_and_count = {};
  measure_held_out(held_out, std::numeric_limits<std::int64_t>::max(), ranks, [&](const Batch& batch) {
    Pass pass = Pass::inference();
    nll_and_count[0] += objective_->losses(batch, pass)[0].reported.item<double>();
    nll_and_count[1] += static_cast<double>(batch.num_labels());
  });
  ranks.sum(nll_and_count);
  const double loss = nll_and_count[0] / nll_and_count[1];
  std::vector<ValidationMetric> found = {{.name = "loss", .value = loss}, {.name = "ppl", .value = std::exp(loss)}};
  if (const std::vector<LayerGates> gates = gates_of(*model_); !gates.empty()) {
    double open = 0;
    for (const LayerGates& layer : gates) open += layer.gates->values_N().gt(0).sum().item<double>();
    found.push_back({.name = "open_gates", .value = open});
  }
  if (valid_->src.empty()) return found;

  TranslatorConfig greedy;  // one worker per thread of the training
  greedy.workers = threads_;
  const std::size_t ranks_of = ranks.size();
  std::vector<std::string> own;  // this rank's share: every ranks_of-th sentence
  for (std::size_t i = ranks.rank(); i < valid_->src.size(); i += ranks_of) own.push_back(valid_->src[i]);
  std::string own_lines;
  ranks.together([&] {
    for (const auto& translation : Translator(*model_, tokenizers_, greedy).translate(own)) {
      own_lines += translation.front().text + "\n";
    }
  });
  std::vector<std::istringstream> lines;
  for (const std::string& text : ranks.gather(own_lines)) lines.emplace_back(text);
  std::vector<std::string> hypotheses(valid_->src.size());
  std::string text;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    std::getline(lines[i % ranks_of], hypotheses[i]);
    text += hypotheses[i] + "\n";
  }
  const std::vector<std::unique_ptr<metrics::Metric>> chosen = metrics::TranslationMetrics{.choice = metrics_}.make();
  for (std::size_t m = 0; m < chosen.size(); ++m) {
    const metrics::Tally tally =
        metrics::evaluate(*chosen[m], hypotheses, std::span(&valid_->tgt, 1), static_cast<int>(threads_));
    found.push_back({.name = metrics_.metrics[m], .value = tally.value()});
  }
  if (!ranks.first()) return found;
  make_directories(run / "hyps");
  write_file_atomic(run / "hyps" / ("step-" + std::to_string(step) + ".txt"), text);
  return found;
}

namespace {

namespace fs = std::filesystem;

// The model options of a run, which an earlier version may have left at auto.
ModelConfig model_of(const fs::path& run) {
  auto model = read_config<ModelConfig>(run / "config.toml", UnknownKeys::ignore);
  resolve_transformer(model);
  return model;
}

TokenizerPair tokenizers_for(const TranslationConfig& config, bool resumed) {
  const auto of_run = [](const fs::path& run) { return TokenizerPair::load(run / "tokenizer"); };
  if (resumed) return of_run(config.run.run);
  if (config.tokenizer.empty() && config.run.init_from.empty()) {
    log::info("training a tokenizer on {} and {}", config.train[0], config.train[1]);
    const Tokenizer joint = train_tokenizer(config.train, config.vocabulary);
    return {.src = joint, .tgt = joint};
  }
  const TokenizerPair given =
      config.tokenizer.empty() ? of_run(config.run.init_from) : TokenizerPair::from_files(config.tokenizer);
  warn_of_other(config.vocabulary, given.tgt);
  return given;
}

CorpusSource source_of(const std::vector<std::string>& files, const TokenizerPair& tokenizers) {
  return {.src_file = files[0], .tgt_file = files[1], .src_tokenizer = tokenizers.src, .tgt_tokenizer = tokenizers.tgt};
}

EncodedCorpus open_corpus(const CorpusSource& source, const TranslationConfig& config) {
  EncodedCorpus corpus = EncodedCorpus::open(source, config.corpus, config.cache.resolved());
  const ParallelCounts& counts = corpus.counts();
  log::info("{} {}: {}", source.src_file, source.tgt_file, counts.report());
  counts.src.log(source.src_file);
  counts.tgt.log(source.tgt_file);
  return corpus;
}

class TranslationJob : public Job {
 public:
  explicit TranslationJob(TranslationConfig config) : config_(std::move(config)) {}

  RunKind kind() const override { return RunKind::train; }
  SessionConfig config() override { return SessionConfig(config_); }

  void adopt_model(const OptionOrigins& origins) override {
    check_is_run(config_.run.init_from, RunKind::train);
    ModelConfig theirs = model_of(config_.run.init_from);
    // Any model may be given gates; their penalty belongs to this training.
    if (config_.model.prune_heads) theirs.prune_heads = config_.model.prune_heads;
    adopt_model_options(bind(config_.model), bind(theirs), config_.run.init_from, origins);
  }

  void validate(const OptionOrigins& origins) const override { config_.refuse_contradictions(origins); }

  Inputs load(bool resumed) override {
    check_parallel(config_.train[0], config_.train[1]);
    if (!config_.valid.empty()) check_parallel(config_.valid[0], config_.valid[1]);
    std::vector<SentenceLinks> links;
    const std::string& link_file = config_.guided.links;
    if (config_.guided.guides()) links = read_word_links(link_file, config_.train[0], config_.train[1]);
    std::vector<TreeSentence> trees;
    const std::string& tree_file = config_.relations.trees;
    if (config_.relations.guides()) trees = read_line_trees(tree_file, config_.train[0]);
    tokenizers_ = tokenizers_for(config_, resumed);
    if (config_.model.reverse_target) tokenizers_->tgt = tokenizers_->tgt.reversed();
    check_vocabularies(config_.model, sizes_of(*tokenizers_));
    if (!config_.vocabulary.size) config_.vocabulary.size = tokenizers_->tgt.size();
    check_sampling(config_.sampling, tokenizers_->src, "the source");
    check_sampling(config_.sampling, tokenizers_->tgt, "the target");
    const CorpusSource source = source_of(config_.train, *tokenizers_);
    train_ = open_corpus(source, config_);
    Inputs guides;
    const auto guide = [&](const auto& given, const char* what, const char* option, const std::string& file) {
      if (given.empty()) return;
      const PieceLinks& added = guides_.emplace_back(given, file, source, config_.corpus, config_.cache.resolved());
      guides.push_back({what, added.content_hash(), std::string(option) + " " + file});
    };
    guide(links, "the links of words", "--guided-alignment", link_file);
    guide(trees, "the trees of the source", "--guided-relations", tree_file);
    if (!config_.valid.empty()) valid_ = open_corpus(source_of(config_.valid, *tokenizers_), config_);
    resolve_sizes(config_, train_->num_tgt_tokens());
    if (!resumed) resolve_transformer(config_.model);  // or the weights of an earlier version would be another model's
    config_.check_sizes(option_place);
    const auto named = [](const char* option, const std::vector<std::string>& files) {
      return files.empty() ? "none" : option + (" " + files.front()) + " " + files.back();
    };
    Inputs inputs = {
        {"the tokenizer of the source", tokenizers_->src.hash(), "tokenizer/"},
        {"the tokenizer of the target", tokenizers_->tgt.hash(), "tokenizer/"},
        {"the text to learn from", train_->content_hash(), named("--train", config_.train)},
        {"the text to validate on", valid_ ? valid_->content_hash() : "", named("--valid", config_.valid)}};
    inputs.insert(inputs.end(), guides.begin(), guides.end());
    return inputs;
  }
  void save_inputs(const fs::path& run) const override { tokenizers_->save(run / "tokenizer"); }

  std::unique_ptr<Task> make_task(bool initial_weights) override {
    const Seq2Seq model = make_seq2seq(config_.model, sizes_of(*tokenizers_), config_.trainer.seed);
    log_unfused(*model);
    if (initial_weights && !config_.start.vectors.empty()) {
      start_with(config_.start.vectors, tokenizers_->src, model->source_table());
    }
    if (initial_weights && !config_.run.init_from.empty()) {
      const fs::path from = config_.run.init_from;
      if (TokenizerPair::load(from / "tokenizer") != *tokenizers_) {
        throw UserError("--init-from " + from.string() + ": that run has other tokenizers than --tokenizer",
                        "leave --tokenizer out: the tokenizers are adopted with the weights");
      }
      NamedTensors initial = weights_of(*model);
      if (!model_of(from).prune_heads) {
        std::erase_if(initial, [](const auto& named) { return is_of_gates(named.first); });
      }
      load_tensors(find_weights(from, "auto"), initial);
      refresh_weights(*model);
    }
    return std::make_unique<TranslationTask>(model, *tokenizers_, config_, std::move(*train_), std::move(valid_),
                                             std::move(guides_));
  }

  UsualSchedule usual_schedule(const Task& task) const override {
    return usual_of_translation(config_.trainer, task.batches_per_epoch(), *config_.model.width);
  }
  JobDescription description() const override {
    return {.model = std::string(name_of(config_.model.model)),
            .memory_remedy = "lower --max-tokens (now " + std::to_string(*config_.batches.max_tokens) +
                             ") and raise --accumulate to keep the size of updates, or lower --width"};
  }

 private:
  // Logs why training is slower than with other combinations.
  void log_unfused(const Seq2SeqImpl& model) const {
    std::string option = model.unfused_option();
    if (config_.objective.scheduled_sampling > 0) option = "--scheduled-sampling";
    if (config_.guided.guides() && config_.model.model != ModelKind::transformer) option = "--guided-alignment";
    if (config_.model.model != ModelKind::transformer && !torch::Device(config_.run.device).is_cpu()) {
      option = "--device " + config_.run.device;
    }
    if (!option.empty())
      log::info("the decoder is unrolled step by step, which is slower: there is no fused form for {}", option);
  }

  TranslationConfig config_;
  std::optional<TokenizerPair> tokenizers_;
  std::optional<EncodedCorpus> train_, valid_;
  std::vector<PieceLinks> guides_;
};

}  // namespace

void train_translation(const TranslationConfig& config, const OptionOrigins& origins, const ProcessHooks& hooks) {
  TranslationJob job(config);
  train(job, origins, hooks);
}

}  // namespace attend
