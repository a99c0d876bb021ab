#include "models/run.hpp"

#include "core/error.hpp"
#include "core/options.hpp"
#include "models/checkpoint_reader.hpp"
#include "models/factory.hpp"
#include "models/layers.hpp"
#include "models/ops/dispatch.hpp"
#include "models/weights_io.hpp"

namespace attend {
namespace fs = std::filesystem;

void check_is_run(const fs::path& path) {
  if (!fs::is_directory(path)) {
    throw UserError(path.string() + (fs::exists(path) ? ": not a directory" : ": no such run"),
                    "give the directory that --run named");
  }
  if (!fs::exists(path / "config.toml")) {
    throw UserError(path.string() + ": not a run, config.toml is missing", "give the directory that --run named");
  }
}

bool is_run_of_task(const fs::path& path) { return fs::exists(path / "task.toml"); }

void check_identity(const fs::path& weights, const TensorMetadata& expected, const fs::path& run) {
  const SafetensorsFile file(weights);
  for (const auto& [key, value] : expected) {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end() || found->second == value) continue;
    const fs::path other = run / (key == "model" ? "config.toml" : "tokenizer");
    throw UserError(weights.string() + " was trained with another " + key + " than " + other.string() + " has now",
                    "one of them was edited or is of another run: bring it back");
  }
}

TensorMetadata identity_of(const ModelConfig& config, const TokenizerPair& tokenizers) {
  return {{"model", hash_of(bind(config), [](const BoundOption&) { return true; })},
          {"source tokenizer", tokenizers.src.hash()},
          {"target tokenizer", tokenizers.tgt.hash()}};
}

Run Run::load(const fs::path& path, const std::string& checkpoint, torch::Device device) {
  check_is_run(path);
  const auto config = read_config<ModelConfig>(path / "config.toml", UnknownKeys::ignore);
  Run run{.config = config, .tokenizers = TokenizerPair::load(path / "tokenizer"), .model = {}, .weights = {}};
  try {
    run.model =
        make_seq2seq(config, {.src = run.tokenizers.src.size(), .tgt = run.tokenizers.tgt.size()}, std::nullopt);
  } catch (const UserError& error) {  // of a run it is whole
    throw UserError((path / "config.toml").string() + ": " + error.what(), "it was cut short or edited: bring it back");
  }
  run.weights = find_weights(path, checkpoint);
  check_identity(run.weights, identity_of(config, run.tokenizers), path);
  load_weights(run.weights, *run.model);
  run.model->to(device);
  run.model->eval();
  return run;
}

Precision freeze(const torch::nn::Module& model, Precision precision) {
  const torch::Device device = model.parameters().front().device();
  const bool cpu = device.is_cpu();
  if (precision == Precision::automatic) {
    precision = !cpu || ops::has_native_bf16() ? Precision::bf16 : Precision::fp32;
  }
  if (!cpu && precision == Precision::int8) {
    throw UserError("--precision int8: not on " + device.str(), "use bf16 there, or --device cpu");
  }
  // A GPU's own library lays out its weights.
  visit_weights(model, [&](ops::Weight& weight) { cpu ? weight.freeze(precision) : weight.set_precision(precision); });
  return precision;
}

}  // namespace attend
