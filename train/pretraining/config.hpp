// The options of a pretraining run, and its phases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/corpus/document_corpus.hpp"
#include "data/corpus/id_cache.hpp"
#include "data/corpus/masking.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "models/language/language_model.hpp"
#include "train/optimiser.hpp"
#include "train/run_directory.hpp"
#include "train/schedule.hpp"
#include "train/trainer.hpp"

namespace attend {

// Pretraining in phases: short sequences for most of the updates and long ones at the end (arXiv 1810.04805, appendix
// A.2), or small batches first, then larger ones; fewer masks at the end (arXiv 2410.24159, section 3).
//
//   --phase 128:90% --phase 512:10%                                       two lengths
//   --phase 128@1024:5% --phase 128@2048:5% --phase 128@4096:90%          growing batches
//   --phase 128:50%:0.3 --phase 128:50%:0.15                              30 %, then 15 % of the tokens masked

struct Phase {
  std::int64_t length = 0;               // tokens of a sequence
  std::int64_t max_tokens = 0;           // of a batch
  double end = 1;                        // share of all updates after which the next phase starts
  bool pairs = true;                     // false: single segments, even if the objective has pairs
  std::optional<double> mask_rate = {};  // none: that of the run
};

// Parses phases as above, LENGTH[@MAX-TOKENS]:SHARE%[:MASK-RATE]; at least one. `max_tokens` is the default. Throws
// UserError, named by `origin`, for an invalid phase, shares that do not sum to 100%, and a batch too small for a
// sequence.
std::vector<Phase> parse_phases(const std::vector<std::string>& texts, const std::string& origin,
                                std::int64_t max_tokens);

// Sequences of 16, then 32 tokens (if shorter than `length`) for three quarters and one quarter of the fraction `share`
// of the updates, then of `length`. In a 16-token sequence even uniform attention gives each neighbour 1/16 of its
// weight, a gradient large enough to start from. Short phases have no sentence pairs, whose parts would be only a few
// words.
std::vector<Phase> short_first(double share, std::int64_t length, std::int64_t max_tokens);

// The complete configuration of a pretraining run: the options of `attend pretrain`, and RUN/config.toml.
struct PretrainingConfig {
  RunConfig run = {};
  PretrainingKind objective = PretrainingKind::masked;
  double causal_share = 0.0625;  // 1 : 15, as in the authors' best small model
  std::vector<std::string> train;
  std::vector<std::string> valid;
  std::vector<std::string> tokenizer;
  TokenizerConfig vocabulary = {};
  CacheConfig cache = {};
  InstanceConfig instances = {};
  MaskingConfig masking = {};
  std::optional<std::int64_t> max_tokens = {};
  LanguageOptions model = [] {  // a BERT uses only `stack`
    StackOptions stack = {.dropout = 0, .initial_positions = InitialPositions::sinusoids};
    stack.block.attention_dropout = 0;
    return LanguageOptions{.stack = stack};
  }();
  ScheduleConfig schedule = {.schedule = ScheduleKind::linear};
  OptimiserConfig optimiser = {.beta2 = 0.999, .epsilon = 1e-6, .weight_decay = 0.01};
  TrainerConfig trainer = {};
  std::vector<std::string> phases = {};
  std::optional<double> short_first = {};
  std::int64_t valid_tokens = 200'000;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    RunConfig::visit(self.run, visit);

    visit.group("Data");
    visit("objective", self.objective,
          {.help = "what to predict: masked tokens from both sides (masked: a BERT), tokens from those before them in "
                   "a random order (permuted: an encoder like XLNet), each token from those before it (causal: a "
                   "language model, whose default --norm is pre), or both this and masked tokens (hybrid: a language "
                   "model that is an encoder, too, like GPT-BERT)",
           .common = true});
    visit("causal-share", self.causal_share,
          {.help = "fraction of sequences in which each token is predicted from those before it; in the others, masked "
                   "tokens are predicted from both sides",
           .min = 0,
           .max = 1,
           .only = {"objective", {"hybrid"}}});
    visit("train", self.train,
          {.help = "training text: one sentence or paragraph per line, a blank line between documents; plain or .gz",
           .file = FileUse::read,
           .required = true,
           .may_change = true,
           .identifies = false});
    visit(
        "valid", self.valid,
        {.help = "validation text; tokens are masked as in the BERT paper, with the same masks at every validation, "
                 "or are predicted in the same orders; with --objective causal, all tokens are predicted, with hybrid "
                 "in both ways",
         .file = FileUse::read,
         .may_change = true,
         .identifies = false,
         .common = true});
    visit("tokenizer", self.tokenizer,
          {.help = "tokenizer; none: train one on the training text",
           .file = FileUse::read,
           .identifies = false,
           .common = true});
    visit("vocab-size", self.vocabulary.size,
          {.help = "vocabulary size of a newly trained tokenizer; auto: by the size of the text",
           .min = 1,
           .max = 1e6,
           .common = true});
    visit("vocab-type", self.vocabulary.type, {.help = "type of a newly trained tokenizer"});
    visit("lower-case", self.vocabulary.lower_case, {.help = "lower-case the text in a newly trained tokenizer"});
    CacheConfig::visit(self.cache, visit);
    InstanceConfig::visit(self.instances, visit);
    MaskingConfig::visit(self.masking, visit);
    visit("max-tokens", self.max_tokens,
          {.help = "tokens per batch, rounded to whole sequences, at least one; auto: 1024, on a GPU 4096",
           .min = 1,
           .max = 1e9,
           .common = true});
    visit("phase", self.phases,
          {.help = "phases of training as LENGTH:SHARE%, such as 128:90% 512:10%: sequence lengths in turn, each for "
                   "that share of the updates; LENGTH@MAX-TOKENS:SHARE% also sets the batch size, and "
                   "LENGTH:SHARE%:MASK-RATE the mask rate; none: --length, after --short-first",
           .placeholder = "PHASE",
           .only = kEncoderSequences});
    visit("short-first", self.short_first,
          {.help = "initial fraction of the updates with sequences of 16, then 32 tokens, which teach local context "
                   "much faster; auto: 0.2, or 0 with --phase, --max-epochs or --init-from",
           .min = 0,
           .max = 0.9,
           .only = kEncoderSequences});

    visit.group("Model");
    LanguageOptions::visit(self.model, visit);

    visit.group("Optimisation");
    ScheduleConfig::visit(self.schedule, visit);
    OptimiserConfig::visit(self.optimiser, visit);

    TrainerConfig::visit(self.trainer, visit, {"valid"});
    TrainerConfig::visit_watch(self.trainer, visit);
    visit("valid-tokens", self.valid_tokens,
          {.help = "tokens of validation text per validation, the same each time", .min = 1});
  }

  // The phases of the run; those without a batch size use `tokens`. Throws UserError, named by `origin`, if --phase is
  // invalid.
  std::vector<Phase> lengths(const std::string& origin, std::int64_t tokens) const;

  // The longest sequence length of all phases.
  std::int64_t longest() const;

  bool is_hybrid() const { return objective == PretrainingKind::hybrid; }
  // True if it trains a language model.
  bool is_causal() const { return objective == PretrainingKind::causal || is_hybrid(); }

  Facts facts() const { return is_causal() ? model.facts() : LanguageOptions().facts(); }
  // True if the relation of two parts of a sequence is an objective.
  bool relates_parts() const {
    return objective == PretrainingKind::masked && instances.sequence_objective != SequenceObjective::none;
  }

  // The metrics of validation that may choose the best checkpoint.
  std::vector<std::string> metric_names() const {
    if (is_hybrid()) return {"loss", "causal_loss", "causal_accuracy", "masked_loss", "masked_accuracy"};
    std::vector<std::string> names = {"loss", "ppl", "accuracy"};
    if (relates_parts()) names.emplace_back("sequence_accuracy");
    return names;
  }

  // Unless --norm is given, a Transformer language model has norms before the sub-layers, as GPT-2; other models,
  // after.
  void set_defaults(const OptionOrigins& origins);

  // Throw UserError: validate() if --run is missing, the other for contradictory options from any source.
  void validate(const OptionOrigins& /*origins*/) const { run.validate(); }
  void refuse_contradictions(const OptionOrigins& origins) const;
};

}  // namespace attend
