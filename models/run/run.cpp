#include "models/run/run.hpp"

#include <fmt/format.h>

#include <array>

#include "core/error.hpp"
#include "core/options.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/device.hpp"
#include "models/translation/factory.hpp"

namespace attend {
namespace fs = std::filesystem;

namespace {

constexpr std::array kCommands{"attend train", "attend pretrain", "attend finetune"};

struct Shape {
  std::string name;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("shape", self.name, {.help = "that of an encoder of attend pretrain"});
  }
};

}  // namespace

RunKind kind_of_run(const fs::path& path) {
  if (!fs::is_directory(path)) {
    throw UserError(path.string() + (fs::exists(path) ? ": not a directory" : ": no such run"),
                    "give the directory that --run named");
  }
  if (!fs::exists(path / "config.toml")) {
    throw UserError(path.string() + ": not a run, config.toml is missing",
                    fs::exists(path / "config.json")
                        ? "import the model of Hugging Face first: attend import " + path.string() + " --run RUN"
                        : "give the directory that --run named");
  }
  if (fs::exists(path / "task.toml")) return RunKind::finetune;
  const auto shape = read_config<Shape>(path / "config.toml", UnknownKeys::ignore).name;
  return shape.empty() ? RunKind::train : RunKind::pretrain;
}

void check_is_run(const fs::path& path, RunKind expected) {
  const RunKind found = kind_of_run(path);
  if (found == expected) return;
  const auto command = [](RunKind kind) { return kCommands.at(static_cast<std::size_t>(kind)); };
  throw UserError(fmt::format("{}: a run of {}, expected one of {}", path.string(), command(found), command(expected)),
                  "give the directory that its --run named");
}

void check_identity(const fs::path& weights, const TensorMetadata& expected, const fs::path& run) {
  const SafetensorsFile file(weights);
  for (const auto& [key, value] : expected) {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end() || found->second == value) continue;
    const std::string remedy = "one of them was edited or is of another run: bring it back";
    const auto dot = key.find('.');
    if (dot == std::string::npos) {
      throw UserError(
          weights.string() + " was trained with another " + key + " than " + (run / "tokenizer").string() + " has now",
          remedy);
    }
    const fs::path options = run / (key.starts_with("task.") ? "task.toml" : "config.toml");
    throw UserError(fmt::format("{}: {} is {}, but {} was trained with {}", options.string(), key.substr(dot + 1),
                                value, weights.string(), found->second),
                    remedy);
  }
}

void add_options(TensorMetadata& identity, const std::string& part, const BoundOptions& options) {
  for (const auto& [name, text] : texts_of(options, [](const BoundOption&) { return true; })) {
    identity.emplace(part + "." + name, text);
  }
}

TensorMetadata identity_of(const ModelConfig& config, const TokenizerPair& tokenizers) {
  TensorMetadata identity = {{"source tokenizer", tokenizers.src.hash()}, {"target tokenizer", tokenizers.tgt.hash()}};
  add_options(identity, "model", bind(config));
  return identity;
}

Run Run::load(const fs::path& path, const std::string& checkpoint, torch::Device device) {
  check_is_run(path, RunKind::train);
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
  precision = precision_for(precision, device);
  warn_of_slow(precision, device);
  if (!cpu && precision == Precision::int8) {
    throw UserError("--precision int8 is not available on " + device.str(), "use bf16, or --device cpu");
  }
  // A GPU's own library lays out its weights.
  visit_weights(model, [&](ops::Weight& weight) { cpu ? weight.freeze(precision) : weight.set_precision(precision); });
  return precision;
}

}  // namespace attend
