// The config.json of Hugging Face models: shared names, fields read with errors that name the file and the field, and
// options of attend that have no field.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/json.hpp"
#include "core/options.hpp"
#include "models/transformer/stack_options.hpp"

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
     "use_bfloat16", "tf_legacy_loss", "chunk_size_feed_forward", "_commit_hash", "_attn_implementation_autoset"});

// Options of a stack of layers (StackOptions) that can be exported: config.json has them, or they only matter in
// training.
inline constexpr auto kHfExportedOfStack = std::to_array<std::string_view>(
    {"shape", "layers", "width", "heads", "feed-forward", "norm", "activation", "embedding-width", "max-positions",
     "dropout", "attention-dropout", "initial-deviation", "initial-positions", "initialiser"});

// A flag of config.json: the only accepted value, and the meaning of a missing flag in Hugging Face.
struct HfFlag {
  std::string_view key;
  bool expected;
  bool missing;
};

// A null field counts as missing. Members throw UserError naming the file and the field.
class HfConfigFile {
 public:
  // `readable`: the remedy in messages, which says which models can be read. Throws as read_json does.
  HfConfigFile(const std::filesystem::path& path, std::string readable);

  const nlohmann::json& json() const { return json_; }
  const std::string& file() const { return file_; }
  bool has(std::string_view key) const;
  template <class T>
  T get(std::string_view key) const {
    return json_member<T>(json_, std::string(key), file_);
  }
  template <class T>
  T get(std::string_view key, T missing) const {
    return has(key) ? get<T>(key) : missing;
  }
  // An integer from `least` to `most`.
  std::int64_t size(std::string_view key, std::int64_t least, std::int64_t most) const;
  // A number from `least` to `most`.
  double number(std::string_view key, double least, double most, double missing) const;
  FeedForwardKind activation(std::string_view key, std::span<const HfActivation> names = kHfActivations) const;

  [[noreturn]] void refuse(std::string_view key, std::string_view found, std::string_view expected) const;
  void check_flags(std::span<const HfFlag> flags) const;
  // Checks the type and the flags, and refuses a field that is neither a flag nor one of `others` nor one of
  // kHfFieldsWithoutEffect. `model` is named in messages.
  void check_form(std::string_view type, std::string_view model, std::span<const HfFlag> flags,
                  std::span<const std::string_view> others) const;
  // Refuses a number that is neither missing nor `expected`.
  void check_number(std::string_view key, double expected) const;
  // Refuses a field whose integer does not divide that of another field.
  void check_divisor(std::string_view key, std::string_view of) const;

 private:
  std::string file_;
  std::string readable_;
  nlohmann::json json_;
};

// The first name of an activation; empty if it has none.
std::string_view hf_name_of(FeedForwardKind activation, std::span<const HfActivation> names = kHfActivations);

// Throws UserError: Hugging Face's `they`, such as "GPT-2 has", no form with this value of the option.
[[noreturn]] void refuse_hf_form(std::string_view they, std::string_view option, std::string_view text);

// Refuses the first option that differs from its default and is not one of `exported`.
void check_hf_options(std::string_view they, const OptionTexts& options, const OptionTexts& defaults,
                      std::span<const std::string_view> exported);

// Throws UserError if the file or directory `tensors`, of `bytes`, is too small for the `numbers` that `config`
// describes: call it before allocating them.
void refuse_larger_model(double numbers, std::uintmax_t bytes, const std::filesystem::path& tensors,
                         const std::filesystem::path& config);
// The number of weights in the matrices of a stack and its tables of pieces and positions.
double least_weights(const StackOptions& stack, std::int64_t vocabulary);

}  // namespace attend
