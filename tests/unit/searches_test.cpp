// Searches by name, as attend compare reads them.
#include "analysis/searches.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

TEST(NamedSearches, ChangeTheGivenOptionsOnly) {
  const TranslatorConfig base{.search = {.beam = 5, .length_penalty = 0.6}, .batch_size = 7};
  const auto searches = parse_searches({"greedy = --beam 1", "risk=--mbr 8  --utility=bleu --max-length 9 "}, base);
  ASSERT_EQ(searches.size(), 2U);
  EXPECT_EQ(searches[0].name, "greedy");
  EXPECT_EQ(searches[0].options, "--beam 1");
  EXPECT_EQ(searches[0].translator.search.beam, 1);
  EXPECT_EQ(searches[0].translator.search.length_penalty, 0.6);
  EXPECT_EQ(searches[0].translator.batch_size, 7);
  EXPECT_EQ(searches[1].name, "risk");
  EXPECT_EQ(searches[1].translator.mbr, 8);
  EXPECT_EQ(searches[1].translator.utility, metrics::Utility::bleu);
  EXPECT_EQ(searches[1].translator.search.max_length, 9);
  EXPECT_EQ(searches[1].translator.search.beam, 5);
}

TEST(NamedSearches, AreRefusedByName) {
  for (const auto& [word, message] : std::vector<std::pair<std::string, std::string>>{
           {"greedy", "--search greedy: expected NAME = OPTIONS"},
           {"--beam=1", "--search --beam=1: expected NAME = OPTIONS"},
           {"= --beam 1", "expected NAME = OPTIONS"},
           {"a =", "expected NAME = OPTIONS"},
           {"a = beam 1", "--search a: found \"beam\""},
           {"a = --bean 1", "--search a: --bean: no such option"},
           {"a = --beam", "--search a: --beam"},
           {"a = --beam 0", "--search a: --beam"},
           {"a = --beam 2 3", "--search a: --beam: unexpected \"3\""},
           {"a = --utility bleu", "--search a: --utility has no meaning"},
           {"a = --nbest 2", "--search a: one translation"},
           {"a = --mbr 3 --sample 2", "--search a: --mbr: 3 hypotheses"}}) {
    const std::string error = user_error_of([&word = word] { parse_searches({word}, {.search = {.beam = 5}}); });
    EXPECT_NE(error.find(message), std::string::npos) << word << ": " << error;
  }
  EXPECT_THROW(parse_searches({"a = --beam 1", "a=--beam 2"}, {.search = {}}), UserError);
}

TEST(NamedSearches, MayUndoWhatTheyInherit) {
  const TranslatorConfig base{.search = {.beam = 8, .nbest = 8}, .mbr = 8};
  const std::string error = user_error_of([&] { parse_searches({"greedy = --beam 1"}, base); });
  EXPECT_NE(error.find("nbest (inherited): 8 is above"), std::string::npos) << error;
  const auto searches = parse_searches({"greedy = --mbr 0 --nbest 1 --beam 1"}, base);
  EXPECT_EQ(searches[0].translator.mbr, 0);
  EXPECT_NO_THROW(parse_searches({"greedy = --sample 0 --beam 1"}, {.search = {.sample = 1}}));
}

}  // namespace
}  // namespace attend
