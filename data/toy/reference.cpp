#include "data/toy/world.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "data/toy/draw.hpp"

namespace attend::toy {
namespace {

constexpr int kSubject = 2;  // the entity of a person who is the subject of the first clause

class Referring : private PlainClauses {
 public:
  Referring(RandomStream& random, bool has_rival, bool is_object)
      : PlainClauses(random), has_rival_(has_rival), is_object_(is_object) {}

  Reference reference() {
    while (true) {
      tense_ = any_tense();
      Clause first = first_clause();
      std::vector<NounPhrase*> candidates = candidates_of(first);
      if (candidates.size() != (has_rival_ ? 2U : 1U)) continue;
      if (chance(0.5)) std::ranges::reverse(candidates);
      NounPhrase& noun = *candidates.front();
      const Noun& rival = *candidates.back()->noun;
      if (has_rival_ && noun.noun->gender == rival.gender) continue;
      noun.entity = kIt;
      std::optional<Clause> second = said_of(noun, has_rival_ ? rival.kinds : 0, first);
      if (!second) continue;
      const Gender gender = noun.noun->gender;
      return {joined(std::move(first), std::move(*second)), gender, rival.gender};
    }
  }

 private:
  // A clause about animals, things and places, or people among them.
  Clause first_clause() {
    Clause clause;
    clause.tense = tense_;
    clause.subject = described(chance(0.35) ? kAnimal : kPerson, chance(0.75) ? Number::singular : Number::plural);
    if (clause.subject.person) clause.subject.entity = kSubject;
    const unsigned kinds = clause.subject.noun->kinds;
    clause.verb = &pick_where(
        verbs(), [&](const Verb& verb) { return (verb.subjects & kinds) != 0 && verb.object != Object::clause; });
    complete(clause, Number::singular);
    for (NounPhrase* const phrase : {clause.object.get(), clause.recipient.get()}) {
      if (phrase != nullptr) introduce(*phrase);
    }
    if (!clause.recipient && clause.adverbials.empty() && chance(has_rival_ ? 0.4 : 0.15)) {
      NounPhrase place = phrase(kPlace, Number::singular);
      const Preposition* const at = chance(0.3) ? &pick(kBesideBuildings) : place.noun->at;
      clause.adverbials.push_back({at, std::move(place)});
    }
    if (chance(0.3)) clause.time = any_time();
    return clause;
  }

  NounPhrase described(unsigned kinds, Number number) {
    NounPhrase drawn = phrase(kinds, number);
    introduce(drawn);
    if (drawn.person && number == Number::singular && chance(0.15)) {
      drawn.with = owned(phrase(kClothes, Number::singular));
      if (drawn.with->determiner == Determiner::possessive) drawn.with->determiner = Determiner::definite;
    }
    return drawn;
  }

  void introduce(NounPhrase& phrase) {
    const bool is_plain = phrase.determiner == Determiner::definite && phrase.number == Number::singular;
    if (is_plain && (phrase.noun->kinds & kPlace) == 0 && chance(0.35)) phrase.determiner = Determiner::indefinite;
  }

  Time any_time() { return time_of(tense_ == Tense::past ? pick(kPastTimes) : pick(kPresentTimes)); }

  static std::vector<NounPhrase*> candidates_of(Clause& clause) {
    std::vector<NounPhrase*> candidates;
    for_each_phrase(clause, [&](NounPhrase& phrase) {
      if (!phrase.person && phrase.number == Number::singular) candidates.push_back(&phrase);
    });
    return candidates;
  }

  // A clause that can be said of the noun, and not of a rival of these kinds; nullopt if the draw finds none.
  std::optional<Clause> said_of(const NounPhrase& noun, unsigned rival, const Clause& first) {
    const unsigned kinds = noun.noun->kinds;
    const auto decides = [&](unsigned of) { return (of & kinds) != 0 && (of & rival) == 0; };
    Clause clause;
    clause.tense = tense_;
    NounPhrase it = standing_for(noun, NounPhraseKind::pronoun);
    if (is_object_) {
      clause.subject = other_person(first.subject);
      const Object governs = decides(kAnimal) && chance(0.4) ? Object::dative : Object::accusative;
      clause.verb = drawn_from(verbs(), [&](const Verb& verb) {
        return verb.object == governs && decides(verb.objects) && &verb != first.verb;
      });
      clause.object = owned(std::move(it));
      return clause.verb == nullptr ? std::nullopt : std::optional(std::move(clause));
    }
    clause.subject = std::move(it);
    if (decides(kAnimal) && chance(0.4)) {
      clause.verb = &pick_where(verbs(), [](const Verb& verb) {
        return (verb.subjects & kAnimal) != 0 && (is_intransitive(verb) || verb.has_goal());
      });
      complete(clause, Number::singular);
      return clause;
    }
    clause.predicate = drawn_from(adjectives(), [&](const Adjective& adjective) {
      return adjective.kinds != kPlace && decides(adjective.kinds);  // "it was dark" may mean no noun
    });
    if (clause.predicate == nullptr) return std::nullopt;
    clause.negated = chance(0.15);
    clause.very = !clause.negated && chance(0.3);
    return clause;
  }

  // Uniform among the entries for which `fits` holds, or nullptr.
  template <class Entries, class Fits>
  auto drawn_from(const Entries& entries, Fits fits) -> decltype(&*entries.begin()) {
    return std::ranges::none_of(entries, fits) ? nullptr : &pick_where(entries, fits);
  }

  // The subject of the first clause again, if it is one, or another person.
  NounPhrase other_person(const NounPhrase& subject) {
    if (subject.person && chance(0.3)) return standing_for(subject, NounPhraseKind::pronoun);
    NounPhrase person = phrase(kPerson, any_number());
    if (!chance(0.2)) return person;
    person = standing_for(person, NounPhraseKind::pronoun);
    person.first_person = true;
    return person;
  }

  Sentence joined(Clause first, Clause second) {
    if (chance(0.2)) {
      second = reported(std::move(second), any_number());
      // Others of the opposite number: in the singular they would be candidates.
      if (second.subject.number == Number::singular && chance(0.4)) keep_apart(second.subject, tense_);
    }
    Sentence sentence;
    const double form = random_.uniform();
    if (form < 0.45) {
      const bool acts = second.verb != nullptr && !second.negated;
      const Phrase& conjunction = pick_where(subordinators(tense_ == Tense::past),
                                             [&](const Phrase& each) { return acts || each.english != "before"; });
      first.subordinates.push_back({&conjunction, std::move(second)});
      sentence.clauses.push_back(std::move(first));
      return sentence;
    }
    sentence.clauses.push_back(std::move(first));
    if (chance(0.2)) {
      Clause between = intransitive(phrase(kPerson, any_number()), tense_);
      if (chance(0.4)) between.time = any_time();
      sentence.joiners.push_back(&kCoordinators[0]);
      sentence.clauses.push_back(std::move(between));
    }
    sentence.joiners.push_back(form < 0.7 ? &pick(kCoordinators) : &kFullStop);
    sentence.clauses.push_back(std::move(second));
    return sentence;
  }

  bool has_rival_, is_object_;
  Tense tense_ = Tense::present;
};

}  // namespace

Reference invent_reference(RandomStream& random, bool has_rival, bool is_object) {
  return Referring(random, has_rival, is_object).reference();
}

}  // namespace attend::toy
