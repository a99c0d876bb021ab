// Premises and hypotheses (tasks.hpp).
#include <utility>

#include "data/toy/tasks.hpp"

namespace attend::toy {
namespace {

bool is_state(const Claim& claim) { return claim.event.verb == nullptr || claim.event.verb == &kCost; }

bool same_thing(const Claim& a, const Claim& b) {
  return a.owner == b.owner && same(*a.event.agent.noun, *b.event.agent.noun);
}

// True if both claims state the same property of the same thing.
bool same_property(const Claim& a, const Claim& b) {
  return is_state(a) && is_state(b) && same_thing(a, b) && a.event.verb == b.event.verb &&
         (a.event.state != nullptr) == (b.event.state != nullptr);
}

bool same_value(const Claim& a, const Claim& b) {
  return a.event.state == b.event.state && a.event.object == b.event.object && a.event.place == b.event.place;
}

// True if `premise` without its negation implies `hypothesis` without its own.
bool implies(const Claim& premise, const Claim& hypothesis) {
  if (is_state(premise) || is_state(hypothesis)) {
    return same_property(premise, hypothesis) && same_value(premise, hypothesis);
  }
  const Event &p = premise.event, &h = hypothesis.event;
  const Adjective* wanted = h.object->adjective;
  return p.agent == h.agent && same(*p.verb, *h.verb) && is_a(*p.object->noun, *h.object->noun) &&
         (wanted == nullptr || (p.object->adjective != nullptr && same(*p.object->adjective, *wanted))) &&
         (!h.place || p.place == h.place) && (!h.time || p.time == h.time);
}

bool excludes(const Claim& premise, const Claim& hypothesis) {
  return same_property(premise, hypothesis) && !same_value(premise, hypothesis);
}

constexpr int kAttempts = 500;
constexpr std::string_view kActions[] = {"buy", "sell", "find", "lose", "steal", "see", "carry", "repair"};

class Claims {
 public:
  explicit Claims(Draw& draw) : draw_(draw) {}

  Claim hypothesis() {
    Claim claim = draw_.chance(0.4) ? state() : action();
    claim.event.negated = draw_.chance(0.5);
    return claim;
  }

  // A different event that shares much with `hypothesis`.
  Claim near(const Claim& hypothesis) {
    Claim claim = hypothesis;
    if (draw_.chance(0.45)) claim.event.negated = !claim.event.negated;
    if (is_state(hypothesis)) {
      change_state(claim);
    } else {
      change_action(claim);
    }
    return claim;
  }

 private:
  const Noun& thing(unsigned kinds) {
    return draw_.pick_where(nouns(), [&](const Noun& noun) {
      return (noun.kinds & kinds) != 0 && (noun.kinds & (kGoods | kAnimal)) != 0 && (noun.kinds & kFood) == 0;
    });
  }
  const Adjective& quality() {
    static constexpr std::string_view kQualities[] = {"old", "new", "big", "small", "expensive", "cheap", "beautiful"};
    return draw_.chance(0.5) ? *draw_.pick(colours()) : adjective(draw_.pick(kQualities));
  }
  Entity place() {
    if (draw_.chance(0.3)) return invent_named(draw_, NounPhraseKind::town_name);
    return of(draw_.noun_of(kPlace));
  }
  Entity price() { return money(2 + static_cast<int>(draw_.below(900))); }
  // The noun, a synonym, or a more general or more specific one.
  const Noun& word_near(const Noun& noun) {
    const double way = static_cast<double>(draw_.below(100)) / 100;
    if (way < 0.3) {
      if (const Noun* wide = general(noun)) return *wide;
      if (const Noun* synonym = toy::synonym(noun)) return *synonym;
      for (const Noun& narrow : nouns()) {
        if (&narrow != &noun && is_a(narrow, noun) && draw_.chance(0.4)) return narrow;
      }
    }
    if (way > 0.9 && general(noun) == nullptr) return thing(kGoods);
    return noun;
  }

  Claim action() {
    Claim claim;
    Event& event = claim.event;
    event.agent = invent_person(draw_);
    event.verb = &verb(draw_.pick(kActions));
    event.object = of(thing(event.verb->objects));
    if (draw_.chance(0.3)) event.object->noun = &word_near(*event.object->noun);
    if (draw_.chance(0.5)) event.object->adjective = &quality();
    if (draw_.chance(0.5)) event.place = place();
    if (draw_.chance(0.5)) event.time = draw_.time(true, false);
    return claim;
  }

  void change_action(Claim& claim) {
    Event& event = claim.event;
    if (draw_.chance(0.08)) event.agent = invent_person(draw_);
    if (draw_.chance(0.25)) {
      if (const Verb* synonym = toy::synonym(*event.verb)) event.verb = synonym;
    } else if (draw_.chance(0.1)) {
      event.verb = &draw_.pick_where(verbs(), [&](const Verb& verb) { return verb.takes(event.object->noun->kinds); });
    }
    event.object->noun = &word_near(*event.object->noun);
    // Each detail is kept, dropped or replaced; a missing one may be added.
    const auto change = [&](bool there, auto set, auto drop) {
      if (!there) {
        if (draw_.chance(0.5)) set();
      } else if (draw_.chance(0.3)) {
        draw_.chance(0.8) ? drop() : set();
      }
    };
    change(
        event.object->adjective != nullptr, [&] { event.object->adjective = &quality(); },
        [&] { event.object->adjective = nullptr; });
    change(
        event.place.has_value(), [&] { event.place = place(); }, [&] { event.place.reset(); });
    change(
        event.time.has_value(), [&] { event.time = draw_.time(true, false); }, [&] { event.time.reset(); });
  }

  Claim state() {
    Claim claim;
    claim.event.agent = of(thing(kGoods));
    claim.owner = invent_person(draw_);
    set_property(claim, draw_.below(3));
    return claim;
  }

  void set_property(Claim& claim, std::uint64_t which) {
    Event& event = claim.event;
    event.verb = which == 1 ? &kCost : nullptr;
    event.state = nullptr;
    event.object.reset();
    event.place.reset();
    if (which == 0) event.state = draw_.pick(colours());
    if (which == 1) event.object = price();
    if (which == 2) event.place = place();
  }

  void change_state(Claim& claim) {
    Event& event = claim.event;
    if (draw_.chance(0.4)) set_property(claim, event.state != nullptr ? 0 : event.place ? 2 : 1);
    if (draw_.chance(0.15)) set_property(claim, draw_.below(3));
    if (draw_.chance(0.1)) claim.owner = invent_person(draw_);
    if (draw_.chance(0.1)) event.agent.noun = &thing(kGoods);
    if (draw_.chance(0.3)) {
      if (const Noun* synonym = toy::synonym(*event.agent.noun)) event.agent.noun = synonym;
    }
    // A distractor: it is neutral about colour, price and place.
    if (draw_.chance(0.6)) {
      static constexpr std::string_view kAsides[] = {"old", "new", "big", "small", "beautiful", "heavy"};
      event.agent.adjective = &adjective(draw_.pick(kAsides));
    }
  }

  Draw& draw_;
};

}  // namespace

Relation relation(const Claim& premise, const Claim& hypothesis) {
  const bool not_p = premise.event.negated, not_h = hypothesis.event.negated;
  if (not_p && !implies(hypothesis, premise)) return Relation::neutral;
  const bool implied = !not_p && implies(premise, hypothesis);
  if (!not_p && !implied && !excludes(premise, hypothesis)) return Relation::neutral;
  return implied != not_h ? Relation::entailment : Relation::contradiction;
}

std::string to_text(const Claim& claim) {
  Clause clause = to_clause(claim.event, [](const Entity& entity, bool subject) {
    return to_phrase(entity, subject || entity.place() ? Determiner::definite : Determiner::indefinite);
  });
  if (claim.owner) {
    Clause bought = to_clause({.agent = *claim.owner, .verb = &verb("buy")});
    bought.object = owned(standing_for(clause.subject, NounPhraseKind::relative));
    clause.subject.relative = owned(std::move(bought));
  }
  return to_english_text(std::move(clause));
}

InferencePair draw_inference(Draw& draw, Relation wanted) {
  Claims claims(draw);
  while (true) {
    const Claim hypothesis = claims.hypothesis();
    // Some hypotheses have no premise: "Ann did not lose an egg" is entailed only by itself.
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Claim premise = claims.near(hypothesis);
      if (relation(premise, hypothesis) == wanted && to_text(premise) != to_text(hypothesis)) {
        return {std::move(premise), hypothesis};
      }
    }
  }
}

}  // namespace attend::toy
