// Files of sentence pairs and of words.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/text/conll.hpp"
#include "data/text/minimal_pairs.hpp"
#include "data/text/word_vectors.hpp"
#include "tests/support/example_tree.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// Files of minimal pairs: three forms of texts and three of translations, and what is refused by file and line.

class MinimalPairs : public TestWithFiles {
 protected:
  std::vector<MinimalPair> read(const std::string& text, PairsOf what = PairsOf::texts) {
    return read_minimal_pairs(write("pairs.tsv", text), what);
  }

  // What reading `text` says, after the name of the directory.
  std::string refusal(const std::string& text, PairsOf what = PairsOf::texts) {
    return without_place(user_error_of([&] { read(text, what); }), directory_.path().string() + "/");
  }
};

TEST_F(MinimalPairs, HaveTwoThreeOrFourFields) {
  const auto plain = read("He sees.\tHe see.\nShe eats.\tShe eat.\n");
  ASSERT_EQ(plain.size(), 2U);
  EXPECT_EQ(plain[1].better, "She eats.");
  EXPECT_EQ(plain[1].worse, "She eat.");
  EXPECT_EQ(plain[1].kind, "");
  EXPECT_FALSE(plain[1].distance);
  const auto kinds = read("agreement\tHe sees.\tHe see.");
  EXPECT_EQ(kinds[0].kind, "agreement");
  EXPECT_FALSE(kinds[0].distance);
  const auto distances = read("agreement\t1\tHe sees.\tHe see.\nagreement\t12\tHe eats.\tHe eat.\r\n");
  EXPECT_EQ(distances[0].distance, 1);
  EXPECT_EQ(distances[1].distance, 12);
  EXPECT_EQ(distances[1].worse, "He eat.");
}

TEST_F(MinimalPairs, MistakesAreNamedByFileAndLine) {
  EXPECT_EQ(refusal("a\tb\nHe sees.\n"), "pairs.tsv:2: 1 tab-separated field, expected 2 as in the first line");
  EXPECT_EQ(refusal("a\tb\nk\ta\tb\n"), "pairs.tsv:2: 3 tab-separated fields, expected 2 as in the first line");
  EXPECT_EQ(refusal("a\n"), "pairs.tsv:1: 1 tab-separated field, expected 2, 3 or 4");
  EXPECT_EQ(refusal("k\t1\ta\tb\tc\n"), "pairs.tsv:1: 5 tab-separated fields, expected 2, 3 or 4");
  EXPECT_EQ(refusal("a\tb\nHe sees.\tHe sees.\n"), "pairs.tsv:2: both sentences are \"He sees.\"");
  EXPECT_EQ(refusal("k\t1\ta\t \n"), "pairs.tsv:1: field 4 is blank");
  EXPECT_EQ(refusal("k\tfar\ta\tb\n"), "pairs.tsv:1: the distance is \"far\", expected a whole number from 0");
  EXPECT_EQ(refusal("k\t-1\ta\tb\n"), "pairs.tsv:1: the distance is \"-1\", expected a whole number from 0");
  EXPECT_EQ(refusal(""), "pairs.tsv: empty");
}

TEST_F(MinimalPairs, OfBlimpAreObjectsInLines) {
  const auto read_jsonl = [&](const std::string& text, PairsOf what = PairsOf::texts) {
    return read_minimal_pairs(write("agreement.jsonl", text), what);
  };
  const auto pairs =
      read_jsonl(R"({"sentence_good": "Birds sing.", "sentence_bad": "Birds sings.", "field": "morphology", )"
                 R"("linguistics_term": "agreement", "UID": "plural", "one_prefix_method": true, "pairID": "0"})"
                 "\n"
                 R"({"sentence_bad": "He \"see\".", "sentence_good": "He \"sees\"."})");
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].kind, "plural");
  EXPECT_EQ(pairs[0].term, "agreement");
  EXPECT_EQ(pairs[0].better, "Birds sing.");
  EXPECT_EQ(pairs[0].worse, "Birds sings.");
  EXPECT_EQ(pairs[1].kind, "agreement") << "the name of the file";
  EXPECT_EQ(pairs[1].term, "");
  EXPECT_EQ(pairs[1].better, "He \"sees\".");
  const std::string good = R"({"sentence_good": "a", "sentence_bad": "b"})";
  const auto says = [&](const std::string& text, PairsOf what = PairsOf::texts) {
    return without_place(user_error_of([&] { read_jsonl(text, what); }), directory_.path().string() + "/");
  };
  EXPECT_EQ(says(good + "\n{\"sentence_good\": \"a\"}"), "agreement.jsonl:2: \"sentence_bad\" is missing");
  EXPECT_EQ(says(R"({"sentence_good": "a", "sentence_bad": 3})"),
            "agreement.jsonl:1: \"sentence_bad\" has the wrong type, number");
  EXPECT_EQ(says(R"({"sentence_good": " ", "sentence_bad": "b"})"), "agreement.jsonl:1: \"sentence_good\" is blank");
  EXPECT_EQ(read_jsonl(good + "\n" + R"({"sentence_good": "a", "sentence_bad": "a"})").size(), 2U) << "as published";
  EXPECT_EQ(says(good + "\n[1]"), "agreement.jsonl:2: not an object");
  EXPECT_TRUE(says(good + "\na\tb").starts_with("agreement.jsonl:2: ")) << "not JSON";
  EXPECT_EQ(says(good, PairsOf::translations),
            "agreement.jsonl: pairs of sentences without the sources that they translate");
  EXPECT_EQ(says(""), "agreement.jsonl: empty");
}

TEST_F(MinimalPairs, OfTranslationsHaveASourceBeforeTheBetterOne) {
  const auto plain = read("Him.\tEr.\tSie.\n", PairsOf::translations);
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0].source, "Him.");
  EXPECT_EQ(plain[0].better, "Er.");
  EXPECT_EQ(plain[0].worse, "Sie.");
  EXPECT_EQ(plain[0].kind, "");
  EXPECT_FALSE(plain[0].distance);
  const auto kinds = read("pronoun\tHim.\tEr.\tSie.", PairsOf::translations);
  EXPECT_EQ(kinds[0].kind, "pronoun");
  EXPECT_EQ(kinds[0].source, "Him.");
  EXPECT_FALSE(kinds[0].distance);
  const auto distances = read("pronoun\t4\tHim.\tEr.\tSie.", PairsOf::translations);
  EXPECT_EQ(distances[0].kind, "pronoun");
  EXPECT_EQ(distances[0].distance, 4);
  EXPECT_EQ(distances[0].source, "Him.");
  EXPECT_EQ(read("a\tb").front().source, "");
}

TEST_F(MinimalPairs, WithoutASourceAreNoTranslations) {
  EXPECT_EQ(refusal("Er.\tSie.\n", PairsOf::translations), "pairs.tsv:1: 2 tab-separated fields, expected 3, 4 or 5");
  EXPECT_EQ(refusal("pronoun\t4\tEr.\tSie.\n", PairsOf::translations),
            "pairs.tsv:1: field 2 is \"4\", expected a source sentence");
  EXPECT_EQ(refusal("k\tfar\tHim.\tEr.\tSie.\n", PairsOf::translations),
            "pairs.tsv:1: the distance is \"far\", expected a whole number from 0");
  EXPECT_EQ(refusal("Him.\tEr.\tSie.\nEr.\tSie.\n", PairsOf::translations),
            "pairs.tsv:2: 2 tab-separated fields, expected 3 as in the first line");
}

// Three fields are a kind or a source before the better sentence: most of them say which.
TEST_F(MinimalPairs, OfThreeFieldsAreThoseOfTheModel) {
  const std::string translations = "Title\tTitel\tTitle\nHim.\tEr.\tSie.\nHer!\tSie!\tEr!\n";
  EXPECT_EQ(read(translations, PairsOf::translations).size(), 3U);
  EXPECT_EQ(refusal(translations), "pairs.tsv: \"Him.\" before \"Er.\" looks like a sentence, not a kind of error");
  const std::string texts = "1st sg.\tI am.\tI is.\nplural\tWe are.\tWe is.\nplural\tYou are\u3002\tYou is\u3002\n";
  EXPECT_EQ(read(texts).size(), 3U);
  EXPECT_EQ(refusal(texts, PairsOf::translations),
            "pairs.tsv: \"plural\" before \"We are.\" looks like a kind of error, not a source sentence");
  EXPECT_EQ(read("a b\tc d\td c\n", PairsOf::translations).size(), 1U) << "nothing ends as a sentence";
}

// Files of word vectors with and without a first line, of analogies and of rated pairs, and what is refused by file and
// line.

class WordFiles : public TestWithFiles {
 protected:
  std::string write_words(const std::string& text) const { return write("words", text); }
  WordVectors read(const std::string& text, std::int64_t most = 100) {
    return read_word_vectors(write_words(text), most);
  }

  // What `read` says, after the name of the directory.
  std::string refusal(const std::function<void()>& read) {
    return without_place(user_error_of(read), directory_.path().string() + "/");
  }
  std::string refused_vectors(const std::string& text) {
    return refusal([&] { read(text); });
  }
  std::string refused_analogies(const std::string& text) {
    return refusal([&] { read_analogies(write_words(text)); });
  }
  std::string refused_pairs(const std::string& text) {
    return refusal([&] { read_rated_pairs(write_words(text)); });
  }
};

using WordList = std::vector<std::string>;

TEST_F(WordFiles, HaveTheSameVectorsWithAndWithoutAFirstLine) {
  for (const std::string first : {"", "2 3\n"}) {
    const WordVectors vectors = read(first + "the 1 -0.5 2e-1\nkönig 0 +3 1e-60 \n");  // fastText ends with a space
    EXPECT_EQ(vectors.words, (WordList{"the", "könig"}));
    EXPECT_EQ(vectors.width, 3);
    EXPECT_EQ(vectors.values, (std::vector<float>{1, -0.5F, 0.2F, 0, 3, 0}));
  }
}

TEST_F(WordFiles, AreReadAsFarAsAsked) {
  EXPECT_EQ(read("9 1\na 1\nb 2\nc 3\n", 2).words, (WordList{"a", "b"}));
  EXPECT_EQ(read("3 1\na 1\nb 2\nc 3\n", 3).words, (WordList{"a", "b", "c"}));
  EXPECT_EQ(read("a 1\nb 2\nc\n", 2).values, (std::vector<float>{1, 2}));  // the fault is behind them
}

TEST_F(WordFiles, KeepTheFirstOfEqualWordsAndNoBlankOne) {
  const WordVectors vectors = read("a 1 2\n\xC2\x85 5 6\na 3 4\n. . 7 8\n2 9 10\n");
  EXPECT_EQ(vectors.words, (WordList{"a", ". .", "2"}));
  EXPECT_EQ(vectors.values, (std::vector<float>{1, 2, 7, 8, 9, 10}));
}

TEST_F(WordFiles, OfVectorsAreRefusedByLine) {
  EXPECT_EQ(refused_vectors("a 1 2\nb 1\n"), "words:2: 1 value, expected 2");
  EXPECT_EQ(refused_vectors("a 1 2\nb 1 2 3\n"), "words:2: 3 values, expected 2");
  EXPECT_EQ(refused_vectors("2 2\na 1\n"), "words:2: 1 value, expected 2");
  EXPECT_EQ(refused_vectors("a 1 2\n\n"), "words:2: 0 values, expected 2");
  EXPECT_EQ(refused_vectors("a 1 nan\n"), "words:1: value 2 of \"a\" is \"nan\", expected a finite number");
  EXPECT_EQ(refused_vectors("a 1 2\nb inf 2\n"), "words:2: value 1 of \"b\" is \"inf\", expected a finite number");
  EXPECT_EQ(refused_vectors("a 1 1e39\n"), "words:1: value 2 of \"a\" is \"1e39\", expected a finite number");
  EXPECT_EQ(refused_vectors("a 1  2\n"), "words:1: value 2 of \"a\" is \"\", expected a finite number");
  EXPECT_EQ(refused_vectors("just\n"), "words:1: \"just\" has no numbers");
  EXPECT_EQ(refused_vectors("1000000000000 1000000000000\na 1\n"), "words:2: 1 value, expected 1000000000000");
  EXPECT_EQ(refused_vectors("3 1\na 1\nb 2\n"), "words: 2 vectors, but its first line says 3");
  EXPECT_EQ(refused_vectors("1 1\na 1\nb 2\n"), "words: 2 vectors, but its first line says 1");
  EXPECT_EQ(refused_vectors("3 1\n"), "words: no vectors");
  EXPECT_EQ(refused_vectors(""), "words: no vectors");
}

TEST_F(WordFiles, OfAnalogiesHaveSections) {
  const auto sections =
      read_analogies(write_words(": capitals\nAthens Greece Oslo Norway\n\n: empty\n:family\na  b\tc d\n"));
  ASSERT_EQ(sections.size(), 3U);
  EXPECT_EQ(sections[0].name, "capitals");
  EXPECT_EQ(sections[0].questions, (std::vector<AnalogyQuestion>{{"Athens", "Greece", "Oslo", "Norway"}}));
  EXPECT_EQ(sections[1].questions.size(), 0U);
  EXPECT_EQ(sections[2].name, "family");
  EXPECT_EQ(sections[2].questions, (std::vector<AnalogyQuestion>{{"a", "b", "c", "d"}}));
}

TEST_F(WordFiles, OfAnalogiesAreRefusedByLine) {
  EXPECT_EQ(refused_analogies(": one\na b c\n"), "words:2: 3 words, expected 4");
  EXPECT_EQ(refused_analogies("a b c d\n"), "words:1: a question before the first section");
  EXPECT_EQ(refused_analogies(": one\n"), "words: no questions");
}

TEST_F(WordFiles, OfPairsHaveScores) {
  const auto pairs = read_rated_pairs(write_words("# word word score\ntiger\tcat\t7.35\r\n\nnew york\tcity\t-1\n"));
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].second, "cat");
  EXPECT_EQ(pairs[0].score, 7.35);
  EXPECT_EQ(pairs[1].first, "new york");
  EXPECT_EQ(pairs[1].score, -1);
}

TEST_F(WordFiles, OfPairsAreRefusedByLine) {
  EXPECT_EQ(refused_pairs("a\tb\t1\na b 2\n"), "words:2: 1 tab-separated field, expected 3");
  EXPECT_EQ(refused_pairs("a\t \t1\n"), "words:1: a word is blank");
  EXPECT_EQ(refused_pairs("Word 1\tWord 2\tHuman\n"), "words:1: the score is \"Human\", expected a finite number");
  EXPECT_EQ(refused_pairs("a\tb\tnan\n"), "words:1: the score is \"nan\", expected a finite number");
  EXPECT_EQ(refused_pairs("# nothing\n"), "words: no pairs");
}

// Dependency trees in CoNLL-U: what is read, where each word stands in the text, and what is refused by file and line.

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
