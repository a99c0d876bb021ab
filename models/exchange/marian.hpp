// Exchange of a Transformer's weights and config.json with Hugging Face's MarianMT, in both directions: post-norm,
// scaled embeddings, sinusoids, one table for target and output, a bias of the logits.
//
//   encoder.layers.0.self_attn.in_proj.weight       =  model.encoder.layers.0.self_attn.{q,k,v}_proj.weight
//   decoder.layers.0.multihead_attn.kv_proj.weight  =  model.decoder.layers.0.encoder_attn.{k,v}_proj.weight
//   decoder.layers.0.norm3.weight                   =  model.decoder.layers.0.final_layer_norm.weight
//   tgt_embedding.weight                            =  model.shared.weight, or model.decoder.embed_tokens.weight
//   output_bias                                     =  final_logits_bias
//
// MarianMT's sinusoids have all sines in the first half of the columns and all cosines in the second. Here they
// alternate: column 2i of the hidden states is MarianMT's column i, and 2i + 1 is i + (H + 1) / 2. So the rows or
// columns of each weight that reads or writes hidden states are permuted, which changes results only by rounding.
//
// MarianMT's decoder starts from the embedding of padding, which Marian and CTranslate2 take for zero. Here the start
// has a trained embedding e. It is written as part of the decoder's first position, where only the start can be:
//
//   sqrt(H) e + sinusoid(0)  =  sqrt(H) 0 + position(0),   position(0) = model.decoder.embed_positions.weight[0]
//
// Reads fp32, fp16 and bf16. Not exchanged: a separate output table, unscaled embeddings, learnt positions.
#pragma once

#include <filesystem>
#include <string>

#include "core/safetensors.hpp"
#include "data/tokenizer/hugging_face_vocabulary.hpp"
#include "models/layers/weights_io.hpp"
#include "models/translation/config.hpp"
#include "models/translation/factory.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

// The content of config.json.
struct MarianConfig {
  ModelConfig model;  // without output-bias, which the file does not determine
  VocabularySizes vocabulary;
  MarianIds ids;
};

// Throws UserError naming the file and the field for a form that is not MarianMT's, an unknown field, and inconsistent
// sizes.
MarianConfig read_marian_config(const std::filesystem::path& file);

// The number of weights in the matrices and tables of pieces (refuse_larger_model).
double least_weights(const MarianConfig& config);

// True if the file's bias of the logits is not zero everywhere.
bool has_marian_bias(const TensorDirectory& tensors);

// Loads the weights of a model and refreshes its ops::Weights. Rows of tables beyond the vocabularies of the config are
// copies of row `unk`, that of the unknown piece of each side, with a bias so low that they are never produced. Throws
// UserError for NaN, infinity and positions that are not MarianMT's; what the decoder's first position has besides its
// sinusoid is added to the embedding of the start.
WeightReport load_marian_weights(const TensorDirectory& tensors, const Seq2SeqImpl& model, const MarianConfig& config,
                                 const VocabularySizes& unk);

// Throws UserError naming the option that MarianMT lacks.
void check_marian_form(const ModelConfig& config);

// The text of config.json and generation_config.json, for a model of this form.
std::string to_marian_config(const MarianConfig& config);
std::string to_marian_generation_config(const MarianConfig& config);

// The parameters of a model as MarianMT's tensors, with the rows of tables in the order of its ids.
NamedTensors to_marian(const NamedTensors& parameters, const MarianConfig& config, const MarianOrder& order);

}  // namespace attend
