#include "models/language/gpt2.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "models/layers/layers.hpp"
#include "models/transformer/hf_names.hpp"

namespace attend {
namespace {

using at::Tensor;

constexpr const char* kGpt2Form = "attend import reads GPT-2 models whose output table is that of the embeddings";
constexpr std::string_view kGpt2Prefix = "transformer.";

// Flags of config.json: the only value that is read, which a missing one has too.
constexpr auto kGpt2Flags =
    std::to_array<std::pair<std::string_view, bool>>({{"scale_attn_weights", true},
                                                      {"tie_word_embeddings", true},
                                                      {"scale_attn_by_inverse_layer_idx", false},
                                                      {"add_cross_attention", false},
                                                      {"is_encoder_decoder", false}});

// Other fields that are read, and those of this model alone that do not change what it computes.
constexpr auto kGpt2Fields = std::to_array<std::string_view>(
    {"model_type", "vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner", "activation_function",
     "resid_pdrop", "attn_pdrop", "layer_norm_epsilon", "initializer_range", "bos_token_id", "eos_token_id",
     // names of the same numbers
     "n_ctx", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings",
     // training and classification
     "embd_pdrop", "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
     "summary_first_dropout", "classifier_dropout",
     // what Hugging Face ignores, a padding that no text has, and the order in which it rounds
     "is_decoder", "predict_special_tokens", "pad_token_id", "reorder_and_upcast_attn"});

// Options with which a model can be exported: config.json has them, or they only matter in training. All others must
// have their defaults, except for the norm, which must be pre.
constexpr auto kGpt2Exported = std::to_array<std::string_view>(
    {"shape", "layers", "width", "heads", "feed-forward", "norm", "activation", "embedding-width", "max-positions",
     "dropout", "attention-dropout", "activation-dropout", "layer-drop", "initial-deviation", "initial-positions",
     "initialiser"});

// The beginnings of names: of the model's parts, and of a parameter within a layer.
using Gpt2Name = std::pair<std::string_view, std::string_view>;
constexpr auto kGpt2Parts =
    std::to_array<Gpt2Name>({{"embedding.", "wte."}, {"position_embedding.", "wpe."}, {"decoder.norm.", "ln_f."}});
constexpr auto kGpt2LayerParts = std::to_array<Gpt2Name>({{"self_attn.in_proj.", "attn.c_attn."},
                                                          {"self_attn.out_proj.", "attn.c_proj."},
                                                          {"linear1.", "mlp.c_fc."},
                                                          {"linear2.", "mlp.c_proj."},
                                                          {"norm1.", "ln_1."},
                                                          {"norm2.", "ln_2."}});

std::string with_their_beginning(const std::string& name, const auto& parts) {
  for (const auto& [ours, theirs] : parts) {
    if (name.starts_with(ours)) return std::string(theirs) + name.substr(ours.size());
  }
  ensure(false, "GPT-2 has the parameter " + name);
  return {};
}

// GPT-2's name of a parameter.
std::string gpt2_name_of(const std::string& parameter) {
  constexpr std::string_view kLayers = "decoder.layers.";
  const std::string prefix(kGpt2Prefix);
  if (!parameter.starts_with(kLayers)) return prefix + with_their_beginning(parameter, kGpt2Parts);
  const std::size_t rest = parameter.find('.', kLayers.size()) + 1;
  return prefix + "h." + parameter.substr(kLayers.size(), rest - kLayers.size()) +
         with_their_beginning(parameter.substr(rest), kGpt2LayerParts);
}

// A tensor in the other one's layout: the maps of GPT-2's layers have their inputs in rows.
Tensor in_other_layout(const Tensor& tensor, const std::string& parameter) {
  return tensor.dim() == 2 && parameter.starts_with("decoder.") ? tensor.t() : tensor;
}

// True for tensors that follow from others: masks, and the output table.
bool follows_from_others(std::string_view name) {
  return name == "lm_head.weight" || name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

}  // namespace

Gpt2Config read_gpt2_config(const std::filesystem::path& path) {
  const std::string file = path.string();
  const nlohmann::json json = read_json(path, kMostHfConfigBytes);
  const auto refuse = [&](std::string_view key, const std::string& found, const std::string& expected) {
    throw UserError(fmt::format("{}: \"{}\" is {}, expected {}", file, key, found, expected), kGpt2Form);
  };
  const auto has = [&](std::string_view key) { return json.contains(key) && !json[std::string(key)].is_null(); };
  if (const auto type = json_member<std::string>(json, "model_type", file); type != "gpt2") {
    refuse("model_type", type, "gpt2");
  }
  for (const auto& [key, expected] : kGpt2Flags) {
    if (has(key) && json_member<bool>(json, std::string(key), file) != expected) {
      refuse(key, expected ? "false" : "true", expected ? "true" : "false");
    }
  }
  for (const auto& [key, value] : json.items()) {
    if (value.is_null()) continue;  // as a missing one
    if (std::ranges::find(kGpt2Flags, key, [](const auto& flag) { return flag.first; }) != kGpt2Flags.end()) continue;
    if (std::ranges::find(kGpt2Fields, key) != kGpt2Fields.end()) continue;
    if (std::ranges::find(kHfFieldsWithoutEffect, key) != kHfFieldsWithoutEffect.end()) continue;
    throw UserError(file + ": \"" + key + "\" is not a field of GPT-2 that attend import knows",
                    "remove it if it does not change what the model computes");
  }
  const auto size = [&](const char* key, std::int64_t least, std::int64_t most) {
    const auto value = json_member<std::int64_t>(json, key, file);
    if (value < least || value > most) {
      refuse(key, std::to_string(value), fmt::format("an integer from {} to {}", least, most));
    }
    return value;
  };
  const auto number = [&](const char* key, double least, double most, double usual) {
    if (!has(key)) return usual;
    const auto value = json_member<double>(json, key, file);
    if (!(value >= least && value <= most)) refuse(key, json[key].dump(), fmt::format("from {} to {}", least, most));
    return value;
  };
  Gpt2Config config;
  BertOptions& stack = config.options.stack;
  stack.layers = size("n_layer", 1, 96);
  stack.width = size("n_embd", 2, 16384);
  stack.block.heads = size("n_head", 1, 256);
  if (*stack.width % *stack.block.heads != 0) {
    refuse("n_head", std::to_string(*stack.block.heads), fmt::format("a divisor of {}, \"n_embd\"", *stack.width));
  }
  stack.block.feed_forward = has("n_inner") ? size("n_inner", 1, 65536) : 4 * *stack.width;
  stack.max_positions = size("n_positions", 8, 65535);
  stack.block.norm = NormPlace::pre;
  const std::string name = has("activation_function") ? json_member<std::string>(json, "activation_function", file)
                                                      : std::string("gelu_new");
  const auto* const activation = std::ranges::find(kHfActivations, name, [](const auto& entry) { return entry.first; });
  if (activation == kHfActivations.end()) {
    refuse("activation_function", name, fmt::format("one of {}", fmt::join(kHfActivations | std::views::keys, ", ")));
  }
  stack.block.activation = activation->second;
  stack.dropout = number("resid_pdrop", 0, 0.95, 0.1);
  stack.block.attention_dropout = number("attn_pdrop", 0, 0.95, 0.1);
  stack.initial_deviation = number("initializer_range", 1e-6, 1, 0.02);
  if (has("layer_norm_epsilon") && json_member<double>(json, "layer_norm_epsilon", file) != kLanguageNormEps) {
    refuse("layer_norm_epsilon", json["layer_norm_epsilon"].dump(), fmt::format("{}", kLanguageNormEps));
  }
  config.vocabulary = size("vocab_size", 1, 10'000'000);
  constexpr std::int32_t kUsualEnd = 50256;
  const auto id = [&](const char* key) { return has(key) ? json_member<std::int32_t>(json, key, file) : kUsualEnd; };
  config.eos = id("eos_token_id");
  if (config.eos < 0 || config.eos >= config.vocabulary) {
    refuse("eos_token_id", std::to_string(config.eos), fmt::format("an id from 0 to {}", config.vocabulary - 1));
  }
  if (id("bos_token_id") != config.eos) {
    refuse("bos_token_id", std::to_string(id("bos_token_id")), fmt::format("{}, as \"eos_token_id\"", config.eos));
  }
  return config;
}

void refuse_larger_model(const Gpt2Config& config, const TensorDirectory& tensors, const std::filesystem::path& file) {
  const BertConfig stack = bert_config(config.options.stack, config.vocabulary);
  const auto width = static_cast<double>(stack.block.width), inner = static_cast<double>(stack.block.feed_forward);
  const double numbers = width * (static_cast<double>(stack.layers) * (4 * width + 2 * inner) +
                                  static_cast<double>(stack.vocabulary + stack.max_length));
  refuse_larger_model(numbers, tensors.bytes(), tensors.path(), file);
}

WeightReport load_gpt2_weights(const TensorDirectory& tensors, const LanguageModelImpl& model) {
  const at::NoGradGuard no_grad;
  WeightReport report;
  std::set<std::string, std::less<>> used;
  for (const auto& [parameter, target] : parameters_of(model)) {
    const std::string name = gpt2_name_of(parameter);
    const TensorView* found = tensors.find(name);
    if (found == nullptr) found = tensors.find(std::string_view(name).substr(kGpt2Prefix.size()));
    if (found == nullptr) {
      report.missing.push_back(name);
      continue;
    }
    used.insert(found->name);
    const std::vector<std::int64_t> expected = in_other_layout(target, parameter).sizes().vec();
    if (!is_float(found->dtype) || found->shape != expected) {
      report.mismatched.push_back(found->name + " (" + std::string(name_of(found->dtype)) + " " +
                                  c10::str(at::IntArrayRef(found->shape)) + ", expected F32 " +
                                  c10::str(at::IntArrayRef(expected)) + ")");
      continue;
    }
    target.copy_(in_other_layout(as_fp32(*found), parameter));
    refuse_nonfinite(target, tensors.path().string() + ": " + found->name);
    ++report.loaded;
  }
  for (const SafetensorsFile& file : tensors.files()) {
    for (const TensorView& view : file.tensors()) {
      if (!used.contains(view.name) && !follows_from_others(view.name)) report.unused.push_back(view.name);
    }
  }
  refresh_weights(model);
  return report;
}

void check_gpt2_form(const LanguageOptions& options) {
  const auto refuse = [](std::string_view name, std::string_view text) {
    throw UserError(fmt::format("cannot be exported: Hugging Face's GPT-2 has no form with {} = {}", name, text),
                    "use the model with attend");
  };
  const BlockOptions& block = options.stack.block;
  if (options.is_recurrent()) refuse("cell", name_of(options.cell));
  if (block.norm != NormPlace::pre) refuse("norm", name_of(block.norm));
  if (is_gated(block.activation)) refuse("activation", name_of(block.activation));
  if (block.feed_forward == 0) refuse("feed-forward", "0");
  const OptionTexts usual = default_texts<LanguageOptions>();
  for (const auto& [name, text] : texts_of(bind(options))) {
    if (text != usual.at(name) && std::ranges::find(kGpt2Exported, name) == kGpt2Exported.end()) refuse(name, text);
  }
}

std::string to_gpt2_config(const Gpt2Config& config) {
  const BertConfig stack = bert_config(config.options.stack, config.vocabulary);
  const BlockConfig& block = stack.block;
  const auto* const activation =
      std::ranges::find(kHfActivations, block.activation, [](const auto& entry) { return entry.second; });
  ensure(activation != kHfActivations.end(), "GPT-2 has the activation");
  const nlohmann::ordered_json json = {{"architectures", {"GPT2LMHeadModel"}},
                                       {"model_type", "gpt2"},
                                       {"vocab_size", config.vocabulary},
                                       {"n_positions", stack.max_length},
                                       {"n_embd", block.width},
                                       {"n_layer", stack.layers},
                                       {"n_head", block.heads},
                                       {"n_inner", block.feed_forward},
                                       {"activation_function", activation->first},
                                       {"layer_norm_epsilon", kLanguageNormEps},
                                       {"scale_attn_weights", true},
                                       {"tie_word_embeddings", true},
                                       {"resid_pdrop", block.dropout},
                                       {"embd_pdrop", block.dropout},
                                       {"attn_pdrop", block.attention_dropout},
                                       {"initializer_range", block.deviation},
                                       {"bos_token_id", config.eos},
                                       {"eos_token_id", config.eos}};
  return json.dump(2) + "\n";
}

NamedTensors to_gpt2(const NamedTensors& parameters) {
  NamedTensors result;
  for (const auto& [name, parameter] : parameters) {
    result.emplace_back(gpt2_name_of(name), in_other_layout(parameter.detach(), name));
  }
  return result;
}

}  // namespace attend
