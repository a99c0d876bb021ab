// What is asked of each line, from files.
#include <gtest/gtest.h>

#include "data/tokenizer/tokenizer_trainer.hpp"
#include "eval/line_requests.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

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

}  // namespace
}  // namespace attend
