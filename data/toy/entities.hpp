// Sentences of the built-in world with tagged names: persons (PER), towns (LOC) and companies (ORG). All names look
// alike, so only the context distinguishes them: in Tarvel, Mrs. Tarvel, worked for Tarvel.
#pragma once

#include <string>
#include <vector>

#include "data/toy/event.hpp"

namespace attend::toy {

struct Token {
  std::string text;
  std::string tag;  // IOB2
};

// The tagged tokens of a sentence: punctuation marks are separate tokens, a title is not part of the name.
std::vector<Token> to_tokens(const Sentence& sentence);

// A sentence of about 4 to 25 words; most have a name.
std::vector<Token> draw_entities(Draw& draw);

}  // namespace attend::toy
