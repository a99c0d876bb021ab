// Sentences with dependency trees in the CoNLL-U format of Universal Dependencies: ten tab-separated columns per word,
// a blank line after each sentence, comments with #. Words are the syntactic ones: a range of a multiword token ("1-2")
// is read for its spelling in the text, and empty nodes ("8.1") are skipped.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace attend {

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
