#include "train/train.hpp"

#include <ATen/Parallel.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "data/text/encoded_corpus.hpp"
#include "data/text/tokenizer_pair.hpp"
#include "data/text/tokenizer_trainer.hpp"
#include "models/checkpoint_reader.hpp"
#include "models/factory.hpp"
#include "models/weights_io.hpp"
#include "train/checkpoint.hpp"
#include "train/defaults.hpp"
#include "train/memory.hpp"
#include "train/run_directory.hpp"
#include "train/trainer.hpp"
#include "train/translation_task.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// Out of the run, the files given, the run whose weights are taken over, or learnt from the training text.
TokenizerPair obtain_tokenizers(const TrainConfig& config, bool resumed) {
  if (resumed) return TokenizerPair::load(fs::path(config.run) / "tokenizer");
  if (!config.tokenizer.empty()) return TokenizerPair::from_files(config.tokenizer);
  if (!config.init_from.empty()) return TokenizerPair::load(fs::path(config.init_from) / "tokenizer");
  log::info("learning a tokenizer from {} and {}", config.train[0], config.train[1]);
  const Tokenizer joint = train_tokenizer(config.train, config.vocabulary);
  return {.src = joint, .tgt = joint};
}

EncodedCorpus open_corpus(const std::vector<std::string>& files, const TokenizerPair& tokenizers,
                          const CorpusConfig& config) {
  EncodedCorpus corpus = EncodedCorpus::open({.src_files = {files[0]},
                                              .tgt_files = {files[1]},
                                              .src_tokenizer = tokenizers.src,
                                              .tgt_tokenizer = tokenizers.tgt},
                                             config);
  const ParallelCounts& counts = corpus.counts();
  log::info("{} {}: {}", files[0], files[1], counts.report());
  if (!counts.src.clean()) log::info("{}: {}", files[0], counts.src.report());
  if (!counts.tgt.clean()) log::info("{}: {}", files[1], counts.tgt.report());
  return corpus;
}

// With the weights of --init-from, unless a checkpoint of the run itself brings its own.
Seq2Seq build_model(const TrainConfig& config, const TokenizerPair& tokenizers, bool has_checkpoint) {
  const Seq2Seq model = make_seq2seq(config.model, {.src = tokenizers.src.size(), .tgt = tokenizers.tgt.size()},
                                     static_cast<std::uint64_t>(config.trainer.seed));
  if (!config.init_from.empty() && !has_checkpoint) {
    if (TokenizerPair::load(fs::path(config.init_from) / "tokenizer") != tokenizers) {
      throw UserError("--init-from " + config.init_from + ": that run has other tokenizers than --tokenizer",
                      "leave --tokenizer out: the other run's are taken over with its weights");
    }
    load_weights(find_weights(config.init_from, "best"), *model);
  }
  model->to(torch::Device(config.device));
  model->for_each_weight([&](ops::Weight& weight) { weight.set_precision(config.precision); });
  return model;
}

// The model is that of the run whose weights are taken over, but for what is given beside it.
void adopt_model(TrainConfig& config, const OptionOrigins& origins) {
  auto theirs = read_config<ModelConfig>(fs::path(config.init_from) / "config.toml", UnknownKeys::ignore);
  const BoundOptions from = bind(theirs), to = bind(config.model);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!origins.given(to[i].name)) to[i].set(from[i].get());
  }
}

std::optional<Checkpoint> checkpoint_to_resume(const TrainConfig& config, bool resumed) {
  if (!resumed) return std::nullopt;
  if (config.resume == "auto") return Checkpoint::newest(config.run);
  Checkpoint checkpoint(config.resume);
  if (!fs::equivalent(checkpoint.directory(), checkpoint_path(config.run, checkpoint.state().step))) {
    throw UserError("--resume " + config.resume + ": not a checkpoint of the run in " + config.run,
                    "--init-from begins with the weights of another run");
  }
  return checkpoint;
}

std::string_view describe(Ending ending) {
  switch (ending) {
    case Ending::max_steps:
      return "max-steps reached";
    case Ending::max_epochs:
      return "max-epochs reached";
    case Ending::max_time:
      return "max-time reached";
    case Ending::patience:
      return "no new best within patience";
  }
  return "";
}

void rehearse(Trainer& trainer) {
  trainer.rehearse();  // the first time pays for memory and for code that is made to measure
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t tokens = trainer.rehearse();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  log::info("dry run: the largest batch has {} target tokens and takes {:.2f} s ({:.0f} tok/s); {:.0f} MB of memory",
            tokens, seconds, static_cast<double>(tokens) / seconds, static_cast<double>(peak_resident_bytes()) / 1e6);
}

}  // namespace

void train_translation(const TrainConfig& given, const OptionOrigins& origins) {
  signals::install();
  TrainConfig config = given;
  resolve_machine(config);
  const bool writes = !config.dry_run;
  const bool resumed = writes && is_resumed(config);
  std::optional<DirectoryLock> lock;
  if (writes) {
    make_directories(config.run);
    lock.emplace(config.run);
    StagedDirectory::remove_leftovers(fs::path(config.run) / "checkpoints");  // of a process that was killed
  }
  if (resumed) {
    config = resumed_config(config, origins);
    resolve_machine(config);
  } else if (!config.init_from.empty()) {
    adopt_model(config, origins);
  }
  at::set_num_threads(static_cast<int>(*config.threads));
  if (config.device == "cpu") refuse_memory_beyond_machine();

  const TokenizerPair tokenizers = obtain_tokenizers(config, resumed);
  config.vocabulary.size = tokenizers.tgt.size();
  EncodedCorpus train = open_corpus(config.train, tokenizers, config.corpus);
  std::optional<EncodedCorpus> valid;
  if (!config.valid.empty()) valid = open_corpus(config.valid, tokenizers, config.corpus);
  resolve_sizes(config, train.num_tgt_tokens());
  const DataHashes hashes{.train = train.content_hash(), .valid = valid ? valid->content_hash() : ""};

  const std::optional<Checkpoint> checkpoint = checkpoint_to_resume(config, resumed);
  const Seq2Seq model = build_model(config, tokenizers, checkpoint.has_value());
  TranslationTask task(model, tokenizers, config, std::move(train), std::move(valid));
  resolve_training(config, task.batches_per_epoch());
  if (resumed) {
    check_same_data(config, hashes, tokenizers);
    write_config(config);
  } else if (writes) {
    write_run(config, hashes, tokenizers);
  }
  std::int64_t parameters = 0;
  for (const torch::Tensor& parameter : model->parameters()) parameters += parameter.numel();
  log::info("{} of {:.2f} M parameters, {} on {}, {} threads; {} batches an epoch, {} updates at most",
            name_of(config.model.model), static_cast<double>(parameters) / 1e6, name_of(config.precision),
            config.device, *config.threads, task.batches_per_epoch(), *config.trainer.max_steps);

  AdamW optimiser(*model, config.optimiser);
  Trainer trainer(task, optimiser, config.trainer, config.schedule, config.run);
  if (checkpoint) {
    trainer.restore(*checkpoint);
    log::info("going on from {}", checkpoint->directory().string());
  }
  with_memory_remedy("lower --max-tokens (now " + std::to_string(*config.batches.max_tokens) +
                         "), and raise --accumulate to keep updates as large",
                     [&] {
                       if (config.dry_run) return rehearse(trainer);
                       const Ending ending = trainer.train();
                       log::info("{} after {} updates; the run is in {}", describe(ending), trainer.state().step,
                                 config.run);
                     });
}

}  // namespace attend
