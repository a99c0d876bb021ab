// A run directory loaded for use: the options of its model, its tokenizers and its weights. Whatever is done with a
// trained model knows only this.
//
//   RUN/config.toml                      the resolved options of training, of which the model's are read
//   RUN/tokenizer                        see tokenizer_pair.hpp
//   RUN/checkpoints/step-N, RUN/best     see checkpoint_reader.hpp
#pragma once

#include <filesystem>
#include <string>

#include "core/safetensors.hpp"
#include "data/text/tokenizer_pair.hpp"
#include "models/config.hpp"
#include "models/seq2seq.hpp"

namespace attend {

// What weights belong to, as their file says it: hashes of the model's options and of the tokenizers.
TensorMetadata identity_of(const ModelConfig& config, const TokenizerPair& tokenizers);

// UserError when the weights say that they belong to another model or other tokenizers; some say nothing.
void check_identity(const std::filesystem::path& weights, const TensorMetadata& expected,
                    const std::filesystem::path& run);

// UserError unless it is a directory with a config.toml.
void check_is_run(const std::filesystem::path& path);

// Whether it was taught a task: of attend finetune, not of attend pretrain.
bool is_run_of_task(const std::filesystem::path& path);

struct Run {
  ModelConfig config;
  TokenizerPair tokenizers;
  Seq2Seq model;
  std::filesystem::path weights;  // the file they came from

  // `checkpoint` is best, last or a path, see find_weights. UserError naming the file that is missing, damaged, edited
  // or of another run.
  static Run load(const std::filesystem::path& path, const std::string& checkpoint = "best",
                  torch::Device device = torch::kCPU);
};

// Packs every weight for decoding; the model can then no longer be trained. `automatic` is bf16 where the processor or
// the GPU multiplies it natively, else fp32. Gives the precision that was taken. UserError for int8 on a GPU.
Precision freeze(const torch::nn::Module& model, Precision precision);

}  // namespace attend
