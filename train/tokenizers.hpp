// The source of the tokenizers of a training, for all kinds of training.
#pragma once

#include <filesystem>
#include <functional>

#include "train/run_config.hpp"

namespace attend {

template <class Tokenizers>
struct TokenizerSources {
  std::function<Tokenizers(const std::filesystem::path& run)> of_run;
  std::function<Tokenizers()> of_files;  // empty if no file is given
  std::function<Tokenizers()> learn;
  std::function<void(const Tokenizers&)> check_given = {};  // for tokenizers that were not trained for this run
};

// The run's own tokenizers if it is resumed, else those of the given files, else those of --init-from, else new ones.
template <class Tokenizers>
Tokenizers obtain_tokenizers(const RunConfig& run, bool resumed, const TokenizerSources<Tokenizers>& sources) {
  if (resumed) return sources.of_run(run.run);
  if (!sources.of_files && run.init_from.empty()) return sources.learn();
  Tokenizers given = sources.of_files ? sources.of_files() : sources.of_run(run.init_from);
  if (sources.check_given) sources.check_given(given);
  return given;
}

}  // namespace attend
