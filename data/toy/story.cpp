#include "data/toy/story.hpp"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace attend::toy {
namespace {

template <class Items, class Item>
bool contains(const Items& items, const Item& item) {
  return std::ranges::find(items, item) != items.end();
}

// Realises events in sequence, choosing referring expressions for known entities.
class Narrator {
 public:
  Narrator(Draw& draw, Story& story) : draw_(draw), story_(story) {}

  void tell(Event event) {
    previous_ = std::exchange(current_, {});
    Told told{.event = std::move(event), .sentence = {}, .mentions = {}};
    const Event& said = told.event;
    told.sentence.clauses.push_back(
        to_clause(said, [&](const Entity& entity, bool subject) { return refer(entity, subject); }));
    Clause& clause = told.sentence.clauses.front();
    if (clause.time && draw_.chance(0.6)) clause.time_first = true;
    note(said, clause, told.mentions);
    story_.told.push_back(std::move(told));
  }

  // Mrs. Tarvel was a teacher.
  void tell_occupation(const Entity& person) {
    tell({.agent = person, .object = of(*person.noun)});
    with_known_occupation_.push_back(person);
  }

 private:
  static bool rival(const Entity& a, const Entity& b) {
    if (a == b || a.person() != b.person()) return false;
    return !a.person() || a.gender == b.gender;
  }

  // True if a pronoun is unambiguous, given the entities of this sentence and the previous one.
  bool pronoun_is_clear(const Entity& entity) const {
    if (entity.kind == NounPhraseKind::company_name || entity.place()) return false;
    const auto is_rival = [&](const Entity& other) { return !other.place() && rival(entity, other); };
    return (contains(previous_, entity) || contains(current_, entity)) && std::ranges::none_of(previous_, is_rival) &&
           std::ranges::none_of(current_, is_rival);
  }

  NounPhrase refer(const Entity& entity, bool subject) {
    if (subject) agent_ = entity;
    // "was a teacher" mentions the subject.
    const bool agent_is_named = agent_.kind == NounPhraseKind::person_name;
    if (!subject && agent_is_named && entity == of(*agent_.noun)) return to_phrase(entity, Determiner::indefinite);
    const bool known = contains(known_, entity);
    const bool clear = pronoun_is_clear(entity);
    if (!known) known_.push_back(entity);
    current_.push_back(entity);
    if (clear && draw_.chance(0.7)) return to_pronoun(entity);
    if (known && contains(with_known_occupation_, entity) && draw_.chance(0.3)) {
      return to_phrase(of(*entity.noun), Determiner::definite);
    }
    if (entity.named() || entity.place()) return to_phrase(entity, Determiner::definite);
    if (!known) return to_phrase(entity, Determiner::indefinite);
    NounPhrase phrase = to_phrase(entity, Determiner::definite, draw_.chance(0.3));
    if (!subject && owner_ && owner_->first == entity && owner_->second == agent_ && draw_.chance(0.4)) {
      phrase.determiner = Determiner::possessive;
      phrase.owner = agent_.gender == Gender::feminine ? Owner::her : Owner::him;
    }
    return phrase;
  }

  void note(const Event& event, const Clause& clause, std::vector<Mention>& mentions) {
    mentions.push_back({event.agent, &clause.subject});
    if (event.object)
      mentions.push_back({*event.object, clause.object ? clause.object.get() : &clause.adverbials[0].phrase});
    if (event.recipient) mentions.push_back({*event.recipient, clause.recipient.get()});
    if (event.place) mentions.push_back({*event.place, &clause.adverbials.back().phrase});
    for (std::size_t i = 0; i < event.because.size(); ++i) {
      note(event.because[i], clause.subordinates[i].clause, mentions);
    }
    if (event.object && !event.negated && (event.verb == &kHave || event.verb == &verb("buy"))) {
      owner_ = {*event.object, event.agent};
    }
    if (event.object && event.recipient && event.verb == &verb("give")) owner_ = {*event.object, *event.recipient};
  }

  Draw& draw_;
  Story& story_;
  std::vector<Entity> known_, with_known_occupation_;
  std::vector<Entity> previous_, current_;            // mentioned in the last sentence and in this one
  Entity agent_;                                      // of the current clause
  std::optional<std::pair<Entity, Entity>> owner_{};  // of a thing
};

// The plots, one member function each; every plot starts with opening().
class Plot {
 public:
  Plot(Draw& draw, Story& story) : draw_(draw), narrator_(draw, story) {
    hero_ = invent_person(draw);
    do {
      friend_ = invent_person(draw);
    } while (friend_.noun == hero_.noun || friend_.name == hero_.name);
    story.people = {hero_, friend_};
    town_ = invent_named(draw, NounPhraseKind::town_name);
    day_ = draw.below(7);
  }

  void unfold() {
    opening();
    static constexpr void (Plot::*kPlots[])() = {&Plot::loss,    &Plot::purchase, &Plot::letter,
                                                 &Plot::repair,  &Plot::meal,     &Plot::theft,
                                                 &Plot::journey, &Plot::animal,   &Plot::work};
    (this->*draw_.pick(kPlots))();
  }

 private:
  using Words = std::initializer_list<std::string_view>;

  void tell(Event event) { narrator_.tell(std::move(event)); }
  // Tells the event with this agent and verb.
  void act(const Entity& agent, const Verb& verb, Event event = {}) {
    event.agent = agent;
    event.verb = &verb;
    tell(std::move(event));
  }
  void act(const Entity& agent, std::string_view word, Event event = {}) { act(agent, verb(word), std::move(event)); }

  std::string_view word_of(Words words) { return draw_.pick(words); }
  const Adjective* one_of(Words words) { return &adjective(word_of(words)); }
  Entity thing(unsigned kinds) {
    const Noun& noun = draw_.pick_where(nouns(), [&](const Noun& candidate) {
      return (candidate.kinds & kinds) != 0 && (candidate.kinds & kFood) == 0;
    });
    return of(noun, (noun.kinds & kGoods) != 0 ? draw_.pick(colours()) : one_of({"old", "new"}));
  }
  // A place that is new in this story.
  Entity place() {
    while (true) {
      const Entity place = of(draw_.noun_of(kPlace));
      if (place.noun->english == "village" || contains(places_, place)) continue;
      places_.push_back(place);
      return place;
    }
  }

  Time today() const {
    const Phrase& day = kWeekdays[day_ % std::size(kWeekdays)];
    return {"on " + std::string(day.english), "am " + std::string(day.german)};
  }
  Time next_day() {
    ++day_;
    return today();
  }
  static Time evening() { return {"in+the evening", "am Abend"}; }
  static Time morning() { return {"in+the morning", "am Morgen"}; }
  std::optional<Time> sometimes(const Time& time) { return draw_.chance(0.6) ? std::optional(time) : std::nullopt; }

  int euros(std::uint64_t least, std::uint64_t range) { return static_cast<int>(least + draw_.below(range)); }
  bool maybe(double probability = 0.5) { return draw_.chance(probability); }

  // "happy because ...", with or without the reason.
  void feels(const Entity& person, std::string_view state, const Event& reason) {
    Event event{.agent = person, .state = &adjective(state)};
    if (maybe()) event.because.push_back(reason);
    tell(std::move(event));
  }

  void meet_friend() {
    if (!friend_is_known_ && maybe(0.7)) narrator_.tell_occupation(friend_);
    friend_is_known_ = true;
  }

  void opening() {
    if (maybe(0.8)) narrator_.tell_occupation(hero_);
    if (maybe(0.6)) act(hero_, kLiveIn, {.place = town_});
    if (maybe(0.3)) tell({.agent = hero_, .state = one_of({"young", "old", "rich", "famous", "clever", "friendly"})});
  }

  void loss() {
    const Entity thing = this->thing(kClothes | kGoods), park = place(), elsewhere = place();
    const Event worth{.agent = thing, .state = one_of({"expensive", "beautiful", "new"})};
    act(hero_, kHave, {.object = thing});
    if (maybe()) tell(worth);
    act(hero_, "go", {.place = park, .time = today()});
    if (maybe()) act(hero_, "play", {.place = park});
    act(hero_, "lose", {.object = thing, .place = park, .time = sometimes(evening())});
    feels(hero_, "sad", worth);
    act(hero_, "look for", {.object = thing, .place = elsewhere});
    if (maybe()) act(hero_, "find", {.object = thing, .place = elsewhere, .negated = true});
    act(hero_, "call", {.object = friend_, .time = next_day()});
    meet_friend();
    if (maybe()) act(friend_, "drive", {.place = park});
    act(friend_, "find", {.object = thing, .place = park});
    act(friend_, "bring", {.object = thing, .recipient = hero_, .time = sometimes(evening())});
    act(hero_, "thank", {.object = friend_});
    if (maybe()) tell({.agent = hero_, .state = &adjective("happy")});
  }

  void purchase() {
    const Entity thing = this->thing(kClothes | kGoods), shop = maybe() ? of(noun("market")) : place();
    const Event worth{.agent = thing, .state = one_of({"cheap", "beautiful", "new"})};
    act(hero_, "go", {.place = shop, .time = today()});
    act(hero_, "see", {.object = thing, .place = shop});
    if (maybe()) tell(worth);
    Event buying{.agent = hero_, .verb = &verb("buy"), .object = thing, .price = euros(5, 400)};
    if (maybe()) buying.because.push_back(worth);
    tell(std::move(buying));
    act(hero_, "return", {.place = town_, .time = evening()});
    act(hero_, "show", {.object = thing, .recipient = friend_});
    meet_friend();
    if (maybe()) {
      act(hero_, "give", {.object = thing, .recipient = friend_, .time = sometimes(next_day())});
      act(friend_, "thank", {.object = hero_});
      feels(friend_, "happy", worth);
    } else {
      tell({.agent = friend_, .state = &adjective("rich")});
      act(hero_, "sell", {.object = thing, .recipient = friend_, .time = next_day(), .price = euros(405, 300)});
      if (maybe()) act(friend_, "carry", {.object = thing, .place = place(), .preposition = &kTo});
    }
  }

  void letter() {
    const Entity letter = of(noun(word_of({"letter", "poem", "message"})), one_of({"long", "short"}));
    const Entity home = invent_named(draw_, NounPhraseKind::town_name), station = of(noun("station"));
    act(hero_, "think", {.object = friend_});
    meet_friend();
    act(friend_, kLiveIn, {.place = home});
    act(hero_, "write", {.object = letter, .place = place(), .time = today()});
    if (maybe()) tell({.agent = letter, .state = one_of({"interesting", "boring"})});
    act(hero_, "send", {.object = letter, .recipient = friend_});
    act(friend_, kReceive, {.object = letter, .time = next_day()});
    if (maybe()) act(friend_, "cry");
    act(friend_, "drive", {.place = town_, .time = next_day()});
    act(friend_, "arrive", {.place = station, .time = evening()});
    act(hero_, "pick", {.object = friend_, .place = station});
    if (maybe()) tell({.agent = hero_, .state = &adjective("happy")});
    act(friend_, "return", {.place = home, .time = next_day()});
  }

  void repair() {
    const Entity machine = this->thing(kRepairable), workshop = place();
    act(hero_, kHave, {.object = machine});
    tell({.agent = machine, .state = &adjective("broken"), .time = today()});
    if (maybe()) act(hero_, "repair", {.object = machine, .negated = true});
    act(hero_, "call", {.object = friend_, .time = sometimes(evening())});
    meet_friend();
    act(friend_, "arrive", {.place = workshop, .time = next_day()});
    act(friend_, "repair", {.object = machine, .place = workshop});
    if (maybe()) tell({.agent = machine, .state = &adjective("broken"), .negated = true});
    act(hero_, "give", {.object = wage(), .recipient = friend_});
    feels(friend_, "happy", {.agent = hero_, .state = &adjective("friendly")});
    if (maybe()) act(hero_, "sell", {.object = machine, .place = place(), .time = next_day()});
  }

  Entity wage() { return money(euros(10, 300)); }

  void meal() {
    const auto ingredients = [&](std::string_view word) {
      Entity entity = of(noun(word));
      entity.count = euros(2, 11);
      return entity;
    };
    const Entity food = ingredients(word_of({"egg", "tomato", "apple", "pear"}));
    const Entity dish = of(noun(word_of({"soup", "cake"}))), present = this->thing(kClothes);
    const Entity shop = of(noun("market"));
    tell({.agent = hero_, .state = &adjective("hungry"), .time = today()});
    act(hero_, "go", {.place = shop});
    act(hero_, "buy", {.object = food, .price = euros(2, 30)});
    if (maybe()) tell({.agent = food, .state = one_of({"fresh", "cheap"})});
    act(hero_, "prepare", {.object = dish, .place = of(noun("house"))});
    act(hero_, "invite", {.object = friend_});
    meet_friend();
    act(friend_, "arrive", {.time = evening()});
    if (maybe()) {
      act(friend_, "bring", {.object = present, .recipient = hero_});
      if (maybe()) act(hero_, "try", {.object = present});
    }
    Event eating{.agent = friend_, .verb = &verb("eat"), .object = dish};
    if (maybe()) eating.because.push_back({.agent = dish, .state = &adjective("delicious")});
    tell(std::move(eating));
    act(hero_, word_of({"dance", "sing", "laugh"}));
    if (maybe()) act(friend_, "thank", {.object = hero_, .time = next_day()});
  }

  void theft() {
    const Entity thing = this->thing(kGoods),
                 building = of(noun(word_of({"hotel", "church", "museum", "library", "school"})));
    const Entity thief = of(noun(word_of({"boy", "man", "woman"})), one_of({"young", "tired", "poor"}));
    act(hero_, kHave, {.object = thing});
    if (maybe()) tell({.agent = thing, .state = one_of({"expensive", "beautiful"})});
    act(hero_, "sleep", {.place = of(noun("garden")), .time = today()});
    act(thief, "steal", {.object = thing});
    act(hero_, "wake", {.time = evening()});
    act(hero_, "find", {.object = thing, .negated = true});
    if (maybe()) act(hero_, "cry");
    act(hero_, "call", {.object = friend_});
    meet_friend();
    act(friend_, "see", {.object = thief, .place = building, .preposition = &draw_.pick(kBesideBuildings)});
    act(friend_, "follow", {.object = thief});
    act(thief, "lose", {.object = thing, .place = place()});
    act(friend_, "give", {.object = thing, .recipient = hero_, .time = next_day()});
    if (maybe()) tell({.agent = hero_, .state = &adjective("happy")});
  }

  void journey() {
    const Entity away = invent_named(draw_, NounPhraseKind::town_name), sight = place(), book = this->thing(kText);
    act(hero_, "get", {.time = maybe() ? today() : morning()});
    act(hero_, "drive", {.place = away});
    std::string clock = draw_.number(9, 12);
    clock += ":" + draw_.number(10, 59);
    act(hero_, "arrive", {.place = away, .time = Time{"at " + clock, "um " + clock + "+Uhr"}});
    act(hero_, "visit", {.object = sight});
    if (maybe()) tell({.agent = sight, .state = one_of({"old", "new", "famous", "quiet", "beautiful"})});
    act(hero_, "meet", {.object = friend_, .place = sight});
    meet_friend();
    if (maybe(0.7)) {
      act(friend_, "show", {.object = book, .recipient = hero_});
      if (maybe()) act(hero_, "forget", {.object = book, .place = place()});
    }
    if (maybe()) tell({.agent = hero_, .state = &adjective("tired"), .time = evening()});
    act(hero_, "return", {.place = town_, .time = next_day()});
    if (maybe()) act(hero_, "sleep", {.place = of(noun("house"))});
  }

  void animal() {
    const Entity pet = of(draw_.noun_of(kAnimal), one_of({"white", "black", "young", "old"}));
    const Entity door = of(noun(word_of({"door", "window"}))), wood = place();
    act(hero_, kHave, {.object = pet});
    if (maybe(0.7)) tell({.agent = pet, .state = one_of({"hungry", "clever", "strong"})});
    act(hero_, "open", {.object = door, .time = today()});
    act(pet, "run", {.place = wood});
    if (maybe()) act(hero_, "close", {.object = door});
    act(hero_, "look for", {.object = pet, .place = place()});
    if (maybe()) act(hero_, "find", {.object = pet, .negated = true});
    act(friend_, "see", {.object = pet, .place = wood, .time = next_day()});
    meet_friend();
    act(friend_, "call", {.object = hero_});
    act(hero_, "drive", {.place = wood});
    act(hero_, "find", {.object = pet, .place = wood, .time = sometimes(evening())});
    feels(hero_, "happy", {.agent = pet, .state = &adjective("healthy")});
    if (maybe()) act(pet, "sleep", {.place = of(noun("house"))});
  }

  void work() {
    const Entity company = invent_named(draw_, NounPhraseKind::company_name), library = place();
    const Entity report = of(noun(word_of({"report", "speech"})), one_of({"long", "short"}));
    act(hero_, kWorkFor, {.object = company});
    if (maybe()) tell({.agent = company, .state = one_of({"famous", "old", "rich"})});
    act(hero_, "write", {.object = report, .place = library, .time = today()});
    if (maybe()) tell({.agent = report, .state = one_of({"interesting", "boring"})});
    act(hero_, "forget", {.object = report, .place = library, .time = sometimes(evening())});
    act(company, "wait", {.object = report, .time = next_day()});
    act(friend_, "find", {.object = report, .place = library});
    meet_friend();
    act(friend_, "bring", {.object = report, .recipient = hero_});
    act(hero_, "send", {.object = report, .recipient = company, .time = sometimes(evening())});
    act(company, "thank", {.object = hero_, .time = sometimes(next_day())});
    if (maybe()) act(company, "give", {.object = wage(), .recipient = friend_});
    if (maybe()) act(company, "invite", {.object = friend_, .place = town_});
  }

  Draw& draw_;
  Narrator narrator_;
  Entity hero_, friend_, town_;
  std::vector<Entity> places_ = {of(noun("market")), of(noun("house")), of(noun("garden")), of(noun("station"))};
  std::uint64_t day_ = 0;
  bool friend_is_known_ = false;
};

}  // namespace

Story invent_story(Draw& draw) {
  Story story;
  Plot(draw, story).unfold();
  return story;
}

std::vector<std::string> to_lines(const Story& story) {
  std::vector<std::string> lines;
  for (const Told& told : story.told) lines.push_back(to_text(to_english(told.sentence)));
  return lines;
}

std::string headline_of(const Story& story) {
  // Each plot has one of these; the first says most of it.
  for (const std::string_view central : {"steal", "repair", "lose", "send", "visit", "invite", "buy", "find"}) {
    for (const Told& told : story.told) {
      if (told.event.verb != &verb(central) || told.event.negated) continue;
      Event event = told.event;
      event.time.reset();
      event.because.clear();
      Clause clause = to_clause(event, [](const Entity& entity, bool) { return to_phrase(entity, Determiner::bare); });
      clause.tense = Tense::present;
      std::string text = to_english_text(std::move(clause));
      text.pop_back();  // the full stop
      return text;
    }
  }
  throw std::logic_error("a story has an event for its headline");
}

}  // namespace attend::toy
