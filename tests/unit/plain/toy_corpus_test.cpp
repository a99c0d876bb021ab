// The built-in corpus: what the grammars say for given meanings, and what a written corpus keeps to.
#include "data/toy/corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/random.hpp"
#include "data/text/conll.hpp"
#include "data/text/word_alignment.hpp"
#include "data/toy/world.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/toy_meanings.hpp"
#include "tests/support/toy_words.hpp"

namespace attend::toy {
namespace {

void expect_pair(Clause clause, const std::string& english, const std::string& german, const std::string& alignment) {
  Sentence sentence;
  sentence.clauses.push_back(std::move(clause));
  const SentencePair pair = render(sentence);
  EXPECT_EQ(to_text(pair.english), english);
  EXPECT_EQ(to_text(pair.german), german);
  EXPECT_EQ(to_text(pair.alignment), alignment) << english << "\n" << german;
}

TEST(ToyGrammar, PerfectHasItsParticipleAtTheEnd) {
  Clause clause =
      action(the("woman"), "buy", some(the("car"), Determiner::indefinite, {&adjective("old")}), Tense::past);
  clause.time = Time{"in+the evening", "am Abend"};
  expect_pair(std::move(clause), "The woman bought an old car in the evening.",
              "Die Frau hat am Abend ein altes Auto gekauft.", "0-0 1-1 2-2 2-8 3-5 4-6 5-7 6-3 7-3 8-4");
}

TEST(ToyGrammar, VerbStaysSecondAfterAFrontedTime) {
  Clause clause = action(the("student"), "go", Tense::past);
  clause.adverbials.push_back({&kTo, the("station")});
  clause.time = Time{"yesterday", "gestern"};
  clause.time_first = true;
  expect_pair(std::move(clause), "Yesterday the student went to the station.",
              "Gestern ist der Student zum Bahnhof gegangen.", "0-0 1-2 2-3 3-1 3-6 4-4 5-4 6-5");
}

TEST(ToyGrammar, SeparablePrefixStandsLastAndJoinsInASubordinateClause) {
  expect_pair(action(the("boy"), "call", the("neighbor")), "The boy calls the neighbor.",
              "Der Junge ruft den Nachbarn an.", "0-0 1-1 2-2 2-5 3-3 4-4");
  Clause clause = action(the("mother"), "laugh");
  clause.subordinates.push_back({&because(), action(the("boy"), "call", the("neighbor"))});
  expect_pair(std::move(clause), "The mother laughs because the boy calls the neighbor.",
              "Die Mutter lacht, weil der Junge den Nachbarn anruft.", "0-0 1-1 2-2 3-3 4-4 5-5 6-8 7-6 8-7");
}

TEST(ToyGrammar, PurposeIsAnInfinitiveWithZu) {
  Clause clause = action(the("man"), "return", Tense::past);
  Clause purpose = action(stand_in(NounPhraseKind::pronoun, "man", true), "open", the("window"));
  clause.subordinates.push_back({&kPurpose, std::move(purpose)});
  expect_pair(std::move(clause), "The man returned in order to open the window.",
              "Der Mann ist zurückgekehrt, um das Fenster aufzumachen.",
              "0-0 1-1 2-2 2-3 3-4 3-7 4-4 4-7 5-4 5-7 6-7 7-5 8-6");
}

TEST(ToyGrammar, NumberAgreesAcrossARelativeClause) {
  NounPhrase keys = the("key", Number::plural);
  keys.modifier = &kModifiers[0];
  keys.relative = std::make_unique<Clause>(
      action(the("man"), "lose", stand_in(NounPhraseKind::relative, "key", false, Number::plural), Tense::past));
  expect_pair(state(std::move(keys), "new"), "The kitchen keys that the man lost are new.",
              "Die Küchenschlüssel, die der Mann verloren hat, sind neu.", "0-0 1-1 2-1 3-2 4-3 5-4 6-5 6-6 7-7 8-8");
}

TEST(ToyGrammar, DativeVerbsAndWeakNouns) {
  NounPhrase student = the("student");
  student.relative = std::make_unique<Clause>(action(stand_in(NounPhraseKind::relative, "student", true), "sleep"));
  expect_pair(action(the("nurse"), "help", std::move(student), Tense::past), "The nurse helped the student who sleeps.",
              "Die Krankenschwester hat dem Studenten geholfen, der schläft.", "0-0 1-1 2-2 2-5 3-3 4-4 5-6 6-7");
}

TEST(ToyGrammar, PronounsTakeTheGenderOfTheirNoun) {
  const auto clause = [](std::string_view thing) {
    Clause main = action(the("woman"), "buy", the(thing), Tense::past);
    main.subordinates.push_back(
        {&because(), state(stand_in(NounPhraseKind::pronoun, thing, false), "cheap", Tense::past)});
    return main;
  };
  const std::string alignment = "0-0 1-1 2-2 2-5 3-3 4-4 5-6 6-7 7-9 8-8";
  expect_pair(clause("hat"), "The woman bought the hat because it was cheap.",
              "Die Frau hat den Hut gekauft, weil er billig war.", alignment);
  expect_pair(clause("lamp"), "The woman bought the lamp because it was cheap.",
              "Die Frau hat die Lampe gekauft, weil sie billig war.", alignment);
  expect_pair(clause("book"), "The woman bought the book because it was cheap.",
              "Die Frau hat das Buch gekauft, weil es billig war.", alignment);
}

TEST(ToyGrammar, NegationIsKeinBeforeAnIndefiniteObject) {
  Clause indefinite = action(the("woman"), "sell", some(the("coat"), Determiner::indefinite));
  indefinite.negated = true;
  expect_pair(std::move(indefinite), "The woman does not sell a coat.", "Die Frau verkauft keinen Mantel.",
              "0-0 1-1 2-2 3-3 4-2 5-3 6-4");
  Clause definite = action(the("woman"), "sell", the("coat"));
  definite.negated = true;
  definite.modal = &modal("can");
  expect_pair(std::move(definite), "The woman cannot sell the coat.", "Die Frau kann den Mantel nicht verkaufen.",
              "0-0 1-1 2-2 2-5 3-6 4-3 5-4");
}

TEST(ToyGrammar, QuestionsOpenWithTheVerbOrTheQuestionWord) {
  Clause polar = action(the("uncle"), "close", the("door"), Tense::past);
  polar.mood = Mood::question;
  expect_pair(std::move(polar), "Did the uncle close the door?", "Hat der Onkel die Tür zugemacht?",
              "0-0 1-1 2-2 3-5 4-3 5-4");
  Clause why = action(the("uncle"), "wake");
  why.mood = Mood::question;
  why.question_word = &kQuestionWords[0];
  expect_pair(std::move(why), "Why does the uncle wake up?", "Warum wacht der Onkel auf?",
              "0-0 1-1 2-2 3-3 4-1 4-4 5-1 5-4");
}

TEST(ToyGrammar, RecipientComesBeforeTheObjectUnlessThatIsAPronoun) {
  Clause clause = action(the("aunt"), "give", the("apple", Number::plural), Tense::past);
  clause.recipient = owned(the("son", Number::plural));
  expect_pair(std::move(clause), "The aunt gave the apples to the sons.", "Die Tante hat den Söhnen die Äpfel gegeben.",
              "0-0 1-1 2-2 2-7 3-5 4-6 5-3 6-3 7-4");
  Clause pronoun = action(the("aunt"), "give", stand_in(NounPhraseKind::pronoun, "apple", false), Tense::past);
  pronoun.recipient = owned(the("son"));
  expect_pair(std::move(pronoun), "The aunt gave it to the son.", "Die Tante hat ihn dem Sohn gegeben.",
              "0-0 1-1 2-2 2-6 3-3 4-4 5-4 6-5");
}

TEST(ToyGrammar, AdjectivesAndNumbersInThePlural) {
  NounPhrase lamps = some(the("lamp", Number::plural), Determiner::bare, {&adjective("expensive")});
  lamps.count = 47;
  expect_pair(action(mr_tarvel(), "buy", std::move(lamps), Tense::past), "Mr. Tarvel bought 47 expensive lamps.",
              "Herr Tarvel hat 47 teure Lampen gekauft.", "0-0 1-1 2-2 2-6 3-3 4-4 5-5");
}

TEST(ToyGrammar, MainClausesAreCoordinated) {
  const SentencePair pair = render(she_sings_but_he_sleeps());
  EXPECT_EQ(to_text(pair.english), "The woman sings, but because the dog is old, the man sleeps.");
  EXPECT_EQ(to_text(pair.german), "Die Frau singt, aber weil der Hund alt ist, schläft der Mann.");
  EXPECT_EQ(to_text(pair.alignment), "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-8 8-7 9-10 10-11 11-9");
}

TEST(ToyGrammar, AFullStopOpensAnotherSentenceOfThePair) {
  Sentence sentence;
  NounPhrase lamp = the("lamp");
  lamp.entity = 1;
  NounPhrase it = stand_in(NounPhraseKind::pronoun, "lamp", false);
  it.entity = 1;
  sentence.clauses.push_back(action(the("woman"), "buy", std::move(lamp)));
  sentence.clauses.push_back(state(std::move(it), "cheap"));
  sentence.joiners.push_back(&kFullStop);
  const SentencePair pair = render(sentence);
  EXPECT_EQ(to_text(pair.english), "The woman buys the lamp. It is cheap.");
  EXPECT_EQ(to_text(pair.german), "Die Frau kauft die Lampe. Sie ist billig.");
  EXPECT_EQ(to_text(pair.alignment), "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7");
  EXPECT_EQ(to_text(antecedents_of(sentence, pair.english)), "5-4");
  EXPECT_EQ(to_text(antecedents_of(sentence, pair.german)), "5-4");
  const TreeSentence tree = to_tree(pair.english);
  ASSERT_EQ(tree.words.size(), 10U);
  EXPECT_EQ(tree.words[5].relation, "punct");
  EXPECT_EQ(tree.words[5].head, 3U);
  EXPECT_EQ(tree.words[8].relation, "parataxis");
  EXPECT_EQ(tree.words[8].head, 3U);
}

std::vector<std::string> split(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Written once, for all tests.
class ToyCorpus : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = temporary_.emplace() / "corpus";
    sets_ =
        write_toy_corpus(
            {.directory = directory_.string(), .train_sentences = 3000, .valid_sentences = 200, .test_sentences = 400})
            .translation;
  }
  static void TearDownTestSuite() { temporary_.reset(); }

  static std::vector<std::string> lines(const std::string& name) { return lines_of(directory_ / name); }

  static inline std::optional<TemporaryDirectory> temporary_;
  static inline std::filesystem::path directory_;
  static inline std::vector<ToySet> sets_;
};

constexpr const char* kFiles[] = {"train.en", "train.de", "valid.en", "valid.de", "test.en", "test.de", "test.align"};

TEST_F(ToyCorpus, SameSeedSameBytesOnEveryPlatform) {
  std::string all;
  for (const char* file : kFiles) all += read_file(directory_ / file);
  EXPECT_EQ(fnv1a(all), 14774710882127893999ULL)
      << "the corpus has changed: say so in CHANGELOG.md and take over the new value";

  const TemporaryDirectory other;
  ToyConfig config = {
      .directory = other / "corpus", .train_sentences = 100, .valid_sentences = 200, .test_sentences = 400};
  const std::string test = read_file(directory_ / "test.de");
  write_toy_corpus(config);
  EXPECT_EQ(read_file(other / "corpus/test.de"), test)
      << "the test set does not depend on how much there is to train on";
  config.overwrite = true;
  config.seed = 2;
  write_toy_corpus(config);
  EXPECT_NE(read_file(other / "corpus/test.de"), test);
}

TEST_F(ToyCorpus, EveryEnglishWordHasAPartOfSpeech) {
  const std::map<std::string, std::string> tags_of_words = {
      {"a", "DET"}, {"and", "CONJ"}, {"not", "NOT"}, {"sleeps", "VERB"}, {"very", "ADV"}};
  std::set<std::string> seen;
  for (const std::string set : {"train", "valid", "test"}) {
    const auto english = lines(set + ".en"), tags = lines(set + ".en.tags");
    ASSERT_EQ(tags.size(), english.size());
    for (std::size_t i = 0; i < english.size(); ++i) {
      SCOPED_TRACE(english[i] + " " + tags[i]);
      const std::vector<std::string> words = words_of(english[i]), labels = split(tags[i]);
      ASSERT_EQ(labels.size(), words.size());
      seen.insert(labels.begin(), labels.end());
      for (std::size_t w = 0; w < words.size(); ++w) {
        const auto expected = tags_of_words.find(words[w]);
        if (expected != tags_of_words.end()) {
          EXPECT_EQ(labels[w], expected->second);
        }
      }
    }
  }
  EXPECT_EQ(seen, (std::set<std::string>{"ADJ", "ADV", "ASK", "AUX", "CONJ", "DET", "NOT", "NOUN", "NUM", "PREP",
                                         "TIME", "VERB"}));
}

TEST_F(ToyCorpus, TreesAreThoseOfTheFirstSentences) {
  const std::map<std::string, std::size_t> trees_of_sets = {{"train", 2000}, {"valid", 200}, {"test", 0}};
  for (const ToySet& set : sets_) {
    EXPECT_EQ(static_cast<std::size_t>(set.trees), trees_of_sets.at(set.name));
    for (const std::string language : {".en", ".de"}) {
      const std::filesystem::path file = directory_ / ("trees." + set.name + language + ".conllu");
      ASSERT_EQ(std::filesystem::exists(file), set.trees > 0) << file;
      if (set.trees == 0) continue;
      const std::vector<TreeSentence> trees = read_conllu(file.string());
      ASSERT_EQ(trees.size(), trees_of_sets.at(set.name)) << file;
      const std::vector<std::string> sentences = lines(set.name + language);
      for (std::size_t i = 0; i < trees.size(); ++i) EXPECT_EQ(trees[i].text, sentences[i]);
    }
  }
}

TEST_F(ToyCorpus, SetsAreWholeAndDisjoint) {
  ASSERT_EQ(sets_.size(), 3U);
  std::set<std::string> seen;
  std::size_t total = 0;
  for (const ToySet& set : sets_) {
    const auto english = lines(set.name + ".en"), german = lines(set.name + ".de");
    EXPECT_EQ(english.size(), static_cast<std::size_t>(set.sentences));
    EXPECT_EQ(german.size(), english.size());
    seen.insert(english.begin(), english.end());
    total += english.size();
  }
  EXPECT_EQ(total, 3600U);
  EXPECT_EQ(seen.size(), total);
  EXPECT_EQ(lines("test.align").size(), 400U);
}

TEST_F(ToyCorpus, EveryWordOfTheTestSetIsAligned) {
  const auto english = lines("test.en"), german = lines("test.de"), alignments = lines("test.align");
  for (std::size_t i = 0; i < english.size(); ++i) {
    std::set<std::size_t> src, tgt;
    for (const std::string& link : split(alignments[i])) {
      const std::size_t dash = link.find('-');
      src.insert(std::stoul(link.substr(0, dash)));
      tgt.insert(std::stoul(link.substr(dash + 1)));
    }
    // As many distinct positions as words, none beyond the last: each word once.
    const std::size_t src_words = split(english[i]).size(), tgt_words = split(german[i]).size();
    EXPECT_EQ(src.size(), src_words) << english[i] << "\n" << german[i] << "\n" << alignments[i];
    EXPECT_EQ(tgt.size(), tgt_words) << english[i] << "\n" << german[i] << "\n" << alignments[i];
    EXPECT_EQ(*src.rbegin() + 1, src_words);
    EXPECT_EQ(*tgt.rbegin() + 1, tgt_words);
  }
}

// The pronouns and nouns of one side of the test set, by the gold links between them.
struct Referred {
  std::string pronoun, noun;
  std::int64_t distance;
};

std::vector<Referred> referred(const std::vector<std::string>& sentences,
                               const std::vector<SentenceLinks>& antecedents) {
  std::vector<Referred> found;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const std::vector<std::string> words = words_of(sentences[i]);
    for (const auto& [pronoun, noun] : antecedents[i].sure) {
      // "They" may stand for two nouns.
      if (std::ranges::count(antecedents[i].sure, pronoun, &Link::src) > 1) continue;
      found.push_back({words.at(pronoun), words.at(noun), std::abs(pronoun - noun) - 1});
    }
  }
  return found;
}

TEST_F(ToyCorpus, GoldAntecedentsAgreeWithTheirPronouns) {
  const auto read = [](const std::string& set, const std::string& language) {
    const std::vector<std::string> sentences = lines(set + '.' + language);
    std::vector<std::int64_t> words;
    for (const std::string& sentence : sentences) words.push_back(std::ssize(split(sentence)));
    const std::string file = (directory_ / (set + '.' + language + ".antecedents")).string();
    const auto links = read_links(file, {.source_words = words, .target_words = words});
    EXPECT_EQ(links.size(), sentences.size());
    return referred(sentences, links);
  };
  const std::set<std::string> kPlaces = {"it", "he", "she", "they", "him", "her", "them"};
  std::size_t it = 0;
  std::set<std::int64_t> distances;
  for (const Referred& each : read("train", "en")) {
    EXPECT_TRUE(kPlaces.contains(each.pronoun)) << each.pronoun;
    if (each.pronoun != "it") continue;
    ++it;
    distances.insert(each.distance);
    const auto noun = std::ranges::find(nouns(), each.noun, &Noun::english);
    ASSERT_NE(noun, nouns().end()) << each.noun;
    EXPECT_EQ(noun->kinds & kPerson, 0U) << each.noun;
  }
  std::size_t said = 0;
  for (const std::string& line : lines("train.en")) said += std::ranges::count(words_of(line), "it");
  EXPECT_EQ(it, said) << "each has one antecedent";
  EXPECT_GT(it, 3000U / 10);
  for (std::int64_t distance = 1; distance <= 12; ++distance) EXPECT_TRUE(distances.contains(distance)) << distance;

  constexpr std::string_view kForms[][3] = {{"er", "sie", "es"}, {"ihn", "sie", "es"}, {"ihm", "ihr", "ihm"}};
  std::map<std::string, std::size_t> forms;
  for (const Referred& each : read("train", "de")) {
    const auto is_said = [&](const Noun& noun) { return words_of(std::string(noun.german))[0] == each.noun; };
    const auto noun = std::ranges::find_if(nouns(), is_said);
    if (noun == nouns().end()) continue;  // a name, a plural, an n-declension, a compound
    const bool agrees = std::ranges::any_of(kForms, [&](const auto& by_gender) {
      return by_gender[static_cast<std::size_t>(noun->gender)] == each.pronoun;
    });
    const bool is_plural = noun->german == noun->german_plural && (each.pronoun == "sie" || each.pronoun == "ihnen");
    EXPECT_TRUE(agrees || is_plural) << each.noun << " " << each.pronoun;
    ++forms[each.pronoun];
  }
  for (const char* form : {"er", "sie", "es", "ihn", "ihm", "ihr"}) EXPECT_GT(forms[form], 5U) << form;
}

// The runs of digits of a sentence, sorted.
std::vector<std::string> numbers(const std::string& text) {
  std::vector<std::string> runs;
  bool inside = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !inside) runs.emplace_back();
    if (digit) runs.back() += c;
    inside = digit;
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

TEST_F(ToyCorpus, NumbersAndNamesAreCopied) {
  const auto english = lines("test.en"), german = lines("test.de"), train = lines("train.en");
  std::set<std::string> known;
  for (const std::string& line : train) {
    for (const std::string& word : split(line)) known.insert(word);
  }
  const auto titled = [](const std::string& line) {
    std::vector<std::string> names;
    const auto words = split(line);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] != "Mr." && words[i] != "Mrs." && words[i] != "Herr" && words[i] != "Herrn") continue;
      std::string name = words[i + 1];
      std::erase_if(name, [](char c) { return std::ispunct(static_cast<unsigned char>(c)) != 0; });
      names.push_back(name);
    }
    return names;
  };
  std::size_t with_numbers = 0, with_names = 0, unseen = 0;
  for (std::size_t i = 0; i < english.size(); ++i) {
    EXPECT_EQ(numbers(english[i]), numbers(german[i]));
    with_numbers += numbers(english[i]).empty() ? 0 : 1;
    for (const std::string& name : titled(english[i])) {
      ++with_names;
      unseen += known.contains(name) ? 0 : 1;
      EXPECT_NE(german[i].find(name), std::string::npos) << english[i] << "\n" << german[i];
    }
  }
  EXPECT_GT(with_numbers, english.size() / 8);
  EXPECT_GT(with_names, english.size() / 20);
  EXPECT_GT(unseen, with_names / 2);
}

TEST_F(ToyCorpus, LengthsRunFromThreeToSixtyWords) {
  std::size_t total = 0, longer_than_30 = 0;
  const auto train = lines("train.en");
  for (const std::string& line : train) {
    const std::size_t words = split(line).size();
    EXPECT_GE(words, 3U);
    EXPECT_LE(words, 60U);
    total += words;
    longer_than_30 += words > 30 ? 1 : 0;
  }
  EXPECT_GT(longer_than_30, train.size() * 7 / 100);
  EXPECT_LT(longer_than_30, train.size() * 15 / 100);
  EXPECT_NEAR(static_cast<double>(total) / static_cast<double>(train.size()), 13, 2);
}

TEST(ToyWorld, OneEnglishSentenceHasOneGermanOne) {
  std::map<std::string, std::string> translations;
  RandomStream random(7);
  std::size_t again = 0;
  for (int i = 0; i < 30000; ++i) {
    const Sentence sentence = invent_sentence(random, i < 20000 ? 3 : 12);  // 12: also about "it"
    const SentencePair pair = render(sentence);
    const auto [entry, is_new] = translations.emplace(to_text(pair.english), to_text(pair.german));
    again += is_new ? 0 : 1;
    EXPECT_EQ(entry->second, to_text(pair.german)) << entry->first;
  }
  EXPECT_GT(again, 100U);
}

TEST_F(ToyCorpus, AnExistingCorpusIsNotReplacedUnasked) {
  const TemporaryDirectory directory;
  ToyConfig config = {
      .directory = directory / "corpus", .train_sentences = 5, .valid_sentences = 5, .test_sentences = 5};
  write_toy_corpus(config);
  config.seed = 2;
  const auto train = [&] { return read_file(directory / "corpus/train.en"); };
  const std::string before = train();
  EXPECT_THROW(write_toy_corpus(config), UserError);
  EXPECT_EQ(train(), before);
  config.overwrite = true;
  write_toy_corpus(config);
  EXPECT_NE(train(), before);
}

}  // namespace
}  // namespace attend::toy
