// The dependency trees of the built-in corpus: of given sentences, and what those of all sentences keep to.
#include "data/toy/meaning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "data/toy/challenge.hpp"
#include "data/toy/world.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/toy_meanings.hpp"

namespace attend::toy {
namespace {

// "The(det 2) man(nsubj 3) …": each word with its relation and head.
std::string tree_outline(const TreeSentence& tree) {
  std::string text;
  for (const TreeWord& word : tree.words) {
    text += (text.empty() ? "" : " ") + word.form + '(' + word.relation + ' ' + std::to_string(word.head) + ')';
  }
  return text;
}

void expect_trees(const Sentence& sentence, const std::string& english, const std::string& german) {
  EXPECT_EQ(tree_outline(to_tree(to_english(sentence))), english);
  EXPECT_EQ(tree_outline(to_tree(to_german(sentence))), german);
}

void expect_trees(Clause clause, const std::string& english, const std::string& german) {
  Sentence sentence;
  sentence.clauses.push_back(std::move(clause));
  expect_trees(sentence, english, german);
}

std::string tree_feature(const TreeWord& word, const std::string& name) {
  for (const auto& [found, value] : word.features) {
    if (found == name) return value;
  }
  return "";
}

TEST(ToyTrees, WordsHavePartsOfSpeechAndFeatures) {
  Sentence sentence;
  sentence.clauses.push_back(action(some(the("man"), Determiner::definite, {&adjective("old")}), "call",
                                    stand_in(NounPhraseKind::pronoun, "woman", true)));
  EXPECT_EQ(to_conllu(to_tree(to_english(sentence))),
            "# text = The old man calls her.\n"
            "1\tThe\t_\tDET\t_\tDefinite=Def|PronType=Art\t3\tdet\t_\t_\n"
            "2\told\t_\tADJ\t_\tDegree=Pos\t3\tamod\t_\t_\n"
            "3\tman\t_\tNOUN\t_\tNumber=Sing\t4\tnsubj\t_\t_\n"
            "4\tcalls\t_\tVERB\t_\tMood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin\t0\troot\t_\t_\n"
            "5\ther\t_\tPRON\t_\tCase=Acc|Gender=Fem|Number=Sing|Person=3|PronType=Prs\t4\tobj\t_\tSpaceAfter=No\n"
            "6\t.\t_\tPUNCT\t_\t_\t4\tpunct\t_\t_\n\n");
  EXPECT_EQ(to_conllu(to_tree(to_german(sentence))),
            "# text = Der alte Mann ruft sie an.\n"
            "1\tDer\t_\tDET\t_\tCase=Nom|Definite=Def|Gender=Masc|Number=Sing|PronType=Art\t3\tdet\t_\t_\n"
            "2\talte\t_\tADJ\t_\tCase=Nom|Degree=Pos|Gender=Masc|Number=Sing\t3\tamod\t_\t_\n"
            "3\tMann\t_\tNOUN\t_\tCase=Nom|Gender=Masc|Number=Sing\t4\tnsubj\t_\t_\n"
            "4\truft\t_\tVERB\t_\tMood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin\t0\troot\t_\t_\n"
            "5\tsie\t_\tPRON\t_\tCase=Acc|Gender=Fem|Number=Sing|Person=3|PronType=Prs\t4\tobj\t_\t_\n"
            "6\tan\t_\tADP\t_\t_\t4\tcompound:prt\t_\tSpaceAfter=No\n"
            "7\t.\t_\tPUNCT\t_\t_\t4\tpunct\t_\t_\n\n");
}

TEST(ToyTrees, AuxiliaryOfThePerfectDependsOnTheParticiple) {
  Clause clause =
      action(the("woman"), "buy", some(the("car"), Determiner::indefinite, {&adjective("old")}), Tense::past);
  clause.time = Time{"in+the evening", "am Abend"};
  expect_trees(std::move(clause),
               "The(det 2) woman(nsubj 3) bought(root 0) an(det 6) old(amod 6) car(obj 3) in(case 9) the(det 9) "
               "evening(obl 3) .(punct 3)",
               "Die(det 2) Frau(nsubj 9) hat(aux 9) am(case 5) Abend(obl 9) ein(det 8) altes(amod 8) Auto(obj 9) "
               "gekauft(root 0) .(punct 9)");
}

TEST(ToyTrees, TimesHaveTheirNounOrNumberAsHead) {
  const auto trees = [](const char* english, const char* german, const std::string& english_tree,
                        const std::string& german_tree) {
    Clause clause = action(the("man"), "sleep", Tense::past);
    clause.time = Time{english, german};
    expect_trees(std::move(clause), "The(det 2) man(nsubj 3) slept(root 0) " + english_tree + " .(punct 3)",
                 "Der(det 2) Mann(nsubj " + german_tree);
  };
  trees("two+weeks+ago", "vor+zwei+Wochen", "two(nummod 5) weeks(obl 3) ago(case 5)",
        "7) hat(aux 7) vor(case 6) zwei(nummod 6) Wochen(obl 7) geschlafen(root 0) .(punct 7)");
  trees("in 1998", "im+Jahr 1998", "in(case 5) 1998(obl 3)",
        "7) hat(aux 7) im(case 5) Jahr(obl 7) 1998(nummod 5) geschlafen(root 0) .(punct 7)");
  trees("yesterday evening", "gestern Abend", "yesterday(advmod 5) evening(obl 3)",
        "6) hat(aux 6) gestern(advmod 5) Abend(obl 6) geschlafen(root 0) .(punct 6)");
  trees("yesterday", "gestern", "yesterday(advmod 3)", "5) hat(aux 5) gestern(advmod 5) geschlafen(root 0) .(punct 5)");
}

TEST(ToyTrees, SeparablePrefixIsAWordOfItsOwnUntilItJoins) {
  expect_trees(action(the("boy"), "call", the("neighbor")),
               "The(det 2) boy(nsubj 3) calls(root 0) the(det 5) neighbor(obj 3) .(punct 3)",
               "Der(det 2) Junge(nsubj 3) ruft(root 0) den(det 5) Nachbarn(obj 3) an(compound:prt 3) .(punct 3)");
  Clause clause = action(the("mother"), "laugh");
  clause.subordinates.push_back({&because(), action(the("boy"), "call", the("neighbor"))});
  expect_trees(std::move(clause),
               "The(det 2) mother(nsubj 3) laughs(root 0) because(mark 7) the(det 6) boy(nsubj 7) calls(advcl 3) "
               "the(det 9) neighbor(obj 7) .(punct 3)",
               "Die(det 2) Mutter(nsubj 3) lacht(root 0) ,(punct 10) weil(mark 10) der(det 7) Junge(nsubj 10) "
               "den(det 9) Nachbarn(obj 10) anruft(advcl 3) .(punct 3)");
}

TEST(ToyTrees, RelativeClauseDependsOnItsNounWhereverItStands) {
  NounPhrase student = the("student");
  student.relative = std::make_unique<Clause>(action(stand_in(NounPhraseKind::relative, "student", true), "sleep"));
  expect_trees(action(the("nurse"), "help", std::move(student), Tense::past),
               "The(det 2) nurse(nsubj 3) helped(root 0) the(det 5) student(obj 3) who(nsubj 7) sleeps(acl:relcl 5) "
               ".(punct 3)",
               "Die(det 2) Krankenschwester(nsubj 6) hat(aux 6) dem(det 5) Studenten(obj 6) geholfen(root 0) "
               ",(punct 9) der(nsubj 9) schläft(acl:relcl 5) .(punct 6)");
}

TEST(ToyTrees, VerbsThatTakeAnInfinitiveHeadItInEnglish) {
  Clause clause = action(the("man"), "look for", the("dog"));
  clause.modal = &modal("want to");
  clause.negated = true;
  expect_trees(std::move(clause),
               "The(det 2) man(nsubj 5) does(aux 5) not(advmod 5) want(root 0) to(mark 7) look(xcomp 5) for(case 10) "
               "the(det 10) dog(obl 7) .(punct 5)",
               "Der(det 2) Mann(nsubj 7) will(aux 7) den(det 5) Hund(obj 7) nicht(advmod 7) suchen(root 0) .(punct 7)");
}

TEST(ToyTrees, PurposeIsAnInfinitive) {
  Clause clause = action(the("man"), "return", Tense::past);
  clause.subordinates.push_back(
      {&kPurpose, action(stand_in(NounPhraseKind::pronoun, "man", true), "open", the("window"))});
  expect_trees(std::move(clause),
               "The(det 2) man(nsubj 3) returned(root 0) in(mark 7) order(fixed 4) to(mark 7) open(advcl 3) "
               "the(det 9) window(obj 7) .(punct 3)",
               "Der(det 2) Mann(nsubj 4) ist(aux 4) zurückgekehrt(root 0) ,(punct 9) um(mark 9) das(det 8) "
               "Fenster(obj 9) aufzumachen(advcl 4) .(punct 4)");
}

TEST(ToyTrees, MainClausesDependOnTheFirstAndCommasOnWhatTheySetOff) {
  expect_trees(she_sings_but_he_sleeps(),
               "The(det 2) woman(nsubj 3) sings(root 0) ,(punct 14) but(cc 14) because(mark 10) the(det 8) "
               "dog(nsubj 10) is(cop 10) old(advcl 14) ,(punct 10) the(det 13) man(nsubj 14) sleeps(conj 3) .(punct 3)",
               "Die(det 2) Frau(nsubj 3) singt(root 0) ,(punct 12) aber(cc 12) weil(mark 9) der(det 8) Hund(nsubj 9) "
               "alt(advcl 12) ist(cop 9) ,(punct 9) schläft(conj 3) der(det 14) Mann(nsubj 12) .(punct 3)");
}

TEST(ToyTrees, WhatIsSaidByToBeIsTheHead) {
  expect_trees(state(the("dog", Number::plural), "hungry", Tense::past),
               "The(det 2) dogs(nsubj 4) were(cop 4) hungry(root 0) .(punct 4)",
               "Die(det 2) Hunde(nsubj 4) waren(cop 4) hungrig(root 0) .(punct 4)");
  Sentence occupation;  // said in English alone
  occupation.clauses.emplace_back();
  occupation.clauses[0].subject = the("man");
  occupation.clauses[0].object = owned(some(the("doctor"), Determiner::indefinite));
  EXPECT_EQ(tree_outline(to_tree(to_english(occupation))),
            "The(det 2) man(nsubj 5) is(cop 5) a(det 5) doctor(root 0) .(punct 5)");
}

TEST(ToyTrees, TheFirstHalfOfACompoundAndTitlesDependOnTheirNoun) {
  NounPhrase tables = some(the("table", Number::plural), Determiner::bare);
  tables.count = 47;
  tables.modifier = &kModifiers[0];
  expect_trees(action(mr_tarvel(), "buy", std::move(tables), Tense::past),
               "Mr.(nmod:desc 2) Tarvel(nsubj 3) bought(root 0) 47(nummod 6) kitchen(compound 6) tables(obj 3) "
               ".(punct 3)",
               "Herr(nmod 2) Tarvel(nsubj 6) hat(aux 6) 47(nummod 5) Küchentische(obj 6) gekauft(root 0) .(punct 6)");
}

// The sentences of one language, drawn as the corpus draws them, and read back without the text in the file.
class DrawnTrees : public testing::TestWithParam<Language> {
 protected:
  void SetUp() override {
    RandomStream random(11);
    std::string lines;
    for (int i = 0; i < 3000; ++i) {
      const Sentence sentence = invent_sentence(random, invent_length(random));
      const std::vector<Word> words = english() ? to_english(sentence) : to_german(sentence);
      texts_.push_back(to_text(words));
      const std::string tree = to_conllu(to_tree(words));
      lines += tree.substr(tree.find('\n') + 1);
    }
    trees_ = read_conllu(directory_.write("trees.conllu", lines));
  }

  static bool english() { return GetParam() == Language::english; }

  TemporaryDirectory directory_;
  std::vector<std::string> texts_;
  std::vector<TreeSentence> trees_;
};

TEST_P(DrawnTrees, TheirWordsAreThoseOfTheText) {
  ASSERT_EQ(trees_.size(), texts_.size());
  for (std::size_t i = 0; i < trees_.size(); ++i) EXPECT_EQ(trees_[i].text, texts_[i]);
}

TEST_P(DrawnTrees, UseThePartsOfSpeechAndRelationsOfUniversalDependencies) {
  std::set<std::string> parts, relations;
  for (const TreeSentence& tree : trees_) {
    for (const TreeWord& word : tree.words) {
      parts.insert(word.part_of_speech);
      relations.insert(word.relation);
    }
  }
  EXPECT_EQ(parts, (std::set<std::string>{"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "NUM", "PART", "PRON",
                                          "PROPN", "PUNCT", "SCONJ", "VERB"}));
  std::set<std::string> expected = {"acl",   "advcl",    "advmod", "amod", "aux",       "case",  "cc",
                                    "ccomp", "compound", "conj",   "cop",  "det",       "mark",  "nmod",
                                    "nsubj", "nummod",   "obj",    "obl",  "parataxis", "punct", "root"};
  if (english()) {
    expected.insert({"fixed", "xcomp"});
  } else {
    expected.insert("iobj");
  }
  EXPECT_EQ(relations, expected);
}

TEST_P(DrawnTrees, EveryMainClauseHasOneSubject) {
  for (const TreeSentence& tree : trees_) {
    std::size_t root = 0;
    while (tree.words[root].head != 0) ++root;
    for (std::size_t i = 0; i < tree.words.size(); ++i) {
      if (i != root && ((tree.words[i].relation != "conj" && tree.words[i].relation != "parataxis") ||
                        tree.words[i].head != root + 1))
        continue;
      const auto subjects = std::ranges::count_if(
          tree.words, [&](const TreeWord& word) { return word.head == i + 1 && word.relation == "nsubj"; });
      EXPECT_EQ(subjects, 1) << tree_outline(tree);
    }
  }
}

TEST_P(DrawnTrees, DeterminersAgreeWithTheirNoun) {
  std::size_t compared = 0;
  for (const TreeSentence& tree : trees_) {
    for (const TreeWord& word : tree.words) {
      if (word.part_of_speech != "DET") continue;
      EXPECT_EQ(word.relation, "det");
      for (const char* name : {"Case", "Gender", "Number"}) {
        const std::string value = tree_feature(word, name);
        if (value.empty()) continue;
        ++compared;
        EXPECT_EQ(value, tree_feature(tree.words[word.head - 1], name)) << tree_outline(tree);
      }
    }
  }
  EXPECT_GT(compared, 200U);
}

INSTANTIATE_TEST_SUITE_P(Languages, DrawnTrees, testing::Values(Language::english, Language::german),
                         [](const auto& language) {
                           return language.param == Language::english ? "English" : "German";
                         });

}  // namespace
}  // namespace attend::toy
