// What an encoder of texts attends to: a forward pass over each sequence that it reads, observed, and written as
// attention weights between pieces (eval/attention.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/bert/bert.hpp"

namespace attend {

// [CLS] a [SEP], or [CLS] a [SEP] b [SEP], whose first part has `first` tokens.
struct EncoderSequence {
  std::vector<std::int32_t> ids;
  std::size_t first = 0;
};

// The file appears with finish(), or not at all.
class EncoderAttention {
 public:
  // UserError where `file`, named by --attention, exists.
  EncoderAttention(const std::string& file, const Bert& bert, Tokenizer tokenizer);

  // The record of one text: of the sequence that it is read as, of several as windows, or, of none, an empty one.
  void add(const std::vector<EncoderSequence>& sequences);
  void finish() { file_.commit(); }

 private:
  void write(const EncoderSequence& sequence);

  Bert bert_;
  Tokenizer tokenizer_;
  AtomicFile file_;
};

}  // namespace attend
