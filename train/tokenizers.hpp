// Which tokenizers a training takes, whatever it trains.
#pragma once

#include <filesystem>
#include <functional>

#include "train/run_config.hpp"

namespace attend {

template <class Tokenizers>
struct TokenizerSources {
  std::function<Tokenizers(const std::filesystem::path& run)> of_run;
  std::function<Tokenizers()> of_files;  // none if no file is given
  std::function<Tokenizers()> learn;
  std::function<void(const Tokenizers&)> check_given = {};  // of those that were not learnt for this run
};

// Those of the run if it is resumed, else of the files given, else of the run that --init-from names, else learnt.
template <class Tokenizers>
Tokenizers obtain_tokenizers(const RunConfig& run, bool resumed, const TokenizerSources<Tokenizers>& sources) {
  if (resumed) return sources.of_run(run.run);
  if (!sources.of_files && run.init_from.empty()) return sources.learn();
  Tokenizers given = sources.of_files ? sources.of_files() : sources.of_run(run.init_from);
  if (sources.check_given) sources.check_given(given);
  return given;
}

}  // namespace attend
