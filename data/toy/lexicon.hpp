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
  kCompound = 1U << 9,     // takes one of kModifiers
  kEnterprise = 1U << 10,  // people work on it: meals, reports, presents
};

struct Preposition {
  std::string_view english, german;
  Case governs;
};

// Words without German are of the documents and labelled sets alone (see below).
struct Noun {
  std::string_view english, english_plural;
  unsigned kinds;
  std::string_view german = {}, german_plural = {};
  Gender gender = Gender::neuter;
  bool weak = false;                // the n-declension: der Student, den Studenten
  const Preposition* at = nullptr;  // of places: in the garden, at the station
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

  bool takes(unsigned kinds) const { return object == Object::accusative && (objects & kinds) != 0; }
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

// First halves of compounds: kitchen + table, Küchen + Tisch.
inline constexpr Phrase kModifiers[] = {{"kitchen", "Küchen"}, {"garden", "Garten"}, {"office", "Büro"},
                                        {"school", "Schul"},   {"hotel", "Hotel"},   {"cellar", "Keller"},
                                        {"church", "Kirchen"}};

inline constexpr Modal kModals[] = {
    {"can", "can", "kann", "können", "kann", false},         {"should", "should", "sollte", "sollten", "sollte", false},
    {"may", "may", "darf", "dürfen", "darf", false},         {"have to", "has to", "muss", "müssen", "muss", true},
    {"want to", "wants to", "will", "wollen", "will", true}, {"will", "will", "wird", "werden", "werde", false, true},
};

inline constexpr Phrase kPastTimes[] = {{"yesterday", "gestern"},          {"yesterday evening", "gestern Abend"},
                                        {"last week", "letzte Woche"},     {"last year", "letztes Jahr"},
                                        {"last summer", "letzten Sommer"}, {"two+weeks+ago", "vor+zwei+Wochen"}};
inline constexpr Phrase kPresentTimes[] = {{"today", "heute"},
                                           {"now", "jetzt"},
                                           {"every day", "jeden Tag"},
                                           {"every evening", "jeden Abend"},
                                           {"in+the morning", "am Morgen"},
                                           {"in+the evening", "am Abend"}};
inline constexpr Phrase kFutureTimes[] = {{"tomorrow", "morgen"},
                                          {"tomorrow evening", "morgen Abend"},
                                          {"next week", "nächste Woche"},
                                          {"next year", "nächstes Jahr"}};
inline constexpr Phrase kWeekdays[] = {{"Monday", "Montag"},       {"Tuesday", "Dienstag"}, {"Wednesday", "Mittwoch"},
                                       {"Thursday", "Donnerstag"}, {"Friday", "Freitag"},   {"Saturday", "Samstag"},
                                       {"Sunday", "Sonntag"}};
inline constexpr Phrase kMonths[] = {{"January", "Januar"},  {"February", "Februar"},  {"March", "März"},
                                     {"April", "April"},     {"May", "Mai"},           {"June", "Juni"},
                                     {"July", "Juli"},       {"August", "August"},     {"September", "September"},
                                     {"October", "Oktober"}, {"November", "November"}, {"December", "Dezember"}};
inline constexpr Phrase kFrequencies[] = {
    {"often", "oft"}, {"always", "immer"}, {"never", "nie"}, {"sometimes", "manchmal"}, {"rarely", "selten"}};
inline constexpr Phrase kQuestionWords[] = {{"why", "warum"}, {"when", "wann"}, {"where", "wo"}};

inline constexpr Phrase kCoordinators[] = {{"and", "und"}, {"but", "aber"}};
inline constexpr Phrase kFullStop{".", "."};
inline constexpr Phrase kThat{"that", "dass"};
inline constexpr Phrase kWhether{"whether", "ob"};
inline constexpr Phrase kPurpose{"in+order", "um"};  // and, before the infinitive, "to" and "zu"

inline constexpr Preposition kIn{"in", "in", Case::dative};
inline constexpr Preposition kTo{"to", "zu", Case::dative};
inline constexpr Preposition kToTown{"to", "nach", Case::dative};
inline constexpr Preposition kWith{"with", "mit", Case::dative};
inline constexpr Preposition kFor{"for", "für", Case::accusative};
inline constexpr Preposition kBesideBuildings[] = {
    {"behind", "hinter", Case::dative}, {"in+front+of", "vor", Case::dative}, {"next+to", "neben", Case::dative}};

inline constexpr Noun kEuro{"euro", "euros", 0, "Euro", "Euro", Gender::masculine};
extern const Verb kCost;

std::span<const Noun> nouns();
std::span<const Adjective> adjectives();
std::span<const Verb> verbs();
std::span<const Phrase> subordinators(bool past);

// The entry whose English base form is `english`; std::logic_error if there is none.
const Noun& noun(std::string_view english);
const Verb& verb(std::string_view english);
const Adjective& adjective(std::string_view english);
const Modal& modal(std::string_view english);

// Synonyms, hypernyms and antonyms among the English words, and words that only documents and labelled sets use. The
// latter have no German, so the translation sets do not contain them.

extern const Verb kHave, kLiveIn, kWorkFor, kReceive;

// A synonym, or nullptr. The synonym itself has none.
const Noun* synonym(const Noun& noun);
const Verb* synonym(const Verb& verb);
const Adjective* synonym(const Adjective& adjective);

// The hypernym of the noun (dog: animal), or nullptr.
const Noun* general(const Noun& noun);

// True if `wide` is equal to `special`, a synonym or a hypernym.
bool is_a(const Noun& special, const Noun& wide);
// True if the words are synonyms.
template <class Entry>
bool same(const Entry& a, const Entry& b) {
  const Entry *of_a = synonym(a), *of_b = synonym(b);
  return a.english == b.english || (of_a != nullptr && of_a->english == b.english) ||
         (of_b != nullptr && of_b->english == a.english);
}

// Properties of which a thing has exactly one.
std::span<const Adjective* const> colours();

// Adjectives of praise and blame, of several kinds; none is in both lists.
std::span<const Adjective> praise();
std::span<const Adjective> blame();

}  // namespace attend::toy
