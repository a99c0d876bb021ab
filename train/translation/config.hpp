// The complete configuration of a translation run: the options of `attend train`, and RUN/config.toml.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/conditions.hpp"
#include "core/options.hpp"
#include "data/corpus/batch_order.hpp"
#include "data/corpus/parallel_corpus.hpp"
#include "data/tokenizer/piece_sampler.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "eval/metrics/translation_metrics.hpp"
#include "models/translation/config.hpp"
#include "train/optimiser.hpp"
#include "train/run_directory.hpp"
#include "train/schedule.hpp"
#include "train/start_vectors.hpp"
#include "train/trainer.hpp"
#include "train/translation/guided_attention.hpp"
#include "train/translation/objective.hpp"

namespace attend {

// Paths of texts may change when a run is resumed; the content of the files is compared instead. The run has copies of
// its tokenizers.
struct TranslationConfig {
  RunConfig run = {};
  std::vector<std::string> train;
  std::vector<std::string> valid;
  std::vector<std::string> tokenizer;
  TokenizerConfig vocabulary = {};
  CorpusConfig corpus = {};
  SamplingConfig sampling = {};
  CacheConfig cache = {};
  BatchConfig batches = {};
  ModelConfig model = {};
  StartVectors start = {};
  ScheduleConfig schedule = {};
  ObjectiveConfig objective = {};
  GuidedAlignmentConfig guided = {};
  GuidedRelationsConfig relations = {};
  OptimiserConfig optimiser = {};
  TrainerConfig trainer = {};
  metrics::MetricChoice metrics = {.metrics = {"bleu"}};
  std::int64_t bleu_sentences = 500;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    RunConfig::visit(self.run, visit);

    visit.group("Data");
    visit("train", self.train,
          {.help = "source and target training text",
           .file = FileUse::read,
           .required = true,
           .may_change = true,
           .identifies = false});
    visit("valid", self.valid,
          {.help = "source and target validation text",
           .file = FileUse::read,
           .may_change = true,
           .identifies = false,
           .common = true});
    visit("tokenizer", self.tokenizer,
          {.help = "one tokenizer for both languages, or one for the source and one for the target; none: train a "
                   "joint one on the training text",
           .file = FileUse::read,
           .identifies = false,
           .common = true});
    visit("vocab-size", self.vocabulary.size,
          {.help = "vocabulary size of a newly trained tokenizer; auto: by the size of the text",
           .min = 1,
           .max = 1e6,
           .common = true});
    visit("vocab-type", self.vocabulary.type, {.help = "type of a newly trained tokenizer", .common = true});
    CorpusConfig::visit(self.corpus, visit);
    SamplingConfig::visit(self.sampling, visit);
    CacheConfig::visit(self.cache, visit);
    BatchConfig::visit(self.batches, visit);

    visit.group("Model");
    ModelConfig::visit(self.model, visit);
    StartVectors::visit(self.start, visit);

    visit.group("Optimisation");
    ScheduleConfig::visit(self.schedule, visit);
    ObjectiveConfig::visit(self.objective, visit);
    GuidedAlignmentConfig::visit(self.guided, visit);
    GuidedRelationsConfig::visit(self.relations, visit);
    OptimiserConfig::visit(self.optimiser, visit);

    TrainerConfig::visit(self.trainer, visit, {"valid"});
    TrainerConfig::visit_watch(self.trainer, visit);
    metrics::MetricChoice::visit(self.metrics, visit, {"valid"});
    visit("bleu-sentences", self.bleu_sentences,
          {.help = "validation sentences translated greedily for --metrics; 0: none",
           .min = 0,
           .max = 1e6,
           .identifies = false});
  }

  // The metrics of validation that may choose the best checkpoint.
  std::vector<std::string> metric_names() const;

  // Throw UserError: validate() if --run is missing, the other for contradictory options from any source.
  void validate(const OptionOrigins& /*origins*/) const { run.validate(); }
  void refuse_contradictions(const OptionOrigins& origins) const;
  // Throws UserError if guided heads do not fit the sizes that are known; others depend on the text.
  void check_sizes(const OptionPlace& place) const;
};

// Resolves "auto": model sizes, dropout and batch size, from the number of target tokens.
void resolve_sizes(TranslationConfig& config, std::uint64_t target_tokens);

}  // namespace attend
