// What is made of texts with an encoder.
#include "eval/text_use.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/files.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "models/bert/bert_config.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

class FillMasks : public testing::Test {
 protected:
  FillMasks() : tokenizer_(characters()), model_(bert_config(options(), tokenizer_.size())) {
    initialise(*model_, 1);
    model_->eval();
  }

  // The probability of the likeliest filling of the first gap.
  double best(const std::string& text) { return fill_masks(*model_, tokenizer_, text, "text:1", 1)[0][0].probability; }

 private:
  static Tokenizer characters() {
    const TemporaryDirectory directory;
    write_file_atomic(directory / "text", "a dog .\na cat .\n");
    return train_tokenizer({(directory / "text").string()}, {.type = TokenizerType::character});
  }
  static BertOptions options() {
    BertOptions options;
    options.width = 16;
    options.positions = 24;
    return options;
  }

  Tokenizer tokenizer_;
  BertForPretraining model_;
};

TEST_F(FillMasks, ReadsASpaceBehindTheGapOnlyWhereThereIsOne) {
  EXPECT_NE(best("a [MASK]."), best("a [MASK] ."));
  EXPECT_EQ(best("a [MASK] ."), best("a [MASK]  ."));
}

}  // namespace
}  // namespace attend
