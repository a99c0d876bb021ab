// What an encoder of texts attends to: a forward pass over each sequence that it reads, observed, as a value or written
// to a file (eval/attention.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "data/task/task_split.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/attention.hpp"
#include "models/bert/bert.hpp"

namespace attend {

// [CLS] a [SEP], or [CLS] a [SEP] b [SEP], whose first part has `first` tokens.
struct EncoderSequence {
  std::vector<std::int32_t> ids;
  std::size_t first = 0;
};

// What each record of a split is read as.
std::vector<std::vector<EncoderSequence>> sequences_of(const TaskSplit& split);

SentenceAttention attention_of(const BertImpl& bert, const Tokenizer& tokenizer, const EncoderSequence& sequence);

// The file of `attend predict --attention`. It appears with finish(), or not at all.
class EncoderAttention {
 public:
  // UserError where `file`, named by --attention, exists.
  EncoderAttention(const std::string& file, const Bert& bert, Tokenizer tokenizer);

  // The record of one text: of the sequence that it is read as, of several as windows, or, of none, an empty one.
  void add(const std::vector<EncoderSequence>& sequences);
  void finish() { file_.commit(); }

 private:
  Bert bert_;
  Tokenizer tokenizer_;
  AtomicFile file_;
};

}  // namespace attend
