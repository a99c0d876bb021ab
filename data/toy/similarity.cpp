// Pairs of similar sentences (tasks.hpp).
#include <utility>

#include "core/error.hpp"
#include "data/toy/tasks.hpp"
#include "data/toy/thesaurus.hpp"

namespace attend::toy {
namespace {

class Similar {
 public:
  explicit Similar(Draw& draw) : draw_(draw) {}

  SimilarPair pair() {
    const bool people = draw_.chance(0.4);
    const Event first = event(people), unlike = event(people);
    Event second = first;
    // The number of parts to keep is drawn first, so that all scores occur.
    const std::uint64_t staying = draw_.below(8);
    const auto stays = [&] { return draw_.below(7) < staying; };
    if (!stays()) second.agent = unlike.agent;
    const bool verb_stays = stays(), object_stays = stays();
    if (!object_stays) {
      const Adjective* adjective = second.object->adjective;
      second.object = unlike.object;
      second.object->adjective = adjective;
    }
    if (!verb_stays) second.verb = &other_verb(first, *second.object);
    if (!stays()) second.object->adjective = unlike.object->adjective;
    if (!stays()) second.place = unlike.place;
    if (!stays()) second.time = unlike.time;
    if (people && draw_.chance(0.35)) std::swap(second.agent, *second.object);
    say_otherwise(second);
    return {first, second};
  }

 private:
  const Verb& other_verb(const Event& event, const Entity& object) {
    return draw_.pick_where(verbs(), [&](const Verb& verb) {
      return verb.takes(object.noun->kinds) && !same(verb, *event.verb) && verb.subjects & kPerson;
    });
  }

  Entity person() { return of(*invent_person(draw_).noun, &draw_.adjective_for(kPerson)); }

  Event event(bool people) {
    Event event{.agent = person()};
    event.object =
        people ? person()
               : of(draw_.pick_where(nouns(),
                                     [](const Noun& noun) {
                                       return (noun.kinds & (kGoods | kAnimal)) != 0 && (noun.kinds & kFood) == 0;
                                     }),
                    draw_.pick(colours()));
    event.verb = &draw_.pick_where(verbs(), [&](const Verb& verb) { return verb.takes(event.object->noun->kinds); });
    event.place = draw_.chance(0.4)
                      ? invent_named(draw_, NounPhraseKind::town_name)
                      : of(draw_.pick_where(nouns(), [](const Noun& noun) { return noun.at != nullptr; }));
    event.time = draw_.time(true, false);
    return event;
  }

  // Synonyms and more general words.
  void say_otherwise(Event& event) {
    const auto replace = [&](auto& word) {
      const auto* other = synonym(*word);
      if (other != nullptr && draw_.chance(0.6)) word = other;
    };
    replace(event.verb);
    replace(event.object->noun);
    replace(event.object->adjective);
    replace(event.agent.noun);
    if (const Noun* wide = general(*event.object->noun); wide != nullptr && draw_.chance(0.25))
      event.object->noun = wide;
  }

  Draw& draw_;
};

bool same_adjective(const Adjective* a, const Adjective* b) {
  return a == b || (a != nullptr && b != nullptr && same(*a, *b));
}

}  // namespace

SimilarPair draw_similar(Draw& draw) { return Similar(draw).pair(); }

int shared_meaning(const Event& a, const Event& b) {
  ensure(a.verb && b.verb && a.object && b.object && a.place && b.place && a.time && b.time, "every part is there");
  const Noun &of_a = *a.object->noun, &of_b = *b.object->noun;
  int shared = 0;
  if (same(*a.agent.noun, *b.agent.noun) && same_adjective(a.agent.adjective, b.agent.adjective)) shared += 10;
  if (same(*a.verb, *b.verb)) shared += 12;
  if (same(of_a, of_b)) {
    shared += 10;
  } else if (is_a(of_a, of_b) || is_a(of_b, of_a)) {
    shared += 5;
  }
  if (same_adjective(a.object->adjective, b.object->adjective)) shared += 4;
  if (a.place == b.place) shared += 7;
  if (a.time == b.time) shared += 7;
  return shared;
}

}  // namespace attend::toy
