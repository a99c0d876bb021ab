// The complete configuration of a fine-tuning run: the options of `attend finetune`, and RUN/config.toml.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/task/samples.hpp"
#include "eval/answers/answers.hpp"
#include "models/text/encoder.hpp"
#include "train/optimiser.hpp"
#include "train/run_directory.hpp"
#include "train/schedule.hpp"
#include "train/start_vectors.hpp"
#include "train/trainer.hpp"

namespace attend {

struct FinetuningConfig {
  RunConfig run = {};
  std::string task = {};
  std::string data = ".";
  std::vector<std::string> train = {};
  std::vector<std::string> valid = {};
  std::string tokenizer = {};
  double examples = 1;
  SampleConfig samples = {};
  std::int64_t batch_size = 32;
  TextModelOptions model = {};
  StartVectors start = {};
  std::vector<std::string> label_weights = {};
  std::int64_t freeze = 0;
  double layer_decay = 1;
  AnswerConfig answers = {};
  ScheduleConfig schedule = {.schedule = ScheduleKind::linear};
  OptimiserConfig optimiser = {.beta2 = 0.999, .epsilon = 1e-6, .weight_decay = 0.01};
  TrainerConfig trainer = {.best_metric = "score"};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    RunConfig::visit(self.run, visit);

    visit.group("Task");
    visit("task", self.task,
          {.help = "cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli, squad, squad2, conll2003, a set of `attend "
                   "toy`, or a "
                   "TOML file that describes another",
           .placeholder = "NAME|FILE",
           .required = true});
    visit("data", self.data,
          {.help = "directory of the task's files", .placeholder = "DIR", .may_change = true, .common = true});
    visit("train", self.train,
          {.help = "training file; none: the task's, in --data",
           .file = FileUse::read,
           .may_change = true,
           .common = true});
    visit("valid", self.valid,
          {.help = "validation files, the first of which selects the best checkpoint; none: the task's, in --data",
           .file = FileUse::read,
           .may_change = true,
           .common = true});
    visit("tokenizer", self.tokenizer, {.help = "tokenizer; none: that of --init-from", .file = FileUse::read});
    visit("examples", self.examples, {.help = "fraction of the training examples to use", .min = 0, .max = 1});
    SampleConfig::visit(self.samples, visit);
    visit("batch-size", self.batch_size, {.help = "sequences per batch", .min = 1, .max = 1e6, .common = true});

    visit.group("Model");
    TextModelOptions::visit(self.model, visit);
    StartVectors::visit(self.start, visit);

    visit.group("Optimisation");
    visit("label-weights", self.label_weights,
          {.help = "weight of each label in the loss, in the order of the labels; balanced: inverse to its frequency; "
                   "none: equal weights",
           .placeholder = "X",
           .only = kOfLabels});
    visit("freeze", self.freeze,
          {.help = "number of frozen parts of the encoder: 1: the embeddings, 2: also the lowest layer, and so on",
           .min = 0,
           .max = 97,
           .common = true});
    visit("layer-decay", self.layer_decay,
          {.help = "factor of each layer's learning rate relative to the layer above", .min = 0.01, .max = 1});
    ScheduleConfig::visit(self.schedule, visit);
    OptimiserConfig::visit(self.optimiser, visit);

    TrainerConfig::visit(self.trainer, visit);

    visit.group("Answers");
    AnswerConfig::visit(self.answers, visit);
  }

  Facts facts() const { return model.facts(); }

  // Throws UserError for contradictory options, whatever their source.
  void refuse_contradictions(const OptionOrigins& origins) const;
};

// The options of the command: a config and the seeds to train with.
struct FinetuningCommand {
  FinetuningConfig config = {};
  std::string seeds = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    FinetuningConfig::visit(self.config, visit);

    visit.group("Several runs");
    visit("seeds", self.seeds,
          {.help = "A..B: one run per seed, in RUN/seed-N, and the mean and standard deviation of their scores; "
                   "commands given RUN use the seed with the best validation score; none: only --seed",
           .placeholder = "A..B",
           .common = true});
  }
  // Throws UserError for missing or contradictory options of this call.
  void validate(const OptionOrigins& origins) const;
};

// The first and last seed of a range such as "3..5". Throws UserError, named by `origin`, unless it has 1 to 1000
// seeds.
std::pair<std::int64_t, std::int64_t> seeds_of(const std::string& text, const std::string& origin);

}  // namespace attend
