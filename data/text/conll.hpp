// Tagged sentences in CoNLL's columns: a token a line with its tag in one of them, a blank line between sentences,
// -DOCSTART- lines between documents. Tags of chunks are read in IOB1 (CoNLL-2003's own: B- only between two chunks of
// one type), IOB2 or IOBES, and given as IOB2; others, such as parts of speech, as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/task/labelled_task.hpp"

namespace attend {

struct TaggedSentence {
  std::uint64_t line = 0;     // of its first token
  std::int64_t document = 0;  // from 0
  bool after_mark = false;    // a -DOCSTART- line stands before it
  std::vector<std::string> tokens = {};
  std::vector<std::string> tags = {};
};

// UserError naming file and line for a line without a tag, with another number of columns than the first, or, of
// chunks, with a tag that is not O, B-TYPE, I-TYPE, E-TYPE or S-TYPE; and when there is no sentence. Tags of a file
// that is to be predicted are not read.
std::vector<TaggedSentence> read_conll(const std::string& file, const LabelledTask& task, Labelled labelled);

// Whether it is O, B-TYPE, I-TYPE, E-TYPE or S-TYPE.
bool marks_chunk(const std::string& tag);

// Every tag once: of chunks O first, the others in order of their types, B-LOC I-LOC B-ORG …; else by name.
std::vector<std::string> tag_set(const std::vector<TaggedSentence>& sentences, const LabelledTask& task);

}  // namespace attend
