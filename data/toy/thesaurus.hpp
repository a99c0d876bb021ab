// Synonyms, hypernyms and antonyms among the English words of the built-in world, and words that only documents and
// labelled sets use. The latter have no German, so the translation sets do not contain them.
#pragma once

#include <span>

#include "data/toy/lexicon.hpp"

namespace attend::toy {

extern const Verb kHave, kLiveIn, kWorkFor, kReceive;

// A synonym, or nullptr. The synonym itself has none.
const Noun* synonym(const Noun& noun);
const Verb* synonym(const Verb& verb);
const Adjective* synonym(const Adjective& adjective);

// The hypernym of the noun (dog: animal), or nullptr.
const Noun* general(const Noun& noun);

// True if `wide` is equal to `special`, a synonym or a hypernym.
bool is_a(const Noun& special, const Noun& wide);
// True if the words are synonyms.
template <class Entry>
bool same(const Entry& a, const Entry& b) {
  const Entry *of_a = synonym(a), *of_b = synonym(b);
  return a.english == b.english || (of_a != nullptr && of_a->english == b.english) ||
         (of_b != nullptr && of_b->english == a.english);
}

// Properties of which a thing has exactly one.
std::span<const Adjective* const> colours();

// Adjectives of praise and blame, of several kinds; none is in both lists.
std::span<const Adjective> praise();
std::span<const Adjective> blame();

}  // namespace attend::toy
