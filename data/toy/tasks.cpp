#include "data/toy/tasks.hpp"

#include <utility>

#include "core/error.hpp"

namespace attend::toy {
namespace {

// Sentences of praise and blame.
class Opinion {
 public:
  explicit Opinion(Draw& draw) : draw_(draw), past_(draw.chance(0.6)) {}

  Sentence sentence(bool positive) {
    const double form = static_cast<double>(draw_.below(100)) / 100;
    if (form < 0.40) {
      Clause clause = this->clause(positive);
      if (draw_.chance(0.3)) {
        clause.time = draw_.time(past_, false);
        clause.time_first = draw_.chance(0.5);
      }
      return of_clause(std::move(clause));
    }
    if (form < 0.55) return of_clause(believed(positive));
    if (form >= 0.75 && form < 0.9) {
      Clause clause = this->clause(positive);
      const bool first = draw_.chance(0.5);
      clause.subordinates.push_back({&subordinators(past_)[1], this->clause(!positive), first});
      return of_clause(std::move(clause));
    }
    const bool contrast = form < 0.75;  // "but", else "and"
    Sentence sentence = of_clause(clause(positive != contrast));
    sentence.joiners.push_back(&kCoordinators[contrast ? 1 : 0]);
    sentence.clauses.push_back(clause(positive));
    return sentence;
  }

 private:
  // Something is good, or not bad.
  Clause clause(bool positive) {
    Clause clause;
    clause.negated = draw_.chance(0.33);
    clause.predicate = &draw_.pick(positive != clause.negated ? praise() : blame());
    clause.subject = of_noun(draw_.noun_of(clause.predicate->kinds));
    static constexpr Determiner kDeterminers[] = {Determiner::definite, Determiner::definite, Determiner::demonstrative,
                                                  Determiner::possessive};
    clause.subject.determiner = draw_.pick(kDeterminers);
    clause.subject.owner = static_cast<Owner>(draw_.below(5));
    if (draw_.chance(0.25)) clause.subject.number = Number::plural;
    clause.tense = past_ ? Tense::past : Tense::present;
    return clause;
  }

  // Someone says, or does not believe, that it is so.
  Clause believed(bool positive) {
    Clause clause;
    clause.subject = to_phrase(invent_person(draw_), Determiner::definite);
    clause.negated = draw_.chance(0.5);
    clause.verb = &verb(clause.negated || draw_.chance(0.5) ? "believe" : "say");
    clause.tense = past_ ? Tense::past : Tense::present;
    clause.subordinates.push_back({&kThat, this->clause(positive != clause.negated)});
    return clause;
  }

  Draw& draw_;
  bool past_;
};

// Pairs of similar sentences.
class Similar {
 public:
  explicit Similar(Draw& draw) : draw_(draw) {}

  std::pair<Event, Event> pair() {
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

// Acceptable sentences, and those that break a rule of English.

using Words = std::vector<Word>;

// The index of the last word of a noun phrase, without modifiers after its noun.
std::size_t find_noun(const Words& words, const NounPhrase& phrase) {
  std::size_t at = position_of(words, &phrase, Part::noun);
  while (at + 1 < words.size() && expresses(words[at + 1], &phrase, Part::noun)) ++at;
  return at;
}

// A sentence of one clause, and the ways to break it.
class Breakable {
 public:
  explicit Breakable(Draw& draw) : draw_(draw), sentence_(of_clause(statement())), words_(to_english(sentence_)) {
    Number& number = clause().subject.number;
    number = opposite(number);
    other_finite_ = to_english(sentence_)[finite()].text;
    number = opposite(number);
  }

  // The rules that can be broken.
  std::vector<Break> breaks() const {
    std::vector<Break> breaks = {Break::determiner};
    if (other_finite_ != words_[finite()].text) {
      breaks.insert(breaks.end(), {Break::agreement, Break::agreement, Break::agreement, Break::agreement});
    }
    if (clause().object && !clause().object->adjectives.empty()) breaks.push_back(Break::adjective);
    if (clause().object && !clause().negated) breaks.push_back(Break::verb);
    if (clause().negated && clause().verb != nullptr) breaks.push_back(Break::negation);
    return breaks;
  }

  // The sentence with this rule broken; intact with Break::none.
  std::string text(Break rule) const {
    const NounPhrase& phrase = clause().object ? *clause().object : clause().subject;
    const auto with_moved_behind_noun = [&](const void* node, Part part) {
      return with_moved(words_, position_of(words_, node, part), find_noun(words_, phrase));
    };
    if (rule == Break::determiner) return with_moved_behind_noun(&phrase, Part::determiner);
    if (rule == Break::adjective) return with_moved_behind_noun(&phrase, Part::adjective);
    if (rule == Break::verb) return with_moved_behind_noun(&clause(), Part::finite);
    if (rule == Break::negation) {
      const std::size_t at = position_of(words_, &clause(), Part::negation);
      return with_moved(words_, at, at + 1);
    }
    Words words = words_;
    if (rule == Break::agreement) words[finite()].text = other_finite_;
    return to_text(words);
  }

 private:
  Clause& clause() { return sentence_.clauses.front(); }
  const Clause& clause() const { return sentence_.clauses.front(); }
  std::size_t finite() const { return position_of(words_, &clause(), Part::finite); }

  NounPhrase phrase(unsigned kinds) {
    NounPhrase phrase = of_noun(draw_.noun_of(kinds));
    if (draw_.chance(0.5)) phrase.number = Number::plural;
    static constexpr Determiner kDeterminers[] = {Determiner::definite, Determiner::definite, Determiner::possessive};
    phrase.determiner = draw_.pick(kDeterminers);
    phrase.owner = static_cast<Owner>(draw_.below(5));
    if (draw_.chance(0.35)) phrase.adjectives.push_back(&draw_.adjective_for(phrase.noun->kinds));
    return phrase;
  }

  const Verb& transitive(unsigned objects) {
    return draw_.pick_where(verbs(), [&](const Verb& verb) {
      return verb.takes(objects) && (verb.subjects & kPerson) != 0 && verb.particle.empty() &&
             verb.english.find(' ') == std::string_view::npos;
    });
  }

  // The material between a subject and its verb: "that the boys saw", "who loves the dogs", "with the red hat".
  void keep_apart(NounPhrase& subject) {
    if (subject.person && draw_.chance(0.3)) {
      subject.with = owned(phrase(kClothes));
      return;
    }
    Clause relative;
    NounPhrase stand_in = standing_for(subject, NounPhraseKind::relative);
    if (subject.person && draw_.chance(0.5)) {
      relative.subject = std::move(stand_in);
      relative.verb = &transitive(kGoods | kPerson);
      relative.object = owned(phrase(relative.verb->objects));
    } else {
      relative.subject = phrase(kPerson);
      relative.verb = &transitive(subject.noun->kinds);
      relative.object = owned(std::move(stand_in));
    }
    relative.tense = draw_.chance(0.5) ? Tense::past : Tense::present;
    subject.relative = owned(std::move(relative));
  }

  Clause statement() {
    Clause clause;
    clause.subject = phrase(draw_.chance(0.6) ? unsigned{kPerson} : unsigned{kGoods | kText | kAnimal});
    if (draw_.chance(0.75)) keep_apart(clause.subject);
    const bool person = clause.subject.person;
    if (person && draw_.chance(0.7)) {
      clause.verb = &transitive(kGoods | kPerson | kText);
      clause.object = owned(phrase(clause.verb->objects));
      clause.negated = draw_.chance(0.25);
      clause.tense = draw_.chance(0.2) ? Tense::past : Tense::present;
    } else {
      clause.predicate = &draw_.adjective_for(clause.subject.noun->kinds);
      clause.negated = draw_.chance(0.2);
      clause.tense = draw_.chance(0.5) ? Tense::past : Tense::present;
    }
    return clause;
  }

  Draw& draw_;
  Sentence sentence_;
  Words words_;
  std::string other_finite_;  // the finite verb with the opposite number of the subject
};

std::string points(int tenths) { return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10); }

const TableTask kTasks[] = {
    {"sentiment",
     {"sentence", "label"},
     {"negative", "positive"},
     [](Draw& draw, std::size_t label) -> std::vector<std::string> { return {draw_sentiment(draw, label == 1)}; }},
    {"inference",
     {"premise", "hypothesis", "label"},
     {"entailment", "neutral", "contradiction"},
     [](Draw& draw, std::size_t label) -> std::vector<std::string> {
       const InferencePair pair = draw_inference(draw, static_cast<Relation>(label));
       return {to_text(pair.premise), to_text(pair.hypothesis)};
     }},
    {"similarity",
     {"sentence1", "sentence2", "score"},
     {},
     [](Draw& draw, std::size_t) -> std::vector<std::string> {
       const auto [first, second] = Similar(draw).pair();
       const auto text = [&](const Event& event) {
         Clause clause = to_clause(event, [](const Entity& entity, bool) {
           const bool thing = !entity.person() && !entity.place();
           return to_phrase(entity, thing ? Determiner::indefinite : Determiner::definite);
         });
         clause.time_first = draw.chance(0.4);
         return to_english_text(std::move(clause));
       };
       std::string first_text = text(first);
       return {std::move(first_text), text(second), points(shared_meaning(first, second))};
     }},
    {"acceptability",
     {"sentence", "label"},
     {"unacceptable", "acceptable"},
     [](Draw& draw, std::size_t label) -> std::vector<std::string> {
       return {draw_acceptability(draw, label == 1).text};
     }},
};

}  // namespace

std::span<const TableTask> table_tasks() { return kTasks; }

std::string draw_sentiment(Draw& draw, bool positive) { return to_text(to_english(Opinion(draw).sentence(positive))); }

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

Judgement draw_acceptability(Draw& draw, bool acceptable) {
  const Breakable sentence(draw);
  const Break drawn = draw.pick(sentence.breaks()), rule = acceptable ? Break::none : drawn;
  return {sentence.text(rule), sentence.text(Break::none), rule};
}

}  // namespace attend::toy
