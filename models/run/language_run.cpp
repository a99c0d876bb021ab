#include "models/run/language_run.hpp"

#include "core/error.hpp"
#include "data/corpus/instances.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/run.hpp"

namespace attend {

namespace fs = std::filesystem;

LanguageRun LanguageRun::load(const fs::path& path, const std::string& checkpoint, torch::Device device) {
  check_is_run(path, RunKind::language);
  const auto options = read_config<LanguageOptions>(path / "config.toml", UnknownKeys::ignore);
  const fs::path file = path / "tokenizer" / kJointTokenizer;
  const Tokenizer tokenizer = Tokenizer::load(file);
  check_ends_texts(tokenizer, file);
  const auto make = [&] { return make_language_model(options, tokenizer.size()); };
  LanguageRun run{.options = options,
                  .tokenizer = tokenizer,
                  .model = load_model(path, checkpoint, device, identity_of(options, tokenizer), make, load_weights)};
  if (!options.is_recurrent()) {
    const auto trained = read_config<InstanceConfig>(path / "config.toml", UnknownKeys::ignore);
    run.window = run.model->longest().value_or(trained.length + options.memory);
  }
  return run;
}

void check_ends_texts(const Tokenizer& tokenizer, const fs::path& file) {
  if (tokenizer.special().eos >= 0) return;
  throw UserError(
      file.string() + ": no piece that ends a text, which language models need",
      "use a SentencePiece model with \"</s>\", such as those of attend vocab, or the tokenizer of a GPT-2");
}

}  // namespace attend
