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

// The words without the initial capital and the full stop. The sentence must not start with a name or contain "a" or
// "an".
Words without_dress(Words words) {
  std::string& first = words.front().text;
  first[0] = static_cast<char>(first[0] - 'A' + 'a');
  words.back().text.pop_back();
  return words;
}

std::string with_dress(const Words& words) {
  Writer writer;
  for (const Word& word : words) writer.word(word.text, {});
  return to_text(writer.finish('.'));
}

void move_word(Words& words, std::size_t from, std::size_t to) {
  Word word = std::move(words[from]);
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(from));
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(to), std::move(word));
}

// A sentence of one clause, and the ways to break it.
class Breakable {
 public:
  explicit Breakable(Draw& draw) : draw_(draw), sentence_(of_clause(statement())) {
    words_ = without_dress(to_english(sentence_));
    const std::size_t finite = position_of(words_, &clause(), Part::finite);
    Number& number = clause().subject.number;
    const Number own = std::exchange(number, opposite(number));
    other_number_ = without_dress(to_english(sentence_))[finite].text;
    number = own;
  }

  std::string intact() const { return with_dress(words_); }

  // The rules that can be broken.
  std::vector<Break> breaks() const {
    std::vector<Break> breaks = {Break::determiner};
    if (other_number_ != words_[position_of(words_, &clause(), Part::finite)].text) {
      breaks.insert(breaks.end(), {Break::agreement, Break::agreement, Break::agreement, Break::agreement});
    }
    if (clause().object && !clause().object->adjectives.empty()) breaks.push_back(Break::adjective);
    if (clause().object && !clause().negated) breaks.push_back(Break::verb);
    if (clause().negated && clause().verb != nullptr) breaks.push_back(Break::negation);
    return breaks;
  }

  std::string broken(Break rule) const {
    Words words = words_;
    const auto move_behind_noun = [&](const void* node, Part part, const NounPhrase& phrase) {
      move_word(words, position_of(words, node, part), find_noun(words, phrase));
    };
    const NounPhrase& phrase = clause().object ? *clause().object : clause().subject;
    if (rule == Break::agreement) words[position_of(words, &clause(), Part::finite)].text = other_number_;
    if (rule == Break::determiner) move_behind_noun(&phrase, Part::determiner, phrase);
    if (rule == Break::adjective) move_behind_noun(&phrase, Part::adjective, phrase);
    if (rule == Break::verb) move_behind_noun(&clause(), Part::finite, phrase);
    if (rule == Break::negation) {
      const std::size_t at = position_of(words, &clause(), Part::negation);
      move_word(words, at, at + 1);
    }
    return with_dress(words);
  }

 private:
  Clause& clause() { return sentence_.clauses.front(); }
  const Clause& clause() const { return sentence_.clauses.front(); }

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
      return verb.object == Object::accusative && (verb.subjects & kPerson) != 0 && verb.particle.empty() &&
             (verb.objects & objects) != 0 && verb.english.find(' ') == std::string_view::npos;
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
  std::string other_number_;  // the finite verb with the opposite number of the subject
};

}  // namespace

Judgement draw_acceptability(Draw& draw, bool acceptable) {
  const Breakable sentence(draw);
  const Break rule = draw.pick(sentence.breaks());
  if (acceptable) return {sentence.intact(), sentence.intact(), Break::none};
  return {sentence.broken(rule), sentence.intact(), rule};
}

}  // namespace attend::toy
