// A run directory loaded for use: the options of its model, its tokenizers and its weights. Whatever is done with a
// trained model knows only this.
//
//   RUN/config.toml                      the resolved options of training, of which the model's are read
//   RUN/tokenizer                        see tokenizer_pair.hpp
//   RUN/checkpoints/step-N, RUN/best     see checkpoint_reader.hpp
#pragma once

#include <filesystem>
#include <string>

#include "core/options.hpp"
#include "core/safetensors.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "models/translation/config.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

// What weights belong to, as their file says it: the values of the model's options (model.NAME), the hashes of the
// tokenizers, and of a task's model the values of the task's (task.NAME).
TensorMetadata identity_of(const ModelConfig& config, const TokenizerPair& tokenizers);

// Adds PART.NAME for each of the options.
void add_options(TensorMetadata& identity, const std::string& part, const BoundOptions& options);

// UserError when the weights say that they belong to a model, a task or tokenizers other than those `expected`; what
// they say nothing of may be anything.
void check_identity(const std::filesystem::path& weights, const TensorMetadata& expected,
                    const std::filesystem::path& run);

// The command that made a run: attend train, pretrain or finetune.
enum class RunKind { train, pretrain, finetune };

// UserError unless it is a directory with a config.toml.
RunKind kind_of_run(const std::filesystem::path& path);

// UserError unless it is a run of that kind.
void check_is_run(const std::filesystem::path& path, RunKind expected);

struct Run {
  ModelConfig config;
  TokenizerPair tokenizers;
  Seq2Seq model;
  std::filesystem::path weights;  // the file they came from

  // `checkpoint` is auto, best, last or a path, see find_weights. UserError naming the file that is missing, damaged,
  // edited or of another run.
  static Run load(const std::filesystem::path& path, const std::string& checkpoint = "auto",
                  torch::Device device = torch::kCPU);
};

// Packs every weight for use; the model can then no longer be trained. `automatic` is bf16 where the processor or the
// GPU multiplies it natively, else fp32. Gives the precision that was taken. UserError for int8 on a GPU.
Precision freeze(const torch::nn::Module& model, Precision precision);

}  // namespace attend
