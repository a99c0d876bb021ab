// Minimal pairs in the language of the built-in corpus: a sentence of a form that the sentence pairs and documents
// have, and the same with one error of a known kind.
//
//   agreement  4  The boys whom the teacher saw were tired.  The boys whom the teacher saw was tired.
//
// English kinds, and the two words between which the distance counts the others:
//   agreement      noun - finite verb; the verb has the other number, as have the nouns and pronouns between, so that
//                  the nearest one misleads. At distances 1 and 2 there are none.
//   pronoun        noun - "it" or "them", the object of an action that no person undergoes; the pronoun has the other
//                  number, or is "him" or "her", whom the sentence does not mention.
//   tense          finite verb - time; "tomorrow" with the past, "last week" with the future.
//   negation       "not" and the word after it change places. No distance: 0.
// German kinds:
//   agreement      as in English; at distances 1 and 2 in a clause with its verb last.
//   article        article - noun; the article has another gender, and no case or number of the noun has this form:
//                  "das Frau", not "der Frau".
//   particle       finite verb - separable prefix; the verb does not have this prefix: "ruft … ein". None is missing,
//                  since "ruft" is a verb, too.
//   verb_position  the finite verb of a subordinate clause follows its subject instead of coming last. Not after weil,
//                  obwohl and während, where spoken German allows it. No distance: 0.
//
// Translations into German are the German pairs, each after the English sentence of the same meaning, and
//   polarity       "nicht" is missing, or "ein" stands for "kein"; in every second pair they are added. Without the
//                  source, both sentences are right. No distance: 0.
//   one_candidate  noun - er, sie, es, ihn, ihm or ihr for "it" (world.hpp); the pronoun has another gender. In
//                  every second pair it is an object.
//   two_candidates likewise; the pronoun has the gender of another noun, of which the clause makes no sense.
//
// The corpus has neither reflexives nor negative polarity, and a pronoun may refer to somebody of another sentence:
// without a source, there are no pairs of these. The words are those of the lexicon, without names and numbers. Half of
// the pairs of a kind and distance have a plural noun (agreement, pronoun), the future (tense), an object (article) or
// no negation (polarity), so that no form is always right.
#pragma once

#include <cstdint>
#include <vector>

#include "data/text/minimal_pairs.hpp"

namespace attend::toy {

enum class Language { english, german };

// 100 pairs of each kind and distance, without repetition, in this order. A short sentence may occur in the corpus.
std::vector<MinimalPair> draw_challenge(Language language, std::uint64_t seed);

// Those of translations from English into German: the German pairs of the same seed, and then those that need a source.
std::vector<MinimalPair> draw_translation_challenge(std::uint64_t seed);

}  // namespace attend::toy
