// Which English words of the built-in world mean the same, are more general, or exclude each other, and some words that
// only documents and labelled sets use. Those have no German: no sentence of the translation sets has them.
#pragma once

#include <span>
#include <string_view>

#include "data/toy/lexicon.hpp"

namespace attend::toy {

extern const Verb kHave, kLiveIn, kWorkFor, kReceive;
extern const Preposition kFrom;
extern const Conjunction kAfter;

// Another word for the same thing; nullptr where there is none. The other word has none itself.
const Noun* synonym(const Noun& noun);
const Verb* synonym(const Verb& verb);
const Adjective* synonym(const Adjective& adjective);

// The word that names all of the noun's kind: dog, animal; nullptr where there is none.
const Noun* general(const Noun& noun);

// Whether everything called `special` may be called `wide`: the same word, another word for it, or a more general one.
bool is_a(const Noun& special, const Noun& wide);
// Whether both words mean the same.
bool same(const Noun& a, const Noun& b);
bool same(const Verb& a, const Verb& b);
bool same(const Adjective& a, const Adjective& b);

// What a thing has one of.
std::span<const Adjective* const> colours();

// What is said in praise or blame. Each list names adjectives of several kinds; none is in both.
std::span<const Adjective> praise();
std::span<const Adjective> blame();

}  // namespace attend::toy
