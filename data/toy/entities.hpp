// Sentences of the built-in world whose names are tagged: persons (PER), towns (LOC) and companies (ORG). The names are
// of one kind, so the words around a name tell what it is: in Tarvel, Mrs. Tarvel, worked for Tarvel.
#pragma once

#include <string>
#include <vector>

#include "data/toy/event.hpp"

namespace attend::toy {

struct Token {
  std::string text;
  std::string tag;  // IOB2
};

// The tokens of a sentence as they are tagged: a mark is a token of its own, the title stands outside the name.
std::vector<Token> to_tokens(const Sentence& sentence);

// A sentence of about 4 to 25 words; most have a name.
std::vector<Token> draw_entities(Draw& draw);

}  // namespace attend::toy
