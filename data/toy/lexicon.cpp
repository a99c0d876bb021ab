#include "data/toy/lexicon.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "core/error.hpp"

namespace attend::toy {

const Verb kCost{"cost", "costs", "cost", Object::accusative, kGoods, 0, "kosten", "koste", "kostet", "gekostet"};

namespace {

constexpr Gender m = Gender::masculine, f = Gender::feminine, n = Gender::neuter;

const Preposition kAtAn{"at", "an", Case::dative};
const Preposition kAtAuf{"at", "auf", Case::dative};
const Preposition kOnAuf{"on", "auf", Case::dative};
const Preposition kOnAn{"on", "an", Case::dative};
const Preposition kWaitFor{"for", "auf", Case::accusative};
const Preposition kThinkOf{"of", "an", Case::accusative};
const Preposition kTalkAbout{"about", "über", Case::accusative};
const Preposition kDreamOf{"of", "von", Case::dative};

// No noun with identical singular and plural in English: the source must determine the number.
const Noun kNouns[] = {
    {"man", "men", kPerson, "Mann", "Männer", m},
    {"teacher", "teachers", kPerson, "Lehrer", "Lehrer", m},
    {"doctor", "doctors", kPerson, "Arzt", "Ärzte", m},
    {"student", "students", kPerson, "Student", "Studenten", m, true},
    {"boy", "boys", kPerson, "Junge", "Jungen", m, true},
    {"neighbor", "neighbors", kPerson, "Nachbar", "Nachbarn", m, true},
    {"farmer", "farmers", kPerson, "Bauer", "Bauern", m, true},
    {"colleague", "colleagues", kPerson, "Kollege", "Kollegen", m, true},
    {"baker", "bakers", kPerson, "Bäcker", "Bäcker", m},
    {"friend", "friends", kPerson, "Freund", "Freunde", m},
    {"brother", "brothers", kPerson, "Bruder", "Brüder", m},
    {"son", "sons", kPerson, "Sohn", "Söhne", m},
    {"uncle", "uncles", kPerson, "Onkel", "Onkel", m},
    {"waiter", "waiters", kPerson, "Kellner", "Kellner", m},
    {"judge", "judges", kPerson, "Richter", "Richter", m},
    {"woman", "women", kPerson, "Frau", "Frauen", f},
    {"queen", "queens", kPerson, "Königin", "Königinnen", f},
    {"sister", "sisters", kPerson, "Schwester", "Schwestern", f},
    {"aunt", "aunts", kPerson, "Tante", "Tanten", f},
    {"nurse", "nurses", kPerson, "Krankenschwester", "Krankenschwestern", f},
    {"waitress", "waitresses", kPerson, "Kellnerin", "Kellnerinnen", f},
    {"actress", "actresses", kPerson, "Schauspielerin", "Schauspielerinnen", f},
    {"daughter", "daughters", kPerson, "Tochter", "Töchter", f},
    {"mother", "mothers", kPerson, "Mutter", "Mütter", f},

    {"dog", "dogs", kAnimal, "Hund", "Hunde", m},
    {"bird", "birds", kAnimal, "Vogel", "Vögel", m},
    {"cat", "cats", kAnimal, "Katze", "Katzen", f},
    {"cow", "cows", kAnimal, "Kuh", "Kühe", f},
    {"horse", "horses", kAnimal, "Pferd", "Pferde", n},
    {"pig", "pigs", kAnimal, "Schwein", "Schweine", n},

    {"book", "books", kText | kGoods, "Buch", "Bücher", n},
    {"letter", "letters", kText, "Brief", "Briefe", m},
    {"newspaper", "newspapers", kText | kGoods, "Zeitung", "Zeitungen", f},
    {"report", "reports", kText | kEnterprise, "Bericht", "Berichte", m},
    {"poem", "poems", kText, "Gedicht", "Gedichte", n},
    {"novel", "novels", kText | kGoods, "Roman", "Romane", m},
    {"message", "messages", kText, "Nachricht", "Nachrichten", f},
    {"speech", "speeches", kText | kEnterprise, "Rede", "Reden", f},

    {"apple", "apples", kFood | kGoods, "Apfel", "Äpfel", m},
    {"cake", "cakes", kFood | kGoods | kEnterprise, "Kuchen", "Kuchen", m},
    {"soup", "soups", kFood | kEnterprise, "Suppe", "Suppen", f},
    {"pear", "pears", kFood | kGoods, "Birne", "Birnen", f},
    {"tomato", "tomatoes", kFood | kGoods, "Tomate", "Tomaten", f},
    {"egg", "eggs", kFood | kGoods, "Ei", "Eier", n},
    {"roll", "rolls", kFood | kGoods, "Brötchen", "Brötchen", n},

    {"hat", "hats", kClothes | kGoods, "Hut", "Hüte", m},
    {"coat", "coats", kClothes | kGoods, "Mantel", "Mäntel", m},
    {"jacket", "jackets", kClothes | kGoods, "Jacke", "Jacken", f},
    {"blouse", "blouses", kClothes | kGoods, "Bluse", "Blusen", f},
    {"shirt", "shirts", kClothes | kGoods, "Hemd", "Hemden", n},
    {"dress", "dresses", kClothes | kGoods, "Kleid", "Kleider", n},

    {"ring", "rings", kGoods, "Ring", "Ringe", m},
    {"umbrella", "umbrellas", kGoods | kRepairable, "Regenschirm", "Regenschirme", m},
    {"suitcase", "suitcases", kGoods | kOpenable, "Koffer", "Koffer", m},
    {"bottle", "bottles", kGoods | kOpenable, "Flasche", "Flaschen", f},
    {"flower", "flowers", kGoods, "Blume", "Blumen", f},
    {"guitar", "guitars", kGoods | kRepairable, "Gitarre", "Gitarren", f},
    {"car", "cars", kGoods | kRepairable, "Auto", "Autos", n},
    {"bicycle", "bicycles", kGoods | kRepairable, "Fahrrad", "Fahrräder", n},
    {"boat", "boats", kGoods | kRepairable, "Boot", "Boote", n},
    {"picture", "pictures", kGoods, "Bild", "Bilder", n},
    {"knife", "knives", kGoods, "Messer", "Messer", n},
    {"present", "presents", kGoods | kOpenable | kEnterprise, "Geschenk", "Geschenke", n},

    {"table", "tables", kGoods | kRepairable | kCompound, "Tisch", "Tische", m},
    {"chair", "chairs", kGoods | kRepairable | kCompound, "Stuhl", "Stühle", m},
    {"cupboard", "cupboards", kGoods | kRepairable | kOpenable | kCompound, "Schrank", "Schränke", m},
    {"key", "keys", kGoods | kCompound, "Schlüssel", "Schlüssel", m},
    {"lamp", "lamps", kGoods | kRepairable | kCompound, "Lampe", "Lampen", f},
    {"door", "doors", kRepairable | kOpenable | kCompound, "Tür", "Türen", f},
    {"clock", "clocks", kGoods | kRepairable | kCompound, "Uhr", "Uhren", f},
    {"window", "windows", kRepairable | kOpenable | kCompound, "Fenster", "Fenster", n},
    {"telephone", "telephones", kGoods | kRepairable | kCompound, "Telefon", "Telefone", n},

    {"station", "stations", kPlace, "Bahnhof", "Bahnhöfe", m, false, &kAtAn},
    {"garden", "gardens", kPlace, "Garten", "Gärten", m, false, &kIn},
    {"park", "parks", kPlace, "Park", "Parks", m, false, &kIn},
    {"market", "markets", kPlace, "Markt", "Märkte", m, false, &kAtAuf},
    {"forest", "forests", kPlace, "Wald", "Wälder", m, false, &kIn},
    {"beach", "beaches", kPlace, "Strand", "Strände", m, false, &kOnAn},
    {"airport", "airports", kPlace, "Flughafen", "Flughäfen", m, false, &kAtAn},
    {"church", "churches", kPlace, "Kirche", "Kirchen", f, false, &kIn},
    {"school", "schools", kPlace, "Schule", "Schulen", f, false, &kIn},
    {"library", "libraries", kPlace, "Bibliothek", "Bibliotheken", f, false, &kIn},
    {"bridge", "bridges", kPlace, "Brücke", "Brücken", f, false, &kOnAuf},
    {"factory", "factories", kPlace, "Fabrik", "Fabriken", f, false, &kIn},
    {"house", "houses", kPlace, "Haus", "Häuser", n, false, &kIn},
    {"village", "villages", kPlace, "Dorf", "Dörfer", n, false, &kIn},
    {"hospital", "hospitals", kPlace, "Krankenhaus", "Krankenhäuser", n, false, &kIn},
    {"museum", "museums", kPlace, "Museum", "Museen", n, false, &kIn},
    {"hotel", "hotels", kPlace, "Hotel", "Hotels", n, false, &kIn},
    {"theater", "theaters", kPlace, "Theater", "Theater", n, false, &kIn},
};

constexpr unsigned kBeing = kPerson | kAnimal;
constexpr unsigned kThing = kGoods | kText | kFood | kClothes | kRepairable | kOpenable;

const Adjective kAdjectives[] = {
    {"old", kBeing | kGoods | kText | kPlace, "alt", "alt"},
    {"young", kBeing, "jung", "jung"},
    {"big", kBeing | kGoods | kPlace, "groß", "groß"},
    {"small", kBeing | kGoods | kPlace, "klein", "klein"},
    {"beautiful", kBeing | kGoods | kPlace, "schön", "schön"},
    {"strong", kBeing, "stark", "stark"},
    {"sick", kBeing, "krank", "krank"},
    {"healthy", kBeing, "gesund", "gesund"},
    {"tired", kBeing, "müde", "müd"},
    {"hungry", kBeing, "hungrig", "hungrig"},
    {"happy", kPerson, "glücklich", "glücklich"},
    {"sad", kPerson, "traurig", "traurig"},
    {"friendly", kPerson, "freundlich", "freundlich"},
    {"famous", kPerson | kPlace, "berühmt", "berühmt"},
    {"rich", kPerson, "reich", "reich"},
    {"poor", kPerson, "arm", "arm"},
    {"clever", kBeing, "klug", "klug"},
    {"new", kGoods | kText | kPlace, "neu", "neu"},
    {"expensive", kGoods, "teuer", "teur"},
    {"cheap", kGoods, "billig", "billig"},
    {"heavy", kGoods, "schwer", "schwer"},
    {"light", kGoods, "leicht", "leicht"},
    {"red", kGoods, "rot", "rot"},
    {"green", kGoods, "grün", "grün"},
    {"blue", kGoods, "blau", "blau"},
    {"white", kGoods | kAnimal, "weiß", "weiß"},
    {"black", kGoods | kAnimal, "schwarz", "schwarz"},
    {"dirty", kAnimal | kClothes | kRepairable | kOpenable, "schmutzig", "schmutzig"},
    {"clean", kClothes | kRepairable | kOpenable, "sauber", "sauber"},
    {"broken", kRepairable, "kaputt", "kaputt"},
    {"long", kText, "lang", "lang"},
    {"short", kText, "kurz", "kurz"},
    {"boring", kText, "langweilig", "langweilig"},
    {"interesting", kText, "interessant", "interessant"},
    {"fresh", kFood, "frisch", "frisch"},
    {"delicious", kFood, "lecker", "lecker"},
    {"dark", kPlace, "dunkel", "dunkl"},
    {"quiet", kPlace, "ruhig", "ruhig"},
};

constexpr Object acc = Object::accusative, dat = Object::dative, dat_acc = Object::dative_and_accusative,
                 none = Object::none;

// No verb with identical past and base form (to read, to put): the source must determine the tense.
const Verb kAllVerbs[] = {
    {"buy", "buys", "bought", acc, kPerson, kGoods, "kaufen", "kaufe", "kauft", "gekauft"},
    {"sell", "sells", "sold", acc, kPerson, kGoods | kAnimal, "verkaufen", "verkaufe", "verkauft", "verkauft"},
    {"see", "sees", "saw", acc, kBeing, kBeing | kGoods | kPlace, "sehen", "sehe", "sieht", "gesehen"},
    {"find", "finds", "found", acc, kPerson, kThing | kBeing, "finden", "finde", "findet", "gefunden"},
    {"lose", "loses", "lost", acc, kPerson, kGoods | kText, "verlieren", "verliere", "verliert", "verloren"},
    {"look for", "looks for", "looked for", acc, kBeing, kThing | kBeing, "suchen", "suche", "sucht", "gesucht"},
    {"forget", "forgets", "forgot", acc, kPerson, kThing | kPerson, "vergessen", "vergesse", "vergisst", "vergessen"},
    {"repair", "repairs", "repaired", acc, kPerson, kRepairable, "reparieren", "repariere", "repariert", "repariert"},
    {"wash", "washes", "washed", acc, kPerson, kClothes | kAnimal, "waschen", "wasche", "wäscht", "gewaschen"},
    {"carry", "carries", "carried", acc, kPerson, kGoods, "tragen", "trage", "trägt", "getragen"},
    {"eat", "eats", "ate", acc, kPerson, kFood, "essen", "esse", "isst", "gegessen"},
    {"write", "writes", "wrote", acc, kPerson, kText, "schreiben", "schreibe", "schreibt", "geschrieben"},
    {"translate", "translates", "translated", acc, kPerson, kText, "übersetzen", "übersetze", "übersetzt", "übersetzt"},
    {"visit", "visits", "visited", acc, kPerson, kPerson | kPlace, "besuchen", "besuche", "besucht", "besucht"},
    {"know", "knows", "knew", acc, kPerson, kPerson | kPlace, "kennen", "kenne", "kennt", "gekannt"},
    {"love", "loves", "loved", acc, kPerson, kBeing, "lieben", "liebe", "liebt", "geliebt"},
    {"meet", "meets", "met", acc, kPerson, kPerson, "treffen", "treffe", "trifft", "getroffen"},
    {"paint", "paints", "painted", acc, kPerson, kBeing | kPlace, "malen", "male", "malt", "gemalt"},
    {"steal", "steals", "stole", acc, kPerson, kGoods, "stehlen", "stehle", "stiehlt", "gestohlen"},

    {"call", "calls", "called", acc, kPerson, kPerson, "rufen", "rufe", "ruft", "angerufen", "an"},
    {"invite", "invites", "invited", acc, kPerson, kPerson, "laden", "lade", "lädt", "eingeladen", "ein"},
    {"open", "opens", "opened", acc, kPerson, kOpenable, "machen", "mache", "macht", "aufgemacht", "auf"},
    {"close", "closes", "closed", acc, kPerson, kOpenable, "machen", "mache", "macht", "zugemacht", "zu"},
    {"pick", "picks", "picked", acc, kPerson, kPerson | kGoods, "holen", "hole", "holt", "abgeholt", "ab", false, "up"},
    {"throw", "throws", "threw", acc, kPerson, kThing, "werfen", "werfe", "wirft", "weggeworfen", "weg", false, "away"},
    {"try", "tries", "tried", acc, kPerson, kClothes, "probieren", "probiere", "probiert", "anprobiert", "an", false,
     "on"},
    {"prepare", "prepares", "prepared", acc, kPerson, kEnterprise, "bereiten", "bereite", "bereitet", "vorbereitet",
     "vor"},

    {"help", "helps", "helped", dat, kPerson, kBeing, "helfen", "helfe", "hilft", "geholfen"},
    {"thank", "thanks", "thanked", dat, kPerson, kPerson, "danken", "danke", "dankt", "gedankt"},
    {"follow", "follows", "followed", dat, kBeing, kBeing, "folgen", "folge", "folgt", "gefolgt", "", true},

    {"give", "gives", "gave", dat_acc, kPerson, kThing, "geben", "gebe", "gibt", "gegeben"},
    {"show", "shows", "showed", dat_acc, kPerson, kThing | kPlace, "zeigen", "zeige", "zeigt", "gezeigt"},
    {"send", "sends", "sent", dat_acc, kPerson, kText | kClothes, "schicken", "schicke", "schickt", "geschickt"},
    {"bring", "brings", "brought", dat_acc, kPerson, kThing, "bringen", "bringe", "bringt", "gebracht"},

    {"wait", "waits", "waited", none, kBeing, kPerson | kText, "warten", "warte", "wartet", "gewartet", "", false, "",
     &kWaitFor},
    {"think", "thinks", "thought", none, kPerson, kBeing | kPlace, "denken", "denke", "denkt", "gedacht", "", false, "",
     &kThinkOf},
    {"talk", "talks", "talked", none, kPerson, kBeing | kText | kPlace, "sprechen", "spreche", "spricht", "gesprochen",
     "", false, "", &kTalkAbout},
    {"dream", "dreams", "dreamed", none, kPerson, kPerson | kGoods | kPlace, "träumen", "träume", "träumt", "geträumt",
     "", false, "", &kDreamOf},

    {"work", "works", "worked", none, kPerson, 0, "arbeiten", "arbeite", "arbeitet", "gearbeitet"},
    {"sleep", "sleeps", "slept", none, kBeing, 0, "schlafen", "schlafe", "schläft", "geschlafen"},
    {"dance", "dances", "danced", none, kPerson, 0, "tanzen", "tanze", "tanzt", "getanzt"},
    {"sing", "sings", "sang", none, kPerson, 0, "singen", "singe", "singt", "gesungen"},
    {"laugh", "laughs", "laughed", none, kPerson, 0, "lachen", "lache", "lacht", "gelacht"},
    {"play", "plays", "played", none, kBeing, 0, "spielen", "spiele", "spielt", "gespielt"},
    {"cry", "cries", "cried", none, kPerson, 0, "weinen", "weine", "weint", "geweint"},
    {"arrive", "arrives", "arrived", none, kPerson, 0, "kommen", "komme", "kommt", "angekommen", "an", true},
    {"wake", "wakes", "woke", none, kBeing, 0, "wachen", "wache", "wacht", "aufgewacht", "auf", true, "up"},
    {"get", "gets", "got", none, kPerson, 0, "stehen", "stehe", "steht", "aufgestanden", "auf", true, "up"},

    {"go", "goes", "went", Object::goal, kBeing, 0, "gehen", "gehe", "geht", "gegangen", "", true},
    {"drive", "drives", "drove", Object::goal, kPerson, 0, "fahren", "fahre", "fährt", "gefahren", "", true},
    {"run", "runs", "ran", Object::goal, kBeing, 0, "laufen", "laufe", "läuft", "gelaufen", "", true},
    {"return", "returns", "returned", Object::goal, kPerson, 0, "kehren", "kehre", "kehrt", "zurückgekehrt", "zurück",
     true},

    {"say", "says", "said", Object::clause, kPerson, 0, "sagen", "sage", "sagt", "gesagt"},
    {"believe", "believes", "believed", Object::clause, kPerson, 0, "glauben", "glaube", "glaubt", "geglaubt"},
    {"hope", "hopes", "hoped", Object::clause, kPerson, 0, "hoffen", "hoffe", "hofft", "gehofft"},
    {"know", "knows", "knew", Object::clause, kPerson, 0, "wissen", "weiß", "weiß", "gewusst"},
    {"ask", "asks", "asked", Object::clause, kPerson, 0, "fragen", "frage", "fragt", "gefragt"},
};

// "when" is not used in the present, where German would not distinguish it from "if".
constexpr Phrase kSubordinatorsPast[] = {
    {"because", "weil"}, {"although", "obwohl"}, {"before", "bevor"}, {"while", "während"}, {"when", "als"}};
constexpr Phrase kSubordinatorsPresent[] = {
    {"because", "weil"}, {"although", "obwohl"}, {"before", "bevor"}, {"while", "während"}, {"if", "wenn"}};

// Synonyms, hypernyms, and the words of documents and labelled sets.

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

template <class Entries>
const auto& find(const Entries& entries, std::string_view english) {
  const auto* const found = std::ranges::find_if(entries, [&](const auto& entry) { return entry.english == english; });
  ensure(found != std::end(entries), "the word is in the lexicon");
  return *found;
}

}  // namespace

std::span<const Noun> nouns() { return kNouns; }
std::span<const Adjective> adjectives() { return kAdjectives; }
std::span<const Verb> verbs() { return kAllVerbs; }
std::span<const Phrase> subordinators(bool past) { return past ? kSubordinatorsPast : kSubordinatorsPresent; }

const Noun& noun(std::string_view english) { return find(kNouns, english); }
const Verb& verb(std::string_view english) { return find(kAllVerbs, english); }
const Adjective& adjective(std::string_view english) { return find(kAdjectives, english); }
const Modal& modal(std::string_view english) { return find(kModals, english); }

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
