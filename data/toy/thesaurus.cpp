#include "data/toy/thesaurus.hpp"

#include <algorithm>
#include <array>

namespace attend::toy {
namespace {

template <class Entry>
struct Pair {
  std::string_view word;
  Entry other;
};

const Preposition kAbout{"about", "", Case::accusative};

constexpr Pair<Noun> kNounSynonyms[] = {
    {"car", {"automobile", "automobiles", kGoods | kRepairable}},
    {"present", {"gift", "gifts", kGoods | kOpenable}},
    {"bicycle", {"bike", "bikes", kGoods | kRepairable}},
    {"picture", {"painting", "paintings", kGoods}},
    {"telephone", {"phone", "phones", kGoods | kRepairable}},
    {"doctor", {"physician", "physicians", kPerson}},
    {"student", {"pupil", "pupils", kPerson}},
    {"speech", {"talk", "talks", kText}},
    {"theater", {"playhouse", "playhouses", kPlace}},
};

const Pair<Verb> kVerbSynonyms[] = {
    {"buy", {"purchase", "purchases", "purchased", Object::accusative, kPerson, kGoods}},
    {"repair", {"fix", "fixes", "fixed", Object::accusative, kPerson, kRepairable}},
    {"find", {"discover", "discovers", "discovered", Object::accusative, kPerson, kGoods}},
    {"look for", {"search for", "searches for", "searched for", Object::accusative, kPerson, kGoods}},
    {"see", {"notice", "notices", "noticed", Object::accusative, kPerson, kGoods}},
    {"call", {"telephone", "telephones", "telephoned", Object::accusative, kPerson, kPerson}},
    {"help", {"assist", "assists", "assisted", Object::accusative, kPerson, kPerson}},
    {"love", {"adore", "adores", "adored", Object::accusative, kPerson, kPerson}},
    {"talk", {"speak", "speaks", "spoke", Object::none, kPerson, kPerson, "", "", "", "", "", false, "", &kAbout}},
    {"give", {"hand", "hands", "handed", Object::accusative, kPerson, kGoods}},
    {"show", {"present", "presents", "presented", Object::accusative, kPerson, kGoods}},
    {"send", {"mail", "mails", "mailed", Object::accusative, kPerson, kText}},
    {"cry", {"weep", "weeps", "wept", Object::none, kPerson, 0}},
    {"return", {"come back", "comes back", "came back", Object::none, kPerson, 0}},
};

constexpr Pair<Adjective> kAdjectiveSynonyms[] = {
    {"big", {"large", kGoods}},        {"small", {"little", kGoods}},      {"beautiful", {"lovely", kGoods}},
    {"clever", {"smart", kPerson}},    {"rich", {"wealthy", kPerson}},     {"famous", {"well-known", kPerson}},
    {"expensive", {"costly", kGoods}}, {"cheap", {"inexpensive", kGoods}}, {"boring", {"dull", kText}},
    {"friendly", {"kind", kPerson}},   {"quiet", {"silent", kPlace}},      {"delicious", {"tasty", kFood}},
    {"new", {"brand-new", kGoods}},
};

constexpr unsigned kAny = kPerson | kFood | kText | kClothes | kGoods | kPlace;

const Adjective kPraise[] = {
    {"good", kAny},
    {"great", kAny},
    {"wonderful", kAny},
    {"excellent", kAny},
    {"fantastic", kAny},
    {"pleasant", kAny},
    {"delicious", kFood},
    {"tasty", kFood},
    {"fresh", kFood},
    {"interesting", kText},
    {"funny", kText},
    {"beautiful", kClothes | kGoods | kPlace},
    {"elegant", kClothes},
    {"useful", kGoods},
    {"friendly", kPerson},
    {"helpful", kPerson},
    {"clean", kPlace | kClothes},
};

const Adjective kBlame[] = {
    {"bad", kAny},
    {"awful", kAny},
    {"terrible", kAny},
    {"horrible", kAny},
    {"poor", kFood | kText | kClothes | kGoods},
    {"disappointing", kAny},
    {"bland", kFood},
    {"salty", kFood},
    {"stale", kFood},
    {"boring", kText},
    {"confusing", kText},
    {"ugly", kClothes | kGoods | kPlace},
    {"shabby", kClothes},
    {"useless", kGoods},
    {"rude", kPerson},
    {"lazy", kPerson},
    {"dirty", kPlace | kClothes},
};

constexpr Noun kAnimalNoun{"animal", "animals", kAnimal};
constexpr Noun kGarment{"garment", "garments", kGoods | kClothes};
constexpr Noun kVehicle{"vehicle", "vehicles", kGoods | kRepairable};
constexpr Noun kFurniture{"piece of furniture", "pieces of furniture", kGoods | kRepairable};

// The synonym entry of `word`, or nullptr.
template <class Entry, std::size_t size>
const Entry* other(const Pair<Entry> (&pairs)[size], std::string_view word) {
  const auto* const found = std::ranges::find(pairs, word, &Pair<Entry>::word);
  return found == std::end(pairs) ? nullptr : &found->other;
}

}  // namespace

const Verb kHave{"have", "has", "had", Object::accusative, kPerson, kGoods};
const Verb kLiveIn{"live", "lives", "lived", Object::none, kPerson, 0};
const Verb kWorkFor{"work", "works", "worked", Object::none, kPerson, 0, "", "", "", "", "", false, "", &kFor};
const Verb kReceive{"receive", "receives", "received", Object::accusative, kPerson, kGoods};

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
