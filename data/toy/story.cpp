#include "data/toy/story.hpp"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "data/toy/thesaurus.hpp"

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
    if (entity.kind == NounPhraseKind::person_name) {
      if (known && contains(with_known_occupation_, entity) && draw_.chance(0.3)) {
        return to_phrase(of(*entity.noun), Determiner::definite);
      }
      return to_phrase(entity, Determiner::definite);
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
    if (maybe(0.6)) tell({.agent = hero_, .verb = &kLiveIn, .place = town_});
    if (maybe(0.3)) tell({.agent = hero_, .state = one_of({"young", "old", "rich", "famous", "clever", "friendly"})});
  }

  void loss() {
    const Entity thing = this->thing(kClothes | kGoods), park = place(), elsewhere = place();
    const Event worth{.agent = thing, .state = one_of({"expensive", "beautiful", "new"})};
    tell({.agent = hero_, .verb = &kHave, .object = thing});
    if (maybe()) tell(worth);
    tell({.agent = hero_, .verb = &verb("go"), .place = park, .time = today()});
    if (maybe()) tell({.agent = hero_, .verb = &verb("play"), .place = park});
    tell({.agent = hero_, .verb = &verb("lose"), .object = thing, .place = park, .time = sometimes(evening())});
    feels(hero_, "sad", worth);
    tell({.agent = hero_, .verb = &verb("look for"), .object = thing, .place = elsewhere});
    if (maybe()) tell({.agent = hero_, .verb = &verb("find"), .object = thing, .place = elsewhere, .negated = true});
    tell({.agent = hero_, .verb = &verb("call"), .object = friend_, .time = next_day()});
    meet_friend();
    if (maybe()) tell({.agent = friend_, .verb = &verb("drive"), .place = park});
    tell({.agent = friend_, .verb = &verb("find"), .object = thing, .place = park});
    tell({.agent = friend_, .verb = &verb("bring"), .object = thing, .recipient = hero_, .time = sometimes(evening())});
    tell({.agent = hero_, .verb = &verb("thank"), .object = friend_});
    if (maybe()) tell({.agent = hero_, .state = &adjective("happy")});
  }

  void purchase() {
    const Entity thing = this->thing(kClothes | kGoods), shop = maybe() ? of(noun("market")) : place();
    const Event worth{.agent = thing, .state = one_of({"cheap", "beautiful", "new"})};
    tell({.agent = hero_, .verb = &verb("go"), .place = shop, .time = today()});
    tell({.agent = hero_, .verb = &verb("see"), .object = thing, .place = shop});
    if (maybe()) tell(worth);
    Event buying{.agent = hero_, .verb = &verb("buy"), .object = thing, .price = euros(5, 400)};
    if (maybe()) buying.because.push_back(worth);
    tell(std::move(buying));
    tell({.agent = hero_, .verb = &verb("return"), .place = town_, .time = evening()});
    tell({.agent = hero_, .verb = &verb("show"), .object = thing, .recipient = friend_});
    meet_friend();
    if (maybe()) {
      tell({.agent = hero_,
            .verb = &verb("give"),
            .object = thing,
            .recipient = friend_,
            .time = sometimes(next_day())});
      tell({.agent = friend_, .verb = &verb("thank"), .object = hero_});
      feels(friend_, "happy", worth);
    } else {
      tell({.agent = friend_, .state = &adjective("rich")});
      tell({.agent = hero_,
            .verb = &verb("sell"),
            .object = thing,
            .recipient = friend_,
            .time = next_day(),
            .price = euros(405, 300)});
      if (maybe())
        tell({.agent = friend_, .verb = &verb("carry"), .object = thing, .place = place(), .preposition = &kTo});
    }
  }

  void letter() {
    const Entity letter = of(noun(word_of({"letter", "poem", "message"})), one_of({"long", "short"}));
    const Entity home = invent_named(draw_, NounPhraseKind::town_name), station = of(noun("station"));
    tell({.agent = hero_, .verb = &verb("think"), .object = friend_});
    meet_friend();
    tell({.agent = friend_, .verb = &kLiveIn, .place = home});
    tell({.agent = hero_, .verb = &verb("write"), .object = letter, .place = place(), .time = today()});
    if (maybe()) tell({.agent = letter, .state = one_of({"interesting", "boring"})});
    tell({.agent = hero_, .verb = &verb("send"), .object = letter, .recipient = friend_});
    tell({.agent = friend_, .verb = &kReceive, .object = letter, .time = next_day()});
    if (maybe()) tell({.agent = friend_, .verb = &verb("cry")});
    tell({.agent = friend_, .verb = &verb("drive"), .place = town_, .time = next_day()});
    tell({.agent = friend_, .verb = &verb("arrive"), .place = station, .time = evening()});
    tell({.agent = hero_, .verb = &verb("pick"), .object = friend_, .place = station});
    if (maybe()) tell({.agent = hero_, .state = &adjective("happy")});
    tell({.agent = friend_, .verb = &verb("return"), .place = home, .time = next_day()});
  }

  void repair() {
    const Entity machine = this->thing(kRepairable), workshop = place();
    tell({.agent = hero_, .verb = &kHave, .object = machine});
    tell({.agent = machine, .state = &adjective("broken"), .time = today()});
    if (maybe()) tell({.agent = hero_, .verb = &verb("repair"), .object = machine, .negated = true});
    tell({.agent = hero_, .verb = &verb("call"), .object = friend_, .time = sometimes(evening())});
    meet_friend();
    tell({.agent = friend_, .verb = &verb("arrive"), .place = workshop, .time = next_day()});
    tell({.agent = friend_, .verb = &verb("repair"), .object = machine, .place = workshop});
    if (maybe()) tell({.agent = machine, .state = &adjective("broken"), .negated = true});
    tell({.agent = hero_, .verb = &verb("give"), .object = money(), .recipient = friend_});
    feels(friend_, "happy", {.agent = hero_, .state = &adjective("friendly")});
    if (maybe()) tell({.agent = hero_, .verb = &verb("sell"), .object = machine, .place = place(), .time = next_day()});
  }

  Entity money() {
    Entity money = of(kEuro);
    money.count = euros(10, 300);
    return money;
  }

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
    tell({.agent = hero_, .verb = &verb("go"), .place = shop});
    tell({.agent = hero_, .verb = &verb("buy"), .object = food, .price = euros(2, 30)});
    if (maybe()) tell({.agent = food, .state = one_of({"fresh", "cheap"})});
    tell({.agent = hero_, .verb = &verb("prepare"), .object = dish, .place = of(noun("house"))});
    tell({.agent = hero_, .verb = &verb("invite"), .object = friend_});
    meet_friend();
    tell({.agent = friend_, .verb = &verb("arrive"), .time = evening()});
    if (maybe()) {
      tell({.agent = friend_, .verb = &verb("bring"), .object = present, .recipient = hero_});
      if (maybe()) tell({.agent = hero_, .verb = &verb("try"), .object = present});
    }
    Event eating{.agent = friend_, .verb = &verb("eat"), .object = dish};
    if (maybe()) eating.because.push_back({.agent = dish, .state = &adjective("delicious")});
    tell(std::move(eating));
    tell({.agent = hero_, .verb = &verb(word_of({"dance", "sing", "laugh"}))});
    if (maybe()) tell({.agent = friend_, .verb = &verb("thank"), .object = hero_, .time = next_day()});
  }

  void theft() {
    const Entity thing = this->thing(kGoods),
                 building = of(noun(word_of({"hotel", "church", "museum", "library", "school"})));
    const Entity thief = of(noun(word_of({"boy", "man", "woman"})), one_of({"young", "tired", "poor"}));
    tell({.agent = hero_, .verb = &kHave, .object = thing});
    if (maybe()) tell({.agent = thing, .state = one_of({"expensive", "beautiful"})});
    tell({.agent = hero_, .verb = &verb("sleep"), .place = of(noun("garden")), .time = today()});
    tell({.agent = thief, .verb = &verb("steal"), .object = thing});
    tell({.agent = hero_, .verb = &verb("wake"), .time = evening()});
    tell({.agent = hero_, .verb = &verb("find"), .object = thing, .negated = true});
    if (maybe()) tell({.agent = hero_, .verb = &verb("cry")});
    tell({.agent = hero_, .verb = &verb("call"), .object = friend_});
    meet_friend();
    tell({.agent = friend_,
          .verb = &verb("see"),
          .object = thief,
          .place = building,
          .preposition = &draw_.pick(kBesideBuildings)});
    tell({.agent = friend_, .verb = &verb("follow"), .object = thief});
    tell({.agent = thief, .verb = &verb("lose"), .object = thing, .place = place()});
    tell({.agent = friend_, .verb = &verb("give"), .object = thing, .recipient = hero_, .time = next_day()});
    if (maybe()) tell({.agent = hero_, .state = &adjective("happy")});
  }

  void journey() {
    const Entity away = invent_named(draw_, NounPhraseKind::town_name), sight = place(), book = this->thing(kText);
    tell({.agent = hero_, .verb = &verb("get"), .time = maybe() ? today() : morning()});
    tell({.agent = hero_, .verb = &verb("drive"), .place = away});
    std::string clock = draw_.number(9, 12);
    clock += ":" + draw_.number(10, 59);
    tell({.agent = hero_, .verb = &verb("arrive"), .place = away, .time = Time{"at " + clock, "um " + clock + "+Uhr"}});
    tell({.agent = hero_, .verb = &verb("visit"), .object = sight});
    if (maybe()) tell({.agent = sight, .state = one_of({"old", "new", "famous", "quiet", "beautiful"})});
    tell({.agent = hero_, .verb = &verb("meet"), .object = friend_, .place = sight});
    meet_friend();
    if (maybe(0.7)) {
      tell({.agent = friend_, .verb = &verb("show"), .object = book, .recipient = hero_});
      if (maybe()) tell({.agent = hero_, .verb = &verb("forget"), .object = book, .place = place()});
    }
    if (maybe()) tell({.agent = hero_, .state = &adjective("tired"), .time = evening()});
    tell({.agent = hero_, .verb = &verb("return"), .place = town_, .time = next_day()});
    if (maybe()) tell({.agent = hero_, .verb = &verb("sleep"), .place = of(noun("house"))});
  }

  void animal() {
    const Entity pet = of(draw_.noun_of(kAnimal), one_of({"white", "black", "young", "old"}));
    const Entity door = of(noun(word_of({"door", "window"}))), wood = place();
    tell({.agent = hero_, .verb = &kHave, .object = pet});
    if (maybe(0.7)) tell({.agent = pet, .state = one_of({"hungry", "clever", "strong"})});
    tell({.agent = hero_, .verb = &verb("open"), .object = door, .time = today()});
    tell({.agent = pet, .verb = &verb("run"), .place = wood});
    if (maybe()) tell({.agent = hero_, .verb = &verb("close"), .object = door});
    tell({.agent = hero_, .verb = &verb("look for"), .object = pet, .place = place()});
    if (maybe()) tell({.agent = hero_, .verb = &verb("find"), .object = pet, .negated = true});
    tell({.agent = friend_, .verb = &verb("see"), .object = pet, .place = wood, .time = next_day()});
    meet_friend();
    tell({.agent = friend_, .verb = &verb("call"), .object = hero_});
    tell({.agent = hero_, .verb = &verb("drive"), .place = wood});
    tell({.agent = hero_, .verb = &verb("find"), .object = pet, .place = wood, .time = sometimes(evening())});
    feels(hero_, "happy", {.agent = pet, .state = &adjective("healthy")});
    if (maybe()) tell({.agent = pet, .verb = &verb("sleep"), .place = of(noun("house"))});
  }

  void work() {
    const Entity company = invent_named(draw_, NounPhraseKind::company_name), library = place();
    const Entity report = of(noun(word_of({"report", "speech"})), one_of({"long", "short"}));
    tell({.agent = hero_, .verb = &kWorkFor, .object = company});
    if (maybe()) tell({.agent = company, .state = one_of({"famous", "old", "rich"})});
    tell({.agent = hero_, .verb = &verb("write"), .object = report, .place = library, .time = today()});
    if (maybe()) tell({.agent = report, .state = one_of({"interesting", "boring"})});
    tell({.agent = hero_, .verb = &verb("forget"), .object = report, .place = library, .time = sometimes(evening())});
    tell({.agent = company, .verb = &verb("wait"), .object = report, .time = next_day()});
    tell({.agent = friend_, .verb = &verb("find"), .object = report, .place = library});
    meet_friend();
    tell({.agent = friend_, .verb = &verb("bring"), .object = report, .recipient = hero_});
    tell({.agent = hero_, .verb = &verb("send"), .object = report, .recipient = company, .time = sometimes(evening())});
    tell({.agent = company, .verb = &verb("thank"), .object = hero_, .time = sometimes(next_day())});
    if (maybe()) tell({.agent = company, .verb = &verb("give"), .object = money(), .recipient = friend_});
    if (maybe()) tell({.agent = company, .verb = &verb("invite"), .object = friend_, .place = town_});
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
