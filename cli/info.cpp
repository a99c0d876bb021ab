// attend info: describes a run, a checkpoint or a tokenizer; without a path, this program and its machine.
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>

#include "analysis/report/characters.hpp"
#include "cli/command.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/process.hpp"
#include "core/safetensors.hpp"
#include "core/text.hpp"
#include "models/language/language_model.hpp"
#include "models/ops/dispatch.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/run.hpp"
#include "models/translation/config.hpp"
#include "train/trainer.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

struct InfoConfig {
  std::string path;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Info");
    visit("path", self.path,
          {.help = "run, checkpoint, .safetensors file or tokenizer; default: this program",
           .placeholder = "PATH",
           .positional = true});
  }
};

template <class Value>
void say(std::string_view what, const Value& value) {
  std::cout << what << ": " << value << '\n';
}

void about_program() {
  say("attend", version());
  say("LibTorch", TORCH_VERSION);
  say("processors", usable_processors());
  say("threads", at::get_num_threads());
  say("CPU features", at::get_cpu_capability());
  say("native bf16", ops::has_native_bf16() ? "yes" : "no");
}

void about_tokenizer(const std::string& name, const Tokenizer& tokenizer) {
  const SpecialIds& ids = tokenizer.special();
  say(name, std::to_string(tokenizer.size()) + " pieces, pad " + std::to_string(ids.pad) + ", unk " +
                std::to_string(ids.unk) + ", bos " + std::to_string(ids.bos) + ", eos " + std::to_string(ids.eos) +
                ", XXH3 " + tokenizer.hash());
}

// For a run, whose options and tokenizers are shown separately, the metadata that repeats them is omitted.
void about_weights(const fs::path& path, bool of_run) {
  const SafetensorsFile file(path);
  std::int64_t numbers = 0;
  for (const TensorView& tensor : file.tensors()) {
    numbers += static_cast<std::int64_t>(tensor.bytes.size() / bytes_of(tensor.dtype));
  }
  say("weights", path.string());
  say("tensors", file.tensors().size());
  say("parameters", numbers);
  TensorMetadata metadata = file.metadata();
  std::erase_if(metadata, [of_run](const auto& entry) {
    return of_run && (entry.first.find('.') != std::string::npos || entry.first.ends_with("tokenizer"));
  });
  // As JSON, which escapes control characters.
  if (!metadata.empty()) say("metadata", nlohmann::json(metadata).dump());
}

void about_checkpoint(const fs::path& directory, bool of_run) {
  verify_manifest(directory);
  say("checkpoint", directory.string() + " (intact)");
  if (fs::exists(directory / "state.json")) {
    const auto state = read_json(directory / "state.json");
    for (const char* key : {"step", "epoch", "tokens"}) {
      if (state.contains(key)) say(key, state[key]);
    }
    if (state.contains("seconds")) say("seconds", fmt::format("{:.0f}", state["seconds"].get<double>()));
  }
  about_weights(directory / "model.safetensors", of_run);
}

// The options of a model or task, except those that do not apply and those that are empty.
template <class Config>
void about_options(const Config& config, const Facts& facts = {}) {
  const BoundOptions options = bind(config);
  for (const BoundOption& option : options) {
    const std::string value = text_of(option.get());
    if (!value.empty() && applies(options, option, facts)) say(option.name, value);
  }
}

// The last and the best validation in RUN/train.jsonl; an imported or averaged run has none.
void about_scores(const fs::path& run) {
  std::ifstream lines(run / "train.jsonl");
  const auto metric = read_config<TrainerConfig>(run / "config.toml", UnknownKeys::ignore).best_metric;
  std::optional<nlohmann::ordered_json> best, last;
  for (std::string line; std::getline(lines, line);) {
    auto event = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!event.is_object() || event.value("event", "") != "valid" || !event.contains("step")) continue;
    const auto value = [&](const nlohmann::ordered_json& of) {
      const auto found = of.find(metric);
      const bool known = found != of.end() && found->is_number();
      const double worst = -std::numeric_limits<double>::infinity();
      return !known ? worst : lower_is_better(metric) ? -found->get<double>() : found->get<double>();
    };
    if (!best || value(event) > value(*best)) best = event;
    last = std::move(event);
  }
  const auto scores = [](const nlohmann::ordered_json& event) {
    std::string text = "step " + event["step"].dump();
    for (const auto& [name, value] : event.items()) {
      if (value.is_number_float()) text += fmt::format(", {} {}", name, four_digits(value.get<double>()));
    }
    return text;
  };
  if (!last) return;
  say("best validation by " + metric, scores(*best));
  say("last validation", scores(*last));
}

void about_model(const fs::path& run, const ModelConfig& options) {
  about_options(options);
  const auto tokenizers = TokenizerPair::load(run / "tokenizer");
  about_tokenizer(tokenizers.joint() ? "tokenizer" : "source tokenizer", tokenizers.src);
  if (!tokenizers.joint()) about_tokenizer("target tokenizer", tokenizers.tgt);
}

void about_model(const fs::path& run, const StackOptions& options) {
  say("objective", name_of(objective_of_run(run)));
  about_options(options);
  about_tokenizer("tokenizer", load_run_tokenizer(run));
}

void about_model(const fs::path& run, const LanguageOptions& options) {
  say("objective", name_of(objective_of_run(run)));
  about_options(options, options.facts());
  about_tokenizer("tokenizer", Tokenizer::load(run / "tokenizer" / kJointTokenizer));
}

void about_model(const fs::path& run, const TextModelOptions& options) {
  const LabelledTask task = load_run_task(run);
  Facts facts = options.facts();
  facts.merge(facts_of(task.kind));
  about_options(options, facts);
  about_options(task, facts_of(task.kind));
  about_tokenizer("tokenizer", load_run_tokenizer(run));
}

void about_run(const fs::path& path) {
  say("run", join(characters_of(path.string())));
  std::visit([&](const auto& options) { about_model(path, options); }, options_of_run(path));
  about_scores(path);
  std::string steps;
  for (const std::int64_t step : checkpoint_steps(path)) steps += (steps.empty() ? "" : ", ") + std::to_string(step);
  say("checkpoints", steps.empty() ? "none yet" : "steps " + steps);
  if (!steps.empty()) about_checkpoint(find_weights(path, "auto").parent_path(), /*of_run=*/true);
}

void run(const InfoConfig& config, const OptionOrigins& /*origins*/) {
  if (config.path.empty()) return about_program();
  const fs::path path = run_of_best_seed(config.path);
  if (fs::exists(path / "config.toml")) {
    about_run(path);
  } else if (fs::exists(path / "manifest.json")) {
    about_checkpoint(path, /*of_run=*/false);
  } else if (fs::is_directory(path)) {
    throw UserError(path.string() + ": neither a run (config.toml) nor a checkpoint (manifest.json)",
                    fs::exists(path / "config.json")
                        ? "import the Hugging Face model first: attend import " + path.string() + " --run RUN"
                        : "check the path");
  } else if (path.extension() == ".safetensors") {
    about_weights(path, /*of_run=*/false);
  } else {
    try {
      about_tokenizer(path.string(), Tokenizer::load(path));
    } catch (const UserError& error) {
      throw UserError(error.what(), "give a run, a checkpoint, a .safetensors file or a tokenizer");
    }
  }
}

}  // namespace

Command info_command() {
  return make_command<InfoConfig>("info", "describe a run, a checkpoint, a tokenizer or this program", run, "runs/rnn");
}

}  // namespace attend
