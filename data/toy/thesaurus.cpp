#include "data/toy/thesaurus.hpp"

#include <algorithm>
#include <array>

namespace attend::toy {
namespace {

constexpr Object kTakes = Object::accusative;

constexpr Verb english_verb(std::string_view base, std::string_view third, std::string_view past, Object object,
                            unsigned subjects, unsigned objects, const Preposition* complement = nullptr) {
  return {base, third, past, "", "", "", "", "", "", object, subjects, objects, false, complement};
}

constexpr Noun english_noun(std::string_view singular, std::string_view plural, unsigned kinds) {
  return {singular, plural, "", "", Gender::neuter, kinds};
}

constexpr Adjective english_adjective(std::string_view base, unsigned kinds) { return {base, "", "", kinds}; }

template <class Entry>
struct Pair {
  std::string_view word;
  Entry other;
};

const Preposition kAbout{"about", "", Case::accusative};

constexpr Pair<Noun> kNounSynonyms[] = {
    {"car", english_noun("automobile", "automobiles", kGoods | kRepairable)},
    {"present", english_noun("gift", "gifts", kGoods | kOpenable)},
    {"bicycle", english_noun("bike", "bikes", kGoods | kRepairable)},
    {"picture", english_noun("painting", "paintings", kGoods)},
    {"telephone", english_noun("phone", "phones", kGoods | kRepairable)},
    {"doctor", english_noun("physician", "physicians", kPerson)},
    {"student", english_noun("pupil", "pupils", kPerson)},
    {"speech", english_noun("talk", "talks", kText)},
    {"theater", english_noun("playhouse", "playhouses", kPlace)},
};

const Pair<Verb> kVerbSynonyms[] = {
    {"buy", english_verb("purchase", "purchases", "purchased", kTakes, kPerson, kGoods)},
    {"repair", english_verb("fix", "fixes", "fixed", kTakes, kPerson, kRepairable)},
    {"find", english_verb("discover", "discovers", "discovered", kTakes, kPerson, kGoods)},
    {"look for", english_verb("search for", "searches for", "searched for", kTakes, kPerson, kGoods)},
    {"see", english_verb("notice", "notices", "noticed", kTakes, kPerson, kGoods)},
    {"call", english_verb("telephone", "telephones", "telephoned", kTakes, kPerson, kPerson)},
    {"help", english_verb("assist", "assists", "assisted", kTakes, kPerson, kPerson)},
    {"love", english_verb("adore", "adores", "adored", kTakes, kPerson, kPerson)},
    {"talk", english_verb("speak", "speaks", "spoke", Object::none, kPerson, kPerson, &kAbout)},
    {"give", english_verb("hand", "hands", "handed", kTakes, kPerson, kGoods)},
    {"show", english_verb("present", "presents", "presented", kTakes, kPerson, kGoods)},
    {"send", english_verb("mail", "mails", "mailed", kTakes, kPerson, kText)},
    {"cry", english_verb("weep", "weeps", "wept", Object::none, kPerson, 0)},
    {"return", english_verb("come back", "comes back", "came back", Object::none, kPerson, 0)},
};

constexpr Pair<Adjective> kAdjectiveSynonyms[] = {
    {"big", english_adjective("large", kGoods)},        {"small", english_adjective("little", kGoods)},
    {"beautiful", english_adjective("lovely", kGoods)}, {"clever", english_adjective("smart", kPerson)},
    {"rich", english_adjective("wealthy", kPerson)},    {"famous", english_adjective("well-known", kPerson)},
    {"expensive", english_adjective("costly", kGoods)}, {"cheap", english_adjective("inexpensive", kGoods)},
    {"boring", english_adjective("dull", kText)},       {"friendly", english_adjective("kind", kPerson)},
    {"quiet", english_adjective("silent", kPlace)},     {"delicious", english_adjective("tasty", kFood)},
    {"new", english_adjective("brand-new", kGoods)},
};

constexpr unsigned kAny = kPerson | kFood | kText | kClothes | kGoods | kPlace;

const Adjective kPraise[] = {
    english_adjective("good", kAny),
    english_adjective("great", kAny),
    english_adjective("wonderful", kAny),
    english_adjective("excellent", kAny),
    english_adjective("fantastic", kAny),
    english_adjective("pleasant", kAny),
    english_adjective("delicious", kFood),
    english_adjective("tasty", kFood),
    english_adjective("fresh", kFood),
    english_adjective("interesting", kText),
    english_adjective("funny", kText),
    english_adjective("beautiful", kClothes | kGoods | kPlace),
    english_adjective("elegant", kClothes),
    english_adjective("useful", kGoods),
    english_adjective("friendly", kPerson),
    english_adjective("helpful", kPerson),
    english_adjective("clean", kPlace | kClothes),
};

const Adjective kBlame[] = {
    english_adjective("bad", kAny),
    english_adjective("awful", kAny),
    english_adjective("terrible", kAny),
    english_adjective("horrible", kAny),
    english_adjective("poor", kFood | kText | kClothes | kGoods),
    english_adjective("disappointing", kAny),
    english_adjective("bland", kFood),
    english_adjective("salty", kFood),
    english_adjective("stale", kFood),
    english_adjective("boring", kText),
    english_adjective("confusing", kText),
    english_adjective("ugly", kClothes | kGoods | kPlace),
    english_adjective("shabby", kClothes),
    english_adjective("useless", kGoods),
    english_adjective("rude", kPerson),
    english_adjective("lazy", kPerson),
    english_adjective("dirty", kPlace | kClothes),
};

constexpr Noun kAnimalNoun = english_noun("animal", "animals", kAnimal);
constexpr Noun kGarment = english_noun("garment", "garments", kGoods | kClothes);
constexpr Noun kVehicle = english_noun("vehicle", "vehicles", kGoods | kRepairable);
constexpr Noun kFurniture = english_noun("piece of furniture", "pieces of furniture", kGoods | kRepairable);

// The synonym entry of `word`, or nullptr.
template <class Entry, std::size_t size>
const Entry* other(const Pair<Entry> (&pairs)[size], std::string_view word) {
  const auto* const found = std::ranges::find(pairs, word, &Pair<Entry>::word);
  return found == std::end(pairs) ? nullptr : &found->other;
}

}  // namespace

const Verb kHave = english_verb("have", "has", "had", kTakes, kPerson, kGoods);
const Verb kLiveIn = english_verb("live", "lives", "lived", Object::none, kPerson, 0);
const Verb kWorkFor = english_verb("work", "works", "worked", Object::none, kPerson, 0, &kFor);
const Verb kReceive = english_verb("receive", "receives", "received", kTakes, kPerson, kGoods);

const Noun* synonym(const Noun& noun) { return other(kNounSynonyms, noun.english); }
const Verb* synonym(const Verb& verb) { return other(kVerbSynonyms, verb.english); }
const Adjective* synonym(const Adjective& adjective) { return other(kAdjectiveSynonyms, adjective.english); }

const Noun* general(const Noun& noun) {
  using List = std::initializer_list<std::string_view>;
  const auto among = [&](List words) { return std::ranges::find(words, noun.english) != words.end(); };
  if (among({"dog", "bird", "cat", "cow", "horse", "pig"})) return &kAnimalNoun;
  if (among({"hat", "coat", "jacket", "blouse", "shirt", "dress"})) return &kGarment;
  if (among({"car", "bicycle", "boat", "automobile", "bike"})) return &kVehicle;
  if (among({"table", "chair", "cupboard"})) return &kFurniture;
  return nullptr;
}

bool is_a(const Noun& special, const Noun& wide) {
  const Noun* kind = general(special);
  return same(special, wide) || (kind != nullptr && kind->english == wide.english);
}

std::span<const Adjective* const> colours() {
  static const std::array kColours{&adjective("red"), &adjective("green"), &adjective("blue"), &adjective("white"),
                                   &adjective("black")};
  return kColours;
}

std::span<const Adjective> praise() { return kPraise; }
std::span<const Adjective> blame() { return kBlame; }

}  // namespace attend::toy
