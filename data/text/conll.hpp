// Annotated sentences: the columns of CoNLL-2003, and the trees of CoNLL-U.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/text/table.hpp"

namespace attend {

// Tagged sentences in CoNLL's column format: one token per line with its tag in one of the columns, a blank line
// between sentences, -DOCSTART- lines between documents. Chunk tags are read as IOB1 (as in CoNLL-2003: B- only between
// adjacent chunks of the same type), IOB2 or IOBES and returned as IOB2; other tags, such as parts of speech, are
// returned unchanged.

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

// Sentences with dependency trees in the CoNLL-U format of Universal Dependencies: ten tab-separated columns per word,
// a blank line after each sentence, comments with #. Words are the syntactic ones: a range of a multiword token ("1-2")
// is read for its spelling in the text, and empty nodes ("8.1") are skipped.

struct TreeWord {
  std::string form = {};
  std::string part_of_speech = {};                                 // UPOS: NOUN
  std::vector<std::pair<std::string, std::string>> features = {};  // FEATS: {"Number", "Plur"}
  std::size_t head = 0;       // number of the word it depends on, from 1; 0: the root
  std::string relation = {};  // DEPREL; read without its subtype: nsubj for nsubj:pass
};

struct TreeSentence {
  std::uint64_t line = 0;  // of its first word
  std::string text = {};   // the comment "# text = …", else the forms, with spaces except after SpaceAfter=No
  std::vector<TreeWord> words = {};
  std::vector<std::pair<std::size_t, std::size_t>> places = {};  // bytes [begin, end) of each word in the text; words
                                                                 // of a multiword token share those of the token
};

// The sentences of a file, which may be .gz. Throws UserError naming file and line for another number of columns or an
// empty one, numbers that do not count from 1, a range that reaches into another or beyond the sentence, a feature that
// is not Name=Value, a head outside the sentence, none or several roots, a cycle, or a text that does not consist of
// the forms in order; or naming the file, if it has no sentence.
std::vector<TreeSentence> read_conllu(const std::string& file);

// The lines of a sentence, the blank one included; columns that TreeSentence lacks (LEMMA, XPOS, DEPS) are _.
std::string to_conllu(const TreeSentence& sentence);

}  // namespace attend
