#include "models/run/bert_run.hpp"

#include <algorithm>
#include <string_view>

#include "core/error.hpp"
#include "core/files.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/run.hpp"

namespace attend {

namespace fs = std::filesystem;

namespace {

struct ObjectiveOption {
  PretrainingKind objective = PretrainingKind::masked;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("objective", self.objective, {.help = "what is predicted"});
  }
};

}  // namespace

PretrainingKind objective_of_run(const fs::path& run) {
  const RunKind kind = kind_of_run(run);
  if (kind == RunKind::language) return PretrainingKind::causal;
  if (kind != RunKind::pretrain) return PretrainingKind::masked;
  return read_config<ObjectiveOption>(run / "config.toml", UnknownKeys::ignore).objective;
}

BertConfig pretraining_config(const BertOptions& options, const Tokenizer& tokenizer, PretrainingKind objective) {
  if (objective == PretrainingKind::masked) return bert_config(options, tokenizer.size());
  return bert_config(options, tokenizer.size(), AttentionPlace::encoder, tokenizer.special().mask);
}

Tokenizer load_run_tokenizer(const fs::path& run) {
  return load_encoder_tokenizer(run / "tokenizer" / kJointTokenizer);
}

void save_run_tokenizer(const Tokenizer& tokenizer, const fs::path& run) {
  make_directories(run / "tokenizer");
  write_file_atomic(run / "tokenizer" / kJointTokenizer, tokenizer.bytes());
}

NamedTensors without_absent_heads(const BertForPretrainingImpl& model,
                                  const std::function<bool(const std::string&)>& is_there) {
  NamedTensors weights = weights_of(model);
  for (const std::string_view head : {"pooler.", "predictions.", "seq_relationship."}) {
    const auto of_head = [head](const auto& parameter) { return parameter.first.starts_with(head); };
    const auto is_present = [&](const auto& parameter) { return of_head(parameter) && is_there(parameter.first); };
    if (std::ranges::none_of(weights, is_present)) std::erase_if(weights, of_head);
  }
  return weights;
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

void BertRun::check_fills_masks(const fs::path& path) const {
  if (fills_masks()) return;
  throw UserError(path.string() + ": an encoder imported without a head for masked tokens",
                  "import a model with this head, such as a BertForMaskedLM");
}

BertRun BertRun::load(const fs::path& path, const std::string& checkpoint, torch::Device device) {
  check_is_run(path, RunKind::pretrain);
  const auto options = read_config<BertOptions>(path / "config.toml", UnknownKeys::ignore);
  const Tokenizer tokenizer = load_run_tokenizer(path);
  const PretrainingKind objective = objective_of_run(path);
  const auto make = [&] { return BertForPretraining(pretraining_config(options, tokenizer, objective)); };
  NamedTensors weights;
  const BertForPretraining model =
      load_model(path, checkpoint, device, identity_of(options, tokenizer), make,
                 [&](const fs::path& file, const BertForPretrainingImpl& of) { weights = load_pretrained(file, of); });
  return {.options = options, .tokenizer = tokenizer, .model = model, .weights = weights};
}

}  // namespace attend
