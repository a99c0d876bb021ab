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

// Sentences of the built-in world in which "it" refers to one of their nouns, at some distance and perhaps across a
// full stop. German says er, sie or es (ihn, ihm, ihr) by the gender of that noun, so a translation shows which noun a
// model takes it for:
//
//   one candidate    The woman bought the lamp, but the boys said that it was broken.    ... dass sie kaputt war.
//   two candidates   The dog looked for the letter because it was hungry.                ..., weil er hungrig war.
//                    The cat looked for the letter because it was long.                  ..., weil er lang war.
//
// Candidates are the nouns in the singular that are no persons. Two have different genders in German, and sense decides
// between them: what is said of "it" can be said of one of them alone (lexicon.hpp: letters are not hungry). So the
// German sentence is determined by the English one.

// The entity of "it", and of the noun that it stands for.
inline constexpr int kIt = 1;

struct Reference {
  Sentence sentence;
  Gender gender, rival;  // of the noun and of the other candidate; equal if there is none
};

// `is_object`: "it" is the object of a clause, else its subject.
Reference invent_reference(RandomStream& random, bool has_rival, bool is_object);

}  // namespace attend::toy
