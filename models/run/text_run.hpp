// A run of `attend finetune` loaded for use: its options, its task, its tokenizer and its model. A run over several
// seeds is represented by the seed with the best validation score.
//
//   RUN/config.toml, RUN/tokenizer/joint.model, RUN/checkpoints, RUN/best     as of every run
//   RUN/task.toml                                                             the task, with all its labels
//   RUN/seed-N, RUN/seeds.json                                                a run for each seed; the best seed
#pragma once

#include <filesystem>
#include <string>

#include "data/task/labelled_task.hpp"
#include "data/task/samples.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/text/text_model.hpp"

namespace attend {

// RUN itself, or for several seeds the best RUN/seed-N.
std::filesystem::path run_of_best_seed(const std::filesystem::path& run);

struct TextRun {
  TextModelOptions options;
  LabelledTask task;
  SampleConfig samples;
  Tokenizer tokenizer;
  TextModel model;

  static TextRun load(const std::filesystem::path& path, const std::string& checkpoint = "auto",
                      torch::Device device = torch::kCPU);
};

LabelledTask load_run_task(const std::filesystem::path& run);
void save_run_task(const LabelledTask& task, const std::filesystem::path& run);

}  // namespace attend
