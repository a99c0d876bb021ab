// Draws the meanings of sentences in the built-in world, restricted to plausible ones (people eat food but do not wear
// soup) and to those whose German is determined by the English sentence alone.
#pragma once

#include "core/random.hpp"
#include "data/toy/meaning.hpp"

namespace attend::toy {

// A sentence of about `words` English words, at least one main clause of a few words.
Sentence invent_sentence(RandomStream& random, std::size_t words);

// A length in words: mostly short, one in twelve above thirty.
std::size_t invent_length(RandomStream& random);

}  // namespace attend::toy
