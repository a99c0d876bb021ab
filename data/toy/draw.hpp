// Random choices among words, and clauses made of them, shared by all generators.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>

#include "core/random.hpp"
#include "data/toy/meaning.hpp"

namespace attend::toy {

// Make at most one draw per expression, unless the language fixes the order of evaluation.
class Draw {
 public:
  explicit Draw(RandomStream& random) : random_(random) {}

  bool chance(double probability) { return random_.uniform() < probability; }

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }

  template <class Items>
  const auto& pick(const Items& items) {
    return std::begin(items)[random_.below(std::size(items))];
  }

  // Uniform among the entries for which `fits` holds; there must be at least one.
  template <class Items, class Fits>
  const auto& pick_where(const Items& items, Fits fits) {
    while (true) {
      const auto& item = pick(items);
      if (fits(item)) return item;
    }
  }

  RandomStream& stream() { return random_; }

  // Two or three syllables, so that most names in a test set do not occur in training.
  std::string name();

  // The digits of a number from `low` to `high`.
  std::string number(std::uint64_t low, std::uint64_t high);

  // A time expression in the past, present or future.
  Time time(bool past, bool future);

  // A noun of one of `kinds`, and an adjective that describes one.
  const Noun& noun_of(unsigned kinds);
  const Adjective& adjective_for(unsigned kinds);

 protected:
  RandomStream& random_;
};

// "the NOUN", of the noun's gender.
NounPhrase of_noun(const Noun& noun);

// The time that a phrase names: "yesterday".
Time time_of(const Phrase& phrase);

// The pronoun, relative pronoun or silent subject that refers to `phrase`.
NounPhrase standing_for(const NounPhrase& phrase, NounPhraseKind kind);

// Draws clauses about people and things without names and numbers, in which the number of each noun phrase is chosen:
// the material of minimal pairs (challenge.hpp).

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
