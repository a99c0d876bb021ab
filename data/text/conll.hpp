// Tagged sentences in CoNLL's column format: one token per line with its tag in one of the columns, a blank line
// between sentences, -DOCSTART- lines between documents. Chunk tags are read as IOB1 (as in CoNLL-2003: B- only between
// adjacent chunks of the same type), IOB2 or IOBES and returned as IOB2; other tags, such as parts of speech, are
// returned unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/text/labelled.hpp"

namespace attend {

// The column of the tags and their kind.
struct TagColumn {
  std::size_t number = 0;  // from 1; 0: the last column
  bool chunks = true;      // chunk tags; false: independent tags
};

struct TaggedSentence {
  std::uint64_t line = 0;     // line of its first token
  std::int64_t document = 0;  // from 0
  bool after_mark = false;    // a -DOCSTART- line precedes it
  std::vector<std::string> tokens = {};
  std::vector<std::string> tags = {};
};

// Throws UserError naming file and line for a missing tag, a number of columns that differs from the first line's or,
// for chunks, an invalid tag; also if the file has no sentences. Tags of a file to predict are not read.
std::vector<TaggedSentence> read_conll(const std::string& file, const TagColumn& tags, Labelled labelled);

// True for O, B-TYPE, I-TYPE, E-TYPE and S-TYPE.
bool marks_chunk(const std::string& tag);

// Each tag once: for chunks O first, then by type (B-LOC I-LOC B-ORG …); otherwise sorted by name.
std::vector<std::string> tag_set(const std::vector<TaggedSentence>& sentences, bool chunks);

}  // namespace attend
