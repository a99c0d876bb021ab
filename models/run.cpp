#include "models/run.hpp"

#include "core/error.hpp"
#include "core/options.hpp"
#include "models/checkpoint_reader.hpp"
#include "models/factory.hpp"
#include "models/ops/dispatch.hpp"
#include "models/weights_io.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// Decoding begins with the target's bos; both sides end with eos.
void check_special_ids(const TokenizerPair& tokenizers, const fs::path& run) {
  const SpecialIds& tgt = tokenizers.tgt.special();
  if (tokenizers.src.special().eos >= 0 && tgt.eos >= 0 && tgt.bos >= 0) return;
  throw UserError((run / "tokenizer").string() + ": a tokenizer without the pieces that begin and end a sentence",
                  "make one with attend vocab");
}

}  // namespace

Run Run::load(const fs::path& path, const std::string& checkpoint) {
  if (!fs::is_directory(path)) {
    throw UserError(path.string() + (fs::exists(path) ? ": not a directory" : ": no such run"),
                    "give the directory that attend train --run wrote");
  }
  if (!fs::exists(path / "config.toml")) {
    throw UserError(path.string() + ": not a run, config.toml is missing",
                    "give the directory that attend train --run wrote");
  }
  const auto config = read_config<ModelConfig>(path / "config.toml", UnknownKeys::ignore);
  Run run{.config = config, .tokenizers = TokenizerPair::load(path / "tokenizer"), .model = {}, .weights = {}};
  check_special_ids(run.tokenizers, path);
  run.model = make_seq2seq(config, {.src = run.tokenizers.src.size(), .tgt = run.tokenizers.tgt.size()}, std::nullopt);
  run.weights = find_weights(path, checkpoint);
  load_weights(run.weights, *run.model);
  run.model->eval();
  return run;
}

Precision freeze(Seq2SeqImpl& model, Precision precision) {
  if (precision == Precision::automatic) {
    precision = ops::has_native_bf16() ? Precision::bf16 : Precision::fp32;
  }
  model.for_each_weight([&](ops::Weight& weight) { weight.freeze(precision); });
  return precision;
}

}  // namespace attend
