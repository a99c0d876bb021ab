// An event or state in the built-in world: who, what, to whom, where, when. Documents and labelled sets consist of
// events; a clause expresses one.
//
//   Event{.agent = tarvel, .verb = &verb("lose"), .object = ring, .place = park}   ->  "Mrs. Tarvel lost a ring in the
//   park."
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/toy/draw.hpp"
#include "data/toy/meaning.hpp"

namespace attend::toy {

// A person, thing, place, town or company; two are equal if all their members are.
struct Entity {
  NounPhraseKind kind = NounPhraseKind::noun;  // or a name
  std::string name = {};
  bool titled = false;
  Gender gender = Gender::masculine;     // of a person
  const Noun* noun = nullptr;            // of a named person: the occupation
  const Adjective* adjective = nullptr;  // red ring
  std::optional<int> count = {};         // 7 eggs
  bool operator==(const Entity&) const = default;

  bool named() const { return kind != NounPhraseKind::noun; }
  bool person() const;
  bool place() const;  // never introduced: the park, Kolin
};

struct Event {
  Entity agent = {};
  const Verb* verb = nullptr;        // nullptr: to be
  const Adjective* state = nullptr;  // with to be
  std::optional<Entity> object = {};
  std::optional<Entity> recipient = {};
  std::optional<Entity> place = {};
  const Preposition* preposition = nullptr;  // before the place; nullptr: the default of verb and place
  std::optional<Time> time = {};
  std::optional<int> price = {};  // euros
  bool negated = false;
  std::vector<Event> because = {};  // at most one
  bool operator==(const Event&) const = default;
};

Entity of(const Noun& noun, const Adjective* adjective = nullptr);
// A person with an unused name and an occupation.
Entity invent_person(Draw& draw);
Entity invent_named(Draw& draw, NounPhraseKind kind);

// "the ring", "a red ring" (without `full` no adjective), "Mrs. Tarvel".
NounPhrase to_phrase(const Entity& entity, Determiner determiner, bool full = true);
NounPhrase to_pronoun(const Entity& entity);
// "45 euros".
Entity money(int euros);

// Makes the phrase that refers to an entity of the event.
using Refer = std::function<NounPhrase(const Entity& entity, bool subject)>;

// Names unchanged, places definite, everything else introduced ("a red ring").
NounPhrase refer_plainly(const Entity& entity, bool subject);

// The event in the past tense. The object of a verb with a complement (wait for) becomes the first adverbial.
Clause to_clause(const Event& event, const Refer& refer = refer_plainly);

}  // namespace attend::toy
