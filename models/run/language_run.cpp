#include "models/run/language_run.hpp"

#include "models/layers/weights_io.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/run.hpp"

namespace attend {

namespace fs = std::filesystem;

LanguageRun LanguageRun::load(const fs::path& path, const std::string& checkpoint, torch::Device device) {
  check_is_run(path, RunKind::language);
  const auto options = read_config<LanguageOptions>(path / "config.toml", UnknownKeys::ignore);
  const Tokenizer tokenizer = load_run_tokenizer(path);
  const auto make = [&] { return make_language_model(options, tokenizer.size()); };
  return {.options = options,
          .tokenizer = tokenizer,
          .model = load_model(path, checkpoint, device, identity_of(options, tokenizer), make, load_weights)};
}

}  // namespace attend
