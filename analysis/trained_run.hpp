// The runs of a comparison: their models, and the records of their training. An average of checkpoints has the record
// of their run.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "models/run/run.hpp"
#include "train/finetuning/config.hpp"
#include "train/pretraining/config.hpp"
#include "train/translation/config.hpp"

namespace attend {

// What a run records of its training, whatever kind of model it has.
struct TrainingRecord {
  std::filesystem::path directory = {};  // of that record, and of the checkpoints
  RunFacts facts = {};
  std::map<std::string, std::string> inputs = {};  // hashes of the texts and tokenizers it was trained with
  Cost cost = {};  // of the training, and the pieces per word of the text that it is tested on
  std::vector<CurvePoint> curve = {};
  std::vector<WatchedUpdate> watched = {};  // the first and the last
};

template <class SomeRun, class Config>
struct RecordedRun : TrainingRecord {
  SomeRun run;
  Config config = {};

  // UserError unless it is such a run with intact weights. `checkpoint` as in load_run; a path must lie in the run.
  static RecordedRun load(const std::filesystem::path& path, const std::string& checkpoint, torch::Device device);
};
using TrainedRun = RecordedRun<TranslationRun, TranslationConfig>;       // of `attend train`
using TrainedLanguageRun = RecordedRun<LanguageRun, PretrainingConfig>;  // of `attend pretrain --objective causal`
using TrainedBertRun = RecordedRun<BertRun, PretrainingConfig>;          // of `attend pretrain`, other objectives
using TrainedTextRun = RecordedRun<TextRun, FinetuningConfig>;           // of `attend finetune`

}  // namespace attend
