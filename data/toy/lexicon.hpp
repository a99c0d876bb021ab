// The words of the built-in world: facts about English and German words, and nothing about sentences.
//
// A fixed phrase is written in units: spaces separate units, '+' joins the words of one unit, and the i-th unit of the
// English side means what the i-th unit of the German side means ("in+the evening", "am Abend").
#pragma once

#include <span>
#include <string_view>

namespace attend::toy {

enum class Gender { masculine, feminine, neuter };
enum class Case { nominative, accusative, dative };

// Semantic kinds of nouns, as bits: verbs restrict their subject and object, adjectives their noun.
enum Kind : unsigned {
  kPerson = 1U << 0,
  kAnimal = 1U << 1,
  kGoods = 1U << 2,  // can be bought, carried, lost
  kFood = 1U << 3,
  kText = 1U << 4,
  kClothes = 1U << 5,
  kOpenable = 1U << 6,
  kRepairable = 1U << 7,
  kPlace = 1U << 8,
  kCompound = 1U << 9,     // takes a Modifier
  kEnterprise = 1U << 10,  // people work on it: meals, reports, presents
};

struct Preposition {
  std::string_view english, german;
  Case governs;
};

// Words without German are of the documents and labelled sets alone (thesaurus.hpp).
struct Noun {
  std::string_view english, english_plural;
  unsigned kinds;
  std::string_view german = {}, german_plural = {};
  Gender gender = Gender::neuter;
  bool weak = false;                // the n-declension: der Student, den Studenten
  const Preposition* at = nullptr;  // of places: in the garden, at the station
};

// The first half of a compound: kitchen + table, Küchen + Tisch.
struct Modifier {
  std::string_view english, german;
};

struct Adjective {
  std::string_view english;
  unsigned kinds;
  std::string_view german = {}, stem = {};  // stem: what endings are added to (teuer, teur-)
};

// What a verb governs: dative_and_accusative gives something to someone, goal goes somewhere.
enum class Object { none, goal, accusative, dative, dative_and_accusative, clause };

struct Verb {
  std::string_view english, third, past;
  Object object;
  unsigned subjects, objects;  // kinds
  // Forms without the separable prefix, but for the participle: rufen, rufe, ruft, angerufen with prefix "an".
  std::string_view infinitive = {}, first = {}, german_third = {}, participle = {}, prefix = {};
  bool with_sein = false;                   // perfect with sein
  std::string_view particle = {};           // English: pick up
  const Preposition* complement = nullptr;  // wait for, warten auf: governs a noun of `objects`

  bool has_recipient() const { return object == Object::dative_and_accusative; }
  bool has_goal() const { return object == Object::goal; }
  bool has_object() const { return object == Object::accusative || object == Object::dative || has_recipient(); }
};

struct Modal {
  std::string_view english, third, singular, plural, first;  // German: er kann, wir können, ich kann
  bool do_support;                                           // "does not want to", but "should not"
  bool future = false;
};

struct Phrase {
  std::string_view english, german;
};

struct Conjunction {
  std::string_view english, german;
};

std::span<const Noun> nouns();
std::span<const Modifier> modifiers();
std::span<const Adjective> adjectives();
std::span<const Verb> verbs();
std::span<const Modal> modals();

std::span<const Phrase> past_times();
std::span<const Phrase> present_times();
std::span<const Phrase> future_times();
std::span<const Phrase> weekdays();
std::span<const Phrase> months();
std::span<const Phrase> frequencies();
std::span<const Phrase> question_words();

std::span<const Conjunction> coordinators();
std::span<const Conjunction> subordinators(bool past);
extern const Conjunction kThat, kWhether, kPurpose;

extern const Preposition kIn, kTo, kToTown, kWith, kFor;
std::span<const Preposition> beside_buildings();
extern const Noun kEuro;
extern const Verb kCost;

// The entry whose English base form is `english`; std::logic_error if there is none.
const Noun& noun(std::string_view english);
const Verb& verb(std::string_view english);
const Adjective& adjective(std::string_view english);
const Modal& modal(std::string_view english);

}  // namespace attend::toy
