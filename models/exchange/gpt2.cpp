#include "models/exchange/gpt2.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "models/exchange/hf_config.hpp"
#include "models/layers/layers.hpp"
#include "models/transformer/block.hpp"

namespace attend {
namespace {

using at::Tensor;

constexpr std::string_view kGpt2Prefix = "transformer.";

constexpr auto kGpt2Flags = std::to_array<HfFlag>({{"scale_attn_weights", true, true},
                                                   {"tie_word_embeddings", true, true},
                                                   {"scale_attn_by_inverse_layer_idx", false, false},
                                                   {"add_cross_attention", false, false},
                                                   {"is_encoder_decoder", false, false}});

// Other fields that are read, and fields of GPT-2 that do not change what it computes.
constexpr auto kGpt2Fields = std::to_array<std::string_view>(
    {"model_type", "vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner", "activation_function",
     "resid_pdrop", "attn_pdrop", "layer_norm_epsilon", "initializer_range", "bos_token_id", "eos_token_id",
     // names of the same numbers
     "n_ctx", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings",
     // training and classification
     "embd_pdrop", "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
     "summary_first_dropout", "classifier_dropout",
     // fields that Hugging Face ignores, padding, and the order of rounding
     "is_decoder", "predict_special_tokens", "pad_token_id", "reorder_and_upcast_attn"});

// The prefixes of names, ours and GPT-2's: of the model's parts, and within a layer.
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

std::string gpt2_name_of(const std::string& parameter) {
  constexpr std::string_view kLayers = "decoder.layers.";
  const std::string prefix(kGpt2Prefix);
  if (!parameter.starts_with(kLayers)) return prefix + with_their_beginning(parameter, kGpt2Parts);
  const std::size_t rest = parameter.find('.', kLayers.size()) + 1;
  return prefix + "h." + parameter.substr(kLayers.size(), rest - kLayers.size()) +
         with_their_beginning(parameter.substr(rest), kGpt2LayerParts);
}

// A tensor in the layout of GPT-2, or back: the maps of its layers are transposed.
Tensor in_other_layout(const Tensor& tensor, const std::string& parameter) {
  return tensor.dim() == 2 && parameter.starts_with("decoder.") ? tensor.t() : tensor;
}

// True for tensors that follow from others: masks, and the output table.
bool follows_from_others(std::string_view name) {
  return name == "lm_head.weight" || name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

}  // namespace

Gpt2Config read_gpt2_config(const std::filesystem::path& path) {
  const HfConfigFile file(path, "attend import reads GPT-2 models whose output table is that of the embeddings");
  file.check_form("gpt2", "GPT-2", kGpt2Flags, kGpt2Fields);
  Gpt2Config config;
  StackOptions& stack = config.options.stack;
  stack.layers = file.size("n_layer", 1, 96);
  stack.width = file.size("n_embd", 2, 16384);
  stack.block.heads = file.size("n_head", 1, 256);
  file.check_divisor("n_head", "n_embd");
  stack.block.feed_forward = file.has("n_inner") ? file.size("n_inner", 1, 65536) : 4 * *stack.width;
  stack.max_positions = file.size("n_positions", 8, 65535);
  stack.block.norm = NormPlace::pre;
  constexpr const char* kActivation = "activation_function";
  stack.block.activation = file.has(kActivation) ? file.activation(kActivation) : FeedForwardKind::gelu_tanh;
  stack.dropout = file.number("resid_pdrop", 0, 0.95, 0.1);
  stack.block.attention_dropout = file.number("attn_pdrop", 0, 0.95, 0.1);
  stack.initial_deviation = file.number("initializer_range", 1e-6, 1, 0.02);
  file.check_number("layer_norm_epsilon", StackForm().norm_eps);
  config.vocabulary = file.size("vocab_size", 1, 10'000'000);
  constexpr std::int32_t kUsualEnd = 50256;
  config.eos = file.get("eos_token_id", kUsualEnd);
  if (config.eos < 0 || config.eos >= config.vocabulary) {
    file.refuse("eos_token_id", std::to_string(config.eos), fmt::format("an id from 0 to {}", config.vocabulary - 1));
  }
  if (const std::int32_t bos = file.get("bos_token_id", kUsualEnd); bos != config.eos) {
    file.refuse("bos_token_id", std::to_string(bos), fmt::format("{}, as \"eos_token_id\"", config.eos));
  }
  return config;
}

WeightReport load_gpt2_weights(const TensorDirectory& tensors, const LanguageModelImpl& model) {
  const at::NoGradGuard no_grad;
  WeightTaker taker(tensors.path());
  for (const auto& [parameter, target] : parameters_of(model)) {
    const std::string name = gpt2_name_of(parameter);
    const TensorView* found = tensors.find(name);
    if (found == nullptr) found = tensors.find(std::string_view(name).substr(kGpt2Prefix.size()));
    const Tensor theirs = taker.take(found, name, in_other_layout(target, parameter).sizes());
    if (theirs.defined()) target.copy_(in_other_layout(theirs, parameter));
  }
  refresh_weights(model);
  return std::move(taker).report(tensors.files(), follows_from_others);
}

void check_gpt2_form(const LanguageOptions& options) {
  constexpr const char* kThey = "GPT-2 has";
  const BlockOptions& block = options.stack.block;
  if (options.is_recurrent()) refuse_hf_form(kThey, "cell", name_of(options.cell));
  if (block.norm != NormPlace::pre) refuse_hf_form(kThey, "norm", name_of(block.norm));
  if (is_gated(block.activation)) refuse_hf_form(kThey, "activation", name_of(block.activation));
  if (block.feed_forward == 0) refuse_hf_form(kThey, "feed-forward", "0");
  check_hf_options(kThey, texts_of(bind(options)), default_texts<LanguageOptions>(), kHfExportedOfStack);
}

std::string to_gpt2_config(const Gpt2Config& config) {
  const StackOptions stack = sized(config.options.stack);
  const BlockOptions& block = stack.block;
  const nlohmann::ordered_json json = {{"architectures", {"GPT2LMHeadModel"}},
                                       {"model_type", "gpt2"},
                                       {"vocab_size", config.vocabulary},
                                       {"n_positions", stack.max_positions},
                                       {"n_embd", *stack.width},
                                       {"n_layer", *stack.layers},
                                       {"n_head", *block.heads},
                                       {"n_inner", *block.feed_forward},
                                       {"activation_function", hf_name_of(block.activation)},
                                       {"layer_norm_epsilon", StackForm().norm_eps},
                                       {"scale_attn_weights", true},
                                       {"tie_word_embeddings", true},
                                       {"resid_pdrop", stack.dropout},
                                       {"embd_pdrop", stack.dropout},
                                       {"attn_pdrop", block.attention_dropout},
                                       {"initializer_range", stack.deviation()},
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
