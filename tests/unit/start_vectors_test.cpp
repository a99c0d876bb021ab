// Start vectors: which rows they replace, their scale, and files that do not fit.
#include "train/start_vectors.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/temporary.hpp"
#include "tests/support/tokenizer.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

class StartVectorsOfWords : public testing::Test {
 protected:
  torch::Tensor start(const std::vector<std::string>& files) {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < files.size(); ++i) paths.push_back(directory_.write(std::to_string(i), files[i]));
    const torch::Tensor table_VE = rows();
    start_with(paths, tokenizer_, ops::Weight(table_VE));
    return table_VE;
  }
  torch::Tensor rows() const {
    return at::arange(2.F * static_cast<float>(tokenizer_.size())).view({tokenizer_.size(), 2});
  }
  std::int64_t id(const std::string& word) const { return tokenizer_.id_of(std::string(kSpaceMark) + word); }

  TemporaryDirectory directory_;
  Tokenizer tokenizer_ =
      tokenizer_of("the dog The cat sees the dog The bird\n", {.type = TokenizerType::word, .size = 20});
};

TEST_F(StartVectorsOfWords, ReplaceTheRowsOfTheirWordsInTheDeviationOfThese) {
  const torch::Tensor table_VE = start({"the 1 2\ndog -3 4\nmoon 7 7\n", "dog 9 9\ncat 0 1\n"});
  const torch::Tensor given = torch::tensor({1.F, 2.F, 1.F, 2.F, -3.F, 4.F, 0.F, 1.F}).view({4, 2});  // "The" as "the"
  const torch::Tensor ids = torch::tensor(std::vector<std::int64_t>{id("the"), id("The"), id("dog"), id("cat")});
  const torch::Tensor scaled = given * (rows().index_select(0, ids).std() / given.std());
  EXPECT_TRUE(at::allclose(table_VE.index_select(0, ids), scaled));
  torch::Tensor others = table_VE.clone(), before = rows();
  for (torch::Tensor* rows : {&others, &before}) rows->index_fill_(0, ids, 0);
  EXPECT_TRUE(at::equal(others, before));
}

TEST_F(StartVectorsOfWords, RefuseFilesThatDoNotFit) {
  const auto says = [&](const std::vector<std::string>& files, const std::string& words) {
    const std::string error = user_error_of([&] { start(files); });
    return error.find(words) != error.npos;
  };
  EXPECT_TRUE(says({"the 1 2 3\n"}, "0: vectors of 3 numbers, but the embeddings of the model have 2"));
  EXPECT_TRUE(says({"the 1 2\n", "moon 1 2\n"}, "1: none of its words is a piece of the vocabulary"));
  EXPECT_TRUE(says({"the 1 nan\n"}, "nan"));
}

}  // namespace
}  // namespace attend
