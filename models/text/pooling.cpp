#include "models/text/pooling.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/layers.hpp"

namespace attend {
namespace {

using ops::masked_softmax;
using torch::Tensor;

// Some rows of every sequence.
struct Text {
  Tensor states_BTH;  // fp32, zeros at padding
  Tensor missing_BT;
  Tensor lengths_B1;  // fp32
};

Text text_of(const Tensor& hidden_MH, const Layout& whole, const std::vector<std::int64_t>& rows) {
  Selection text = select(rows, whole, hidden_MH.device());
  text.layout.max_length = std::max<std::int64_t>(text.layout.max_length, 1);  // even if no sequence has such a text
  const LayoutTensors& tensors = text.layout.on(hidden_MH.device());
  return {ops::pad(text.of(hidden_MH).to(at::kFloat), text.layout), tensors.padding_BT,
          tensors.lengths_B.unsqueeze(1).to(at::kFloat)};
}

Tensor mean(const Tensor& states_BTH, const Tensor& lengths_B1) { return states_BTH.sum(1) / lengths_B1.clamp_min(1); }

// BERT's pooler of the first token, [CLS]: P = H.
class ClsPooling : public PoolingImpl {
 public:
  ClsPooling(std::int64_t width, double deviation) : pooler_(width, deviation) {
    register_module("dense", pooler_->dense);
  }
  bool reads_first() const override { return true; }
  Tensor forward(const Encoded& encoded, const SegmentedSequences& /*input*/, Pass& /*pass*/) const override {
    return pooler_->forward(encoded.hidden_MH);
  }

 private:
  BertPooler pooler_;
};

// The final states of both directions, concatenated; of a language model, the state of the last token: P = H.
class LastPooling : public PoolingImpl {
 public:
  Tensor forward(const Encoded& encoded, const SegmentedSequences& /*input*/, Pass& /*pass*/) const override {
    ensure(encoded.last_BH.defined(), "the encoder reads in a direction");
    return encoded.last_BH;
  }
};

// The mean over all tokens: P = H.
class MeanPooling : public PoolingImpl {
 public:
  Tensor forward(const Encoded& encoded, const SegmentedSequences& input, Pass& /*pass*/) const override {
    const Layout& layout = input.tokens.layout;
    const Tensor states_BTH = ops::pad(encoded.hidden_MH.to(at::kFloat), layout);
    const Tensor lengths_B1 = layout.on(states_BTH.device()).lengths_B.unsqueeze(1).to(at::kFloat);
    return mean(states_BTH, lengths_B1).to(encoded.hidden_MH.scalar_type());
  }
};

// Σ_t a_t h_t with a = softmax_t(tanh(W h_t + b) · u) and a parameter u (Yang et al. 2016, "Hierarchical Attention
// Networks for Document Classification", eq. 5 to 7): P = H. For observers and edits, a is cross-attention of one head
// in layer 0 with one query.
class AttentionPooling : public PoolingImpl {
 public:
  explicit AttentionPooling(std::int64_t width)
      : projection_(register_module("projection", Linear(LinearConfig{.in = width, .out = width}))),
        query_(register_module("query", Linear(LinearConfig{.in = width, .out = 1, .bias = false}))) {}

  Tensor forward(const Encoded& encoded, const SegmentedSequences& input, Pass& pass) const override {
    const Layout& layout = input.tokens.layout;
    const Tensor scores_M1 = query_->forward(projection_->forward(encoded.hidden_MH, ops::Activation::tanh));
    const Tensor scores_BT = ops::pad(scores_M1.to(at::kFloat), layout).squeeze(2);
    const Tensor& padding_BT = layout.on(scores_BT.device()).padding_BT;
    Tensor weights_B11T = masked_softmax(scores_BT, padding_BT).unsqueeze(1).unsqueeze(1);
    weights_B11T =
        pass.edited(AttentionPlace::cross, 0, weights_B11T, {.padding_1S = padding_BT.unsqueeze(1).unsqueeze(1)});
    if (pass.observes_attention(AttentionPlace::cross, 0)) {
      pass.observer()->on_attention(AttentionPlace::cross, 0, weights_B11T);
    }
    const Tensor states_BTH = ops::pad(encoded.hidden_MH.to(at::kFloat), layout);
    return at::matmul(weights_B11T.squeeze(1), states_BTH).squeeze(1).to(encoded.hidden_MH.scalar_type());
  }

 private:
  Linear projection_;
  Linear query_;
};

// Compares two texts token by token (Parikh et al. 2016, arXiv 1606.01933; Chen et al. 2017, 1609.06038): energies
// e_ij = a_i · b_j / sqrt(H) align each token with the other text, a~_i = Σ_j softmax_j(e_ij) b_j, and b~_j likewise;
// relu(W [x; x~; x - x~; x * x~]) of both texts is pooled by mean and maximum, and tanh(V ·) of the four vectors is the
// result: P = H. [CLS] and [SEP] belong to the text that contains them.
class AlignmentPooling : public PoolingImpl {
 public:
  explicit AlignmentPooling(std::int64_t width)
      : compare_(register_module("compare", Linear(LinearConfig{.in = 4 * width, .out = width}))),
        dense_(register_module("dense", Linear(LinearConfig{.in = 4 * width, .out = width}))) {}

  Tensor forward(const Encoded& encoded, const SegmentedSequences& input, Pass& /*pass*/) const override {
    const auto type = encoded.hidden_MH.scalar_type();
    const Tensor segments = input.segments_M.cpu();
    std::array<std::vector<std::int64_t>, 2> rows;  // of the first and the second text
    for (std::int64_t row = 0; row < segments.numel(); ++row) {
      rows.at(segments.const_data_ptr<std::int64_t>()[row]).push_back(row);
    }
    const Layout& whole = input.tokens.layout;
    const Text a = text_of(encoded.hidden_MH, whole, rows[0]), b = text_of(encoded.hidden_MH, whole, rows[1]);
    const double scale = 1 / std::sqrt(static_cast<double>(encoded.hidden_MH.size(1)));
    const Tensor energies_BTS = at::matmul(a.states_BTH, b.states_BTH.transpose(1, 2)) * scale;
    const auto meet = [](const Tensor& energies, const Text& other) {  // the vectors of `other` aligned with each token
      return at::matmul(masked_softmax(energies, other.missing_BT.unsqueeze(1)), other.states_BTH);
    };
    const auto pool = [&](const Text& text, const Tensor& met) {
      const Tensor& x = text.states_BTH;
      const Tensor compared =
          compare_->forward(at::cat({x, met, x - met, x * met}, 2).to(type), ops::Activation::relu).to(at::kFloat);
      const Tensor gone = text.missing_BT.unsqueeze(2);
      return at::cat({mean(compared.masked_fill(gone, 0), text.lengths_B1), compared.masked_fill(gone, 0).amax(1)}, 1);
    };
    const Tensor both = at::cat({pool(a, meet(energies_BTS, b)), pool(b, meet(energies_BTS.transpose(1, 2), a))}, 1);
    return dense_->forward(both.to(type), ops::Activation::tanh);
  }

 private:
  Linear compare_;
  Linear dense_;
};

}  // namespace

std::shared_ptr<PoolingImpl> make_pooling(Pooling pooling, std::int64_t width, double deviation) {
  switch (pooling) {
    case Pooling::cls: return std::make_shared<ClsPooling>(width, deviation);
    case Pooling::last: return std::make_shared<LastPooling>();
    case Pooling::mean: return std::make_shared<MeanPooling>();
    case Pooling::attention: return std::make_shared<AttentionPooling>(width);
    case Pooling::alignment: return std::make_shared<AlignmentPooling>(width);
  }
  return nullptr;
}

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw UserError(file.string() + ": " + what + " is not supported", "delete modules.json to import only the encoder");
}

nlohmann::json read_object(const fs::path& file) {
  nlohmann::json json = fs::exists(file) ? read_json(file) : nlohmann::json::object();
  if (!json.is_object()) throw UserError(file.string() + ": not an object", "fix the file or use another copy");
  return json;
}

// The config.json of the Pooling module: {"pooling_mode": "mean"}, or in older versions a flag per mode.
SentencePooling pooling_of(const fs::path& file) {
  const nlohmann::json json = read_object(file);
  std::vector<std::string> modes;
  if (const auto mode = json.find("pooling_mode"); mode != json.end()) {
    for (const nlohmann::json& name : mode->is_array() ? *mode : nlohmann::json::array({*mode})) {
      modes.push_back(name.is_string() ? name.get<std::string>() : name.dump());
    }
  } else {
    constexpr std::string_view kPrefix = "pooling_mode_", kSuffix = "_tokens";
    for (const auto& [key, value] : json.items()) {
      if (!key.starts_with(kPrefix) || value != true) continue;
      std::string name = key.substr(kPrefix.size());
      if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
      modes.push_back(name == "cls_token" ? "cls" : name);
    }
  }
  if (modes.size() > 1) refuse(file, "a combination of poolings");
  const std::string pooling = modes.empty() ? "mean" : modes[0];
  if (pooling == "cls") return SentencePooling::cls;
  if (pooling != "mean") refuse(file, "the pooling \"" + pooling + "\"");
  return SentencePooling::mean;
}

std::optional<std::int64_t> length_in(const fs::path& file, const char* key) {
  const nlohmann::json json = read_object(file);
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;  // tokenizers write 1e30 for "no limit"
  const auto length = found->get<double>();
  return length >= 3 && length <= 65535 ? std::optional(static_cast<std::int64_t>(length)) : std::nullopt;
}

}  // namespace

std::optional<SentenceOptions> read_sentence_transformer(const fs::path& directory, const Tokenizer& tokenizer,
                                                         std::int64_t positions) {
  const fs::path file = directory / "modules.json";
  if (!fs::exists(file)) return std::nullopt;
  const nlohmann::json modules = read_json(file);
  if (!modules.is_array()) throw UserError(file.string() + ": not a list of modules", "use another copy");
  SentenceOptions options;
  std::string order;  // the modules as letters: T, P and N
  for (const nlohmann::json& module : modules) {
    if (!module.is_object()) throw UserError(file.string() + ": a module is not an object", "use another copy");
    const auto type = json_member<std::string>(module, "type", file.string());
    const auto path = json_member<std::string>(module, "path", file.string());
    const std::string name = type.substr(type.rfind('.') + 1);
    if (path != fs::path(path).filename() || path == "..") refuse(file, "the path \"" + path + "\"");
    if (name == "Transformer" && path.empty()) {
      order += 'T';
    } else if (name == "Pooling") {
      order += 'P';
      options.pooling = pooling_of(directory / path / "config.json");
    } else if (name == "Normalize") {
      order += 'N';
      options.normalise = true;
    } else {
      refuse(file, "the module " + name + (path.empty() ? "" : " in \"" + path + "\""));
    }
  }
  if (order != "TP" && order != "TPN") refuse(file, "a module order other than Transformer, Pooling, Normalize");

  const fs::path settings = directory / "sentence_bert_config.json", tokens = directory / "tokenizer_config.json";
  options.max_length = length_in(settings, "max_seq_length");
  if (!options.max_length) options.max_length = length_in(tokens, "model_max_length");
  options.max_length = std::min(options.max_length.value_or(positions), positions);
  const nlohmann::json of_transformer = read_object(settings);
  if (of_transformer.contains("do_lower_case") &&
      json_member<bool>(of_transformer, "do_lower_case", settings.string()) &&
      tokenizer.encode("A B C") != tokenizer.encode("a b c")) {
    refuse(settings, "do_lower_case with a cased tokenizer");
  }
  const fs::path prompts = directory / "config_sentence_transformers.json";
  const nlohmann::json json = read_object(prompts);
  if (const auto found = json.find("default_prompt_name"); found != json.end() && found->is_string()) {
    log::warn("{}: the prompt {} is not prepended; write it at the start of each line", prompts.string(),
              found->dump());
  }
  return options;
}

}  // namespace attend
