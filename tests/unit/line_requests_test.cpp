// What is asked of single lines, and searches by name.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/searches.hpp"
#include "core/error.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "eval/line_requests.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// What is asked of each line, from files.

class LineRequestFiles : public TestWithFiles {
 protected:
  Tokenizer tokenizer_ = [this] {
    std::string text;
    for (int i = 0; i < 99; ++i)
      text += "the dog (dog) number " + std::to_string(i * 37) + " sees bulldogs and a cat\n";
    return train_tokenizer({write("text", text)}, {.type = TokenizerType::bpe, .size = 80});
  }();
};

TEST_F(LineRequestFiles, GiveEachLineWhatItAsks) {
  const LineRequests asked({.prefix = write("prefix", "the\n\na cat\n"),
                            .constraints = write("constraints", "\nthe dog\ta\t \n\n"),
                            .forbid = write("forbid", "dog\n\n\xe4\xb8\xad\n")},
                           tokenizer_);
  Wanted wanted{.line = 0};
  asked.add_to(wanted);
  EXPECT_EQ(wanted.prefix, tokenizer_.encode("the"));
  EXPECT_TRUE(wanted.constraints.empty());
  Wanted second{.line = 1};
  asked.add_to(second);
  EXPECT_TRUE(second.prefix.empty());
  EXPECT_EQ(second.constraints, (std::vector<PhraseIds>{tokenizer_.encode("the dog"), tokenizer_.encode("a")}));
  ASSERT_NE(second.forbidden, nullptr);
  EXPECT_EQ(second.forbidden->spaced, std::vector<PhraseIds>{tokenizer_.encode("dog")});
  ASSERT_EQ(second.forbidden->unspaced.size(), 1);
  PhraseIds with_bracket = tokenizer_.encode("(");
  with_bracket.insert(with_bracket.end(), second.forbidden->unspaced[0].begin(), second.forbidden->unspaced[0].end());
  EXPECT_EQ(tokenizer_.decode(with_bracket), "(dog");
}

TEST_F(LineRequestFiles, AreRefusedByFileAndLine) {
  const auto refuses = [&](const std::string& words, const auto& call) {
    const std::string error = user_error_of(call);
    EXPECT_NE(error.find(words), std::string::npos) << error;
  };
  const std::string unknown = write("unknown", "the\n\xe4\xb8\xad\n");
  refuses("unknown:2", [&] { LineRequests({.constraints = unknown}, tokenizer_); });
  refuses("unknown:2", [&] { LineRequests({.prefix = unknown}, tokenizer_); });
  const LineRequests asked({.prefix = write("p", "the\nthe dog\n"), .constraints = write("c", "dog\tcat\tdog\ndog\n")},
                           tokenizer_);
  EXPECT_NO_THROW(asked.check_count(2));
  refuses("2 lines, but the input has 3", [&] { asked.check_count(3); });
  refuses("2 lines, but the input has more", [&] { asked.check(2, 100); });
  const std::int64_t needed = std::ssize(tokenizer_.encode("the")) + 2 * std::ssize(tokenizer_.encode("dog")) +
                              std::ssize(tokenizer_.encode("cat"));
  EXPECT_NO_THROW(asked.check(0, needed));
  refuses("c:1", [&] { asked.check(0, needed - 1); });
  refuses("p:1", [&] { asked.check(0, 0); });
  EXPECT_NO_THROW(asked.check(1, std::ssize(tokenizer_.encode("the dog"))));  // the prefix meets the constraint
}

// Searches by name, as attend compare reads them.

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
