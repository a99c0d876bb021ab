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
          .person = phrase.person};
}

}  // namespace attend::toy
