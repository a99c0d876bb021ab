#include "models/run/bert_run.hpp"

#include <algorithm>
#include <string_view>

#include "core/error.hpp"
#include "core/files.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;
constexpr const char* kTokenizer = "joint.model";

}  // namespace

TensorMetadata identity_of(const BertOptions& options, const Tokenizer& tokenizer) {
  TensorMetadata identity = {{"tokenizer", tokenizer.hash()}};
  add_options(identity, "model", bind(options));
  return identity;
}

Tokenizer load_run_tokenizer(const fs::path& run) { return load_encoder_tokenizer(run / "tokenizer" / kTokenizer); }

void save_run_tokenizer(const Tokenizer& tokenizer, const fs::path& run) {
  make_directories(run / "tokenizer");
  write_file_atomic(run / "tokenizer" / kTokenizer, tokenizer.bytes());
}

NamedTensors without_absent_heads(const BertForPretrainingImpl& model,
                                  const std::function<bool(const std::string&)>& is_there) {
  NamedTensors parameters = parameters_of(model);
  for (const std::string_view head : {"pooler.", "predictions.", "seq_relationship."}) {
    const auto of_head = [head](const auto& parameter) { return parameter.first.starts_with(head); };
    const auto is_present = [&](const auto& parameter) { return of_head(parameter) && is_there(parameter.first); };
    if (std::ranges::none_of(parameters, is_present)) std::erase_if(parameters, of_head);
  }
  return parameters;
}

NamedTensors load_pretrained(const fs::path& weights, const BertForPretrainingImpl& model) {
  const SafetensorsFile file(weights);
  NamedTensors present =
      without_absent_heads(model, [&](const std::string& name) { return file.find(name) != nullptr; });
  load_tensors(weights, present);
  refresh_weights(model);
  return present;
}

bool BertRun::fills_masks() const {
  return std::ranges::any_of(weights, [](const auto& weight) { return weight.first.starts_with("predictions."); });
}

BertRun BertRun::load(const fs::path& path, const std::string& checkpoint, torch::Device device) {
  check_is_run(path, RunKind::pretrain);
  const auto options = read_config<BertOptions>(path / "config.toml", UnknownKeys::ignore);
  const Tokenizer tokenizer = load_run_tokenizer(path);
  const fs::path weights = find_weights(path, checkpoint);
  check_identity(weights, identity_of(options, tokenizer), path);
  BertRun run{.options = options,
              .tokenizer = tokenizer,
              .model = BertForPretraining(bert_config(options, tokenizer.size())),
              .weights = {}};
  run.weights = load_pretrained(weights, *run.model);
  run.model->to(device);
  run.model->eval();
  return run;
}

}  // namespace attend
