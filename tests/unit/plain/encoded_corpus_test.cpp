// The cache of encoded text: right, found again, and never used when it is not what it should be.
#include "data/corpus/parallel_corpus.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {
namespace fs = std::filesystem;

class EncodedCorpusTest : public TestWithFiles {
 protected:
  EncodedCorpus open(const CorpusConfig& config = {}) { return EncodedCorpus::open(source_, config, cache_); }

  fs::path cache_file(const std::string& extension) {
    for (const auto& entry : fs::directory_iterator(cache_)) {
      if (entry.path().extension() == extension) return entry.path();
    }
    return {};
  }

  fs::path cache_ = directory_.path() / "deep" / "cache";
  std::string src_ = write("src", "a b c\n\nc c c c c c c\nb\xFF\na a\r\nb\n");
  std::string tgt_ = write("tgt",
                           "c b a\nx\nc\nb\na\xE2\x80\xA8"
                           "b\nc a");
  Tokenizer tokenizer_ = train_tokenizer({write("text", "a b c\nb a c\nc c a b\n")}, {.type = TokenizerType::word});
  CorpusSource source_{src_, tgt_, tokenizer_, tokenizer_};
};

TEST_F(EncodedCorpusTest, HoldsTheEncodedPairs) {
  const EncodedCorpus corpus = open({.max_length = 6});
  EXPECT_FALSE(corpus.from_cache());
  ASSERT_EQ(corpus.size(), 3);
  const std::vector<std::pair<std::string, std::string>> pairs = {{"a b c", "c b a"}, {"a a", "a b"}, {"b", "c a"}};
  const std::vector<std::uint64_t> lines = {1, 5, 6};
  for (std::int64_t i = 0; i < corpus.size(); ++i) {
    const PairIds pair = corpus.pair(i);
    EXPECT_EQ(tokenizer_.decode(pair.src), pairs[i].first);
    EXPECT_EQ(tokenizer_.decode(pair.tgt), pairs[i].second);
    EXPECT_EQ(corpus.length(i).src, pair.src.size());
    EXPECT_EQ(corpus.length(i).tgt, pair.tgt.size());
    EXPECT_EQ(corpus.line(i), lines[i]);
  }
  EXPECT_EQ(corpus.num_tgt_tokens(), 7u);
  EXPECT_EQ(corpus.counts().report(), "3 pairs, 3 skipped: 1 empty, 1 too long, 1 with invalid UTF-8");
}

TEST_F(EncodedCorpusTest, IsFoundAgain) {
  const std::string hash = open().content_hash();
  const EncodedCorpus again = open();
  EXPECT_TRUE(again.from_cache());
  EXPECT_EQ(again.content_hash(), hash);
  EXPECT_EQ(again.counts().report(), "4 pairs, 2 skipped: 1 empty, 1 with invalid UTF-8");
}

TEST_F(EncodedCorpusTest, IsMadeAnewForAnythingThatChanged) {
  const std::string hash = open().content_hash();
  EXPECT_FALSE(open({.max_length = 5}).from_cache());
  EXPECT_EQ(open().content_hash(), hash);

  CorpusSource other = source_;
  other.tgt_tokenizer = train_tokenizer({src_}, {.type = TokenizerType::character});
  EXPECT_FALSE(EncodedCorpus::open(other, {}, cache_).from_cache());
  other.tgt_tokenizer = tokenizer_.reversed();
  EXPECT_FALSE(EncodedCorpus::open(other, {}, cache_).from_cache());

  const auto time = fs::last_write_time(src_);
  write("src", "b b c\n\nc c c c c c c\nb\xFF\na a\r\nb\n");  // one letter, of the same size and age
  fs::last_write_time(src_, time);
  const EncodedCorpus changed = open();
  EXPECT_FALSE(changed.from_cache());
  EXPECT_NE(changed.content_hash(), hash);
}

TEST_F(EncodedCorpusTest, KnowsItsTextByContentNotByName) {
  open();
  source_.src_file = write("elsewhere", read_file(src_));
  EXPECT_TRUE(open().from_cache());
}

TEST_F(EncodedCorpusTest, IgnoresADamagedCache) {
  open();
  for (const char* extension : {".index", ".ids"}) {
    const std::string good = read_file(cache_file(extension));
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, good.size() / 2, good.size() - 1}) {
      write_file_atomic(cache_file(extension), good.substr(0, size));
      EXPECT_FALSE(open().from_cache()) << extension << " cut to " << size;
    }
    write_file_atomic(cache_file(extension), good + "x");
    EXPECT_FALSE(open().from_cache()) << extension << " with a byte more";
  }
  for (const char* extension : {".index", ".ids"}) {
    const std::string good = read_file(cache_file(extension));
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1);  // an id stays below the size of the vocabulary
      write_file_atomic(cache_file(extension), bad);
      EXPECT_FALSE(open().from_cache()) << extension << ", byte " << at;
    }
  }
  fs::remove(cache_file(".ids"));
  EXPECT_FALSE(open().from_cache());
  EXPECT_TRUE(open().from_cache());
}

TEST_F(EncodedCorpusTest, NamesIdsThatAreNone) {
  const EncodedCorpus corpus = open();
  std::fstream(cache_file(".ids"), std::ios::binary | std::ios::in | std::ios::out).seekp(1).put('\x7F');  // in place
  EXPECT_THROW(corpus.pair(0), UserError);
}

TEST_F(EncodedCorpusTest, DoesWithoutACache) {
  cache_ = write("file", "not a directory") + "/cache";
  const EncodedCorpus corpus = open();
  EXPECT_EQ(corpus.size(), 4);
  EXPECT_EQ(tokenizer_.decode(corpus.pair(3).src), "b");
}

TEST_F(EncodedCorpusTest, DoesWithoutACacheThatIsFull) {
  fs::create_directories(cache_);
  if (mount("none", cache_.c_str(), "tmpfs", 0, "size=4k") != 0) GTEST_SKIP() << "may not mount";
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "a b c\n";
  source_.src_file = source_.tgt_file = write("long", text);
  const EncodedCorpus corpus = open();
  EXPECT_EQ(corpus.size(), 4000);
  EXPECT_FALSE(corpus.from_cache());
  EXPECT_TRUE(fs::is_empty(cache_));
  EXPECT_EQ(umount(cache_.c_str()), 0);
}

TEST_F(EncodedCorpusTest, RefusesWhatCannotBeLearntFrom) {
  source_.tgt_file = write("short", "a\nb\n");
  EXPECT_EQ(user_error_of([&] { open(); }), src_ + " has 6 lines, but " + source_.tgt_file + " has 2");
  source_.src_file = source_.tgt_file = write("blank", "\n \n\n");
  EXPECT_THROW(open(), UserError);
  // Nothing half-made is left behind.
  EXPECT_TRUE(fs::is_empty(cache_));
}

}  // namespace
}  // namespace attend
