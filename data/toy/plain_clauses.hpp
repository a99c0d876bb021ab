// Draws clauses about people and things without names and numbers, in which the number of each noun phrase is chosen:
// the material of minimal pairs (challenge.hpp).
#pragma once

#include "data/toy/draw.hpp"

namespace attend::toy {

// True of the verbs without object, complement and goal: sleep.
bool is_intransitive(const Verb& verb);

class PlainClauses : public Draw {
 public:
  explicit PlainClauses(RandomStream& random) : Draw(random) {}

  Tense any_tense() { return chance(0.5) ? Tense::past : Tense::present; }
  Number any_number() { return chance(0.5) ? Number::plural : Number::singular; }

  // "the old boys", "our hat". Owners are of the first person, hence no antecedents of "him", "her" or "them".
  NounPhrase phrase(unsigned kinds, Number number);

  // Adds the arguments of the clause's verb, of one number.
  void complete(Clause& clause, Number number);

  // A person does something, perhaps to others.
  Clause deed(Tense tense);
  // "who slept".
  Clause intransitive(NounPhrase subject, Tense tense);
  // "The woman believes that …", "The women ask whether …".
  Clause reported(Clause clause, Number number);

  // Adds what stands between a subject and its verb and speaks of others of the opposite number: "with the hats" (in
  // the corpus only a singular has it), or a relative clause.
  void keep_apart(NounPhrase& subject, Tense tense);

 private:
  Clause relative(const NounPhrase& head, Tense tense, Number others);
};

}  // namespace attend::toy
