// One file of a task in memory: its records as they were, and what an encoder reads of them.
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

  // Records that are to be answered.
  std::int64_t size() const;
  // Where a record begins in the file: a line; of a question its number, from 1.
  std::int64_t line(std::int64_t example) const;
  // "8551 texts, 12 cut to 128 tokens".
  std::string report() const;

  std::int64_t num_cut = 0;
  std::int64_t length = 0;  // most tokens of a sample, of spans those of a question
};

// UserError naming file and line, as the readers say, and for a tag that is none of task.labels.
TaskSplit read_split(const std::string& file, const LabelledTask& task, const Tokenizer& tokenizer,
                     const SampleConfig& config, Labelled labelled);

// The labels of a classification, the tags of a tagging: those named by the task, or those in the file.
std::vector<std::string> labels_of_task(const LabelledTask& task, const std::string& file);

}  // namespace attend
