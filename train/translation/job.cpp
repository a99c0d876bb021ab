#include "train/translation/job.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "data/corpus/parallel_corpus.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "models/attention/learnt_gates.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/run.hpp"
#include "models/translation/factory.hpp"
#include "train/session.hpp"
#include "train/translation/config.hpp"
#include "train/translation/piece_links.hpp"
#include "train/translation/task.hpp"

namespace attend {
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
    return {.src = joint, .tgt = joint, .factors = SourceFactors::from_files(config.factors.source_factors)};
  }
  TokenizerPair given =
      config.tokenizer.empty() ? of_run(config.run.init_from) : TokenizerPair::from_files(config.tokenizer);
  if (!config.tokenizer.empty()) given.factors = SourceFactors::from_files(config.factors.source_factors);
  warn_of_other(config.vocabulary, given.tgt);
  return given;
}

CorpusSource source_of(const std::vector<std::string>& files, const std::vector<std::string>& factor_files,
                       const TokenizerPair& tokenizers) {
  return {.src_file = files[0],
          .tgt_file = files[1],
          .src_tokenizer = tokenizers.src,
          .tgt_tokenizer = tokenizers.tgt,
          .factors = tokenizers.factors,
          .factor_files = factor_files};
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
    for (const auto* files : {&config_.factors.source_factors, &config_.valid_factors}) {
      std::ranges::for_each(*files, check_text_file);
    }
    std::vector<SentenceLinks> links;
    const std::string& link_file = config_.guided.links;
    if (config_.guided.guides()) links = read_word_links(link_file, config_.train[0], config_.train[1]);
    std::vector<TreeSentence> trees;
    const std::string& tree_file = config_.relations.trees;
    if (config_.relations.guides()) trees = read_line_trees(tree_file, config_.train[0]);
    tokenizers_ = tokenizers_for(config_, resumed);
    check_factor_files(*tokenizers_, resumed ? config_.run.run : config_.run.init_from,
                       config_.factors.source_factors.size());
    if (config_.model.reverse_target) tokenizers_->tgt = tokenizers_->tgt.reversed();
    check_vocabularies(config_.model, sizes_of(*tokenizers_));
    if (!config_.vocabulary.size) config_.vocabulary.size = tokenizers_->tgt.size();
    check_sampling(config_.sampling, tokenizers_->src, "the source");
    check_sampling(config_.sampling, tokenizers_->tgt, "the target");
    const CorpusSource source = source_of(config_.train, config_.factors.source_factors, *tokenizers_);
    train_ = open_corpus(source, config_);
    Inputs guides;
    const auto guide = [&](const auto& given, const char* what, const char* option, const std::string& file) {
      if (given.empty()) return;
      const PieceLinks& added = guides_.emplace_back(given, file, source, config_.corpus, config_.cache.resolved());
      guides.push_back({what, added.content_hash(), std::string(option) + " " + file});
    };
    guide(links, "the links of words", "--guided-alignment", link_file);
    guide(trees, "the trees of the source", "--guided-relations", tree_file);
    if (!config_.valid.empty()) {
      valid_ = open_corpus(source_of(config_.valid, config_.valid_factors, *tokenizers_), config_);
    }
    resolve_sizes(config_, train_->num_tgt_tokens());
    if (!resumed) resolve_transformer(config_.model);  // or the weights of an earlier version would be another model's
    config_.check_sizes(option_place);
    const auto named = [](const char* option, const std::vector<std::string>& files,
                          const std::vector<std::string>& factors) {
      std::string names = files.empty() ? "none" : option + (" " + files.front()) + " " + files.back();
      for (const std::string& file : factors) names += " " + file;
      return names;
    };
    Inputs inputs = {{"the tokenizer of the source", tokenizers_->src.hash(), "tokenizer/"},
                     {"the tokenizer of the target", tokenizers_->tgt.hash(), "tokenizer/"},
                     {"the text to learn from", train_->content_hash(),
                      named("--train", config_.train, config_.factors.source_factors)},
                     {"the text to validate on", valid_ ? valid_->content_hash() : "",
                      named("--valid", config_.valid, config_.valid_factors)}};
    inputs.insert(inputs.end(), guides.begin(), guides.end());
    return inputs;
  }
  void save_inputs(const fs::path& run) const override { tokenizers_->save(run / "tokenizer"); }

  std::unique_ptr<Task> make_task(bool initial_weights) override {
    const Seq2Seq model =
        make_seq2seq(config_.model, sizes_of(*tokenizers_), static_cast<std::uint64_t>(config_.trainer.seed));
    log_unfused(*model);
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

  void resolve_schedule(const Task& task) override { resolve_training(config_, task.batches_per_epoch()); }
  std::string model_name() const override { return std::string(name_of(config_.model.model)); }
  std::string memory_remedy() const override {
    return "lower --max-tokens (now " + std::to_string(*config_.batches.max_tokens) +
           ") and raise --accumulate to keep the size of updates, or lower --width";
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
