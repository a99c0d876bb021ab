#include "models/translation/marian.hpp"

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

constexpr const char* kForm = "attend import reads MarianMT models with one table for target and output, and sinusoids";
// Lowers the logit of a piece: its probability is at most e^-30, below what fp32 keeps of a sum near 1.
constexpr double kNever = 30;
constexpr std::string_view kBias = "output_bias", kTheirBias = "final_logits_bias";

// Flags of config.json: the value that is read, and what a missing one means in Hugging Face.
struct Flag {
  const char* key;
  bool expected;
  bool missing;
};
constexpr auto kFlags = std::to_array<Flag>({{"scale_embedding", true, false},
                                             {"tie_word_embeddings", true, true},
                                             {"static_position_embeddings", true, true},
                                             {"is_encoder_decoder", true, true},
                                             {"is_decoder", false, false},
                                             {"add_cross_attention", false, false},
                                             {"tie_encoder_decoder", false, false},
                                             {"normalize_before", false, false},
                                             {"normalize_embedding", false, false},
                                             {"add_final_layer_norm", false, false}});

// Other fields that are read, and those of this model alone that do not change what it computes.
constexpr auto kOtherFields = std::to_array<std::string_view>(
    {"model_type", "vocab_size", "decoder_vocab_size", "d_model", "encoder_layers", "decoder_layers",
     "encoder_attention_heads", "decoder_attention_heads", "encoder_ffn_dim", "decoder_ffn_dim", "activation_function",
     "dropout", "attention_dropout", "activation_dropout", "init_std", "pad_token_id", "eos_token_id", "bos_token_id",
     "decoder_start_token_id", "share_encoder_decoder_embeddings", "bad_words_ids",
     // names of the same numbers
     "hidden_size", "num_hidden_layers", "num_attention_heads",
     // training and classification
     "encoder_layerdrop", "decoder_layerdrop", "classif_dropout", "classifier_dropout",
     // fields that Hugging Face ignores
     "max_position_embeddings", "extra_pos_embeddings", "add_bias_logits"});

// Options with which a model can be exported: config.json has them, or they only matter in training. All others must
// have their defaults; positions and self-attention decide whether max-positions matters.
constexpr auto kExported = std::to_array<std::string_view>(
    {"encoder-layers", "decoder-layers", "width", "heads", "feed-forward", "activation", "tie-embeddings",
     "output-bias", "max-positions", "dropout", "attention-dropout", "activation-dropout", "layer-drop", "word-dropout",
     "initial-deviation", "initialiser"});

// Where the width of hidden states is an axis of a weight: it reads them (columns) or writes them (rows).
enum class Hidden { read, written };

// The beginning of a parameter's name within a layer, and those of the tensors whose rows follow each other in it.
struct LayerNames {
  std::string_view ours;
  std::array<std::string_view, 3> theirs;
  Hidden hidden;
  std::string_view stack = {};  // the beginning of the layer's name; empty: both
};
constexpr auto kLayerNames = std::to_array<LayerNames>(
    {{"self_attn.in_proj.", {"self_attn.q_proj.", "self_attn.k_proj.", "self_attn.v_proj."}, Hidden::read},
     {"self_attn.out_proj.", {"self_attn.out_proj."}, Hidden::written},
     {"multihead_attn.q_proj.", {"encoder_attn.q_proj."}, Hidden::read},
     {"multihead_attn.kv_proj.", {"encoder_attn.k_proj.", "encoder_attn.v_proj."}, Hidden::read},
     {"multihead_attn.out_proj.", {"encoder_attn.out_proj."}, Hidden::written},
     {"linear1.", {"fc1."}, Hidden::read},
     {"linear2.", {"fc2."}, Hidden::written},
     {"norm1.", {"self_attn_layer_norm."}, Hidden::written},
     {"norm2.", {"final_layer_norm."}, Hidden::written, "encoder."},
     {"norm2.", {"encoder_attn_layer_norm."}, Hidden::written, "decoder."},
     {"norm3.", {"final_layer_norm."}, Hidden::written}});

// MarianMT's tensors of a parameter, whose rows follow each other, and the axis of hidden states; -1: it has none.
struct Parts {
  std::vector<std::string> names;
  int hidden = -1;
};

Parts parts_of(const std::string& parameter, bool tied) {
  if (parameter == kBias) return {.names = {std::string(kTheirBias)}};
  if (parameter == "src_embedding.weight") return {.names = {"model.encoder.embed_tokens.weight"}, .hidden = 1};
  if (parameter == "tgt_embedding.weight") {
    return {.names = {tied ? "model.shared.weight" : "model.decoder.embed_tokens.weight"}, .hidden = 1};
  }
  constexpr std::string_view kLayers = "encoder.layers.";  // as long as that of the decoder
  const std::size_t layer_end = parameter.find('.', kLayers.size()) + 1;
  const std::string layer = "model." + parameter.substr(0, layer_end), rest = parameter.substr(layer_end);
  for (const LayerNames& known : kLayerNames) {
    if (!rest.starts_with(known.ours) || !parameter.starts_with(known.stack)) continue;
    const std::string kind = rest.substr(known.ours.size());  // weight or bias
    Parts parts{.names = {}, .hidden = known.hidden == Hidden::written ? 0 : kind == "weight" ? 1 : -1};
    for (const std::string_view theirs : known.theirs) {
      if (!theirs.empty()) parts.names.push_back(layer + std::string(theirs) + kind);
    }
    return parts;
  }
  ensure(false, "MarianMT has the parameter " + parameter);
  return {};
}

// The tensor of that name; of a table that is tied to others, the first that is in the file.
const TensorView* find_tensor(const TensorDirectory& tensors, const std::string& name) {
  std::vector<std::string> names = {name};
  if (name == "model.shared.weight") {
    names.insert(names.end(), {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"});
  }
  if (name == "model.shared.weight" || name == "model.decoder.embed_tokens.weight")
    names.emplace_back("lm_head.weight");
  for (const std::string& candidate : names) {
    if (const TensorView* found = tensors.find(candidate)) return found;
  }
  return nullptr;
}

// True for tensors that follow from others.
bool is_implied(std::string_view name) {
  return name == "lm_head.weight" || name.ends_with("embed_tokens.weight") || name.ends_with("embed_positions.weight");
}

// The column of MarianMT's hidden states for each of ours.
Tensor hidden_order(std::int64_t width) {
  const Tensor columns = at::arange(width, at::kLong), half = columns.div(2, "floor");
  return at::where(columns.remainder(2) == 0, half, half + (width + 1) / 2);
}

// Throws UserError unless the tables of positions in the file, which are optional, are MarianMT's sinusoids.
void check_positions(const TensorDirectory& tensors, std::int64_t width) {
  for (const char* name : {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"}) {
    const TensorView* found = tensors.find(name);
    if (found == nullptr) continue;
    constexpr double kHalfPrecision = 4e-3;  // bf16 rounds numbers below 1 by at most 2^-9
    const bool fits = is_float(found->dtype) && found->shape.size() == 2 && found->shape[1] == width &&
                      at::allclose(as_fp32(*found).index_select(1, hidden_order(width)),
                                   sinusoids(0, found->shape[0], width), /*rtol=*/0, kHalfPrecision);
    if (!fits) {
      throw UserError(tensors.path().string() + ": " + name + " is not a table of sinusoids",
                      "attend import reads MarianMT models with static positions");
    }
  }
}

}  // namespace

MarianConfig read_marian_config(const std::filesystem::path& path) {
  const std::string file = path.string();
  const nlohmann::json json = read_json(path, kMostHfConfigBytes);
  const auto refuse = [&](const std::string& key, const std::string& found, const std::string& expected) {
    throw UserError(file + ": \"" + key + "\" is " + found + ", expected " + expected, kForm);
  };
  const auto has = [&](const char* key) { return json.contains(key) && !json[key].is_null(); };
  if (const auto type = json_member<std::string>(json, "model_type", file); type != "marian") {
    refuse("model_type", type, "marian");
  }
  for (const Flag& flag : kFlags) {
    const bool value = has(flag.key) ? json_member<bool>(json, flag.key, file) : flag.missing;
    if (value != flag.expected) refuse(flag.key, value ? "true" : "false", flag.expected ? "true" : "false");
  }
  for (const auto& [key, value] : json.items()) {
    if (value.is_null()) continue;  // as a missing one
    if (std::ranges::find(kFlags, key, &Flag::key) != kFlags.end()) continue;
    if (std::ranges::find(kOtherFields, key) != kOtherFields.end()) continue;
    if (std::ranges::find(kHfFieldsWithoutEffect, key) != kHfFieldsWithoutEffect.end()) continue;
    throw UserError(file + ": \"" + key + "\" is not a field of MarianMT that attend import knows",
                    "remove it if it does not change what the model computes");
  }
  const auto size = [&](const char* key, std::int64_t least, std::int64_t most) {
    const auto value = json_member<std::int64_t>(json, key, file);
    if (value < least || value > most) {
      refuse(key, std::to_string(value), fmt::format("an integer from {} to {}", least, most));
    }
    return value;
  };
  const auto same_in_both = [&](const char* of_encoder, const char* of_decoder, std::int64_t least, std::int64_t most) {
    const std::int64_t value = size(of_encoder, least, most);
    if (const std::int64_t other = size(of_decoder, least, most); other != value) {
      refuse(of_decoder, std::to_string(other), fmt::format("{}, as \"{}\"", value, of_encoder));
    }
    return value;
  };
  const auto number = [&](const char* key, double least, double most, double usual) {
    if (!has(key)) return usual;
    const auto value = json_member<double>(json, key, file);
    if (!(value >= least && value <= most)) refuse(key, json[key].dump(), fmt::format("from {} to {}", least, most));
    return value;
  };
  constexpr std::int64_t kMostPieces = 10'000'000;
  MarianConfig config;
  ModelConfig& model = config.model;
  model.encoder_layers = size("encoder_layers", 1, 96);
  model.decoder_layers = size("decoder_layers", 1, 96);
  model.width = size("d_model", 2, 16384);
  model.block.heads = same_in_both("encoder_attention_heads", "decoder_attention_heads", 1, 256);
  if (*model.width % *model.block.heads != 0) {
    refuse("encoder_attention_heads", std::to_string(*model.block.heads),
           fmt::format("a divisor of {}, \"d_model\"", *model.width));
  }
  model.block.feed_forward = same_in_both("encoder_ffn_dim", "decoder_ffn_dim", 1, 65536);
  const auto name = json_member<std::string>(json, "activation_function", file);
  const auto* const activation = std::ranges::find(kHfActivations, name, [](const auto& entry) { return entry.first; });
  if (activation == kHfActivations.end()) {
    refuse("activation_function", name, fmt::format("one of {}", fmt::join(kHfActivations | std::views::keys, ", ")));
  }
  model.block.activation = activation->second;
  model.dropout = number("dropout", 0, 0.95, 0.1);
  model.block.attention_dropout = number("attention_dropout", 0, 0.95, 0);
  model.block.activation_dropout = number("activation_dropout", 0, 0.95, 0);
  model.initial_deviation = number("init_std", 0, 1, 0.02);
  const char* const share = "share_encoder_decoder_embeddings";
  model.tie_embeddings = !has(share) || json_member<bool>(json, share, file);
  config.vocabulary.src = config.vocabulary.tgt = size("vocab_size", 1, kMostPieces);
  if (!model.tie_embeddings && has("decoder_vocab_size")) {
    config.vocabulary.tgt = size("decoder_vocab_size", 1, kMostPieces);
  }
  const auto id = [&](const char* key) { return static_cast<std::int32_t>(size(key, 0, config.vocabulary.tgt - 1)); };
  config.ids = {.eos = id("eos_token_id"), .pad = id("pad_token_id"), .start = 0};
  config.ids.start = has("decoder_start_token_id") ? id("decoder_start_token_id") : config.ids.pad;
  for (const auto& [key, value] :
       {std::pair("pad_token_id", config.ids.pad), std::pair("decoder_start_token_id", config.ids.start)}) {
    if (value == config.ids.eos) refuse(key, std::to_string(value), "another id than that of \"eos_token_id\"");
  }
  if (has("bad_words_ids")) {  // attend never produces these two
    for (const nlohmann::json& words : json["bad_words_ids"]) {
      const auto is_only = [&](std::int32_t piece) { return words == nlohmann::json::array({piece}); };
      if (is_only(config.ids.pad) || is_only(config.ids.start)) continue;
      refuse("bad_words_ids", json["bad_words_ids"].dump(), "no others than those of padding and start");
    }
  }
  return config;
}

void refuse_larger_model(const MarianConfig& config, const TensorDirectory& tensors,
                         const std::filesystem::path& file) {
  const auto width = static_cast<double>(*config.model.width);
  const auto inner = static_cast<double>(*config.model.block.feed_forward);
  const auto encoder = static_cast<double>(*config.model.encoder_layers);
  const auto decoder = static_cast<double>(*config.model.decoder_layers);
  const auto rows =
      static_cast<double>(config.vocabulary.tgt + (config.model.tie_embeddings ? 0 : config.vocabulary.src));
  const double numbers = width * ((encoder + 2 * decoder) * 4 * width + (encoder + decoder) * 2 * inner + rows);
  refuse_larger_model(numbers, tensors.bytes(), tensors.path(), file);
}

bool has_marian_bias(const TensorDirectory& tensors) {
  const TensorView* found = tensors.find(kTheirBias);
  return found != nullptr && is_float(found->dtype) && as_fp32(*found).any().item<bool>();
}

WeightReport load_marian_weights(const TensorDirectory& tensors, const Seq2SeqImpl& model, const MarianConfig& config,
                                 const VocabularySizes& unk) {
  const at::NoGradGuard no_grad;
  const std::int64_t width = *config.model.width;
  const Tensor order = hidden_order(width);
  check_positions(tensors, width);
  WeightReport report;
  std::set<std::string, std::less<>> used;
  for (const auto& [name, parameter] : parameters_of(model)) {
    const bool of_source = name.starts_with("src_embedding"), has_rows = of_source || name.starts_with("tgt_embedding");
    const bool is_bias = name == kBias;
    const std::int64_t vocabulary = of_source ? config.vocabulary.src : config.vocabulary.tgt;
    const Parts parts = parts_of(name, config.model.tie_embeddings);
    const Tensor target = has_rows || is_bias ? parameter.narrow(0, 0, vocabulary) : parameter;
    std::vector<std::int64_t> expected = target.sizes().vec();
    expected[0] /= std::ssize(parts.names);
    if (is_bias) expected.insert(expected.begin(), 1);
    std::vector<Tensor> rows;
    for (const std::string& theirs : parts.names) {
      const TensorView* found = find_tensor(tensors, theirs);
      if (found == nullptr) {
        if (!is_bias) report.missing.push_back(theirs);  // without a bias it is zero
        continue;
      }
      used.insert(found->name);
      if (!is_float(found->dtype) || found->shape != expected) {
        report.mismatched.push_back(found->name + " (" + std::string(name_of(found->dtype)) + " " +
                                    c10::str(at::IntArrayRef(found->shape)) + ", expected F32 " +
                                    c10::str(at::IntArrayRef(expected)) + ")");
        continue;
      }
      rows.push_back(as_fp32(*found));
      refuse_nonfinite(rows.back(), tensors.path().string() + ": " + found->name);
      ++report.loaded;
    }
    if (rows.size() == parts.names.size()) {
      const Tensor theirs = at::cat(rows);
      target.copy_(parts.hidden < 0 ? theirs.reshape(target.sizes()) : theirs.index_select(parts.hidden, order));
    }
    if (!has_rows && !is_bias) continue;
    const Tensor unknown = parameter.narrow(0, vocabulary, parameter.size(0) - vocabulary);
    const Tensor row = parameter[of_source ? unk.src : unk.tgt];
    unknown.copy_((is_bias ? row - kNever : row).expand_as(unknown));
  }
  for (const SafetensorsFile& file : tensors.files()) {
    for (const TensorView& view : file.tensors()) {
      if (!used.contains(view.name) && !is_implied(view.name) && view.name != kTheirBias) {
        report.unused.push_back(view.name);
      }
    }
  }
  refresh_weights(model);
  return report;
}

void check_marian_form(const ModelConfig& config) {
  const auto refuse = [](std::string_view name, std::string_view text) {
    throw UserError(fmt::format("cannot be exported: Hugging Face's MarianMT has no form with {} = {}", name, text),
                    "use the model with attend");
  };
  if (config.model != ModelKind::transformer) refuse("model", name_of(config.model));
  if (score_of(config) != ScoreKind::scaled_dot) refuse("score", name_of(score_of(config)));
  if (is_gated(config.block.activation)) refuse("activation", name_of(config.block.activation));
  if (config.block.feed_forward == 0) refuse("feed-forward", "0");
  const OptionTexts usual = default_texts<ModelConfig>();
  for (const auto& [name, text] : texts_of(bind(config))) {
    if (name == "score" || text == usual.at(name)) continue;
    if (std::ranges::find(kExported, name) == kExported.end()) refuse(name, text);
  }
}

std::string to_marian_config(const MarianConfig& config) {
  const ModelConfig& model = config.model;
  const BlockConfig block = block_config(model.block, model.width.value(), option_place);
  const auto* const activation =
      std::ranges::find(kHfActivations, block.activation, [](const auto& entry) { return entry.second; });
  ensure(activation != kHfActivations.end(), "MarianMT has the activation");
  constexpr double kUsualDeviation = 0.02;
  const nlohmann::ordered_json json = {
      {"architectures", {"MarianMTModel"}},
      {"model_type", "marian"},
      {"is_encoder_decoder", true},
      {"vocab_size", config.vocabulary.src},
      {"decoder_vocab_size", config.vocabulary.tgt},
      {"d_model", block.width},
      {"encoder_layers", model.encoder_layers.value()},
      {"decoder_layers", model.decoder_layers.value()},
      {"encoder_attention_heads", block.heads},
      {"decoder_attention_heads", block.heads},
      {"encoder_ffn_dim", block.feed_forward},
      {"decoder_ffn_dim", block.feed_forward},
      {"activation_function", activation->first},
      {"max_position_embeddings", 1024},
      {"scale_embedding", true},
      {"share_encoder_decoder_embeddings", model.tie_embeddings},
      {"tie_word_embeddings", true},
      {"dropout", model.dropout.value_or(0)},
      {"attention_dropout", block.attention_dropout},
      {"activation_dropout", block.activation_dropout},
      {"init_std", model.initial_deviation > 0 ? model.initial_deviation : kUsualDeviation},
      {"pad_token_id", config.ids.pad},
      {"eos_token_id", config.ids.eos},
      {"decoder_start_token_id", config.ids.start},
      {"forced_eos_token_id", nullptr}};
  return json.dump(2) + "\n";
}

std::string to_marian_generation_config(const MarianConfig& config) {
  std::vector<std::vector<std::int32_t>> never = {{config.ids.pad}};
  if (config.ids.start != config.ids.pad) never.push_back({config.ids.start});
  const nlohmann::ordered_json json = {{"pad_token_id", config.ids.pad},
                                       {"eos_token_id", config.ids.eos},
                                       {"decoder_start_token_id", config.ids.start},
                                       {"bad_words_ids", never},
                                       {"max_length", 512}};
  return json.dump(2) + "\n";
}

NamedTensors to_marian(const NamedTensors& parameters, const MarianConfig& config) {
  const Tensor inverse = hidden_order(*config.model.width).argsort();
  NamedTensors result;
  for (const auto& [name, parameter] : parameters) {
    const Parts parts = parts_of(name, config.model.tie_embeddings);
    const Tensor ours = parameter.detach().cpu();
    const Tensor tensor = parts.hidden < 0 ? ours : ours.index_select(parts.hidden, inverse);
    const std::int64_t rows = tensor.size(0) / std::ssize(parts.names);
    for (std::size_t i = 0; i < parts.names.size(); ++i) {
      const Tensor part = tensor.narrow(0, static_cast<std::int64_t>(i) * rows, rows);
      result.emplace_back(parts.names[i], name == kBias ? part.unsqueeze(0) : part);
    }
  }
  if (!config.model.output_bias) {
    result.emplace_back(std::string(kTheirBias), at::zeros({1, config.vocabulary.tgt}));
  }
  return result;
}

}  // namespace attend
