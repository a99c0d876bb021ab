// Acceptable sentences, and those that break a rule of English (tasks.hpp).
#include <utility>

#include "data/toy/tasks.hpp"

namespace attend::toy {
namespace {

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

}  // namespace

Judgement draw_acceptability(Draw& draw, bool acceptable) {
  const Breakable sentence(draw);
  const Break drawn = draw.pick(sentence.breaks()), rule = acceptable ? Break::none : drawn;
  return {sentence.text(rule), sentence.text(Break::none), rule};
}

}  // namespace attend::toy
