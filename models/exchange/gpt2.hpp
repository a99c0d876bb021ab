// Exchange of a Transformer language model's weights and config.json with Hugging Face's GPT-2 (GPT2LMHeadModel), in
// both directions: pre-norm, learnt positions, one table for embeddings and output.
//
//   embedding.weight                           =  transformer.wte.weight
//   position_embedding.weight                  =  transformer.wpe.weight
//   decoder.layers.0.norm1.weight              =  transformer.h.0.ln_1.weight
//   decoder.layers.0.self_attn.in_proj.weight  =  transformer.h.0.attn.c_attn.weight, transposed
//   decoder.layers.0.linear2.weight            =  transformer.h.0.mlp.c_proj.weight, transposed
//   decoder.norm.weight                        =  transformer.ln_f.weight
//
// Reads fp32, fp16 and bf16, with and without the prefix "transformer.". Not exchanged: a separate output table, and
// attention scaled by the layer's number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/safetensors.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {

// The content of config.json.
struct Gpt2Config {
  LanguageOptions options;
  std::int64_t vocabulary = 0;
  std::int32_t eos = 0;  // also bos
};

// Throws UserError naming the file and the field for a form that is not GPT-2's, an unknown field, and inconsistent
// sizes.
Gpt2Config read_gpt2_config(const std::filesystem::path& file);

// Loads the weights of a model of this form, and refreshes its ops::Weights. The report uses GPT-2's names, without
// masks and the tied output table. Throws UserError for NaN and infinity.
WeightReport load_gpt2_weights(const TensorDirectory& tensors, const LanguageModelImpl& model);

// Throws UserError naming the option that GPT-2 lacks.
void check_gpt2_form(const LanguageOptions& options);

// The text of config.json, for a model of this form.
std::string to_gpt2_config(const Gpt2Config& config);

// The parameters of a model of this form as GPT-2's tensors, which are views.
NamedTensors to_gpt2(const NamedTensors& parameters);

}  // namespace attend
