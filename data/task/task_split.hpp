// One file of a task in memory: its records and their samples for the encoder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/task/labelled_task.hpp"
#include "data/task/labelled_text.hpp"
#include "data/task/samples.hpp"
#include "data/text/conll.hpp"
#include "data/text/squad.hpp"

namespace attend {

struct TaskSplit {
  std::string file = {};
  std::string hash = {};  // XXH3 of the file
  std::vector<Sample> samples = {};
  std::vector<LabelledText> texts = {};           // classification, multi-label, regression
  QuestionSet questions = {};                     // spans
  std::vector<std::vector<Piece>> contexts = {};  // spans: the pieces of questions.contexts
  std::vector<TaggedSentence> sentences = {};     // tags

  // Number of records to answer.
  std::int64_t size() const;
  // The position of a record in the file: its line, or for a question its number from 1.
  std::int64_t line(std::int64_t example) const;
  // "8551 texts, 12 cut to 128 tokens".
  std::string report() const;

  std::int64_t num_cut = 0;
  std::int64_t length = 0;  // maximum tokens of a sample (spans: of a question)
};

// Throws UserError naming file and line as the readers do, and for a tag that is not in task.labels.
TaskSplit read_split(const std::string& file, const LabelledTask& task, const Tokenizer& tokenizer,
                     const SampleConfig& config, Labelled labelled);

// The same without samples, of a task on whole texts.
TaskSplit read_texts(const std::string& file, const LabelledTask& task, Labelled labelled);

// The labels or tags: those named by the task, or else those in the file.
std::vector<std::string> labels_of_task(const LabelledTask& task, const std::string& file);

}  // namespace attend
