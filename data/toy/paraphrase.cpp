#include <span>
#include <utility>

#include "data/toy/tasks.hpp"
#include "data/toy/thesaurus.hpp"

namespace attend::toy {
namespace {

// What two sentences may say: an event, or one before or because of another.
struct Meaning {
  Event first;
  std::optional<Event> second = {};
  bool before = true;  // else first because second
};

// How it is said.
struct Style {
  bool time_first = false;
  bool synonyms = false;
  bool converse = false;  // received from, for gave to
  bool turned = false;    // second after first, for first before second
  bool subordinate_first = false;
};

NounPhrase refer_definitely(const Entity& entity, bool) {
  const bool thing = !entity.person() && !entity.place();
  return to_phrase(entity, thing ? Determiner::indefinite : Determiner::definite);
}

void use_synonyms(Event& event) {
  const auto replace = [](auto& word) {
    if (word == nullptr) return;
    if (const auto* other = synonym(*word)) word = other;
  };
  replace(event.verb);
  for (std::optional<Entity>* entity : {&event.object, &event.recipient}) {
    if (!*entity) continue;
    if (!(*entity)->named()) replace((*entity)->noun);
    replace((*entity)->adjective);
  }
}

Clause say(Event event, const Style& style) {
  const bool converse = style.converse && event.recipient && event.verb != &verb("show");
  std::optional<Entity> giver;
  if (converse) {
    giver = std::exchange(event.agent, *event.recipient);
    event.recipient.reset();
    event.verb = event.verb == &verb("sell") ? &verb("buy") : &kReceive;
  }
  if (style.synonyms) use_synonyms(event);
  Clause clause = to_clause(event, refer_definitely);
  if (giver) clause.adverbials.insert(clause.adverbials.begin(), Adverbial{&kFrom, refer_definitely(*giver, false)});
  clause.time_first = event.time && style.time_first;
  return clause;
}

std::string say(const Meaning& meaning, Style style) {
  if (!meaning.second) return to_english_text(say(meaning.first, style));
  const bool turned = meaning.before && style.turned;
  Clause clause = say(turned ? *meaning.second : meaning.first, {.synonyms = style.synonyms});
  const Conjunction& conjunction = turned ? kAfter : meaning.before ? subordinators(true)[2] : subordinators(true)[0];
  clause.subordinates.push_back(
      {&conjunction, say(turned ? meaning.first : *meaning.second, {}), style.subordinate_first});
  return to_english_text(std::move(clause));
}

class Meanings {
 public:
  explicit Meanings(Draw& draw) : draw_(draw) {}

  Meaning meaning() {
    const std::uint64_t kind = draw_.below(3);
    if (kind == 0) return {.first = transfer()};
    if (kind == 1) return {.first = encounter()};
    Meaning meaning{.first = deed(person()), .second = deed(person()), .before = draw_.chance(0.6)};
    while (meaning.second->verb == meaning.first.verb) meaning.second->verb = deed(meaning.second->agent).verb;
    return meaning;
  }

  Style style() {
    Style style;
    for (bool* way : {&style.time_first, &style.synonyms, &style.converse, &style.turned, &style.subordinate_first}) {
      *way = draw_.chance(0.5);
    }
    return style;
  }

  // Another meaning of the same words.
  Meaning exchanged(Meaning meaning) {
    Event& event = meaning.first;
    if (meaning.second) {
      if (draw_.chance(0.5)) {
        std::swap(event.agent, meaning.second->agent);
      } else {
        std::swap(event, *meaning.second);
      }
      return meaning;
    }
    Entity& other = event.recipient ? *event.recipient : *event.object;
    if (event.agent.adjective != nullptr && draw_.chance(0.5)) {
      std::swap(event.agent.adjective, other.adjective);
    } else {
      std::swap(event.agent, other);
    }
    return meaning;
  }

 private:
  // With a name, or by what he or she is and is like: the old farmer.
  Entity person() {
    Entity person = invent_person(draw_);
    return person;
  }

  std::pair<Entity, Entity> two_people() {
    Entity a = person(), b = person();
    if (draw_.chance(0.4)) {
      while (a.noun == b.noun) b = person();
      a = of(*a.noun, &adjective_of_person());
      b = of(*b.noun, &adjective_of_person());
      while (a.adjective == b.adjective) b.adjective = &adjective_of_person();
    }
    return {a, b};
  }

  const Adjective& adjective_of_person() { return draw_.adjective_for(kPerson); }

  // What both exchanged can do to each other.
  Event transfer() {
    static constexpr std::string_view kVerbs[] = {"give", "show", "bring", "sell"};
    auto [agent, recipient] = two_people();
    Event event{.agent = std::move(agent), .verb = &verb(draw_.pick(std::span(kVerbs)))};
    event.object =
        of(draw_.pick_where(nouns(),
                            [](const Noun& noun) { return (noun.kinds & kGoods) != 0 && (noun.kinds & kFood) == 0; }),
           draw_.pick(colours()));
    event.recipient = std::move(recipient);
    event.time = draw_.time(true, false);
    return event;
  }

  Event encounter() {
    static constexpr std::string_view kVerbs[] = {"thank", "help", "visit", "invite", "call", "follow", "see", "love"};
    auto [agent, object] = two_people();
    Event event{.agent = std::move(agent), .verb = &verb(draw_.pick(std::span(kVerbs))), .object = std::move(object)};
    event.time = draw_.time(true, false);
    return event;
  }

  Event deed(Entity agent) {
    static constexpr std::string_view kVerbs[] = {"dance", "sing", "laugh", "cry", "sleep", "play", "work", "wake"};
    return {.agent = std::move(agent), .verb = &verb(draw_.pick(std::span(kVerbs)))};
  }

  Draw& draw_;
};

}  // namespace

TextPair draw_paraphrase(Draw& draw, bool same_meaning) {
  Meanings meanings(draw);
  const Meaning meaning = meanings.meaning();
  const Meaning other = meanings.exchanged(meaning);
  while (true) {
    const Style style = meanings.style(), second = meanings.style();
    TextPair pair{say(meaning, style), say(meaning, second)};
    if (pair.first == pair.second) continue;
    if (!same_meaning) pair.second = say(other, second);
    return pair;
  }
}

}  // namespace attend::toy
