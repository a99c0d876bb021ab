// A translation run in a comparison: its model, and the record of its training. An average has the record of the run
// that it was made of.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "models/run/run.hpp"
#include "train/translation/config.hpp"

namespace attend {

struct TrainedRun {
  Run run;
  std::filesystem::path directory = {};  // has the record of its training, and its checkpoints
  RunFacts facts = {};
  TranslationConfig config = {};
  std::map<std::string, std::string> inputs = {};  // hashes of the texts and tokenizers it was trained with
  std::optional<std::int64_t> updates = {}, tokens = {};
  double pieces_per_word = 1;  // of the references, by the target's tokenizer
  std::optional<double> seconds = {}, tokens_per_second = {}, memory_mb = {};
  std::vector<CurvePoint> curve = {};
  std::vector<WatchedUpdate> watched = {};  // the first and the last

  // UserError unless it is a run of `attend train` with intact weights. `checkpoint` as in Run::load; a path must lie
  // in the run.
  static TrainedRun load(const std::filesystem::path& path, const std::string& checkpoint, torch::Device device);
};

}  // namespace attend
