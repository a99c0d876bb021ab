#include "models/run/text_run.hpp"

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/run.hpp"

namespace attend {

namespace fs = std::filesystem;

fs::path run_of_best_seed(const fs::path& run) {
  const fs::path file = run / "seeds.json";
  if (!fs::exists(file)) return run;
  const auto best = json_member<std::uint64_t>(read_json(file), "best", file.string());
  return run / ("seed-" + std::to_string(best));
}

TextRun TextRun::load(const fs::path& path, const std::string& checkpoint, torch::Device device) {
  const fs::path run = run_of_best_seed(path);
  check_is_run(run, RunKind::finetune);
  const auto options = read_config<TextModelOptions>(run / "config.toml", UnknownKeys::ignore);
  const LabelledTask task = load_run_task(run);
  const Tokenizer tokenizer = load_run_tokenizer(run);
  const auto samples = read_config<SampleConfig>(run / "config.toml", UnknownKeys::ignore);
  if (!samples.length || *samples.length > options.longest()) {
    throw UserError((run / "config.toml").string() + ": length is " +
                        (samples.length ? std::to_string(*samples.length) : "auto") + ", expected at most " +
                        std::to_string(options.longest()),
                    "it was edited; restore the original");
  }
  const auto make = [&] { return TextModel(options, task, tokenizer.size()); };
  return {.options = options,
          .task = task,
          .samples = samples,
          .tokenizer = tokenizer,
          .model = load_model(run, checkpoint, device, identity_of(options, task, tokenizer), make, load_weights)};
}

LabelledTask load_run_task(const fs::path& run) {
  const fs::path file = run / "task.toml";
  if (!fs::exists(file)) {
    throw UserError(run.string() + ": not a run of attend finetune, task.toml is missing",
                    "give the RUN directory of attend finetune");
  }
  auto task = read_config<LabelledTask>(file);
  task.validate(file.string());
  return task;
}

void save_run_task(const LabelledTask& task, const fs::path& run) {
  make_directories(run);
  write_file_atomic(run / "task.toml", to_toml(task));
}

}  // namespace attend
