// What a directory is as a run, without its model: its kind, its best seed and the identity of its weights.
//
//   RUN/run.json                         the format and the kind of the run, and its origin
//   RUN/config.toml                      the resolved options of training, of which the model's are read
//   RUN/tokenizer                        see tokenizer.hpp; of all but attend train, joint.model
//   RUN/task.toml                        of attend finetune: the task, with all its labels
//   RUN/checkpoints/step-N, RUN/best     see checkpoint_reader.hpp
//   RUN/seed-N, RUN/seeds.json           of attend finetune over several seeds: a run for each; the best seed
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "core/safetensors.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// attend train, pretrain --objective masked or permuted, pretrain --objective causal or hybrid, and finetune.
enum class RunKind { train, pretrain, language, finetune };
template <>
inline constexpr auto kEnumNames<RunKind> = std::to_array<EnumName<RunKind>>({{RunKind::train, "train"},
                                                                              {RunKind::pretrain, "pretrain"},
                                                                              {RunKind::language, "language"},
                                                                              {RunKind::finetune, "finetune"}});

// The command that makes runs of a kind, with the option that distinguishes it: "pretrain --objective causal or
// hybrid".
std::string_view command_of(RunKind kind);

// The kind recorded in RUN/run.json. Throws UserError unless `path` is a directory with a config.toml and a run.json of
// this program's format.
RunKind kind_of_run(const std::filesystem::path& path);

// The beginning of every run.json: format and kind. The run.json of an imported run contains nothing else.
nlohmann::ordered_json record_of_kind(RunKind kind);

// Throws UserError unless `path` is a run of that kind.
void check_is_run(const std::filesystem::path& path, RunKind expected);
// What check_is_run throws for a run of the kind `found`.
[[noreturn]] void refuse_kind(const std::filesystem::path& path, RunKind found, RunKind expected);

// RUN itself, or for several seeds the RUN/seed-N with the best validation score.
std::filesystem::path run_of_best_seed(const std::filesystem::path& run);

// RUN itself, or for several seeds each RUN/seed-N.
std::vector<std::filesystem::path> runs_of_all_seeds(const std::filesystem::path& run);

// The command that trained a run (command_of), on which options of commands for several kinds of runs depend; and its
// value for RUN, of several seeds the best one. Throws UserError as kind_of_run.
inline constexpr Fact kRunsOfAttend{"runs of attend"};
FactValue trained_by(const std::string& run);

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

}  // namespace attend
