// A run directory loaded for use: its kind, the options of its model, its tokenizers and its weights.
//
//   RUN/run.json                         the format and the kind of the run, and its origin
//   RUN/config.toml                      the resolved options of training, of which the model's are read
//   RUN/tokenizer                        see tokenizer_pair.hpp
//   RUN/checkpoints/step-N, RUN/best     see checkpoint_reader.hpp
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/options.hpp"
#include "core/safetensors.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/translation/config.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

// The identity of weights, recorded in their file: the hashes of the tokenizers, the values of the model's options
// (model.NAME), and for a fine-tuned model those of its task (task.NAME).
TensorMetadata hashes_of(const TokenizerPair& tokenizers);
TensorMetadata hashes_of(const Tokenizer& tokenizer);
void add_options(TensorMetadata& identity, const std::string& part, const BoundOptions& options);

template <class Options, class Tokenizers>
TensorMetadata identity_of(const Options& model, const Tokenizers& tokenizers) {
  TensorMetadata identity = hashes_of(tokenizers);
  add_options(identity, "model", bind(model));
  return identity;
}
template <class Options, class TaskOptions, class Tokenizers>
TensorMetadata identity_of(const Options& model, const TaskOptions& task, const Tokenizers& tokenizers) {
  TensorMetadata identity = identity_of(model, tokenizers);
  add_options(identity, "task", bind(task));
  return identity;
}

// Throws UserError if the weights are recorded as belonging to a model, a task or tokenizers other than those
// `expected`; values that their file does not record are not checked.
void check_identity(const std::filesystem::path& weights, const TensorMetadata& expected,
                    const std::filesystem::path& run);

// attend train, pretrain --objective masked or permuted, pretrain --objective causal, and finetune.
enum class RunKind { train, pretrain, language, finetune };
template <>
inline constexpr auto kEnumNames<RunKind> = std::to_array<EnumName<RunKind>>({{RunKind::train, "train"},
                                                                              {RunKind::pretrain, "pretrain"},
                                                                              {RunKind::language, "language"},
                                                                              {RunKind::finetune, "finetune"}});

// The command that makes runs of a kind, with the option that distinguishes it: "pretrain --objective causal".
std::string_view command_of(RunKind kind);

// The kind recorded in RUN/run.json. Throws UserError unless `path` is a directory with a config.toml and a run.json of
// this program's format.
RunKind kind_of_run(const std::filesystem::path& path);

// The beginning of every run.json: format and kind. The run.json of an imported run contains nothing else.
nlohmann::ordered_json record_of_kind(RunKind kind);

// Throws UserError unless `path` is a run of that kind.
void check_is_run(const std::filesystem::path& path, RunKind expected);

// Loads the model of a run with its weights onto a device. `make` builds it from the options in config.toml;
// `checkpoint` is auto, best, last or a path, see find_weights. Throws UserError naming the file that is missing,
// damaged, edited or from another run.
template <class Make, class Load>
auto load_model(const std::filesystem::path& run, const std::string& checkpoint, torch::Device device,
                const TensorMetadata& identity, const Make& make, const Load& load) {
  const std::filesystem::path weights = find_weights(run, checkpoint);
  check_identity(weights, identity, run);
  auto model = [&] {
    try {
      return make();
    } catch (const UserError& error) {  // the options of an intact run are valid
      throw UserError((run / "config.toml").string() + ": " + error.what(),
                      "it was truncated or edited; restore the original");
    }
  }();
  load(weights, *model);
  model->to(device);
  model->eval();
  return model;
}

// A run of `attend train`.
struct Run {
  ModelConfig config;
  TokenizerPair tokenizers;
  Seq2Seq model;

  static Run load(const std::filesystem::path& path, const std::string& checkpoint = "auto",
                  torch::Device device = torch::kCPU);
};

// Throws UserError unless --source-factors names one file for each source factor of the run at `path`, which has these
// tokenizers.
void check_factor_files(const TokenizerPair& tokenizers, const std::filesystem::path& path, std::size_t num_files);

}  // namespace attend
