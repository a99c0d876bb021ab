#include "models/exchange/marian.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "models/exchange/hf_config.hpp"
#include "models/layers/layers.hpp"

namespace attend {
namespace {

using at::Tensor;

// Lowers the logit of a piece: its probability is at most e^-30, below what fp32 keeps of a sum near 1.
constexpr double kNever = 30;
constexpr std::string_view kBias = "output_bias", kTheirBias = "final_logits_bias";
constexpr std::string_view kSource = "src_embedding.weight", kTarget = "tgt_embedding.weight";
constexpr std::string_view kDecoderPositions = "model.decoder.embed_positions.weight";
constexpr std::int64_t kPositions = 1024;  // of an export

constexpr auto kFlags = std::to_array<HfFlag>({{"scale_embedding", true, false},
                                               {"tie_word_embeddings", true, true},
                                               {"static_position_embeddings", true, true},
                                               {"is_encoder_decoder", true, true},
                                               {"is_decoder", false, false},
                                               {"add_cross_attention", false, false},
                                               {"tie_encoder_decoder", false, false},
                                               {"normalize_before", false, false},
                                               {"normalize_embedding", false, false},
                                               {"add_final_layer_norm", false, false}});

// Other fields that are read, and fields of MarianMT that do not change what it computes.
constexpr auto kOtherFields = std::to_array<std::string_view>(
    {"model_type", "vocab_size", "decoder_vocab_size", "d_model", "encoder_layers", "decoder_layers",
     "encoder_attention_heads", "decoder_attention_heads", "encoder_ffn_dim", "decoder_ffn_dim", "activation_function",
     "dropout", "attention_dropout", "init_std", "pad_token_id", "eos_token_id", "bos_token_id",
     "decoder_start_token_id", "share_encoder_decoder_embeddings", "bad_words_ids",
     // names of the same numbers
     "hidden_size", "num_hidden_layers", "num_attention_heads",
     // training and classification
     "activation_dropout", "encoder_layerdrop", "decoder_layerdrop", "classif_dropout", "classifier_dropout",
     // fields that Hugging Face ignores
     "max_position_embeddings", "extra_pos_embeddings", "add_bias_logits"});

// Options that can be exported: config.json has them, or they only matter in training. All others must have their
// defaults, and the score must be scaled-dot; max-positions does not matter without a table of positions.
constexpr auto kExported =
    std::to_array<std::string_view>({"encoder-layers", "decoder-layers", "width", "score", "heads", "feed-forward",
                                     "activation", "tie-embeddings", "output-bias", "max-positions", "dropout",
                                     "attention-dropout", "word-dropout", "initial-deviation", "initialiser"});

// Whether a weight reads hidden states (columns) or writes them (rows).
enum class Hidden { read, written };

// The prefix of a parameter's name within a layer, and those of the tensors that are concatenated in it.
struct LayerNames {
  std::string_view ours;
  std::array<std::string_view, 3> theirs;
  Hidden hidden;
  std::string_view stack = {};  // the prefix of the layer's name; empty: both
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

// MarianMT's tensors, concatenated by rows in a parameter, and the axis of hidden states; -1: none.
struct Parts {
  std::vector<std::string> names;
  int hidden = -1;
};

Parts parts_of(const std::string& parameter, bool tied) {
  if (parameter == kBias) return {.names = {std::string(kTheirBias)}};
  if (parameter == kSource) return {.names = {"model.encoder.embed_tokens.weight"}, .hidden = 1};
  if (parameter == kTarget) {
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

// The tensor of that name; for a tied table, the first of its names that is in the file.
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

// True for tensors that may stay unused: copies, sinusoids, and a bias of zeros.
bool is_implied(std::string_view name) {
  return name == "lm_head.weight" || name.ends_with("embed_tokens.weight") ||
         name.ends_with("embed_positions.weight") || name == kTheirBias;
}

// The column of MarianMT's hidden states for each of ours.
Tensor hidden_order(std::int64_t width) {
  const Tensor columns = at::arange(width, at::kLong), half = columns.div(2, "floor");
  return at::where(columns.remainder(2) == 0, half, half + (width + 1) / 2);
}

// What the decoder's first position has besides its sinusoid. Throws UserError unless the tables of positions in the
// file, which are optional, are otherwise MarianMT's sinusoids.
Tensor start_in_positions(const TensorDirectory& tensors, std::int64_t width) {
  Tensor start_H = at::zeros({width});
  for (const std::string_view name : {std::string_view("model.encoder.embed_positions.weight"), kDecoderPositions}) {
    const TensorView* found = tensors.find(std::string(name));
    if (found == nullptr) continue;
    constexpr double kHalfPrecision = 4e-3;  // bf16 rounds numbers below 1 by at most 2^-9
    bool fits = is_float(found->dtype) && found->shape.size() == 2 && found->shape[0] > 0 && found->shape[1] == width;
    if (fits) {
      const Tensor theirs_TH = as_fp32(*found).index_select(1, hidden_order(width));
      const Tensor besides_TH = theirs_TH - sinusoids(0, found->shape[0], width);
      if (name == kDecoderPositions) start_H = besides_TH[0];
      const Tensor others_TH = besides_TH.slice(0, name == kDecoderPositions ? 1 : 0);
      fits = start_H.isfinite().all().item<bool>() && others_TH.abs().le(kHalfPrecision).all().item<bool>();
    }
    if (!fits) {
      throw UserError(fmt::format("{}: {} is not a table of sinusoids", tensors.path().string(), name),
                      "attend import reads MarianMT models with static positions");
    }
  }
  return start_H;
}

}  // namespace

MarianConfig read_marian_config(const std::filesystem::path& path) {
  const HfConfigFile file(path,
                          "attend import reads MarianMT models with one table for target and output, and sinusoids");
  file.check_form("marian", "MarianMT", kFlags, kOtherFields);
  const auto same_in_both = [&](const char* of_encoder, const char* of_decoder, std::int64_t least, std::int64_t most) {
    const std::int64_t value = file.size(of_encoder, least, most);
    if (const std::int64_t other = file.size(of_decoder, least, most); other != value) {
      file.refuse(of_decoder, std::to_string(other), fmt::format("{}, as \"{}\"", value, of_encoder));
    }
    return value;
  };
  constexpr std::int64_t kMostPieces = 10'000'000;
  MarianConfig config;
  ModelConfig& model = config.model;
  model.encoder_layers = file.size("encoder_layers", 1, 96);
  model.decoder_layers = file.size("decoder_layers", 1, 96);
  model.width = file.size("d_model", 2, 16384);
  model.block.heads = same_in_both("encoder_attention_heads", "decoder_attention_heads", 1, 256);
  file.check_divisor("encoder_attention_heads", "d_model");
  model.block.feed_forward = same_in_both("encoder_ffn_dim", "decoder_ffn_dim", 1, 65536);
  model.block.activation = file.activation("activation_function");
  model.dropout = file.number("dropout", 0, 0.95, 0.1);
  model.block.attention_dropout = file.number("attention_dropout", 0, 0.95, 0);
  model.initial_deviation = file.number("init_std", 0, 1, 0.02);
  model.tie_embeddings = file.get("share_encoder_decoder_embeddings", true);
  config.vocabulary.src = config.vocabulary.tgt = file.size("vocab_size", 1, kMostPieces);
  if (!model.tie_embeddings && file.has("decoder_vocab_size")) {
    config.vocabulary.tgt = file.size("decoder_vocab_size", 1, kMostPieces);
  }
  const auto id = [&](const char* key) {
    return static_cast<std::int32_t>(file.size(key, 0, config.vocabulary.tgt - 1));
  };
  config.ids = {.eos = id("eos_token_id"), .pad = id("pad_token_id"), .start = 0};
  config.ids.start = file.has("decoder_start_token_id") ? id("decoder_start_token_id") : config.ids.pad;
  for (const auto& [key, value] :
       {std::pair("pad_token_id", config.ids.pad), std::pair("decoder_start_token_id", config.ids.start)}) {
    if (value == config.ids.eos) file.refuse(key, std::to_string(value), "another id than that of \"eos_token_id\"");
  }
  if (file.has("bad_words_ids")) {  // attend never produces these two
    const nlohmann::json& bad = file.json()["bad_words_ids"];
    for (const nlohmann::json& words : bad) {
      const auto is_only = [&](std::int32_t piece) { return words == nlohmann::json::array({piece}); };
      if (is_only(config.ids.pad) || is_only(config.ids.start)) continue;
      file.refuse("bad_words_ids", bad.dump(), "no others than those of padding and start");
    }
  }
  return config;
}

double least_weights(const MarianConfig& config) {
  const auto width = static_cast<double>(*config.model.width);
  const auto inner = static_cast<double>(*config.model.block.feed_forward);
  const auto encoder = static_cast<double>(*config.model.encoder_layers);
  const auto decoder = static_cast<double>(*config.model.decoder_layers);
  const auto rows =
      static_cast<double>(config.vocabulary.tgt + (config.model.tie_embeddings ? 0 : config.vocabulary.src));
  return width * ((encoder + 2 * decoder) * 4 * width + (encoder + decoder) * 2 * inner + rows);
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
  const Tensor start_H = start_in_positions(tensors, width) / std::sqrt(static_cast<double>(width));
  WeightTaker taker(tensors.path());
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
      if (is_bias && found == nullptr) continue;  // zero
      const Tensor part = taker.take(found, theirs, expected);
      if (part.defined()) rows.push_back(part);
    }
    if (rows.size() == parts.names.size()) {
      const Tensor theirs = at::cat(rows);
      target.copy_(parts.hidden < 0 ? theirs.reshape(target.sizes()) : theirs.index_select(parts.hidden, order));
      if (name == kTarget) target[config.ids.start].add_(start_H);
    }
    if (!has_rows && !is_bias) continue;
    const Tensor unknown = parameter.narrow(0, vocabulary, parameter.size(0) - vocabulary);
    const Tensor row = parameter[of_source ? unk.src : unk.tgt];
    unknown.copy_((is_bias ? row - kNever : row).expand_as(unknown));
  }
  refresh_weights(model);
  return std::move(taker).report(tensors.files(), is_implied);
}

void check_marian_form(const ModelConfig& config) {
  constexpr const char* kThey = "MarianMT has";
  if (config.model != ModelKind::transformer) refuse_hf_form(kThey, "model", name_of(config.model));
  if (score_of(config) != ScoreKind::scaled_dot) refuse_hf_form(kThey, "score", name_of(score_of(config)));
  if (is_gated(config.block.activation)) refuse_hf_form(kThey, "activation", name_of(config.block.activation));
  if (config.block.feed_forward == 0) refuse_hf_form(kThey, "feed-forward", "0");
  check_hf_options(kThey, texts_of(bind(config)), default_texts<ModelConfig>(), kExported);
}

std::string to_marian_config(const MarianConfig& config) {
  const ModelConfig& model = config.model;
  const BlockOptions block = sized(model.block, model.width.value());
  constexpr double kUsualDeviation = 0.02;
  const nlohmann::ordered_json json = {
      {"architectures", {"MarianMTModel"}},
      {"model_type", "marian"},
      {"is_encoder_decoder", true},
      {"vocab_size", config.vocabulary.src},
      {"decoder_vocab_size", config.vocabulary.tgt},
      {"d_model", model.width.value()},
      {"encoder_layers", model.encoder_layers.value()},
      {"decoder_layers", model.decoder_layers.value()},
      {"encoder_attention_heads", *block.heads},
      {"decoder_attention_heads", *block.heads},
      {"encoder_ffn_dim", *block.feed_forward},
      {"decoder_ffn_dim", *block.feed_forward},
      {"activation_function", hf_name_of(block.activation)},
      {"max_position_embeddings", kPositions},
      {"scale_embedding", true},
      {"share_encoder_decoder_embeddings", model.tie_embeddings},
      {"tie_word_embeddings", true},
      {"dropout", model.dropout.value_or(0)},
      {"attention_dropout", block.attention_dropout},
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

NamedTensors to_marian(const NamedTensors& parameters, const MarianConfig& config, const MarianOrder& order) {
  const std::int64_t width = *config.model.width;
  const Tensor inverse = hidden_order(width).argsort();
  NamedTensors result;
  for (const auto& [name, parameter] : parameters) {
    const Parts parts = parts_of(name, config.model.tie_embeddings);
    Tensor ours = parameter.detach().cpu();
    if (name == kSource) ours = ours.index_select(0, at::tensor(order.src));
    if (name == kTarget || name == kBias) ours = ours.index_select(0, at::tensor(order.tgt));
    if (name == kTarget && ours[config.ids.start].any().item<bool>()) {
      const Tensor start_H = ours[config.ids.start], positions_TH = sinusoids(0, kPositions, width);
      positions_TH[0].add_(start_H * std::sqrt(static_cast<double>(width)));
      result.emplace_back(std::string(kDecoderPositions), positions_TH.index_select(1, inverse));
      start_H.zero_();
    }
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
