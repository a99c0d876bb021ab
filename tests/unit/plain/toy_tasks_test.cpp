// What the labelled sets of the built-in corpus are drawn from: the labels are true.
#include "data/toy/tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <sstream>

#include "core/random.hpp"
#include "data/toy/lexicon.hpp"
#include "data/toy/sets.hpp"
#include "data/toy/story.hpp"
#include "tests/support/toy_words.hpp"

namespace attend::toy {
namespace {

using Strings = std::vector<std::string>;

Entity person(const char* name, Gender gender = Gender::feminine) {
  return {.kind = NounPhraseKind::person_name, .name = name, .titled = true, .gender = gender, .noun = &noun("baker")};
}

Claim bought(std::string_view what, const Adjective* adjective, bool negated = false) {
  return {
      .event = {
          .agent = person("Tarvel"), .verb = &verb("buy"), .object = of(noun(what), adjective), .negated = negated}};
}

Claim coloured(std::string_view colour, bool negated = false) {
  return {.event = {.agent = of(noun("hat")), .state = &adjective(colour), .negated = negated},
          .owner = person("Tarvel")};
}

TEST(ToyInference, FollowsLogic) {
  const Adjective* red = &adjective("red");
  const Relation yes = Relation::entailment, no = Relation::contradiction, open = Relation::neutral;
  EXPECT_EQ(relation(bought("hat", red), bought("hat", nullptr)), yes);
  EXPECT_EQ(relation(bought("hat", nullptr), bought("hat", red)), open);
  EXPECT_EQ(relation(bought("hat", nullptr, true), bought("hat", red, true)), yes);
  EXPECT_EQ(relation(bought("hat", red, true), bought("hat", nullptr, true)), open);
  EXPECT_EQ(relation(bought("hat", red), bought("hat", nullptr, true)), no);
  EXPECT_EQ(relation(bought("hat", nullptr), bought("hat", red, true)), open);
  EXPECT_EQ(relation(bought("hat", nullptr, true), bought("hat", red)), no);
  EXPECT_EQ(relation(bought("hat", red, true), bought("hat", nullptr)), open);
  Claim wide = bought("hat", nullptr);
  wide.event.object->noun = general(noun("hat"));
  EXPECT_EQ(relation(bought("hat", nullptr), wide), yes);
  EXPECT_EQ(relation(wide, bought("hat", nullptr)), open);
  Claim other_word = bought("car", nullptr);
  other_word.event.object->noun = synonym(noun("car"));
  other_word.event.verb = synonym(verb("buy"));
  EXPECT_EQ(relation(bought("car", nullptr), other_word), yes);

  EXPECT_EQ(relation(coloured("red"), coloured("blue")), no);
  EXPECT_EQ(relation(coloured("red"), coloured("blue", true)), yes);
  EXPECT_EQ(relation(coloured("red", true), coloured("blue")), open);
  EXPECT_EQ(relation(coloured("red", true), coloured("blue", true)), open);
  EXPECT_EQ(relation(coloured("red"), coloured("red", true)), no);
  Claim of_another = coloured("blue");
  of_another.owner = person("Dolan");
  EXPECT_EQ(relation(coloured("red"), of_another), open);
  Claim placed = coloured("red");
  placed.event.state = nullptr;
  placed.event.place = of(noun("park"));
  EXPECT_EQ(relation(coloured("red"), placed), open);
  EXPECT_EQ(to_text(placed), "The hat that Mrs. Tarvel bought was in the park.");
}

TEST(ToyInference, DrawsWhatIsWanted) {
  for (const Relation wanted : {Relation::entailment, Relation::neutral, Relation::contradiction}) {
    RandomStream random(5);
    Draw draw(random);
    std::size_t negated = 0;
    for (int i = 0; i < 300; ++i) {
      const InferencePair pair = draw_inference(draw, wanted);
      EXPECT_EQ(relation(pair.premise, pair.hypothesis), wanted);
      negated += pair.hypothesis.event.negated;
    }
    EXPECT_NEAR(static_cast<double>(negated), 150, 40) << "a negation does not tell the relation";
  }
}

TEST(ToySimilarity, CountsWhatIsShared) {
  const Event event{.agent = of(noun("baker"), &adjective("old")),
                    .verb = &verb("buy"),
                    .object = of(noun("car"), &adjective("red")),
                    .place = of(noun("park")),
                    .time = Time{"yesterday", "gestern"}};
  EXPECT_EQ(shared_meaning(event, event), 50);
  Event other = event;
  other.verb = synonym(*other.verb);
  other.object->noun = synonym(*other.object->noun);
  EXPECT_EQ(shared_meaning(event, other), 50);
  other.object->noun = general(*event.object->noun);
  EXPECT_EQ(shared_meaning(event, other), 45);
  other.place = of(noun("forest"));
  EXPECT_EQ(shared_meaning(event, other), 38);
  other.agent.adjective = &adjective("young");
  EXPECT_EQ(shared_meaning(event, other), 28);
}

bool is_adjective(const std::string& word) {
  return std::ranges::any_of(adjectives(), [&](const Adjective& a) { return a.english == word; });
}
bool is_determiner(const std::string& word) {
  return std::ranges::count(std::initializer_list<std::string_view>{"the", "my", "his", "her", "our", "their"}, word) >
         0;
}
// The verb's number, 's' or 'p'; ' ' for another word.
char number_of_verb(const std::string& word) {
  if (word == "is" || word == "was" || word == "does") return 's';
  if (word == "are" || word == "were" || word == "do") return 'p';
  for (const Verb& verb : verbs()) {
    if (verb.third == word) return 's';
    if (verb.english == word) return 'p';
  }
  return ' ';
}
bool is_past(const std::string& word) {
  return std::ranges::any_of(verbs(), [&](const Verb& verb) { return verb.past == word; });
}

TEST(ToyAcceptability, WhatIsBrokenBreaksItsRule) {
  RandomStream random(3);
  Draw draw(random);
  std::map<Break, int> seen;
  for (int i = 0; i < 3000; ++i) {
    const Judgement judgement = draw_acceptability(draw, false);
    const Strings broken = words_of(judgement.text), intact = words_of(judgement.intact);
    ++seen[judgement.rule];
    ASSERT_NE(judgement.text, judgement.intact);
    ASSERT_EQ(broken.size(), intact.size());
    const std::string both = judgement.intact + " / " + judgement.text;
    if (judgement.rule == Break::agreement) {
      std::size_t changed = 0, at = 0;
      for (std::size_t k = 0; k < broken.size(); ++k) {
        if (broken[k] != intact[k]) ++changed, at = k;
      }
      EXPECT_EQ(changed, 1U) << both;
      const std::string& subject = *std::ranges::find_if(intact, is_noun);
      const bool plural = std::ranges::any_of(nouns(), [&](const Noun& n) { return n.english_plural == subject; });
      EXPECT_EQ(number_of_verb(intact[at]), plural ? 'p' : 's') << both;
      EXPECT_EQ(number_of_verb(broken[at]), plural ? 's' : 'p') << both;
      continue;
    }
    Strings sorted = broken, sorted_intact = intact;
    std::ranges::sort(sorted);
    std::ranges::sort(sorted_intact);
    EXPECT_EQ(sorted, sorted_intact) << both;
    const auto any_pair = [](const Strings& words, auto wrong) {
      for (std::size_t k = 0; k < words.size(); ++k) {
        if (wrong(words[k], k + 1 < words.size() ? words[k + 1] : "")) return true;
      }
      return false;
    };
    const auto expect_wrong = [&](auto wrong) {
      EXPECT_TRUE(any_pair(broken, wrong)) << both;
      EXPECT_FALSE(any_pair(intact, wrong)) << both;
    };
    if (judgement.rule == Break::determiner) {
      expect_wrong([](const auto& a, const auto& b) { return is_determiner(a) && !is_noun(b) && !is_adjective(b); });
    } else if (judgement.rule == Break::adjective) {
      expect_wrong([](const auto& a, const auto& b) { return is_noun(a) && is_adjective(b); });
    } else if (judgement.rule == Break::verb) {
      expect_wrong([](const auto& a, const auto& b) { return b.empty() && (number_of_verb(a) != ' ' || is_past(a)); });
    } else {
      ASSERT_EQ(judgement.rule, Break::negation);
      expect_wrong([](const auto& a, const auto& b) { return b == "not" && a != "does" && a != "do" && a != "did"; });
    }
  }
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_GT(seen[Break::agreement], 1000);
}

TEST(ToySentiment, WordsAreTurnedAround) {
  // The single clause "SOMETHING was [not] ADJECTIVE." is judged here again.
  const auto listed = [](std::span<const Adjective> list, const std::string& word) {
    return std::ranges::any_of(list, [&](const Adjective& a) { return a.english == word; });
  };
  RandomStream random(4);
  Draw draw(random);
  int judged = 0, negated = 0;
  for (int i = 0; i < 2000; ++i) {
    const bool positive = i % 2 == 1;
    const std::string text = draw_sentiment(draw, positive);
    Strings words = words_of(text);
    if (std::ranges::count(words, "that") != 0 || std::ranges::count(words, "and") != 0) continue;
    // What decides: after "but", and outside of "although".
    const auto but = std::ranges::find(words, "but"), although = std::ranges::find(words, "although");
    const std::size_t comma = text.find(',');
    if (but != words.end()) {
      words.erase(words.begin(), but);
    } else if (although == words.begin()) {
      ASSERT_NE(comma, std::string::npos) << text;
      words = words_of(text.substr(comma));
    } else if (although != words.end()) {
      words.erase(although, words.end());
    }
    const bool praised = std::ranges::any_of(words, [&](const std::string& w) { return listed(praise(), w); });
    const bool blamed = std::ranges::any_of(words, [&](const std::string& w) { return listed(blame(), w); });
    ASSERT_NE(praised, blamed) << text;
    const bool turned = std::ranges::count(words, "not") != 0;
    EXPECT_EQ(praised != turned, positive) << text;
    ++judged;
    negated += turned;
  }
  EXPECT_GT(judged, 1000);
  EXPECT_GT(negated, judged / 4);
}

TEST(ToyQuestions, AnswersStandWhereTheyAreSaidTo) {
  const std::set<std::string> pronouns = {"he", "she", "it", "they", "him", "her", "them"};
  RandomStream random(8);
  Draw draw(random);
  for (int i = 0; i < 300; ++i) {
    const Passage passage = draw_passage(draw, {true, false, true});
    ASSERT_EQ(passage.asked.size(), 3U);
    for (std::size_t k = 0; k < 3; ++k) {
      const Asked& asked = passage.asked[k];
      EXPECT_EQ(asked.answer.empty(), k == 1);
      EXPECT_EQ(asked.question.back(), '?');
      if (asked.answer.empty()) continue;
      EXPECT_EQ(passage.context.substr(asked.begin, asked.answer.size()), asked.answer);
      const Strings words = words_of(asked.answer);
      EXPECT_FALSE(words.size() == 1 && pronouns.contains(words[0])) << asked.answer;
      EXPECT_TRUE(asked.begin == 0 || passage.context[asked.begin - 1] == ' ');
      const std::size_t end = asked.begin + asked.answer.size();
      EXPECT_TRUE(std::string_view(" .,").find(passage.context[end]) != std::string_view::npos) << asked.answer;
    }
    // Every name of a question is one of the context: an unknown name would give it away.
    for (const Asked& asked : passage.asked) {
      std::istringstream stream(asked.question);
      std::string word;
      for (stream >> word; stream >> word;) {
        std::erase(word, '?');
        if (word[0] >= 'A' && word[0] <= 'Z') {
          EXPECT_NE(passage.context.find(word), std::string::npos) << asked.question;
        }
      }
    }
  }
}

TEST(ToyEntities, NamesAreTaggedWhereTheyStand) {
  Entity tarvel = person("Lena Tarvel");
  tarvel.titled = false;
  Event event{.agent = tarvel, .verb = &kWorkFor};
  event.object = Entity{.kind = NounPhraseKind::company_name, .name = "Dolan Bank"};
  event.place = Entity{.kind = NounPhraseKind::town_name, .name = "Kolin"};
  Sentence sentence;
  sentence.clauses.push_back(to_clause(event));
  std::string tagged;
  for (const Token& token : to_tokens(sentence)) tagged += token.text + '/' + token.tag + ' ';
  EXPECT_EQ(tagged, "Lena/B-PER Tarvel/I-PER worked/O for/O Dolan/B-ORG Bank/I-ORG in/O Kolin/B-LOC ./O ");
}

}  // namespace
}  // namespace attend::toy
