#include "data/toy/event.hpp"

#include <string_view>

namespace attend::toy {

bool Entity::person() const {
  return kind == NounPhraseKind::person_name || (kind == NounPhraseKind::noun && (noun->kinds & kPerson) != 0);
}

bool Entity::place() const {
  return kind == NounPhraseKind::town_name || (kind == NounPhraseKind::noun && (noun->kinds & kPlace) != 0);
}

Entity of(const Noun& noun, const Adjective* adjective) {
  return {.gender = noun.gender, .noun = &noun, .adjective = adjective};
}

Entity invent_named(Draw& draw, NounPhraseKind kind) {
  Entity entity{.kind = kind, .name = draw.name()};
  if (kind == NounPhraseKind::company_name && draw.chance(0.5)) {
    static constexpr std::string_view kEnds[] = {" Bank", " Airlines", " Motors", " Insurance", " Brothers"};
    entity.name += draw.pick(kEnds);
  }
  return entity;
}

Entity invent_person(Draw& draw) {
  static constexpr std::string_view kMen[] = {"teacher", "doctor", "student", "farmer", "baker", "judge", "waiter"};
  static constexpr std::string_view kWomen[] = {"teacher", "doctor", "student", "farmer",
                                                "baker",   "judge",  "nurse",   "actress"};
  Entity entity = invent_named(draw, NounPhraseKind::person_name);
  entity.titled = draw.chance(0.7);
  if (draw.chance(0.5)) entity.gender = Gender::feminine;
  entity.noun = &noun(entity.gender == Gender::feminine ? draw.pick(kWomen) : draw.pick(kMen));
  return entity;
}

NounPhrase to_phrase(const Entity& entity, Determiner determiner, bool full) {
  if (entity.named()) {
    return {.kind = entity.kind,
            .name = entity.name,
            .titled = entity.titled,
            .gender = entity.gender,
            .person = entity.person()};
  }
  NounPhrase phrase = of_noun(*entity.noun);
  phrase.determiner = determiner;
  if (entity.count) {
    phrase.number = Number::plural;
    if (determiner == Determiner::indefinite) {
      phrase.determiner = Determiner::bare;
      phrase.count = entity.count;
    }
  }
  if (full && entity.adjective != nullptr) phrase.adjectives.push_back(entity.adjective);
  return phrase;
}

NounPhrase to_pronoun(const Entity& entity) {
  NounPhrase phrase = standing_for(to_phrase(entity, Determiner::definite), NounPhraseKind::pronoun);
  phrase.gender = entity.gender;
  return phrase;
}

Entity money(int euros) {
  Entity entity = of(kEuro);
  entity.count = euros;
  return entity;
}

NounPhrase refer_plainly(const Entity& entity, bool) {
  return to_phrase(entity, entity.place() ? Determiner::definite : Determiner::indefinite);
}

Clause to_clause(const Event& event, const Refer& refer) {
  Clause clause;
  clause.subject = refer(event.agent, true);
  clause.verb = event.verb;
  clause.predicate = event.state;
  clause.tense = Tense::past;
  clause.negated = event.negated;
  clause.time = event.time;
  if (event.object) {
    if (event.verb != nullptr && event.verb->complement != nullptr) {
      clause.adverbials.push_back({event.verb->complement, refer(*event.object, false)});
    } else {
      clause.object = owned(refer(*event.object, false));
    }
  }
  if (event.recipient) clause.recipient = owned(refer(*event.recipient, false));
  if (event.price) clause.adverbials.push_back({&kFor, refer_plainly(money(*event.price), false)});
  if (event.place) {
    const Entity& place = *event.place;
    const Preposition* fitting = event.verb != nullptr && event.verb->has_goal() ? &kTo
                                 : place.named()                                 ? &kIn
                                                                                 : place.noun->at;
    clause.adverbials.push_back({event.preposition != nullptr ? event.preposition : fitting, refer(place, false)});
  }
  for (const Event& reason : event.because) {
    clause.subordinates.push_back({&subordinators(true)[0], to_clause(reason, refer)});
  }
  return clause;
}

}  // namespace attend::toy
