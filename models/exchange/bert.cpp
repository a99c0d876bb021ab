#include "models/exchange/bert.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"
#include "models/bert/bert.hpp"
#include "models/exchange/hf_config.hpp"
#include "models/layers/layers.hpp"

namespace attend {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kInProjection = "self_attn.in_proj.";
constexpr std::array<std::string_view, 3> kThirds = {"attention.self.query.", "attention.self.key.",
                                                     "attention.self.value."};
// Prefixes of the names of whole tensors (after the layer's number in `layers`), ours and Hugging Face's; the first
// match applies.
using Names = std::array<std::pair<std::string_view, std::string_view>, 5>;

// A family of Hugging Face models and its names; attend has one class for all families.
struct Family {
  std::string_view type;         // model_type in config.json
  std::string_view name;         // prefix of its class names
  std::string_view pretraining;  // suffix of the class with the pretraining heads
  std::string_view prefix;       // prefix of the encoder's tensors; ours is kEncoderPrefix
  Names layers;
  Names heads;
};
constexpr std::string_view kEncoderPrefix = "bert.";
constexpr Family kBert = {.type = "bert",
                          .name = "Bert",
                          .pretraining = "ForPreTraining",
                          .prefix = kEncoderPrefix,
                          .layers = {{{"self_attn.out_proj.", "attention.output.dense."},
                                      {"norm1.", "attention.output.LayerNorm."},
                                      {"linear1.", "intermediate.dense."},
                                      {"linear2.", "output.dense."},
                                      {"norm2.", "output.LayerNorm."}}},
                          .heads = {{{"pooler.", "bert.pooler."},
                                     {"predictions.dense.", "cls.predictions.transform.dense."},
                                     {"predictions.LayerNorm.", "cls.predictions.transform.LayerNorm."},
                                     {"predictions.bias", "cls.predictions.bias"},
                                     {"seq_relationship.", "cls.seq_relationship."}}}};
constexpr Family kPreLayerNorm = {.type = "roberta-prelayernorm",
                                  .name = "RobertaPreLayerNorm",
                                  .pretraining = "ForMaskedLM",
                                  .prefix = "roberta_prelayernorm.",
                                  .layers = {{{"self_attn.out_proj.", "attention.output.dense."},
                                              {"norm1.", "attention.LayerNorm."},
                                              {"linear1.", "intermediate.dense."},
                                              {"linear2.", "output.dense."},
                                              {"norm2.", "intermediate.LayerNorm."}}},
                                  .heads = {{{"pooler.", "bert.pooler."},
                                             {"predictions.dense.", "lm_head.dense."},
                                             {"predictions.LayerNorm.", "lm_head.layer_norm."},
                                             {"predictions.bias", "lm_head.bias"},
                                             {"bert.encoder.norm.", "bert.LayerNorm."}}}};

// The head of a task in Hugging Face: class suffix, problem_type, and name of the linear map.
struct HfHead {
  TaskKind task;
  std::string_view architecture;
  std::string_view problem = {};
  std::string_view classifier = "classifier.";
};
constexpr std::string_view kSequences = "ForSequenceClassification";
constexpr std::array kHeads = {
    HfHead{TaskKind::classification, kSequences, "single_label_classification"},
    HfHead{TaskKind::multi_label, kSequences, "multi_label_classification"},
    HfHead{TaskKind::regression, kSequences, "regression"},
    HfHead{TaskKind::spans, "ForQuestionAnswering", {}, "qa_outputs."},
    HfHead{TaskKind::tags, "ForTokenClassification"},
};
// The activations of config.json, the usual name of each first. RoBERTa's language modelling head always has gelu, so
// only the forms of gelu are exchanged with it.
constexpr auto kActivations = std::to_array<HfActivation>({
    {"gelu", FeedForwardKind::gelu},
    {"gelu_pytorch_tanh", FeedForwardKind::gelu_tanh},
    {"gelu_new", FeedForwardKind::gelu_tanh},
    {"relu", FeedForwardKind::relu},
    {"silu", FeedForwardKind::swish},
    {"swish", FeedForwardKind::swish},
});
constexpr auto kBertFlags = std::to_array<HfFlag>(
    {{"tie_word_embeddings", true, true}, {"is_decoder", false, false}, {"add_cross_attention", false, false}});
constexpr std::size_t kFormsOfGelu = 3;
std::span<const HfActivation> activations_of(NormPlace norm) {
  return std::span(kActivations).first(norm == NormPlace::pre ? kFormsOfGelu : kActivations.size());
}

const HfHead& head_of(TaskKind task) { return *std::ranges::find(kHeads, task, &HfHead::task); }

bool is_pre(const HfConfig& config) { return config.options.block.norm == NormPlace::pre; }
const Family& family_of(const HfConfig& config) { return is_pre(config) ? kPreLayerNorm : kBert; }

// The number of rows of Hugging Face's position table before the first token's.
std::int64_t unused_positions(const HfConfig& config) { return is_pre(config) ? config.pad + 1 : 0; }

// A Hugging Face tensor; the index (0 to 2) of its third of a fused projection; the number of zero rows before ours.
struct HfPart {
  std::string name;
  std::optional<int> third = {};
  std::int64_t rows_before = 0;
};

// True for Hugging Face tensors that are not weights of their own.
bool is_copy(std::string_view name) {
  return name.ends_with("position_ids") || name.starts_with("cls.predictions.decoder.") ||
         name.starts_with("lm_head.decoder.");
}

// The tensor of that name, of the name without its prefix, or with LayerNorm's old names.
const TensorView* find(const SafetensorsFile& file, const std::string& name) {
  std::vector<std::string> names = {name};
  for (const auto& [now, once] :
       {std::pair("LayerNorm.weight", "LayerNorm.gamma"), std::pair("LayerNorm.bias", "LayerNorm.beta")}) {
    if (const auto at = name.find(now); at != std::string::npos) {
      names.push_back(std::string(name).replace(at, std::string_view(now).size(), once));
    }
  }
  for (const std::string& candidate : std::vector(names)) {
    for (const std::string_view prefix : {kBert.prefix, kPreLayerNorm.prefix}) {
      if (candidate.starts_with(prefix)) names.push_back(candidate.substr(prefix.size()));
    }
  }
  for (const std::string& candidate : names) {
    if (const TensorView* found = file.find(candidate)) return found;
  }
  return nullptr;
}

bool is_of_sequences(const HfConfig& config) { return config.task && is_of_sequences(*config.task); }

// Its parts under the names of this family, but with our prefix.
std::vector<HfPart> parts_under_our_prefix(const std::string& parameter, const HfConfig& config) {
  constexpr std::string_view kLayers = "bert.encoder.layers.", kPooler = "pooler.", kClassifier = "classifier.";
  if (parameter.starts_with(kLayers)) {
    const std::size_t dot = parameter.find('.', kLayers.size());
    const std::string layer = "bert.encoder.layer." + parameter.substr(kLayers.size(), dot + 1 - kLayers.size());
    const std::string_view rest = std::string_view(parameter).substr(dot + 1);
    if (rest.starts_with(kInProjection)) {
      std::vector<HfPart> parts;
      parts.reserve(kThirds.size());
      for (int third = 0; third < 3; ++third) {
        parts.push_back({layer + std::string(kThirds[third]) + std::string(rest.substr(kInProjection.size())), third});
      }
      return parts;
    }
    for (const auto& [ours, theirs] : family_of(config).layers) {
      if (rest.starts_with(ours)) return {{layer + std::string(theirs) + std::string(rest.substr(ours.size()))}};
    }
  }
  if (is_pre(config) && is_of_sequences(config)) {  // Hugging Face's classification head contains both maps
    if (parameter.starts_with(kPooler)) return {{"classifier." + parameter.substr(kPooler.size())}};
    if (parameter.starts_with(kClassifier)) return {{"classifier.out_proj." + parameter.substr(kClassifier.size())}};
  }
  for (const auto& [ours, theirs] : family_of(config).heads) {
    if (parameter.starts_with(ours)) return {{std::string(theirs) + parameter.substr(ours.size())}};
  }
  if (config.task && parameter.starts_with(kClassifier)) {
    return {{std::string(head_of(*config.task).classifier) + parameter.substr(kClassifier.size())}};
  }
  return {{parameter}};
}

// The Hugging Face tensors that make up a parameter of attend; empty if that model lacks the head.
std::vector<HfPart> hf_parts_of(const std::string& parameter, const HfConfig& config) {
  if (is_pre(config) && parameter.starts_with("seq_relationship.")) return {};
  std::vector<HfPart> parts = parts_under_our_prefix(parameter, config);
  for (HfPart& part : parts) {
    if (!part.name.starts_with(kEncoderPrefix)) continue;
    part.name.replace(0, kEncoderPrefix.size(), config.heads ? family_of(config).prefix : "");
  }
  if (parameter == "bert.embeddings.position_embeddings.weight") parts[0].rows_before = unused_positions(config);
  return parts;
}

}  // namespace

NamedTensors to_hf(const NamedTensors& parameters, const HfConfig& config) {
  NamedTensors result;
  for (const auto& [name, parameter] : parameters) {
    const at::Tensor tensor = parameter.detach();
    for (const HfPart& part : hf_parts_of(name, config)) {
      if (part.third) {
        result.emplace_back(part.name, tensor.chunk(3)[*part.third]);
      } else if (part.rows_before > 0) {
        result.emplace_back(part.name, at::cat({tensor.new_zeros({part.rows_before, tensor.size(1)}), tensor}));
      } else {
        result.emplace_back(part.name, tensor);
      }
    }
  }
  return result;
}

bool has_hf_weight(const SafetensorsFile& file, const std::string& parameter, const HfConfig& config) {
  return std::ranges::any_of(hf_parts_of(parameter, config),
                             [&](const HfPart& part) { return find(file, part.name) != nullptr; });
}

WeightReport load_hf_weights(const std::filesystem::path& path, const torch::nn::Module& model,
                             const NamedTensors& parameters, const HfConfig& config) {
  const SafetensorsFile file(path);
  const at::NoGradGuard no_grad;
  WeightTaker taker(path);
  for (const auto& [name, tensor] : parameters) {
    for (const HfPart& part : hf_parts_of(name, config)) {
      const at::Tensor target = part.third ? tensor.chunk(3)[*part.third] : tensor;
      std::vector<std::int64_t> expected = target.sizes().vec();
      expected[0] += part.rows_before;
      const at::Tensor theirs = taker.take(find(file, part.name), part.name, expected);
      if (theirs.defined()) target.copy_(theirs.slice(0, part.rows_before));
    }
  }
  refresh_weights(model);
  return std::move(taker).report(std::span(&file, 1), is_copy);
}

std::string to_hf_config(const HfConfig& theirs) {
  const StackOptions stack = resolve_stack(theirs.options, StackUse::masked);
  const BlockOptions& block = stack.block;
  static constexpr const char* kThey = "encoders of this kind have";
  check_hf_options(kThey, texts_of(bind(theirs.options)), default_texts<StackOptions>(), kHfExportedOfStack);
  const std::string_view activation = hf_name_of(block.activation, activations_of(block.norm));
  if (block.norm == NormPlace::none) refuse_hf_form(kThey, "norm", "none");
  if (block.feed_forward == 0) refuse_hf_form(kThey, "feed-forward", "0");
  if (activation.empty()) refuse_hf_form(kThey, "activation", name_of(block.activation));
  const auto refuse = [](const char* what) {
    throw UserError(fmt::format("cannot be exported: Hugging Face's {} no {}", kThey, what),
                    "use the model with attend");
  };
  if (stack.embedding_width != stack.width) refuse("embeddings narrower than its layers");
  if (is_pre(theirs) && theirs.pad < 0) refuse("tokenizer without a padding piece");
  const Family& family = family_of(theirs);
  const std::string_view head = theirs.task    ? head_of(*theirs.task).architecture
                                : theirs.heads ? family.pretraining
                                               : "Model";
  ordered_json json = {{"architectures", {fmt::format("{}{}", family.name, head)}},
                       {"model_type", family.type},
                       {"vocab_size", theirs.vocabulary},
                       {"hidden_size", *stack.width},
                       {"num_hidden_layers", *stack.layers},
                       {"num_attention_heads", *block.heads},
                       {"intermediate_size", *block.feed_forward},
                       {"hidden_act", activation},
                       {"hidden_dropout_prob", stack.dropout},
                       {"attention_probs_dropout_prob", block.attention_dropout},
                       {"max_position_embeddings", stack.max_positions + unused_positions(theirs)},
                       {"type_vocab_size", kBertSegments},
                       {"initializer_range", stack.deviation()},
                       {"layer_norm_eps", kBertNormEps},
                       {"tie_word_embeddings", true}};
  if (theirs.pad >= 0) json["pad_token_id"] = theirs.pad;
  if (is_of_sequences(theirs)) json["problem_type"] = head_of(*theirs.task).problem;
  if (theirs.task == TaskKind::regression) json["id2label"] = {{"0", "LABEL_0"}};
  for (std::size_t i = 0; i < theirs.labels.size(); ++i) {
    json["id2label"][std::to_string(i)] = theirs.labels[i];
    json["label2id"][theirs.labels[i]] = i;
  }
  return json.dump(2) + "\n";
}

HfConfig read_hf_config(const std::filesystem::path& path) {
  const HfConfigFile file(path, "attend import reads BERT and RoBERTa-PreLayerNorm encoders");
  const nlohmann::json& json = file.json();
  const auto type = file.get<std::string>("model_type");
  const bool pre = type == kPreLayerNorm.type;
  if (!pre && type != kBert.type) {
    file.refuse("model_type", type, fmt::format("{} or {}", kBert.type, kPreLayerNorm.type));
  }
  if (const char* key = "position_embedding_type"; file.has(key) && json[key] != "absolute") {
    file.refuse(key, json[key].dump(), "absolute");
  }
  file.check_number("layer_norm_eps", kBertNormEps);
  if (const char* key = "type_vocab_size"; file.has(key) && file.size(key, 1, 2) != 2) file.refuse(key, "1", "2");
  file.check_flags(kBertFlags);
  HfConfig config;
  config.vocabulary = file.size("vocab_size", 1, 10'000'000);
  StackOptions& options = config.options;
  options.layers = file.size("num_hidden_layers", 1, 96);
  options.width = file.size("hidden_size", 2, 16384);
  options.block.heads = file.size("num_attention_heads", 1, 256);
  file.check_divisor("num_attention_heads", "hidden_size");
  options.block.feed_forward = file.size("intermediate_size", 1, 65536);
  options.block.norm = pre ? NormPlace::pre : NormPlace::post;
  const auto pad = file.get<std::int64_t>("pad_token_id", pre ? 1 : 0);  // the defaults of transformers
  if (pad < 0 || pad >= config.vocabulary) file.refuse("pad_token_id", std::to_string(pad), "the id of a piece");
  config.pad = static_cast<std::int32_t>(pad);
  const std::int64_t unused = unused_positions(config);
  options.max_positions = file.size("max_position_embeddings", 8 + unused, 65535 + unused) - unused;
  options.block.activation = file.activation("hidden_act", activations_of(options.block.norm));
  options.initial_deviation = file.number("initializer_range", 1e-6, 1, 0.02);
  options.dropout = file.number("hidden_dropout_prob", 0, 0.95, 0.1);
  options.block.attention_dropout = file.number("attention_probs_dropout_prob", 0, 0.95, 0.1);
  resolve_stack(options, StackUse::masked);  // throws if the sizes are incompatible

  std::string architecture;
  if (json.contains("architectures") && json["architectures"].is_array() && !json["architectures"].empty() &&
      json["architectures"][0].is_string()) {
    architecture = json["architectures"][0].get<std::string>();
  }
  const std::string_view name = family_of(config).name;
  if (!architecture.starts_with(name)) return config;
  architecture.erase(0, name.size());
  const std::string problem = json.contains("problem_type") && json["problem_type"].is_string()
                                  ? json["problem_type"].get<std::string>()
                                  : std::string();
  for (const HfHead& head : kHeads) {  // an architecture's head for the problem_type, or else its first
    if (head.architecture == architecture && (!config.task || head.problem == problem)) config.task = head.task;
  }
  if (!config.task) return config;
  if (json.contains("id2label") && json["id2label"].is_object()) {
    for (std::size_t i = 0; i < json["id2label"].size(); ++i) {
      config.labels.push_back(
          json_member<std::string>(json["id2label"], std::to_string(i), file.file() + ": id2label"));
    }
  }
  if (config.task == TaskKind::classification && config.labels.size() == 1) config.task = TaskKind::regression;
  if (config.task == TaskKind::regression) {
    config.labels.clear();
  } else if (config.labels.empty()) {
    config.labels = {"LABEL_0", "LABEL_1"};  // the default of transformers
  }
  return config;
}

}  // namespace attend
