#include "models/run/bert_run.hpp"

#include "core/error.hpp"
#include "core/files.hpp"
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

BertRun BertRun::load(const fs::path& path, const std::string& checkpoint, torch::Device device) {
  check_is_run(path, RunKind::pretrain);
  const auto options = read_config<BertOptions>(path / "config.toml", UnknownKeys::ignore);
  const Tokenizer tokenizer = load_run_tokenizer(path);
  const fs::path weights = find_weights(path, checkpoint);
  check_identity(weights, identity_of(options, tokenizer), path);
  BertRun run{
      .options = options, .tokenizer = tokenizer, .model = BertForPretraining(bert_config(options, tokenizer.size()))};
  load_weights(weights, *run.model);
  run.model->to(device);
  run.model->eval();
  return run;
}

}  // namespace attend
