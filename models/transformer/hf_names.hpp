// Names that the config.json of several Hugging Face models share, and those of the options that they have.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "models/transformer/feed_forward.hpp"

namespace attend {

// The names of activations, the usual one of each first.
using HfActivation = std::pair<std::string_view, FeedForwardKind>;
inline constexpr auto kHfActivations = std::to_array<HfActivation>({
    {"swish", FeedForwardKind::swish},
    {"silu", FeedForwardKind::swish},
    {"relu", FeedForwardKind::relu},
    {"gelu", FeedForwardKind::gelu},
    {"gelu_new", FeedForwardKind::gelu_tanh},
    {"gelu_pytorch_tanh", FeedForwardKind::gelu_tanh},
});

// Fields that do not change what a model computes.
inline constexpr auto kHfFieldsWithoutEffect = std::to_array<std::string_view>(
    {// training and classification
     "gradient_checkpointing", "id2label", "label2id", "num_labels", "_num_labels", "problem_type", "finetuning_task",
     // search
     "forced_bos_token_id", "forced_eos_token_id", "max_length", "min_length", "num_beams", "early_stopping",
     "length_penalty", "no_repeat_ngram_size", "num_return_sequences", "do_sample", "task_specific_params", "prefix",
     "use_cache", "output_past", "output_attentions", "output_hidden_states", "output_scores", "return_dict",
     "return_dict_in_generate", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty",
     "encoder_no_repeat_ngram_size", "num_beam_groups", "diversity_penalty", "remove_invalid_values",
     "exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens", "sep_token_id",
     // the origin of the file, and fields that Hugging Face ignores
     "_name_or_path", "architectures", "transformers_version", "torch_dtype", "dtype", "tokenizer_class", "torchscript",
     "pruned_heads", "use_bfloat16", "tf_legacy_loss", "chunk_size_feed_forward", "_commit_hash",
     "_attn_implementation_autoset"});

// Options with which a stack of layers (BertOptions) can be exported: config.json has them, or they only matter in
// training.
inline constexpr auto kHfExportedOfStack = std::to_array<std::string_view>(
    {"shape", "layers", "width", "heads", "feed-forward", "norm", "activation", "embedding-width", "max-positions",
     "dropout", "attention-dropout", "activation-dropout", "layer-drop", "initial-deviation", "initial-positions",
     "initialiser"});

}  // namespace attend
