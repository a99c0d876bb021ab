// Short notation for meanings of the built-in world, for tests of its grammars.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "data/toy/meaning.hpp"

namespace attend::toy {

inline NounPhrase the(std::string_view word, Number number = Number::singular) {
  NounPhrase phrase;
  phrase.noun = &noun(word);
  phrase.number = number;
  return phrase;
}

inline NounPhrase some(NounPhrase phrase, Determiner determiner, std::vector<const Adjective*> adjectives = {}) {
  phrase.determiner = determiner;
  phrase.adjectives = std::move(adjectives);
  return phrase;
}

inline NounPhrase stand_in(NounPhraseKind kind, std::string_view word, bool person, Number number = Number::singular) {
  NounPhrase phrase = the(word, number);
  phrase.kind = kind;
  phrase.gender = phrase.noun->gender;
  phrase.person = person;
  return phrase;
}

inline Clause action(NounPhrase subject, std::string_view word, Tense tense = Tense::present) {
  Clause clause;
  clause.subject = std::move(subject);
  clause.verb = &verb(word);
  clause.tense = tense;
  return clause;
}

inline Clause action(NounPhrase subject, std::string_view word, NounPhrase object, Tense tense = Tense::present) {
  Clause clause = action(std::move(subject), word, tense);
  clause.object = owned(std::move(object));
  return clause;
}

inline Clause state(NounPhrase subject, std::string_view word, Tense tense = Tense::present) {
  Clause clause;
  clause.subject = std::move(subject);
  clause.predicate = &adjective(word);
  clause.tense = tense;
  return clause;
}

inline const Phrase& because() { return subordinators(true)[0]; }

inline NounPhrase mr_tarvel() {
  NounPhrase phrase;
  phrase.kind = NounPhraseKind::person_name;
  phrase.name = "Tarvel";
  phrase.titled = true;
  return phrase;
}

// The woman sings, but because the dog is old, the man sleeps.
inline Sentence she_sings_but_he_sleeps() {
  Sentence sentence;
  Clause late = action(the("man"), "sleep");
  late.subordinates.push_back({&because(), state(the("dog"), "old"), true});
  sentence.clauses.push_back(action(the("woman"), "sing"));
  sentence.clauses.push_back(std::move(late));
  sentence.joiners.push_back(&kCoordinators[1]);
  return sentence;
}

}  // namespace attend::toy
