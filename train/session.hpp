// Runs a training from its options to its last checkpoint, independent of the kind of model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/options.hpp"
#include "models/run/kind.hpp"
#include "train/distributed/ranks.hpp"
#include "train/optimiser.hpp"
#include "train/run_directory.hpp"
#include "train/schedule.hpp"
#include "train/task.hpp"
#include "train/trainer.hpp"
#include "train/usual_schedule.hpp"

namespace attend {

// Effects on the whole process, which a library must not have unless its program requests them.
struct ProcessHooks {
  std::function<void(const RunConfig&)> begin = [](const RunConfig&) {};  // called before text is read
  // Called before the first matrix product. `sizes_recur`: batches have about the same size.
  std::function<void(std::int64_t parameters, bool sizes_recur)> model_built = [](std::int64_t, bool) {};
  Launch launch = {};  // one process, or one of several that train together
};

// The parts of a config that all kinds of training share.
struct SessionConfig {
  template <class Config>
  explicit SessionConfig(Config& config)
      : options(bind(config)),
        run(config.run),
        trainer(config.trainer),
        schedule(config.schedule),
        optimiser(config.optimiser),
        defaults(default_texts<Config>()),
        facts([&config] {
          if constexpr (requires { config.facts(); }) return config.facts();
          return Facts();
        }) {}

  BoundOptions options;  // all options of the config, by reference like the members below
  RunConfig& run;
  TrainerConfig& trainer;
  ScheduleConfig& schedule;
  OptimiserConfig& optimiser;
  OptionTexts defaults;  // of this kind of training
  std::function<Facts()> facts;
};

struct JobDescription {
  std::string model;          // its name, such as "transformer"
  std::string memory_remedy;  // the options to lower if memory runs out
};

// The specifics of a kind of training. Functions are called in the order of declaration, except save_inputs: after
// usual_schedule.
class Job {
 public:
  virtual ~Job() = default;

  virtual RunKind kind() const = 0;
  virtual SessionConfig config() = 0;

  // Adopts the model options of the run named by --init-from.
  virtual void adopt_model(const OptionOrigins& origins) = 0;

  // Throws UserError for contradictory options. Those of a resumed run or of --init-from are merged before.
  virtual void validate(const OptionOrigins& origins) const = 0;

  // Reads tokenizers (the run's own if it is resumed) and text, and resolves options that depend on their size. Returns
  // the hashes of everything it read.
  virtual Inputs load(bool resumed) = 0;
  // Writes the files needed to use the model: RUN/tokenizer, and for fine-tuning RUN/task.toml.
  virtual void save_inputs(const std::filesystem::path& run) const = 0;

  // Builds the task and its model, on the CPU and in fp32. `initial_weights` is false if the weights are overwritten
  // later, by a checkpoint or by those of the first rank; else those of --init-from are loaded. Moves the text into the
  // task: called once.
  virtual std::unique_ptr<Task> make_task(bool initial_weights) = 0;

  // Learning rate, warm-up, limit and interval where the options leave them open.
  virtual UsualSchedule usual_schedule(const Task& task) const = 0;

  virtual JobDescription description() const = 0;
};

// Throws UserError for the user's mistakes, and Interrupted after a signal, once everything is saved, or if another
// process failed or was lost.
//
// With several processes, the first one creates the run: its directory, tokenizer and cache of encoded text. The others
// wait and then read it like a resumed run. All must share one file system.
void train(Job& job, const OptionOrigins& origins, const ProcessHooks& hooks = {});

}  // namespace attend
