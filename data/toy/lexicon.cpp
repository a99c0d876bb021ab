#include "data/toy/lexicon.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace attend::toy {

const Preposition kIn{"in", "in", Case::dative};
const Preposition kTo{"to", "zu", Case::dative};
const Preposition kToTown{"to", "nach", Case::dative};
const Preposition kWith{"with", "mit", Case::dative};
const Preposition kFor{"for", "für", Case::accusative};

const Conjunction kThat{"that", "dass"};
const Conjunction kWhether{"whether", "ob"};
const Conjunction kPurpose{"in+order", "um"};  // and, before the infinitive, "to" and "zu"

const Noun kEuro{"euro", "euros", "Euro", "Euro", Gender::masculine, 0};
const Verb kCost{"cost", "costs", "cost", "", "kosten", "koste", "kostet", "gekostet", "", Object::accusative,
                 kGoods, 0};

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
const Preposition kBeside[] = {
    {"behind", "hinter", Case::dative}, {"in+front+of", "vor", Case::dative}, {"next+to", "neben", Case::dative}};

// No noun with identical singular and plural in English: the source must determine the number.
const Noun kNouns[] = {
    {"man", "men", "Mann", "Männer", m, kPerson},
    {"teacher", "teachers", "Lehrer", "Lehrer", m, kPerson},
    {"doctor", "doctors", "Arzt", "Ärzte", m, kPerson},
    {"student", "students", "Student", "Studenten", m, kPerson, true},
    {"boy", "boys", "Junge", "Jungen", m, kPerson, true},
    {"neighbor", "neighbors", "Nachbar", "Nachbarn", m, kPerson, true},
    {"farmer", "farmers", "Bauer", "Bauern", m, kPerson, true},
    {"colleague", "colleagues", "Kollege", "Kollegen", m, kPerson, true},
    {"baker", "bakers", "Bäcker", "Bäcker", m, kPerson},
    {"friend", "friends", "Freund", "Freunde", m, kPerson},
    {"brother", "brothers", "Bruder", "Brüder", m, kPerson},
    {"son", "sons", "Sohn", "Söhne", m, kPerson},
    {"uncle", "uncles", "Onkel", "Onkel", m, kPerson},
    {"waiter", "waiters", "Kellner", "Kellner", m, kPerson},
    {"judge", "judges", "Richter", "Richter", m, kPerson},
    {"woman", "women", "Frau", "Frauen", f, kPerson},
    {"queen", "queens", "Königin", "Königinnen", f, kPerson},
    {"sister", "sisters", "Schwester", "Schwestern", f, kPerson},
    {"aunt", "aunts", "Tante", "Tanten", f, kPerson},
    {"nurse", "nurses", "Krankenschwester", "Krankenschwestern", f, kPerson},
    {"waitress", "waitresses", "Kellnerin", "Kellnerinnen", f, kPerson},
    {"actress", "actresses", "Schauspielerin", "Schauspielerinnen", f, kPerson},
    {"daughter", "daughters", "Tochter", "Töchter", f, kPerson},
    {"mother", "mothers", "Mutter", "Mütter", f, kPerson},

    {"dog", "dogs", "Hund", "Hunde", m, kAnimal},
    {"bird", "birds", "Vogel", "Vögel", m, kAnimal},
    {"cat", "cats", "Katze", "Katzen", f, kAnimal},
    {"cow", "cows", "Kuh", "Kühe", f, kAnimal},
    {"horse", "horses", "Pferd", "Pferde", n, kAnimal},
    {"pig", "pigs", "Schwein", "Schweine", n, kAnimal},

    {"book", "books", "Buch", "Bücher", n, kText | kGoods},
    {"letter", "letters", "Brief", "Briefe", m, kText},
    {"newspaper", "newspapers", "Zeitung", "Zeitungen", f, kText | kGoods},
    {"report", "reports", "Bericht", "Berichte", m, kText | kEnterprise},
    {"poem", "poems", "Gedicht", "Gedichte", n, kText},
    {"novel", "novels", "Roman", "Romane", m, kText | kGoods},
    {"message", "messages", "Nachricht", "Nachrichten", f, kText},
    {"speech", "speeches", "Rede", "Reden", f, kText | kEnterprise},

    {"apple", "apples", "Apfel", "Äpfel", m, kFood | kGoods},
    {"cake", "cakes", "Kuchen", "Kuchen", m, kFood | kGoods | kEnterprise},
    {"soup", "soups", "Suppe", "Suppen", f, kFood | kEnterprise},
    {"pear", "pears", "Birne", "Birnen", f, kFood | kGoods},
    {"tomato", "tomatoes", "Tomate", "Tomaten", f, kFood | kGoods},
    {"egg", "eggs", "Ei", "Eier", n, kFood | kGoods},
    {"roll", "rolls", "Brötchen", "Brötchen", n, kFood | kGoods},

    {"hat", "hats", "Hut", "Hüte", m, kClothes | kGoods},
    {"coat", "coats", "Mantel", "Mäntel", m, kClothes | kGoods},
    {"jacket", "jackets", "Jacke", "Jacken", f, kClothes | kGoods},
    {"blouse", "blouses", "Bluse", "Blusen", f, kClothes | kGoods},
    {"shirt", "shirts", "Hemd", "Hemden", n, kClothes | kGoods},
    {"dress", "dresses", "Kleid", "Kleider", n, kClothes | kGoods},

    {"ring", "rings", "Ring", "Ringe", m, kGoods},
    {"umbrella", "umbrellas", "Regenschirm", "Regenschirme", m, kGoods | kRepairable},
    {"suitcase", "suitcases", "Koffer", "Koffer", m, kGoods | kOpenable},
    {"bottle", "bottles", "Flasche", "Flaschen", f, kGoods | kOpenable},
    {"flower", "flowers", "Blume", "Blumen", f, kGoods},
    {"guitar", "guitars", "Gitarre", "Gitarren", f, kGoods | kRepairable},
    {"car", "cars", "Auto", "Autos", n, kGoods | kRepairable},
    {"bicycle", "bicycles", "Fahrrad", "Fahrräder", n, kGoods | kRepairable},
    {"boat", "boats", "Boot", "Boote", n, kGoods | kRepairable},
    {"picture", "pictures", "Bild", "Bilder", n, kGoods},
    {"knife", "knives", "Messer", "Messer", n, kGoods},
    {"present", "presents", "Geschenk", "Geschenke", n, kGoods | kOpenable | kEnterprise},

    {"table", "tables", "Tisch", "Tische", m, kGoods | kRepairable | kCompound},
    {"chair", "chairs", "Stuhl", "Stühle", m, kGoods | kRepairable | kCompound},
    {"cupboard", "cupboards", "Schrank", "Schränke", m, kGoods | kRepairable | kOpenable | kCompound},
    {"key", "keys", "Schlüssel", "Schlüssel", m, kGoods | kCompound},
    {"lamp", "lamps", "Lampe", "Lampen", f, kGoods | kRepairable | kCompound},
    {"door", "doors", "Tür", "Türen", f, kRepairable | kOpenable | kCompound},
    {"clock", "clocks", "Uhr", "Uhren", f, kGoods | kRepairable | kCompound},
    {"window", "windows", "Fenster", "Fenster", n, kRepairable | kOpenable | kCompound},
    {"telephone", "telephones", "Telefon", "Telefone", n, kGoods | kRepairable | kCompound},

    {"station", "stations", "Bahnhof", "Bahnhöfe", m, kPlace, false, &kAtAn},
    {"garden", "gardens", "Garten", "Gärten", m, kPlace, false, &kIn},
    {"park", "parks", "Park", "Parks", m, kPlace, false, &kIn},
    {"market", "markets", "Markt", "Märkte", m, kPlace, false, &kAtAuf},
    {"forest", "forests", "Wald", "Wälder", m, kPlace, false, &kIn},
    {"beach", "beaches", "Strand", "Strände", m, kPlace, false, &kOnAn},
    {"airport", "airports", "Flughafen", "Flughäfen", m, kPlace, false, &kAtAn},
    {"church", "churches", "Kirche", "Kirchen", f, kPlace, false, &kIn},
    {"school", "schools", "Schule", "Schulen", f, kPlace, false, &kIn},
    {"library", "libraries", "Bibliothek", "Bibliotheken", f, kPlace, false, &kIn},
    {"bridge", "bridges", "Brücke", "Brücken", f, kPlace, false, &kOnAuf},
    {"factory", "factories", "Fabrik", "Fabriken", f, kPlace, false, &kIn},
    {"house", "houses", "Haus", "Häuser", n, kPlace, false, &kIn},
    {"village", "villages", "Dorf", "Dörfer", n, kPlace, false, &kIn},
    {"hospital", "hospitals", "Krankenhaus", "Krankenhäuser", n, kPlace, false, &kIn},
    {"museum", "museums", "Museum", "Museen", n, kPlace, false, &kIn},
    {"hotel", "hotels", "Hotel", "Hotels", n, kPlace, false, &kIn},
    {"theater", "theaters", "Theater", "Theater", n, kPlace, false, &kIn},
};

const Modifier kModifiers[] = {{"kitchen", "Küchen"}, {"garden", "Garten"}, {"office", "Büro"},   {"school", "Schul"},
                               {"hotel", "Hotel"},    {"cellar", "Keller"}, {"church", "Kirchen"}};

constexpr unsigned kBeing = kPerson | kAnimal;
constexpr unsigned kThing = kGoods | kText | kFood | kClothes | kRepairable | kOpenable;

const Adjective kAdjectives[] = {
    {"old", "alt", "alt", kBeing | kGoods | kText | kPlace},
    {"young", "jung", "jung", kBeing},
    {"big", "groß", "groß", kBeing | kGoods | kPlace},
    {"small", "klein", "klein", kBeing | kGoods | kPlace},
    {"beautiful", "schön", "schön", kBeing | kGoods | kPlace},
    {"strong", "stark", "stark", kBeing},
    {"sick", "krank", "krank", kBeing},
    {"healthy", "gesund", "gesund", kBeing},
    {"tired", "müde", "müd", kBeing},
    {"hungry", "hungrig", "hungrig", kBeing},
    {"happy", "glücklich", "glücklich", kPerson},
    {"sad", "traurig", "traurig", kPerson},
    {"friendly", "freundlich", "freundlich", kPerson},
    {"famous", "berühmt", "berühmt", kPerson | kPlace},
    {"rich", "reich", "reich", kPerson},
    {"poor", "arm", "arm", kPerson},
    {"clever", "klug", "klug", kBeing},
    {"new", "neu", "neu", kGoods | kText | kPlace},
    {"expensive", "teuer", "teur", kGoods},
    {"cheap", "billig", "billig", kGoods},
    {"heavy", "schwer", "schwer", kGoods},
    {"light", "leicht", "leicht", kGoods},
    {"red", "rot", "rot", kGoods},
    {"green", "grün", "grün", kGoods},
    {"blue", "blau", "blau", kGoods},
    {"white", "weiß", "weiß", kGoods | kAnimal},
    {"black", "schwarz", "schwarz", kGoods | kAnimal},
    {"dirty", "schmutzig", "schmutzig", kAnimal | kClothes | kRepairable | kOpenable},
    {"clean", "sauber", "sauber", kClothes | kRepairable | kOpenable},
    {"broken", "kaputt", "kaputt", kRepairable},
    {"long", "lang", "lang", kText},
    {"short", "kurz", "kurz", kText},
    {"boring", "langweilig", "langweilig", kText},
    {"interesting", "interessant", "interessant", kText},
    {"fresh", "frisch", "frisch", kFood},
    {"delicious", "lecker", "lecker", kFood},
    {"dark", "dunkel", "dunkl", kPlace},
    {"quiet", "ruhig", "ruhig", kPlace},
};

constexpr Object acc = Object::accusative, dat = Object::dative, none = Object::none;

// No verb with identical past and base form (to read, to put): the source must determine the tense.
const Verb kAllVerbs[] = {
    {"buy", "buys", "bought", "", "kaufen", "kaufe", "kauft", "gekauft", "", acc, kPerson, kGoods},
    {"sell", "sells", "sold", "", "verkaufen", "verkaufe", "verkauft", "verkauft", "", acc, kPerson, kGoods | kAnimal},
    {"see", "sees", "saw", "", "sehen", "sehe", "sieht", "gesehen", "", acc, kBeing, kBeing | kGoods | kPlace},
    {"find", "finds", "found", "", "finden", "finde", "findet", "gefunden", "", acc, kPerson, kThing | kBeing},
    {"lose", "loses", "lost", "", "verlieren", "verliere", "verliert", "verloren", "", acc, kPerson, kGoods | kText},
    {"look for", "looks for", "looked for", "", "suchen", "suche", "sucht", "gesucht", "", acc, kBeing,
     kThing | kBeing},
    {"forget", "forgets", "forgot", "", "vergessen", "vergesse", "vergisst", "vergessen", "", acc, kPerson,
     kThing | kPerson},
    {"repair", "repairs", "repaired", "", "reparieren", "repariere", "repariert", "repariert", "", acc, kPerson,
     kRepairable},
    {"wash", "washes", "washed", "", "waschen", "wasche", "wäscht", "gewaschen", "", acc, kPerson, kClothes | kAnimal},
    {"carry", "carries", "carried", "", "tragen", "trage", "trägt", "getragen", "", acc, kPerson, kGoods},
    {"eat", "eats", "ate", "", "essen", "esse", "isst", "gegessen", "", acc, kPerson, kFood},
    {"write", "writes", "wrote", "", "schreiben", "schreibe", "schreibt", "geschrieben", "", acc, kPerson, kText},
    {"translate", "translates", "translated", "", "übersetzen", "übersetze", "übersetzt", "übersetzt", "", acc, kPerson,
     kText},
    {"visit", "visits", "visited", "", "besuchen", "besuche", "besucht", "besucht", "", acc, kPerson, kPerson | kPlace},
    {"know", "knows", "knew", "", "kennen", "kenne", "kennt", "gekannt", "", acc, kPerson, kPerson | kPlace},
    {"love", "loves", "loved", "", "lieben", "liebe", "liebt", "geliebt", "", acc, kPerson, kBeing},
    {"meet", "meets", "met", "", "treffen", "treffe", "trifft", "getroffen", "", acc, kPerson, kPerson},
    {"paint", "paints", "painted", "", "malen", "male", "malt", "gemalt", "", acc, kPerson, kBeing | kPlace},
    {"steal", "steals", "stole", "", "stehlen", "stehle", "stiehlt", "gestohlen", "", acc, kPerson, kGoods},

    {"call", "calls", "called", "", "rufen", "rufe", "ruft", "angerufen", "an", acc, kPerson, kPerson},
    {"invite", "invites", "invited", "", "laden", "lade", "lädt", "eingeladen", "ein", acc, kPerson, kPerson},
    {"open", "opens", "opened", "", "machen", "mache", "macht", "aufgemacht", "auf", acc, kPerson, kOpenable},
    {"close", "closes", "closed", "", "machen", "mache", "macht", "zugemacht", "zu", acc, kPerson, kOpenable},
    {"pick", "picks", "picked", "up", "holen", "hole", "holt", "abgeholt", "ab", acc, kPerson, kPerson | kGoods},
    {"throw", "throws", "threw", "away", "werfen", "werfe", "wirft", "weggeworfen", "weg", acc, kPerson, kThing},
    {"try", "tries", "tried", "on", "probieren", "probiere", "probiert", "anprobiert", "an", acc, kPerson, kClothes},
    {"prepare", "prepares", "prepared", "", "bereiten", "bereite", "bereitet", "vorbereitet", "vor", acc, kPerson,
     kEnterprise},

    {"help", "helps", "helped", "", "helfen", "helfe", "hilft", "geholfen", "", dat, kPerson, kBeing},
    {"thank", "thanks", "thanked", "", "danken", "danke", "dankt", "gedankt", "", dat, kPerson, kPerson},
    {"follow", "follows", "followed", "", "folgen", "folge", "folgt", "gefolgt", "", dat, kBeing, kBeing, true},

    {"give", "gives", "gave", "", "geben", "gebe", "gibt", "gegeben", "", acc, kPerson, kThing, false, nullptr, true},
    {"show", "shows", "showed", "", "zeigen", "zeige", "zeigt", "gezeigt", "", acc, kPerson, kThing | kPlace, false,
     nullptr, true},
    {"send", "sends", "sent", "", "schicken", "schicke", "schickt", "geschickt", "", acc, kPerson, kText | kClothes,
     false, nullptr, true},
    {"bring", "brings", "brought", "", "bringen", "bringe", "bringt", "gebracht", "", acc, kPerson, kThing, false,
     nullptr, true},

    {"wait", "waits", "waited", "", "warten", "warte", "wartet", "gewartet", "", none, kBeing, kPerson | kText, false,
     &kWaitFor},
    {"think", "thinks", "thought", "", "denken", "denke", "denkt", "gedacht", "", none, kPerson, kBeing | kPlace, false,
     &kThinkOf},
    {"talk", "talks", "talked", "", "sprechen", "spreche", "spricht", "gesprochen", "", none, kPerson,
     kBeing | kText | kPlace, false, &kTalkAbout},
    {"dream", "dreams", "dreamed", "", "träumen", "träume", "träumt", "geträumt", "", none, kPerson,
     kPerson | kGoods | kPlace, false, &kDreamOf},

    {"work", "works", "worked", "", "arbeiten", "arbeite", "arbeitet", "gearbeitet", "", none, kPerson, 0},
    {"sleep", "sleeps", "slept", "", "schlafen", "schlafe", "schläft", "geschlafen", "", none, kBeing, 0},
    {"dance", "dances", "danced", "", "tanzen", "tanze", "tanzt", "getanzt", "", none, kPerson, 0},
    {"sing", "sings", "sang", "", "singen", "singe", "singt", "gesungen", "", none, kPerson, 0},
    {"laugh", "laughs", "laughed", "", "lachen", "lache", "lacht", "gelacht", "", none, kPerson, 0},
    {"play", "plays", "played", "", "spielen", "spiele", "spielt", "gespielt", "", none, kBeing, 0},
    {"cry", "cries", "cried", "", "weinen", "weine", "weint", "geweint", "", none, kPerson, 0},
    {"arrive", "arrives", "arrived", "", "kommen", "komme", "kommt", "angekommen", "an", none, kPerson, 0, true},
    {"wake", "wakes", "woke", "up", "wachen", "wache", "wacht", "aufgewacht", "auf", none, kBeing, 0, true},
    {"get", "gets", "got", "up", "stehen", "stehe", "steht", "aufgestanden", "auf", none, kPerson, 0, true},

    {"go", "goes", "went", "", "gehen", "gehe", "geht", "gegangen", "", none, kBeing, 0, true, nullptr, false, true},
    {"drive", "drives", "drove", "", "fahren", "fahre", "fährt", "gefahren", "", none, kPerson, 0, true, nullptr, false,
     true},
    {"run", "runs", "ran", "", "laufen", "laufe", "läuft", "gelaufen", "", none, kBeing, 0, true, nullptr, false, true},
    {"return", "returns", "returned", "", "kehren", "kehre", "kehrt", "zurückgekehrt", "zurück", none, kPerson, 0, true,
     nullptr, false, true},

    {"say", "says", "said", "", "sagen", "sage", "sagt", "gesagt", "", Object::clause, kPerson, 0},
    {"believe", "believes", "believed", "", "glauben", "glaube", "glaubt", "geglaubt", "", Object::clause, kPerson, 0},
    {"hope", "hopes", "hoped", "", "hoffen", "hoffe", "hofft", "gehofft", "", Object::clause, kPerson, 0},
    {"know", "knows", "knew", "", "wissen", "weiß", "weiß", "gewusst", "", Object::clause, kPerson, 0},
    {"ask", "asks", "asked", "", "fragen", "frage", "fragt", "gefragt", "", Object::clause, kPerson, 0},
};

const Modal kModals[] = {
    {"can", "can", "kann", "können", "kann", false},         {"should", "should", "sollte", "sollten", "sollte", false},
    {"may", "may", "darf", "dürfen", "darf", false},         {"have to", "has to", "muss", "müssen", "muss", true},
    {"want to", "wants to", "will", "wollen", "will", true}, {"will", "will", "wird", "werden", "werde", false, true},
};

constexpr Phrase kPastTimes[] = {{"yesterday", "gestern"},          {"yesterday evening", "gestern Abend"},
                                 {"last week", "letzte Woche"},     {"last year", "letztes Jahr"},
                                 {"last summer", "letzten Sommer"}, {"two+weeks+ago", "vor+zwei+Wochen"}};
constexpr Phrase kPresentTimes[] = {{"today", "heute"},
                                    {"now", "jetzt"},
                                    {"every day", "jeden Tag"},
                                    {"every evening", "jeden Abend"},
                                    {"in+the morning", "am Morgen"},
                                    {"in+the evening", "am Abend"}};
constexpr Phrase kFutureTimes[] = {{"tomorrow", "morgen"},
                                   {"tomorrow evening", "morgen Abend"},
                                   {"next week", "nächste Woche"},
                                   {"next year", "nächstes Jahr"}};
constexpr Phrase kWeekdays[] = {{"Monday", "Montag"},       {"Tuesday", "Dienstag"}, {"Wednesday", "Mittwoch"},
                                {"Thursday", "Donnerstag"}, {"Friday", "Freitag"},   {"Saturday", "Samstag"},
                                {"Sunday", "Sonntag"}};
constexpr Phrase kMonths[] = {{"January", "Januar"},  {"February", "Februar"},  {"March", "März"},
                              {"April", "April"},     {"May", "Mai"},           {"June", "Juni"},
                              {"July", "Juli"},       {"August", "August"},     {"September", "September"},
                              {"October", "Oktober"}, {"November", "November"}, {"December", "Dezember"}};
constexpr Phrase kFrequencies[] = {
    {"often", "oft"}, {"always", "immer"}, {"never", "nie"}, {"sometimes", "manchmal"}, {"rarely", "selten"}};
constexpr Phrase kQuestionWords[] = {{"why", "warum"}, {"when", "wann"}, {"where", "wo"}};

constexpr Conjunction kCoordinators[] = {{"and", "und"}, {"but", "aber"}};
// "when" is not used in the present, where German would not distinguish it from "if".
constexpr Conjunction kSubordinatorsPast[] = {
    {"because", "weil"}, {"although", "obwohl"}, {"before", "bevor"}, {"while", "während"}, {"when", "als"}};
constexpr Conjunction kSubordinatorsPresent[] = {
    {"because", "weil"}, {"although", "obwohl"}, {"before", "bevor"}, {"while", "während"}, {"if", "wenn"}};

template <class Entries>
const auto& find(const Entries& entries, std::string_view english) {
  const auto* const found = std::ranges::find_if(entries, [&](const auto& entry) { return entry.english == english; });
  ensure(found != std::end(entries), "the word is in the lexicon");
  return *found;
}

}  // namespace

std::span<const Noun> nouns() { return kNouns; }
std::span<const Modifier> modifiers() { return kModifiers; }
std::span<const Adjective> adjectives() { return kAdjectives; }
std::span<const Verb> verbs() { return kAllVerbs; }
std::span<const Modal> modals() { return kModals; }
std::span<const Phrase> past_times() { return kPastTimes; }
std::span<const Phrase> present_times() { return kPresentTimes; }
std::span<const Phrase> future_times() { return kFutureTimes; }
std::span<const Phrase> weekdays() { return kWeekdays; }
std::span<const Phrase> months() { return kMonths; }
std::span<const Phrase> frequencies() { return kFrequencies; }
std::span<const Conjunction> coordinators() { return kCoordinators; }
std::span<const Phrase> question_words() { return kQuestionWords; }
std::span<const Conjunction> subordinators(bool past) { return past ? kSubordinatorsPast : kSubordinatorsPresent; }
std::span<const Preposition> beside_buildings() { return kBeside; }

const Noun& noun(std::string_view english) { return find(kNouns, english); }
const Verb& verb(std::string_view english) { return find(kAllVerbs, english); }
const Adjective& adjective(std::string_view english) { return find(kAdjectives, english); }
const Modal& modal(std::string_view english) { return find(kModals, english); }

}  // namespace attend::toy
