// Dependency trees in CoNLL-U: what is read, where each word stands in the text, and what is refused by file and line.
#include "data/text/conll.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/example_tree.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

using Place = std::pair<std::size_t, std::size_t>;

// A line of CoNLL-U: ID FORM HEAD DEPREL MISC.
std::string conllu_line(const std::string& id, const std::string& form, const std::string& head,
                        const std::string& relation, const std::string& misc = "_") {
  return id + '\t' + form + "\t_\tX\t_\t_\t" + head + '\t' + relation + "\t_\t" + misc + '\n';
}

class Conllu : public TestWithFiles {
 protected:
  std::vector<TreeSentence> read(const std::string& text) { return read_conllu(write("trees.conllu", text)); }

  // What reading `text` says, after the name of the directory.
  std::string refusal(const std::string& text) {
    return without_place(user_error_of([&] { read(text); }), directory_.path().string() + "/");
  }
};

TEST_F(Conllu, WordsHaveTheirTreeFeaturesAndPlaces) {
  const auto sentences = read(
      "# sent_id = 1\n"
      "# text = Sie schläft, ja.\n"
      "1\tSie\tsie\tPRON\tPPER\tCase=Nom|Number[psor]=Sing\t2\tnsubj:outer\t2:nsubj\t_\n"
      "2\tschläft\tschlafen\tVERB\tVVFIN\t_\t0\troot\t_\tGloss=sleeps|SpaceAfter=No\n"
      "3\t,\t,\tPUNCT\t_\t_\t2\tpunct\t_\t_\n"
      "4\tja\tja\tPART\t_\t_\t2\tdiscourse\t_\tSpaceAfter=No\n"
      "5\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_\n"
      "\n"
      "# text = of no sentence\n"
      "\n" +
      conllu_line("1", "Geh", "0", "root", "SpaceAfter=No") + conllu_line("2", "!", "1", "punct"));
  ASSERT_EQ(sentences.size(), 2U);
  const TreeSentence& first = sentences[0];
  EXPECT_EQ(first.line, 3U);
  EXPECT_EQ(first.text, "Sie schläft, ja.");
  ASSERT_EQ(first.words.size(), 5U);
  EXPECT_EQ(first.words[0].form, "Sie");
  EXPECT_EQ(first.words[0].part_of_speech, "PRON");
  EXPECT_EQ(first.words[0].features,
            (std::vector<std::pair<std::string, std::string>>{{"Case", "Nom"}, {"Number[psor]", "Sing"}}));
  EXPECT_EQ(first.words[0].head, 2U);
  EXPECT_EQ(first.words[0].relation, "nsubj") << "without its subtype";
  EXPECT_EQ(first.words[1].head, 0U);
  EXPECT_TRUE(first.words[1].features.empty());
  EXPECT_EQ(first.places, (std::vector<Place>{{0, 3}, {4, 12}, {12, 13}, {14, 16}, {16, 17}})) << "in bytes";
  EXPECT_EQ(sentences[1].line, 11U);
  EXPECT_EQ(sentences[1].text, "Geh!") << "without a comment, the forms with their spaces";
  EXPECT_EQ(sentences[1].places, (std::vector<Place>{{0, 3}, {3, 4}}));
}

TEST_F(Conllu, WordsOfAMultiwordTokenShareItsPlace) {
  const std::string lines = conllu_line("1", "Er", "4", "nsubj") + conllu_line("2-3", "zum", "_", "_") +
                            conllu_line("2", "zu", "4", "case") + conllu_line("3", "dem", "4", "det") +
                            conllu_line("3.1", "stummen", "_", "_") + conllu_line("4", "Haus", "0", "root");
  for (const std::string comment : {"", "# text = Er  zum Haus\n"}) {
    const TreeSentence sentence = read(comment + lines).front();
    const std::size_t spaces = comment.empty() ? 0 : 1;  // more than one
    ASSERT_EQ(sentence.words.size(), 4U) << "the empty node is none";
    EXPECT_EQ(sentence.words[2].form, "dem");
    EXPECT_EQ(sentence.text, comment.empty() ? "Er zum Haus" : "Er  zum Haus");
    EXPECT_EQ(
        sentence.places,
        (std::vector<Place>{{0, 2}, {3 + spaces, 6 + spaces}, {3 + spaces, 6 + spaces}, {7 + spaces, 11 + spaces}}));
  }
}

TEST_F(Conllu, WhatIsWrittenReadsBack) {
  const std::string lines(kExampleTree);
  EXPECT_EQ(to_conllu(read(lines).front()), lines);
}

TEST_F(Conllu, MistakesAreNamedByFileAndLine) {
  const std::string good = conllu_line("1", "Geh", "0", "root");
  const auto second = [&](const std::string& id, const std::string& head) {
    return refusal(good + conllu_line(id, "nun", head, "advmod"));
  };
  EXPECT_EQ(refusal(good + "\n" + good + "2 nun\n"), "trees.conllu:4: 1 tab-separated column, expected 10");
  EXPECT_EQ(refusal(good + "2\tnun\t_\t\t_\t_\t1\tadvmod\t_\t_\n"), "trees.conllu:2: UPOS is empty");
  EXPECT_EQ(refusal("1\tGeh\t_\tX\t_\tMood\t0\troot\t_\t_\n"),
            "trees.conllu:1: FEATS has \"Mood\", expected Name=Value");
  EXPECT_EQ(second("3", "1"), "trees.conllu:2: ID is 3, expected 2");
  EXPECT_EQ(second("1", "1"), "trees.conllu:2: ID is 1, expected 2");
  EXPECT_EQ(second("b", "1"), "trees.conllu:2: ID is b, expected 2");
  EXPECT_EQ(second("0.1", "_"), "trees.conllu:2: ID is 0.1, expected 1.1 or the like");
  EXPECT_EQ(second("3-4", "_"), "trees.conllu:2: ID is 3-4, expected a range from 2");
  EXPECT_EQ(second("2-1", "_"), "trees.conllu:2: ID is 2-1, expected a range from 2");
  EXPECT_EQ(refusal(conllu_line("1-2", "im", "_", "_") + good + conllu_line("2-3", "am", "_", "_")),
            "trees.conllu:3: ID is 2-3, expected a range from 3");
  EXPECT_EQ(second("2-3", "_"), "trees.conllu:2: the token 2-3 goes beyond the last word, 1");
  EXPECT_EQ(second("2", "_"), "trees.conllu:2: HEAD is _, expected the number of a word, or 0");
  EXPECT_EQ(second("2", "-1"), "trees.conllu:2: HEAD is -1, expected the number of a word, or 0");
  EXPECT_EQ(second("2", "3"), "trees.conllu:2: HEAD is 3, but the sentence has 2 words");
  EXPECT_EQ(second("2", "0"), "trees.conllu:2: a second root, after word 1");
  EXPECT_EQ(second("2", "2"), "trees.conllu:2: word 2 depends on itself, directly or through others");
  EXPECT_EQ(refusal(conllu_line("1", "a", "2", "x") + conllu_line("2", "b", "1", "x")),
            "trees.conllu:1: the sentence has no root");
  EXPECT_EQ(refusal(good + conllu_line("2", "a", "3", "x") + conllu_line("3", "b", "2", "x")),
            "trees.conllu:2: word 2 depends on itself, directly or through others");
  EXPECT_EQ(refusal("# text = Geht nun\n" + good + conllu_line("2", "nun", "1", "x")),
            "trees.conllu:3: the form is \"nun\", but the text continues with \"t nun\"");
  EXPECT_EQ(refusal("# text = Geh nun\n" + good),
            "trees.conllu:2: the text continues with \"nun\" after the last form");
  EXPECT_EQ(refusal("# text = Geh\n\n"), "trees.conllu: no sentences");
}

}  // namespace
}  // namespace attend
