// attend info: what a run, a checkpoint or a tokenizer is; without a path, what this program is and runs on.
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <filesystem>
#include <iostream>
#include <thread>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/manifest.hpp"
#include "core/safetensors.hpp"
#include "core/version.hpp"
#include "models/ops/dispatch.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/run.hpp"
#include "models/run/text_run.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

struct InfoConfig {
  std::string path;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Info");
    visit("path", self.path,
          {.help = "a run, a checkpoint, a .safetensors file or a tokenizer; none: the program itself",
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
  say("processors", std::thread::hardware_concurrency());
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

void about_weights(const fs::path& path) {
  const SafetensorsFile file(path);
  std::int64_t numbers = 0;
  for (const TensorView& tensor : file.tensors()) {
    numbers += static_cast<std::int64_t>(tensor.bytes.size() / bytes_of(tensor.dtype));
  }
  say("weights", path.string());
  say("tensors", file.tensors().size());
  say("parameters", numbers);
  // As JSON, in which nothing that the file says can steer a terminal.
  if (!file.metadata().empty()) say("metadata", nlohmann::json(file.metadata()).dump());
}

void about_checkpoint(const fs::path& directory) {
  verify_manifest(directory);
  say("checkpoint", directory.string() + " (intact)");
  if (fs::exists(directory / "state.json")) {
    const auto state = read_json(directory / "state.json");
    for (const char* key : {"step", "epoch", "tokens", "seconds"}) {
      if (state.contains(key)) say(key, state[key]);
    }
  }
  about_weights(directory / "model.safetensors");
}

template <class Config>
void about_options(const Config& config) {
  for (const BoundOption& option : bind(config)) say(option.name, text_of(option.get()));
}

void about_run(const fs::path& path) {
  say("run", path.string());
  const fs::path config = path / "config.toml";
  switch (kind_of_run(path)) {
    case RunKind::train: {
      about_options(read_config<ModelConfig>(config, UnknownKeys::ignore));
      const auto tokenizers = TokenizerPair::load(path / "tokenizer");
      about_tokenizer(tokenizers.joint() ? "tokenizer" : "source tokenizer", tokenizers.src);
      if (!tokenizers.joint()) about_tokenizer("target tokenizer", tokenizers.tgt);
      break;
    }
    case RunKind::pretrain:
      about_options(read_config<BertOptions>(config, UnknownKeys::ignore));
      about_tokenizer("tokenizer", load_run_tokenizer(path));
      break;
    case RunKind::finetune:
      about_options(read_config<TextModelOptions>(config, UnknownKeys::ignore));
      about_options(load_run_task(path));
      about_tokenizer("tokenizer", load_run_tokenizer(path));
  }
  std::string steps;
  for (const std::int64_t step : checkpoint_steps(path)) steps += (steps.empty() ? "" : ", ") + std::to_string(step);
  say("checkpoints", steps.empty() ? "none yet" : "steps " + steps);
  if (!steps.empty()) about_checkpoint(find_weights(path, "best").parent_path());
}

void run(const InfoConfig& config, const OptionOrigins& /*origins*/) {
  if (config.path.empty()) return about_program();
  const fs::path path = run_of_best_seed(config.path);
  if (fs::exists(path / "config.toml")) {
    about_run(path);
  } else if (fs::exists(path / "manifest.json")) {
    about_checkpoint(path);
  } else if (fs::is_directory(path)) {
    throw UserError(path.string() + ": neither a run (config.toml) nor a checkpoint (manifest.json)");
  } else if (path.extension() == ".safetensors") {
    about_weights(path);
  } else {
    about_tokenizer(path.string(), Tokenizer::load(path));
  }
}

}  // namespace

Command info_command() {
  return make_command<InfoConfig>("info", "say what a run, a checkpoint or a tokenizer is, or the program itself", run);
}

}  // namespace attend
