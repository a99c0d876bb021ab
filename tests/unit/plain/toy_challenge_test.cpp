// The minimal pairs of the built-in corpus: what differs, and how far apart what must agree is.
#include "data/toy/challenge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/random.hpp"
#include "data/toy/corpus.hpp"
#include "data/toy/world.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/toy_words.hpp"

namespace attend::toy {
namespace {

using Strings = std::vector<std::string>;

// The words of both sentences, the first position where they differ, and those at the pair's distance from it.
struct Compared {
  Strings better, worse;
  std::size_t at = 0, before = 0, behind = 0;
};

Compared compared(const MinimalPair& pair) {
  Compared both{.better = words_of(pair.better), .worse = words_of(pair.worse)};
  both.at = static_cast<std::size_t>(std::ranges::mismatch(both.better, both.worse).in1 - both.better.begin());
  const auto step = static_cast<std::size_t>(*pair.distance + 1);
  both.before = both.at - step;  // huge, if there is none
  both.behind = both.at + step;
  return both;
}

bool one_word_differs(const Compared& both) {
  if (both.better.size() != both.worse.size() || both.at == both.better.size()) return false;
  const auto next = static_cast<std::ptrdiff_t>(both.at) + 1;
  return std::equal(both.better.begin() + next, both.better.end(), both.worse.begin() + next);
}

std::string word_at(const Strings& words, std::size_t at) { return at < words.size() ? words[at] : ""; }

bool is_plural_noun(const std::string& word) {
  return std::ranges::any_of(nouns(), [&](const Noun& noun) { return noun.english_plural == word; });
}

bool is_singular_noun(const std::string& word) { return is_noun(word) && !is_plural_noun(word); }

// A singular or plural as words_of writes it: all forms that subjects and accusative objects have.
bool is_german_noun(const std::string& word) {
  return std::ranges::any_of(nouns(), [&](const Noun& noun) {
    const Strings forms = words_of(std::string(noun.german) + ' ' + std::string(noun.german_plural));
    return word == forms[0] || word == forms[1];
  });
}

bool is_form(const std::string& word, const std::string& prefix) {
  return std::ranges::any_of(verbs(), [&](const Verb& verb) {
    return verb.prefix == prefix && (word == verb.german_third || word == verb.infinitive);
  });
}

// Written once, for all tests.
struct WrittenCorpus {
  explicit WrittenCorpus(bool challenge)
      : report(write_toy_corpus({.directory = directory.string(),
                                 .train_sentences = 5,
                                 .valid_sentences = 5,
                                 .test_sentences = 5,
                                 .challenge = challenge})) {}

  std::vector<MinimalPair> pairs(const char* file, PairsOf what) const {
    return read_minimal_pairs(directory / "challenge" / file, what);
  }

  TemporaryDirectory temporary;
  std::filesystem::path directory = temporary / "corpus";
  ToyReport report;
};

const WrittenCorpus& corpus() {
  static const WrittenCorpus kCorpus(true);
  return kCorpus;
}

const std::vector<MinimalPair>& english() {
  static const std::vector<MinimalPair> kPairs = corpus().pairs("english.tsv", PairsOf::texts);
  return kPairs;
}

const std::vector<MinimalPair>& german() {
  static const std::vector<MinimalPair> kPairs = corpus().pairs("german.tsv", PairsOf::texts);
  return kPairs;
}

const std::vector<MinimalPair>& translations() {
  static const std::vector<MinimalPair> kPairs = corpus().pairs("en-de.tsv", PairsOf::translations);
  return kPairs;
}

// Calls `check` for each pair of a kind.
template <class Check>
void for_each_of(const std::vector<MinimalPair>& pairs, const std::string& kind, Check check) {
  std::size_t count = 0;
  for (const MinimalPair& pair : pairs) {
    if (pair.kind != kind) continue;
    SCOPED_TRACE(kind + " " + std::to_string(*pair.distance) + ": " + pair.better + " / " + pair.worse);
    check(pair, compared(pair));
    ++count;
  }
  EXPECT_GE(count, 100U) << kind;
}

TEST(ToyChallenge, HasAHundredPairsOfEachKindAndDistance) {
  using Counts = std::map<std::pair<std::string, std::int64_t>, std::set<std::string>>;
  const auto expect_counts = [](const std::vector<MinimalPair>& pairs,
                                const std::vector<std::tuple<const char*, std::int64_t, std::int64_t>>& kinds) {
    Counts counts;
    for (const MinimalPair& pair : pairs) {
      EXPECT_NE(pair.better, pair.worse);
      EXPECT_TRUE((counts[{pair.kind, pair.distance.value()}].insert(pair.better).second)) << pair.better;
    }
    std::size_t expected = 0;
    for (const auto& [kind, nearest, farthest] : kinds) {
      for (std::int64_t distance = nearest; distance <= farthest; ++distance, ++expected) {
        EXPECT_EQ((counts[{kind, distance}].size()), 100U) << kind << " " << distance;
      }
    }
    EXPECT_EQ(counts.size(), expected);
    EXPECT_EQ(pairs.size(), 100 * expected);
  };
  expect_counts(english(), {{"agreement", 1, 8}, {"pronoun", 3, 8}, {"tense", 1, 6}, {"negation", 0, 0}});
  expect_counts(german(), {{"agreement", 1, 8}, {"article", 0, 1}, {"particle", 1, 6}, {"verb_position", 0, 0}});
  expect_counts(translations(), {{"agreement", 1, 8},
                                 {"article", 0, 1},
                                 {"particle", 1, 6},
                                 {"verb_position", 0, 0},
                                 {"polarity", 0, 0},
                                 {"one_candidate", 1, 12},
                                 {"two_candidates", 1, 12}});
}

TEST(ToyChallenge, AVerbDisagreesWithItsNounAndNotWithThoseBetween) {
  std::size_t plural = 0;
  for_each_of(english(), "agreement", [&](const MinimalPair& pair, const Compared& both) {
    ASSERT_TRUE(one_word_differs(both));
    const std::string noun = word_at(both.better, both.before);
    ASSERT_TRUE(is_noun(noun)) << noun;
    EXPECT_EQ(is_singular_noun(noun), both.better[both.at].ends_with('s')) << "is, was, sleeps";
    EXPECT_EQ(is_plural_noun(noun), both.worse[both.at].ends_with('s'));
    plural += is_plural_noun(noun);
    std::size_t others = 0;
    for (std::size_t i = both.before + 1; i < both.at; ++i) {
      const bool misleads = is_plural_noun(noun) ? is_singular_noun(both.better[i]) : is_plural_noun(both.better[i]);
      EXPECT_EQ(is_noun(both.better[i]), misleads) << both.better[i];
      others += misleads || both.better[i] == "he" || both.better[i] == "she" || both.better[i] == "they";
    }
    EXPECT_EQ(others > 0, *pair.distance >= 3);
  });
  EXPECT_EQ(plural, 400U) << "of 800";
  for_each_of(german(), "agreement", [](const MinimalPair&, const Compared& both) {
    ASSERT_TRUE(one_word_differs(both));
    EXPECT_TRUE(is_german_noun(word_at(both.better, both.before))) << word_at(both.better, both.before);
    const std::set<std::string> forms = {both.better[both.at], both.worse[both.at]};
    const std::vector<std::set<std::string>> known = {{"ist", "sind"}, {"war", "waren"}, {"hat", "haben"}};
    EXPECT_TRUE(std::ranges::find(known, forms) != known.end() || std::ranges::any_of(verbs(), [&](const Verb& verb) {
                  return forms == std::set<std::string>{std::string(verb.german_third), std::string(verb.infinitive)};
                }));
  });
}

TEST(ToyChallenge, APronounIsThatOfItsNoun) {
  std::map<std::string, std::size_t> counts;
  for_each_of(english(), "pronoun", [&](const MinimalPair&, const Compared& both) {
    ASSERT_TRUE(one_word_differs(both));
    const std::string noun = word_at(both.better, both.before);
    const std::string &right = both.better[both.at], &wrong = both.worse[both.at];
    ASSERT_TRUE(is_noun(noun)) << noun;
    EXPECT_EQ(right, is_plural_noun(noun) ? "them" : "it");
    ++counts[right + '/' + wrong];
    // Whom "him" or "her" could mean: the subject of the first clause, which is its first noun.
    const std::string subject = *std::ranges::find_if(both.better, is_noun);
    ASSERT_TRUE(is_singular_noun(subject)) << "not them";
    const bool feminine = toy::noun(subject).gender == Gender::feminine;
    EXPECT_NE(wrong, feminine ? "her" : "him");
  });
  EXPECT_EQ(counts["them/it"], 300U) << "of 600";
  EXPECT_GT(counts["it/them"], 100U);
  EXPECT_GT(counts["it/him"], 30U);
  EXPECT_GT(counts["it/her"], 30U);
  EXPECT_EQ(counts.size(), 4U);
}

TEST(ToyChallenge, ATimeContradictsTheTense) {
  std::size_t future = 0;
  for_each_of(english(), "tense", [&](const MinimalPair&, const Compared& both) {
    ASSERT_TRUE(one_word_differs(both));
    const std::string &right = both.better[both.at], &wrong = both.worse[both.at];
    const bool coming = right == "tomorrow" || right == "next";
    EXPECT_EQ(wrong, right == "tomorrow"    ? "yesterday"
                     : right == "yesterday" ? "tomorrow"
                     : right == "next"      ? "last"
                                            : "next");
    future += coming;
    const auto is_finite = [&](const std::string& word) {
      const auto is_past = [&](const Verb& verb) { return verb.past.substr(0, verb.past.find(' ')) == word; };
      return coming ? word == "will" : std::ranges::any_of(verbs(), is_past);
    };
    EXPECT_TRUE(is_finite(word_at(both.better, both.before)) || is_finite(word_at(both.better, both.behind)));
  });
  EXPECT_EQ(future, 300U) << "of 600";
}

TEST(ToyChallenge, NotFollowsTheVerbInsteadOfPrecedingIt) {
  for_each_of(english(), "negation", [](const MinimalPair&, Compared both) {
    ASSERT_LT(both.at + 1, both.better.size());
    EXPECT_EQ(both.better[both.at], "not");
    std::swap(both.better[both.at], both.better[both.at + 1]);
    EXPECT_EQ(both.better, both.worse);
  });
}

TEST(ToyChallenge, AnArticleHasAnotherGender) {
  std::map<std::string, std::size_t> counts;
  for_each_of(german(), "article", [&](const MinimalPair&, const Compared& both) {
    ASSERT_TRUE(one_word_differs(both));
    EXPECT_TRUE(is_german_noun(word_at(both.better, both.behind))) << word_at(both.better, both.behind);
    ++counts[both.better[both.at] + '/' + both.worse[both.at]];
  });
  std::set<std::string> seen;
  for (const auto& [articles, count] : counts) seen.insert(articles);
  EXPECT_EQ(seen,
            (std::set<std::string>{"der/das", "die/das", "das/der", "den/das", "die/den", "das/den", "dieser/dieses",
                                   "diese/dieses", "dieses/dieser", "diesen/dieses", "diese/diesen", "dieses/diesen"}));
}

TEST(ToyChallenge, AParticleIsNotThatOfItsVerb) {
  for_each_of(german(), "particle", [](const MinimalPair&, const Compared& both) {
    ASSERT_TRUE(one_word_differs(both));
    ASSERT_EQ(both.at + 1, both.better.size()) << "it is the last word";
    const std::string finite = word_at(both.better, both.before);
    EXPECT_TRUE(is_form(finite, both.better.back())) << finite;
    EXPECT_FALSE(is_form(finite, both.worse.back())) << finite;
  });
}

TEST(ToyChallenge, AVerbFollowsItsSubjectInsteadOfComingLast) {
  std::size_t inside = 0;
  for_each_of(german(), "verb_position", [&](const MinimalPair& pair, Compared both) {
    ASSERT_LT(both.at, both.better.size());
    EXPECT_TRUE(is_german_noun(word_at(both.better, both.at - 1))) << "the subject";
    const auto from =
        std::find(both.better.begin() + static_cast<std::ptrdiff_t>(both.at), both.better.end(), both.worse[both.at]);
    ASSERT_NE(from, both.better.end());
    inside += from + 1 != both.better.end();
    std::rotate(both.better.begin() + static_cast<std::ptrdiff_t>(both.at), from, from + 1);
    EXPECT_EQ(both.better, both.worse);
    // Commas and the full stop are where they were.
    const auto marks = [](const std::string& text) {
      std::string kept;
      for (const char c : text) {
        if (c == ' ' || c == ',' || c == '.') kept += c;
      }
      return kept;
    };
    EXPECT_EQ(marks(pair.worse), marks(pair.better));
  });
  EXPECT_GT(inside, 5U) << "clauses that precede the main one";
}

// The lexicon translates: a pair's source and its better sentence have the same nouns, in the same numbers.
TEST(ToyChallenge, ATranslationHasTheGermanPairsWithSourcesOfTheirMeaning) {
  ASSERT_GT(translations().size(), german().size());
  for (std::size_t i = 0; i < german().size(); ++i) {
    const MinimalPair& pair = translations()[i];
    SCOPED_TRACE(pair.source + " / " + pair.better);
    EXPECT_EQ(german()[i].source, "");
    EXPECT_EQ(pair.kind, german()[i].kind);
    EXPECT_EQ(pair.distance, german()[i].distance);
    EXPECT_EQ(pair.better, german()[i].better);
    EXPECT_EQ(pair.worse, german()[i].worse);
  }
  for (const MinimalPair& pair : translations()) {
    SCOPED_TRACE(pair.source + " / " + pair.better);
    const Strings german_words = words_of(pair.better);
    std::size_t nouns_said = 0;
    for (const std::string& word : words_of(pair.source)) {
      if (!is_noun(word)) continue;
      ++nouns_said;
      const bool plural = is_plural_noun(word);
      const auto translates = [&](const Noun& noun) {
        if ((plural ? noun.english_plural : noun.english) != word) return false;
        std::string form = words_of(std::string(plural ? noun.german_plural : noun.german))[0];
        const std::string oblique = words_of(std::string(noun.german_plural))[0];
        const auto says = [&](const std::string& text) {
          return std::ranges::find(german_words, text) != german_words.end();
        };
        return says(form) || (noun.weak && says(oblique)) || (plural && says(form + 'n'));
      };
      EXPECT_TRUE(std::ranges::any_of(nouns(), translates)) << word;
    }
    EXPECT_GT(nouns_said, 0U);
  }
}

TEST(ToyChallenge, ANegationIsThatOfTheSource) {
  std::map<std::string, std::size_t> counts;
  for_each_of(translations(), "polarity", [&](const MinimalPair& pair, const Compared& both) {
    const auto negations = [](const Strings& words) {
      return std::ranges::count_if(words,
                                   [](const std::string& word) { return word == "nicht" || word.starts_with("kein"); });
    };
    const Strings source = words_of(pair.source);
    EXPECT_EQ(std::ranges::count(source, "not"), negations(both.better));
    EXPECT_EQ(negations(both.better) + negations(both.worse), 1);
    const Strings& negated = negations(both.better) == 1 ? both.better : both.worse;
    const bool kein = one_word_differs(both);
    EXPECT_EQ(kein, std::ranges::find(negated, "nicht") == negated.end());
    if (kein) {
      const Strings& other = negations(both.better) == 1 ? both.worse : both.better;
      EXPECT_EQ('k' + other[both.at], negated[both.at]);
    }
    ++counts[std::string(kein ? "kein" : "nicht") + (negations(both.better) == 1 ? " is missing" : " is added")];
  });
  EXPECT_EQ(counts.size(), 4U);
  EXPECT_EQ(counts["kein is missing"] + counts["nicht is missing"], 50U);
  EXPECT_GT(counts["kein is missing"], 10U);
  EXPECT_GT(counts["nicht is missing"], 10U);
}

TEST(ToyChallenge, APronounHasTheGenderOfTheNounThatMakesSense) {
  const std::set<std::string> kPronouns = {"er", "sie", "es", "ihn", "ihm", "ihr"};
  for (const char* kind : {"one_candidate", "two_candidates"}) {
    std::map<std::string, std::size_t> better, worse;
    for_each_of(translations(), kind, [&](const MinimalPair& pair, const Compared& both) {
      ASSERT_TRUE(one_word_differs(both));
      EXPECT_TRUE(is_german_noun(word_at(both.better, both.before))) << word_at(both.better, both.before);
      EXPECT_EQ(std::ranges::count(words_of(pair.source), "it"), 1);
      ++better[both.better[both.at]];
      ++worse[both.worse[both.at]];
    });
    for (const std::string& form : kPronouns) {
      EXPECT_GT(better[form], 10U) << kind << " " << form;
      EXPECT_GT(worse[form], 10U) << kind << " " << form;
    }
    for (const char* form : {"er", "sie", "es"}) {
      EXPECT_GT(better[form], 150U) << kind << " " << form;
      EXPECT_LT(better[form], 500U) << kind << " " << form;
    }
    EXPECT_EQ(better.size(), kPronouns.size());
  }
}

// The clause whose subject or object a phrase is.
const Clause* clause_of(const NounPhrase* phrase, const Clause& clause) {
  if (&clause.subject == phrase || clause.object.get() == phrase) return &clause;
  for (const Subordinate& subordinate : clause.subordinates) {
    if (const Clause* const found = clause_of(phrase, subordinate.clause)) return found;
  }
  return nullptr;
}

TEST(ToyReference, SenseDecidesBetweenCandidatesOfDifferentGender) {
  RandomStream random(3);
  for (int i = 0; i < 3000; ++i) {
    const bool has_rival = i % 2 == 0;
    const Reference drawn = invent_reference(random, has_rival, i % 4 < 2);
    SCOPED_TRACE(to_text(to_english(drawn.sentence)));
    std::vector<const NounPhrase*> candidates;  // before the pronoun
    const NounPhrase* it = nullptr;
    const Clause* said = nullptr;
    for (const Clause& clause : drawn.sentence.clauses) {
      for_each_phrase(clause, [&](const NounPhrase& phrase) {
        if (it != nullptr || phrase.person || phrase.number == Number::plural) return;
        (phrase.kind == NounPhraseKind::pronoun ? it = &phrase : candidates.emplace_back(&phrase));
      });
      if (it != nullptr && said == nullptr) said = clause_of(it, clause);
    }
    ASSERT_NE(said, nullptr);
    ASSERT_EQ(candidates.size(), has_rival ? 2U : 1U);
    const unsigned sense = &said->subject != it    ? said->verb->objects
                           : said->verb == nullptr ? said->predicate->kinds
                                                   : said->verb->subjects;
    for (const NounPhrase* const candidate : candidates) {
      const bool is_meant = candidate->entity == it->entity;
      EXPECT_EQ((candidate->noun->kinds & sense) != 0, is_meant) << candidate->noun->english;
      EXPECT_EQ(candidate->noun->gender, is_meant ? drawn.gender : drawn.rival);
    }
    EXPECT_EQ(drawn.gender != drawn.rival, has_rival);
  }
}

TEST(ToyChallenge, EveryWordOccursInTheTrainingText) {
  const auto words_in = [](const std::vector<MinimalPair>& pairs) {
    std::set<std::string> words;
    for (const MinimalPair& pair : pairs) {
      for (std::string& word : words_of(pair.better + ' ' + pair.worse)) words.insert(std::move(word));
    }
    return words;
  };
  std::set<std::string> new_english = words_in(english()), new_german = words_in(translations());
  for (const MinimalPair& pair : translations()) new_english.merge(words_in({{.better = pair.source}}));
  RandomStream random(1);
  for (int i = 0; i < 40000 && !(new_english.empty() && new_german.empty()); ++i) {
    const std::size_t length = invent_length(random);
    const SentencePair sentence = render(invent_sentence(random, length));
    for (const std::string& word : words_of(to_text(sentence.english))) new_english.erase(word);
    for (const std::string& word : words_of(to_text(sentence.german))) new_german.erase(word);
  }
  EXPECT_EQ(new_english, std::set<std::string>());
  EXPECT_EQ(new_german, std::set<std::string>());
}

TEST(ToyChallenge, IsWrittenIfWanted) {
  const WrittenCorpus without(false);
  EXPECT_EQ(without.report.english_pairs, 0U);
  EXPECT_FALSE(std::filesystem::exists(without.directory / "challenge"));
  for (const char* file : {"train.de", "documents.train.txt"}) {
    EXPECT_EQ(read_file(corpus().directory / file), read_file(without.directory / file));
  }
  EXPECT_EQ(corpus().report.english_pairs, english().size());
  EXPECT_EQ(corpus().report.german_pairs, german().size());
  EXPECT_EQ(corpus().report.translation_pairs, translations().size());
  const auto bytes = [](const char* name) { return read_file(corpus().directory / "challenge" / name); };
  EXPECT_EQ(fnv1a(bytes("english.tsv") + bytes("german.tsv")), 18400075443716766603ULL)
      << "the pairs have changed: say so in CHANGELOG.md and take over the new value";

  EXPECT_NE(draw_challenge(Language::german, 2).front().better, german().front().better);

  for (const std::string file : {"english", "german", "en-de"}) {
    const TemporaryDirectory there;
    std::filesystem::create_directories(there / "challenge");
    std::ofstream(there / "challenge" / (file + ".tsv")) << "mine";
    EXPECT_THROW(write_toy_corpus({.directory = there.path().string(), .challenge = true}), UserError);
    EXPECT_FALSE(std::filesystem::exists(there / "train.en"));
  }
}

}  // namespace
}  // namespace attend::toy
