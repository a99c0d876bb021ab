#include "data/toy/world.hpp"

#include "data/toy/event.hpp"

namespace attend::toy {
namespace {

// The share of sentences, of these many words or more, that are about "it" and what it refers to.
constexpr double kReferences = 0.4;
constexpr std::size_t kShortestReference = 6;

class World : private Draw {
 public:
  explicit World(RandomStream& random) : Draw(random) {}

  Sentence sentence(std::size_t words) {
    past_ = chance(0.5);
    if (words >= kShortestReference && words < 30 && chance(kReferences)) {
      const bool has_rival = chance(0.35);
      return invent_reference(random_, has_rival, chance(0.4)).sentence;
    }
    if (words < 16 && chance(0.12)) return of_clause(question());
    // Limits the content of a clause; missing length is filled by further main clauses.
    const int depth = words < 10 ? 0 : words < 20 ? 1 : 2;
    Sentence sentence = of_clause(main_clause(depth));
    while (to_english(sentence).size() + 5 < words) {
      sentence.joiners.push_back(&pick(kCoordinators));
      sentence.clauses.push_back(main_clause(depth));
    }
    return sentence;
  }

 private:
  static unsigned kinds_of(const NounPhrase& phrase) {
    const unsigned kinds = phrase.noun != nullptr ? phrase.noun->kinds : unsigned{kPerson};
    return phrase.other ? kinds & phrase.other->noun->kinds : kinds;
  }

  // A noun with a determiner, perhaps in the plural, with adjectives or a number.
  NounPhrase noun_phrase(unsigned kinds) {
    NounPhrase phrase = of_noun(noun_of(kinds));
    phrase.entity = ++entities_;
    if ((phrase.noun->kinds & kCompound) != 0 && chance(0.5)) phrase.modifier = &pick(kModifiers);
    if (chance(0.28)) phrase.number = Number::plural;
    const bool plural = phrase.number == Number::plural;
    const double kind = random_.uniform();
    const bool place = (phrase.noun->kinds & kPlace) != 0;
    if (kind < 0.5 || place) {
      phrase.determiner = place && chance(0.15) ? Determiner::demonstrative : Determiner::definite;
    } else if (kind < 0.75) {
      phrase.determiner = plural ? Determiner::bare : Determiner::indefinite;
    } else if (kind < 0.85) {
      phrase.determiner = Determiner::demonstrative;
    } else {
      phrase.determiner = Determiner::possessive;
      phrase.owner = static_cast<Owner>(random_.below(5));
    }
    if (plural && !place && phrase.determiner != Determiner::possessive && chance(0.25)) {
      phrase.count = 2 + static_cast<int>(random_.below(chance(0.5) ? 11 : 400));
    }
    if (chance(0.3)) phrase.adjectives.push_back(&adjective_for(phrase.noun->kinds));
    return phrase;
  }

  NounPhrase person_name() {
    NounPhrase phrase{.kind = NounPhraseKind::person_name, .name = name(), .titled = chance(0.5)};
    if (chance(0.5)) phrase.gender = Gender::feminine;
    phrase.entity = ++entities_;
    return phrase;
  }

  NounPhrase pronoun() {
    NounPhrase phrase{.kind = NounPhraseKind::pronoun, .first_person = chance(0.4)};
    if (chance(0.5)) phrase.gender = Gender::feminine;
    if (chance(0.4)) phrase.number = Number::plural;
    return phrase;
  }

  NounPhrase subject(unsigned kinds, int depth) {
    const double kind = random_.uniform();
    if ((kinds & kPerson) != 0) {
      if (kind < 0.10) return person_name();
      if (kind < 0.26) return pronoun();
    }
    NounPhrase phrase = noun_phrase(kinds);
    if (kind < 0.31 && phrase.number == Number::singular) {
      phrase.determiner = Determiner::every;
    } else if (kind < 0.40) {
      NounPhrase other = noun_phrase(phrase.noun->kinds & kinds);
      if (other.determiner == Determiner::bare) other.determiner = Determiner::definite;
      if (other.noun != phrase.noun) phrase.other = owned(std::move(other));
    } else if (phrase.person && phrase.number == Number::singular && kind < 0.46) {
      NounPhrase clothes = noun_phrase(kClothes);
      clothes.count.reset();
      if (clothes.determiner == Determiner::possessive) clothes.determiner = Determiner::definite;
      phrase.with = owned(std::move(clothes));
    } else if (depth > 0 && chance(0.35)) {
      phrase.relative = owned(relative(phrase, depth - 1));
    }
    return phrase;
  }

  // --- clauses

  // A clause in which `phrase` is the subject, or the object of a person's action.
  Clause relative(const NounPhrase& phrase, int depth) {
    NounPhrase stand_in = standing_for(phrase, NounPhraseKind::relative);
    const unsigned kinds = phrase.noun->kinds;
    if ((kinds & kPerson) != 0 && chance(0.65)) return action(std::move(stand_in), depth);
    Clause clause;
    clause.verb = &pick_where(verbs(), [&](const Verb& verb) {
      return (verb.object == Object::accusative || verb.object == Object::dative) && (verb.objects & kinds) != 0;
    });
    clause.tense = past_ ? Tense::past : Tense::present;
    clause.subject = subject(kPerson, 0);
    clause.object = owned(std::move(stand_in));
    if (past_ && chance(0.4)) clause.time = time(past_, false);
    return clause;
  }

  bool negatable(const NounPhrase& subject) {
    return !subject.other &&
           (subject.kind != NounPhraseKind::noun || subject.determiner == Determiner::definite ||
            subject.determiner == Determiner::demonstrative || subject.determiner == Determiner::possessive);
  }

  // The object of a verb: a noun phrase, a name or a pronoun.
  std::unique_ptr<NounPhrase> object(const Verb& verb, const NounPhrase& subject, int depth) {
    if ((verb.objects & kPerson) != 0 && chance(0.3)) {
      if (chance(0.5)) return owned(person_name());
      NounPhrase phrase = pronoun();
      // "I see me" and "he sees him" would need reflexives.
      if (subject.kind != NounPhraseKind::pronoun || subject.first_person != phrase.first_person) {
        return owned(std::move(phrase));
      }
    }
    NounPhrase phrase = noun_phrase(verb.objects);
    if (depth > 0 && !verb.has_recipient() && chance(0.3)) {
      phrase.relative = owned(relative(phrase, depth - 1));
    }
    return owned(std::move(phrase));
  }

  NounPhrase town() { return {.kind = NounPhraseKind::town_name, .name = name()}; }

  NounPhrase place() {
    NounPhrase phrase = noun_phrase(kPlace);
    phrase.number = Number::singular;
    return phrase;
  }

  Adverbial location() {
    if (chance(0.25)) return {&kIn, town()};
    NounPhrase phrase = place();
    const Preposition* preposition = chance(0.2) ? &pick(kBesideBuildings) : phrase.noun->at;
    return {preposition, std::move(phrase)};
  }

  Adverbial goal() {
    if (chance(0.3)) return {&kToTown, town()};
    return {&kTo, place()};
  }

  // The arguments of a verb: object, recipient, complement, goal.
  void complete(Clause& clause, int depth) {
    const Verb& verb = *clause.verb;
    if (verb.has_object()) clause.object = object(verb, clause.subject, depth);
    if (verb.has_recipient()) {
      NounPhrase recipient = chance(0.2) ? person_name() : noun_phrase(kPerson);
      recipient.count.reset();
      if (recipient.determiner == Determiner::bare || recipient.determiner == Determiner::indefinite) {
        recipient.determiner = Determiner::definite;
      }
      clause.recipient = owned(std::move(recipient));
    }
    if (verb.complement) clause.adverbials.push_back({verb.complement, noun_phrase(verb.objects)});
    if (verb.has_goal()) clause.adverbials.push_back(goal());
  }

  // Someone does something.
  Clause action(NounPhrase subject, int depth) {
    Clause clause;
    const unsigned kinds = kinds_of(subject);
    clause.subject = std::move(subject);
    clause.verb = &pick_where(
        verbs(), [&](const Verb& verb) { return (verb.subjects & kinds) != 0 && verb.object != Object::clause; });
    clause.tense = past_ ? Tense::past : Tense::present;
    if (!past_ && chance(0.35)) clause.modal = &pick(kModals);
    complete(clause, depth);
    const bool has_relative = clause.object && clause.object->relative;
    if (negatable(clause.subject) && chance(0.15) && !(clause.object && clause.object->count)) {
      clause.negated = true;
    } else if (chance(0.12) && clause.modal == nullptr) {
      clause.frequency = &pick(kFrequencies);
    }
    if (!has_relative && clause.frequency == nullptr && chance(0.4)) {
      clause.time = time(past_, clause.modal != nullptr && clause.modal->future);
    }
    if (!has_relative && !clause.recipient && clause.adverbials.empty() && chance(clause.object ? 0.2 : 0.5)) {
      clause.adverbials.push_back(location());
    } else if (!has_relative && (clause.verb == &verb("buy") || clause.verb == &verb("sell")) && chance(0.5)) {
      clause.adverbials.push_back({&kFor, euros()});
    }
    return clause;
  }

  NounPhrase euros() { return refer_plainly(money(2 + static_cast<int>(random_.below(998))), false); }

  // A state or price of something.
  Clause state(NounPhrase subject) {
    Clause clause;
    const unsigned kinds = kinds_of(subject);
    clause.subject = std::move(subject);
    clause.tense = past_ ? Tense::past : Tense::present;
    if (!past_ && (kinds & kGoods) != 0 && chance(0.3)) {
      clause.verb = &kCost;
      clause.object = owned(euros());
      return clause;
    }
    clause.predicate = &adjective_for(kinds);
    if (negatable(clause.subject) && chance(0.15)) {
      clause.negated = true;
    } else {
      clause.very = chance(0.3);
    }
    return clause;
  }

  // A clause without subordinate ones.
  Clause plain_clause(int depth) {
    if (chance(0.2)) return state(subject(kPerson | kAnimal | kGoods | kText | kPlace, depth));
    return action(subject(kPerson | (chance(0.25) ? kAnimal : 0U), depth), depth);
  }

  // A clause after `main` that may continue with its subject or object. A pronoun is used only if it is unambiguous, so
  // that the source determines its gender.
  Clause following_clause(const Clause& main, int depth) {
    const bool bare = main.adverbials.empty() && !main.recipient && !main.subject.relative && !main.subject.with;
    const NounPhrase* object = main.object.get();
    const bool thing = object && object->kind == NounPhraseKind::noun && !object->person && !object->relative &&
                       object->noun != &kEuro && (main.subject.person || main.subject.first_person);
    if (bare && thing && chance(0.6)) {
      NounPhrase it = standing_for(*object, NounPhraseKind::pronoun);
      if (chance(0.7)) return state(std::move(it));
      Clause clause;
      clause.verb = &pick_where(verbs(), [&](const Verb& verb) { return verb.takes(object->noun->kinds); });
      clause.tense = past_ ? Tense::past : Tense::present;
      clause.subject = subject(kPerson, 0);
      clause.object = owned(std::move(it));
      return clause;
    }
    if (main.subject.person && main.subject.kind == NounPhraseKind::noun && chance(0.5)) {
      NounPhrase they = standing_for(main.subject, NounPhraseKind::pronoun);
      if (chance(0.3)) return state(std::move(they));
      return action(std::move(they), depth);
    }
    return plain_clause(depth);
  }

  Clause purpose(const Clause& main) {
    Clause clause;
    clause.subject = standing_for(main.subject, NounPhraseKind::pronoun);
    clause.verb =
        &pick_where(verbs(), [](const Verb& verb) { return verb.has_object() && (verb.subjects & kPerson) != 0; });
    complete(clause, 0);
    return clause;
  }

  Clause main_clause(int depth) {
    if (depth > 0 && chance(0.2)) return opinion(depth - 1);
    Clause clause = plain_clause(depth);
    if (depth > 0 && chance(0.55)) {
      const bool has_relative = clause.object && clause.object->relative;
      const bool does = clause.verb != nullptr && clause.verb != &kCost && clause.modal == nullptr && !clause.negated;
      if (does && clause.subject.person && !clause.time && !has_relative && chance(0.25)) {
        clause.subordinates.push_back({&kPurpose, purpose(clause)});
      } else {
        const bool first = chance(0.35);
        // A pronoun follows its noun.
        Clause other = first ? plain_clause(depth - 1) : following_clause(clause, depth - 1);
        const Phrase& conjunction = pick_where(subordinators(past_), [&](const Phrase& candidate) {
          return other.verb != nullptr ||
                 candidate.english != "before";  // "before" a clause without a verb is implausible
        });
        if (conjunction.english == "before") other.negated = false;
        clause.subordinates.push_back({&conjunction, std::move(other), first});
        if (first) return clause;
      }
    }
    if (clause.time && chance(0.45)) clause.time_first = true;
    return clause;
  }

  // Someone says that a clause holds.
  Clause opinion(int depth) {
    Clause clause;
    clause.verb = &pick_where(verbs(), [](const Verb& verb) { return verb.object == Object::clause; });
    clause.tense = past_ ? Tense::past : Tense::present;
    clause.subject = subject(kPerson, depth);
    const bool asks = clause.verb == &verb("ask");
    if (negatable(clause.subject) && !asks && chance(0.2)) clause.negated = true;
    clause.subordinates.push_back({asks ? &kWhether : &kThat, plain_clause(depth)});
    return clause;
  }

  Clause question() {
    Clause clause = plain_clause(0);
    clause.mood = Mood::question;
    clause.negated = false;
    const double kind = random_.uniform();
    if (kind < 0.35) return clause;
    if (kind < 0.55 && clause.subject.person && clause.verb != nullptr) {
      clause.subject = {.kind = NounPhraseKind::interrogative};
      return clause;
    }
    const bool thing = clause.object && clause.verb != &kCost && clause.verb->object != Object::dative &&
                       (clause.verb->objects & (kPerson | kAnimal)) == 0;
    if (kind < 0.75 && thing) {
      *clause.object = {.kind = NounPhraseKind::interrogative, .person = false};
      return clause;
    }
    clause.question_word = &kQuestionWords[clause.verb == nullptr || clause.time || !clause.adverbials.empty()
                                               ? 0
                                               : random_.below(std::size(kQuestionWords))];
    return clause;
  }

  bool past_ = false;  // one tense per sentence
  int entities_ = 0;
};

}  // namespace

Sentence invent_sentence(RandomStream& random, std::size_t words) { return World(random).sentence(words); }

std::size_t invent_length(RandomStream& random) {
  const double kind = random.uniform();
  if (kind < 0.72) return 3 + random.below(8);
  if (kind < 0.92) return 10 + random.below(14);
  return 26 + random.below(34);
}

}  // namespace attend::toy
