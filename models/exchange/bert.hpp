// Exchange of BERT's weights and config.json with Hugging Face's transformers, in both directions.
//
//   bert.encoder.layers.0.self_attn.in_proj.weight  =  bert.encoder.layer.0.attention.self.{query,key,value}.weight
//   bert.encoder.layers.0.norm1.weight              =  bert.encoder.layer.0.attention.output.LayerNorm.{weight,gamma}
//   predictions.dense.weight                        =  cls.predictions.transform.dense.weight
//
// Hugging Face's BERT is post-norm. A pre-norm encoder is exchanged as RoBERTa-PreLayerNorm, which has no next-sentence
// head, and whose position table starts with unused rows:
//
//   bert.encoder.layers.0.norm1.weight              =  roberta_prelayernorm.encoder.layer.0.attention.LayerNorm.weight
//   predictions.dense.weight                        =  lm_head.dense.weight
//
// Reads fp32, fp16 and bf16, with and without the prefix "bert.", and LayerNorm's old names gamma and beta.
#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/safetensors.hpp"
#include "data/task/labelled_task.hpp"
#include "models/layers/weights_io.hpp"
#include "models/transformer/stack_options.hpp"

namespace attend {

// The content of config.json, which determines names and shapes.
struct HfConfig {
  StackOptions options;
  std::int64_t vocabulary = 0;
  std::int32_t pad = 0;             // id of the padding piece
  std::optional<TaskKind> task;     // from the architecture; nullopt: an encoder, perhaps with pretraining heads
  std::vector<std::string> labels;  // of that task
  bool heads = true;                // without a task: whether there are pretraining heads
};

// Throws UserError naming the file for an unsupported model_type, activation or position embedding, and for
// inconsistent sizes.
HfConfig read_hf_config(const std::filesystem::path& file);

// The text of config.json. Throws UserError naming the option for a form that these models lack, such as shared layers,
// narrow embeddings and rotary positions.
std::string to_hf_config(const HfConfig& theirs);

// Parameters of a model under Hugging Face's names. Except for position tables with unused rows, they are views.
NamedTensors to_hf(const NamedTensors& parameters, const HfConfig& config);

// True if a Hugging Face file contains the parameter or a part of it.
bool has_hf_weight(const SafetensorsFile& file, const std::string& parameter, const HfConfig& config);

// Copies a Hugging Face file into `parameters` of the model, and refreshes its ops::Weights. The report uses Hugging
// Face's names, without buffers and tied copies. Throws UserError for NaN and infinity.
WeightReport load_hf_weights(const std::filesystem::path& file, const torch::nn::Module& model,
                             const NamedTensors& parameters, const HfConfig& config);

}  // namespace attend
