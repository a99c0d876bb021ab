#include "models/text/sentence.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/log.hpp"

namespace attend {
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
