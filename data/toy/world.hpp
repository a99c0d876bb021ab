// What is said in the built-in world: draws the meanings of sentences, within what makes sense (one eats food and wears
// no soup) and what the English sentence decides alone: nothing in the German depends on more than the source.
#pragma once

#include "core/random.hpp"
#include "data/toy/meaning.hpp"

namespace attend::toy {

// A sentence of about `words` English words, at least one main clause of a few words.
Sentence invent_sentence(RandomStream& random, std::size_t words);

// A length in words: mostly short, one in twelve above thirty.
std::size_t invent_length(RandomStream& random);

}  // namespace attend::toy
