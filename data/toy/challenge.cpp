#include "data/toy/challenge.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/random.hpp"
#include "data/toy/draw.hpp"
#include "data/toy/world.hpp"

namespace attend::toy {
namespace {

constexpr std::size_t kPairs = 100;  // of each kind and distance

// Second component of the random streams' keys, after the seed; corpus.cpp and sets.cpp have lower ones.
constexpr std::uint64_t kChallengeStream = 200;

// The sentence with one word of another sentence in its place.
std::string with_word(std::vector<Word> words, std::size_t at, const std::vector<Word>& other) {
  words[at].text = other[at].text;
  return to_text(words);
}

std::int64_t between(std::size_t a, std::size_t b) {
  return static_cast<std::int64_t>(std::max(a, b)) - static_cast<std::int64_t>(std::min(a, b)) - 1;
}

// Draws pairs, one member function for each kind. Its argument turns every second pair around (see challenge.hpp). A
// pair may have a distance other than the requested one.
class Contrasts : private PlainClauses {
 public:
  Contrasts(RandomStream& random, Language language, bool of_translations, std::int64_t distance)
      : PlainClauses(random),
        english_(language == Language::english),
        of_translations_(of_translations),
        distance_(distance) {}

  MinimalPair agreement(bool plural) {
    const bool adverb = english_ && distance_ == 1, alone = english_ && distance_ == 2;
    const bool last = !english_ && distance_ <= 2;
    Clause clause;
    clause.tense = adverb ? Tense::present : alone ? Tense::past : any_tense();
    const unsigned kinds = adverb || alone || chance(0.6) ? unsigned{kPerson} : unsigned{kGoods | kText | kAnimal};
    clause.subject = phrase(kinds, plural ? Number::plural : Number::singular);
    if (alone) {
      clause.subject.relative =
          owned(intransitive(standing_for(clause.subject, NounPhraseKind::relative), clause.tense));
    } else if (!adverb && !last) {
      keep_apart(clause.subject, clause.tense);
    }
    const bool past_be = english_ && clause.tense == Tense::past;  // the only past form with two numbers
    if (adverb || (!last && !past_be && clause.subject.person && chance(0.6))) {
      // No object in German, where it might be read as the subject.
      clause.verb = &pick_where(verbs(), [&](const Verb& verb) {
        return is_intransitive(verb) || (english_ && verb.object == Object::accusative);
      });
      complete(clause, any_number());
      if (adverb) clause.frequency = &pick(kFrequencies);
    } else {
      clause.predicate = &adjective_for(clause.subject.noun->kinds);
      clause.very = last && distance_ == 2;
    }
    const Number others = opposite(clause.subject.number);
    Sentence sentence = of_clause(last ? reported(std::move(clause), others) : std::move(clause));
    Clause& said_of = last ? sentence.clauses[0].subordinates[0].clause : sentence.clauses[0];
    const std::vector<Word> better = say_better(sentence);
    const std::size_t finite = position_of(better, &said_of, Part::finite);
    const std::size_t noun = position_of(better, &said_of.subject, Part::noun);
    said_of.subject.number = others;
    return pair(better, with_word(better, finite, say(sentence)), between(noun, finite));
  }

  MinimalPair pronoun(bool plural) {
    const auto is_of_things = [](const Verb& verb) {
      return verb.object == Object::accusative && (verb.objects & (kPerson | kAnimal)) == 0;
    };
    Clause clause, other;
    clause.tense = other.tense = any_tense();
    const bool past = clause.tense == Tense::past;
    clause.subject = phrase(kPerson, Number::singular);  // not the antecedent of "them"
    clause.verb = &pick_where(verbs(), is_of_things);
    clause.object = owned(phrase(clause.verb->objects, plural ? Number::plural : Number::singular));
    if (past && chance(0.5)) clause.time = time_of(pick(kPastTimes));
    other.subject = phrase(kPerson, any_number());
    if (chance(0.3)) {
      other.subject = standing_for(other.subject, NounPhraseKind::pronoun);
      other.subject.first_person = true;
    }
    const unsigned kinds = clause.object->noun->kinds;
    other.verb = &pick_where(verbs(), [&](const Verb& verb) {
      return is_of_things(verb) && (verb.objects & kinds) != 0 && &verb != clause.verb;
    });
    other.object = owned(standing_for(*clause.object, NounPhraseKind::pronoun));
    NounPhrase& it = *other.object;
    const Noun& subject = *clause.subject.noun;
    const NounPhrase* const antecedent = clause.object.get();
    clause.subordinates.push_back({&pick(subordinators(past)), std::move(other)});
    const Sentence sentence = of_clause(std::move(clause));
    const std::vector<Word> better = say_better(sentence);
    if (plural || chance(0.5)) {
      it.number = opposite(it.number);
    } else {
      it.person = true;
      it.gender = subject.gender == Gender::feminine ? Gender::masculine : Gender::feminine;
    }
    return pair(better, to_text(say(sentence)),
                between(position_of(better, antecedent, Part::noun), position_of(better, &it, Part::noun)));
  }

  MinimalPair tense(bool future) {
    Sentence sentence = of_clause(deed(future ? Tense::present : Tense::past));
    Clause& clause = sentence.clauses[0];
    if (future) clause.modal = &modal("will");
    // The first times of the past and of the future differ in their first words: yesterday, tomorrow.
    const std::size_t time = below(std::size(kFutureTimes));
    const Phrase &past = kPastTimes[time], &coming = kFutureTimes[time];
    clause.time = time_of(future ? coming : past);
    clause.time_first = chance(0.45);
    const std::vector<Word> better = say_better(sentence);
    clause.time = time_of(future ? past : coming);
    return pair(better, to_text(say(sentence)),
                between(position_of(better, &clause, Part::finite), position_of(better, &clause, Part::time)));
  }

  MinimalPair negation(bool) {
    Sentence sentence = of_clause(deed(any_tense()));
    sentence.clauses[0].negated = true;
    const std::vector<Word> better = say_better(sentence);
    const std::size_t at = position_of(better, &sentence.clauses[0], Part::negation);
    return pair(better, with_moved(better, at, at + 1), 0);
  }

  MinimalPair article(bool of_object) {
    Clause clause;
    clause.tense = any_tense();
    if (of_object) {
      clause.subject = phrase(kPerson, any_number());
      clause.verb = &pick_where(verbs(), [](const Verb& verb) { return verb.object == Object::accusative; });
      clause.object = owned(with_gendered_article(clause.verb->objects));
    } else {
      clause.subject = with_gendered_article(kPerson | kAnimal | kGoods | kText | kPlace);
      clause.predicate = &adjective_for(clause.subject.noun->kinds);
    }
    Sentence sentence = of_clause(std::move(clause));
    NounPhrase& target = of_object ? *sentence.clauses[0].object : sentence.clauses[0].subject;
    const std::vector<Word> better = say_better(sentence);
    const std::size_t determiner = position_of(better, &target, Part::determiner);
    const std::size_t noun = position_of(better, &target, Part::noun);
    // Not "der Frau", a dative, and not "die Lehrer", a plural.
    Noun other = *target.noun;
    const bool masculine = other.gender == Gender::neuter || (other.gender == Gender::feminine && of_object);
    other.gender = masculine ? Gender::masculine : Gender::neuter;
    target.noun = &other;
    return pair(better, with_word(better, determiner, say(sentence)), between(determiner, noun));
  }

  MinimalPair particle(bool) {
    // Prefixes with which German has no such verb. It has all of those of "werfen".
    static constexpr std::pair<std::string_view, std::string_view> kWrong[] = {
        {"call", "ein"},   {"invite", "an"},  {"open", "zurück"}, {"close", "zurück"}, {"pick", "an"},  {"try", "zu"},
        {"prepare", "ab"}, {"arrive", "ein"}, {"wake", "ab"},     {"get", "weg"},      {"return", "an"}};
    const auto& [english, prefix] = pick(kWrong);
    Clause clause;
    clause.subject = phrase(kPerson, any_number());
    clause.verb = &verb(english);
    complete(clause, any_number());
    if (chance(0.5)) {
      clause.time = time_of(pick(kPresentTimes));
      clause.time_first = chance(0.45);
    } else if (chance(0.5)) {
      clause.frequency = &pick(kFrequencies);
    }
    Sentence sentence = of_clause(std::move(clause));
    Clause& said = sentence.clauses[0];
    const std::vector<Word> better = say_better(sentence);
    Verb other = *said.verb;
    other.prefix = prefix;
    const std::size_t finite = position_of(better, &said, Part::finite);
    said.verb = &other;
    return pair(better, to_text(say(sentence)), between(finite, better.size() - 1));
  }

  MinimalPair verb_position(bool) {
    Clause last = deed(any_tense());
    Clause clause;
    if (chance(0.5)) {
      clause = reported(std::move(last), any_number());
    } else {
      clause.tense = last.tense;
      clause.subject = phrase(kPerson, any_number());
      clause.predicate = &adjective_for(kPerson);
      const Phrase& conjunction = pick_where(subordinators(clause.tense == Tense::past), [](const Phrase& candidate) {
        return candidate.german == "bevor" || candidate.german == "als" || candidate.german == "wenn";
      });
      clause.subordinates.push_back({&conjunction, std::move(last), chance(0.4)});
    }
    const Sentence sentence = of_clause(std::move(clause));
    const Clause& moved = sentence.clauses[0].subordinates[0].clause;
    const std::vector<Word> better = say_better(sentence);
    const std::size_t subject = position_of(better, &moved.subject, Part::noun);
    return pair(better, with_moved(better, position_of(better, &moved, Part::finite), subject + 1), 0);
  }

  MinimalPair polarity(bool affirmative) {
    Clause clause;
    if (chance(0.5)) {
      clause = deed(any_tense());  // nicht
    } else {
      clause.tense = any_tense();
      clause.subject = phrase(kPerson, any_number());
      clause.verb = &pick_where(
          verbs(), [](const Verb& verb) { return verb.object == Object::accusative && (verb.objects & kPlace) == 0; });
      clause.object = owned(phrase(clause.verb->objects, Number::singular));
      clause.object->determiner = Determiner::indefinite;  // kein
    }
    Sentence sentence = of_clause(std::move(clause));
    bool& negated = sentence.clauses[0].negated;
    negated = !affirmative;
    const std::vector<Word> better = say_better(sentence);
    negated = affirmative;
    return pair(better, to_text(say(sentence)), 0);
  }

  // German has no object one word behind the noun.
  MinimalPair one_candidate(bool is_object) { return reference(false, is_object && distance_ > 1); }
  MinimalPair two_candidates(bool is_object) { return reference(true, is_object && distance_ > 1); }

 private:
  MinimalPair reference(bool has_rival, bool is_object) {
    Reference drawn = invent_reference(random_, has_rival, is_object);
    NounPhrase *it = nullptr, *noun = nullptr;
    for (Clause& clause : drawn.sentence.clauses) {
      for_each_phrase(clause, [&](NounPhrase& phrase) {
        if (phrase.entity == kIt) (phrase.kind == NounPhraseKind::pronoun ? it : noun) = &phrase;
      });
    }
    const std::vector<Word> better = say_better(drawn.sentence);
    it->noun = nullptr;
    it->gender = has_rival ? drawn.rival : static_cast<Gender>((static_cast<int>(drawn.gender) + 1 + below(2)) % 3);
    return pair(better, to_text(say(drawn.sentence)),
                between(position_of(better, noun, Part::noun), position_of(better, it, Part::noun)));
  }

  std::vector<Word> say(const Sentence& sentence) const {
    return english_ ? to_english(sentence) : to_german(sentence);
  }

  // Says a sentence before it is made worse, and keeps its source for pair().
  std::vector<Word> say_better(const Sentence& sentence) {
    if (of_translations_) source_ = to_text(to_english(sentence));
    return say(sentence);
  }

  MinimalPair pair(const std::vector<Word>& better, std::string worse, std::int64_t distance) const {
    return {.distance = distance, .source = {source_}, .better = to_text(better), .worse = std::move(worse)};
  }

  NounPhrase with_gendered_article(unsigned kinds) {
    // "das Junge" and "das Bauer" are words, and "der Messer" is one.
    static constexpr std::string_view kOfTwoGenders[] = {"boy", "farmer", "knife"};
    while (true) {
      NounPhrase drawn = phrase(kinds, Number::singular);
      if (drawn.determiner == Determiner::possessive) continue;  // "mein" is masculine and neuter
      if (std::ranges::find(kOfTwoGenders, drawn.noun->english) == std::end(kOfTwoGenders)) return drawn;
    }
  }

  bool english_, of_translations_;
  std::int64_t distance_;
  std::string source_;
};

struct ChallengeKind {
  Language language;
  const char* name;
  std::int64_t nearest, farthest;
  MinimalPair (Contrasts::*draw)(bool turned);
  bool needs_source = false;  // both sentences may be right by themselves
};

constexpr ChallengeKind kChallengeKinds[] = {
    {Language::english, "agreement", 1, 8, &Contrasts::agreement},
    {Language::english, "pronoun", 3, 8, &Contrasts::pronoun},
    {Language::english, "tense", 1, 6, &Contrasts::tense},
    {Language::english, "negation", 0, 0, &Contrasts::negation},
    {Language::german, "agreement", 1, 8, &Contrasts::agreement},
    {Language::german, "article", 0, 1, &Contrasts::article},
    {Language::german, "particle", 1, 6, &Contrasts::particle},
    {Language::german, "verb_position", 0, 0, &Contrasts::verb_position},
    {Language::german, "polarity", 0, 0, &Contrasts::polarity, true},
    {Language::german, "one_candidate", 1, 12, &Contrasts::one_candidate, true},
    {Language::german, "two_candidates", 1, 12, &Contrasts::two_candidates, true},
};

std::vector<MinimalPair> draw_pairs(Language language, bool of_translations, std::uint64_t seed) {
  std::vector<MinimalPair> pairs;
  std::uint64_t number = 0;
  for (const ChallengeKind& kind : kChallengeKinds) {
    ++number;
    if (kind.language != language || (kind.needs_source && !of_translations)) continue;
    for (std::int64_t distance = kind.nearest; distance <= kind.farthest; ++distance) {
      RandomStream random(combine_keys(seed, kChallengeStream, number, distance));
      Contrasts contrasts(random, language, of_translations, distance);
      std::unordered_set<std::string> seen;
      while (seen.size() < kPairs) {
        MinimalPair pair = (contrasts.*kind.draw)(seen.size() % 2 == 1);
        // A clause of subject and verb alone has its verb last and second.
        if (pair.distance != distance || pair.better == pair.worse || !seen.insert(pair.better).second) continue;
        pair.kind = kind.name;
        pairs.push_back(std::move(pair));
      }
    }
  }
  return pairs;
}

}  // namespace

std::vector<MinimalPair> draw_challenge(Language language, std::uint64_t seed) {
  return draw_pairs(language, false, seed);
}

std::vector<MinimalPair> draw_translation_challenge(std::uint64_t seed) {
  return draw_pairs(Language::german, true, seed);
}

}  // namespace attend::toy
