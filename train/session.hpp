// A training run from its options to its last checkpoint, whatever is trained.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/options.hpp"
#include "models/run/run.hpp"
#include "train/optimiser.hpp"
#include "train/run_config.hpp"
#include "train/run_directory.hpp"
#include "train/schedule.hpp"
#include "train/task.hpp"
#include "train/trainer.hpp"

namespace attend {

// The parts of a config that every kind of training has.
struct SessionConfig {
  template <class Config>
  explicit SessionConfig(Config& config)
      : options(bind(config)),
        run(config.run),
        trainer(config.trainer),
        schedule(config.schedule),
        optimiser(config.optimiser) {}

  BoundOptions options;  // all of the config's; they refer to it, as the others do
  RunConfig& run;
  TrainerConfig& trainer;
  ScheduleConfig& schedule;
  OptimiserConfig& optimiser;
};

// What is particular of a kind of training. The calls come in the order in which they stand here.
class Job {
 public:
  virtual ~Job() = default;

  virtual RunKind kind() const = 0;
  virtual SessionConfig config() = 0;

  // Takes over the model's options of the run that --init-from names: adopt_model_options.
  virtual void adopt_model(const OptionOrigins& origins) = 0;

  // UserError when options contradict each other, those of a run that is gone on with or begun from among them.
  virtual void validate(const OptionOrigins& origins) const = 0;

  // Reads tokenizers (the run's own where it is resumed) and text, and chooses what follows from their size.
  virtual void load(bool resumed) = 0;
  virtual Inputs inputs() const = 0;
  // Writes what the model is of no use without into the run: RUN/tokenizer, and of fine-tuning RUN/task.toml.
  virtual void save_inputs(const std::filesystem::path& run) const = 0;

  // Builds the model, on the processor and in fp32, with the weights of --init-from where `initial_weights`, and what
  // it learns.
  virtual std::unique_ptr<Task> make_task(bool initial_weights) = 0;

  // Chooses learning rate, limits and intervals.
  virtual void resolve_schedule(const Task& task) = 0;

  // "transformer", and what to lower where memory does not suffice.
  virtual std::string model_name() const = 0;
  virtual std::string memory_remedy() const = 0;
};

// Sets `ours` to what `theirs` are, but for those that are given, and dropouts, which are no property of the weights.
void adopt_options(const BoundOptions& ours, const BoundOptions& theirs, const OptionOrigins& origins);

// The same of a model whose weights in `from` are taken over. UserError for an option that is given and is another
// there.
void adopt_model_options(const BoundOptions& ours, const BoundOptions& theirs, const std::string& from,
                         const OptionOrigins& origins);

// UserError for what the user can put right; Interrupted after a signal, when everything is saved.
void train(Job& job, const OptionOrigins& origins);

}  // namespace attend
