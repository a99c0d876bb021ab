#include "data/toy/draw.hpp"

#include <array>

namespace attend::toy {

std::string Draw::name() {
  static constexpr std::array<std::string_view, 18> kOnsets{"b", "d", "f", "g", "k", "l",  "m",  "n",  "p",
                                                            "r", "s", "t", "v", "w", "br", "dr", "kl", "tr"};
  static constexpr std::array<std::string_view, 5> kVowels{"a", "e", "i", "o", "u"};
  static constexpr std::array<std::string_view, 6> kEnds{"n", "l", "r", "m", "nd", "k"};
  std::string text;
  for (std::uint64_t syllables = 2 + random_.below(2); syllables > 0; --syllables) {
    text.append(pick(kOnsets)).append(pick(kVowels));
  }
  if (chance(0.7)) text.append(pick(kEnds));
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string Draw::number(std::uint64_t low, std::uint64_t high) {
  return std::to_string(low + random_.below(high - low + 1));
}

Time Draw::time(bool past, bool future) {
  if (chance(0.12)) {
    const Phrase& day = pick(kWeekdays);
    return {"on " + std::string(day.english), "am " + std::string(day.german)};
  }
  if (chance(0.12)) {
    std::string clock = number(1, 23);
    clock += ':' + number(0, 5);
    clock += number(0, 9);
    return {"at " + clock, "um " + clock + "+Uhr"};
  }
  if (past && chance(0.15)) {
    const std::string year = number(1850, 2020);
    return {"in " + year, "im+Jahr " + year};
  }
  if ((past || future) && chance(0.18)) {
    const Phrase& month = pick(kMonths);
    const std::string day = number(1, 28);
    return {"on " + day + " " + std::string(month.english), "am " + day + ". " + std::string(month.german)};
  }
  return time_of(past ? pick(kPastTimes) : future ? pick(kFutureTimes) : pick(kPresentTimes));
}

Time time_of(const Phrase& phrase) { return {std::string(phrase.english), std::string(phrase.german)}; }

const Noun& Draw::noun_of(unsigned kinds) {
  return pick_where(nouns(), [&](const Noun& noun) { return (noun.kinds & kinds) != 0; });
}

const Adjective& Draw::adjective_for(unsigned kinds) {
  return pick_where(adjectives(), [&](const Adjective& adjective) { return (adjective.kinds & kinds) != 0; });
}

NounPhrase of_noun(const Noun& noun) {
  return {.noun = &noun, .gender = noun.gender, .person = (noun.kinds & kPerson) != 0};
}

NounPhrase standing_for(const NounPhrase& phrase, NounPhraseKind kind) {
  return {.kind = kind,
          .noun = phrase.noun,
          .number = is_plural(phrase) ? Number::plural : Number::singular,
          .gender = phrase.gender,
          .first_person = phrase.first_person,
          .person = phrase.person,
          .entity = phrase.entity};
}

bool is_intransitive(const Verb& verb) { return verb.object == Object::none && verb.complement == nullptr; }

NounPhrase PlainClauses::phrase(unsigned kinds, Number number) {
  NounPhrase phrase = of_noun(noun_of(kinds));
  phrase.number = number;
  static constexpr Determiner kDeterminers[] = {Determiner::definite, Determiner::definite, Determiner::demonstrative,
                                                Determiner::possessive};
  if ((phrase.noun->kinds & kPlace) == 0) phrase.determiner = pick(kDeterminers);
  phrase.owner = chance(0.5) ? Owner::me : Owner::us;
  if (chance(0.35)) phrase.adjectives.push_back(&adjective_for(phrase.noun->kinds));
  return phrase;
}

void PlainClauses::complete(Clause& clause, Number number) {
  const Verb& verb = *clause.verb;
  if (verb.has_object()) clause.object = owned(phrase(verb.objects, number));
  if (verb.has_recipient()) clause.recipient = owned(phrase(kPerson, number));
  if (verb.complement != nullptr) clause.adverbials.push_back({verb.complement, phrase(verb.objects, number)});
  if (verb.has_goal()) clause.adverbials.push_back({&kTo, phrase(kPlace, Number::singular)});
}

Clause PlainClauses::deed(Tense tense) {
  Clause clause;
  clause.subject = phrase(kPerson, any_number());
  clause.tense = tense;
  clause.verb = &pick_where(verbs(), [](const Verb& verb) { return verb.object != Object::clause; });
  complete(clause, any_number());
  return clause;
}

Clause PlainClauses::intransitive(NounPhrase subject, Tense tense) {
  Clause clause;
  clause.subject = std::move(subject);
  clause.tense = tense;
  clause.verb = &pick_where(verbs(), is_intransitive);
  return clause;
}

Clause PlainClauses::reported(Clause clause, Number number) {
  Clause report;
  report.tense = clause.tense;
  report.subject = phrase(kPerson, number);
  report.verb = &pick_where(verbs(), [](const Verb& verb) { return verb.object == Object::clause; });
  report.subordinates.push_back({report.verb == &verb("ask") ? &kWhether : &kThat, std::move(clause)});
  return report;
}

void PlainClauses::keep_apart(NounPhrase& subject, Tense tense) {
  const Number others = opposite(subject.number);
  if (!subject.person || others == Number::singular || chance(0.7)) {
    subject.relative = owned(relative(subject, tense, others));
    return;
  }
  subject.with = owned(phrase(kClothes, others));
  if (subject.with->determiner == Determiner::possessive) subject.with->determiner = Determiner::definite;
}

// The head is the subject of its relative clause in the past alone: in the present, the verb would repeat its number.
Clause PlainClauses::relative(const NounPhrase& head, Tense tense, Number others) {
  Clause clause;
  clause.tense = tense;
  NounPhrase stand_in = standing_for(head, NounPhraseKind::relative);
  if (head.person && tense == Tense::past && chance(0.5)) {
    clause.subject = std::move(stand_in);
    clause.verb = &pick_where(verbs(), [&](const Verb& verb) {
      return verb.object != Object::clause && !is_intransitive(verb) && !(verb.has_goal() && others == Number::plural);
    });
    complete(clause, others);
    if (clause.object && !clause.recipient && chance(0.2)) {
      clause.object->relative = owned(relative(*clause.object, tense, others));
    }
    return clause;
  }
  clause.verb = &pick_where(verbs(), [&](const Verb& verb) {
    return (verb.objects & head.noun->kinds) != 0 && !verb.has_recipient() && verb.complement == nullptr;
  });
  clause.subject = phrase(kPerson, others);
  if (chance(0.25)) clause.subject = standing_for(clause.subject, NounPhraseKind::pronoun);
  clause.object = owned(std::move(stand_in));
  return clause;
}

}  // namespace attend::toy
