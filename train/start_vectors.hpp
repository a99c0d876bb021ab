// Start vectors: embeddings that begin as given word vectors, such as GloVe's or fastText's, which have seen more text
// than the training will (Collobert and Weston 2008; Kim 2014, arXiv 1408.5882).
#pragma once

#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/ops/weight.hpp"

namespace attend {

struct StartVectors {
  std::vector<std::string> vectors = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("vectors", self.vectors,
          {.help = "word vectors (data of GloVe, word2vec or fastText, one word per line) with which the embeddings of "
                   "pieces that are words begin; a word that several files have begins as in the first",
           .file = FileUse::read,
           .may_change = true,
           .is_input = true,
           .only = without("init-from")});
  }
};

// Sets the rows of the pieces that are words, in the spelling of the files or else in lower case. They are scaled so
// that all of them together have the deviation of the rows that they replace: the model's initialisation knows which
// one it needs. With a table of deviation 0.06 and vectors of deviation 0.4, of which one has the word:
//
//   file    dog 0.2 -0.6          rows of "▁dog" and of "▁Dog", if no file has "Dog"    0.03 -0.09
//                                 rows of "▁do" and "g"                                 unchanged
//
// Throws UserError naming the file if it is no file of word vectors, if its vectors are not as wide as the table, or if
// no piece is one of its words.
void start_with(const std::vector<std::string>& files, const Tokenizer& tokenizer, const ops::Weight& table_VE);

}  // namespace attend
