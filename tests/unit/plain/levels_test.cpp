// The level rule of docs/architecture.md: includes go only leftwards, core < data < ... < cli, and so between the
// folders inside a level.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace {

namespace fs = std::filesystem;
constexpr std::array<std::string_view, 7> kLevels = {"core", "data", "models", "eval", "train", "analysis", "cli"};

// The folders of the levels that have some, in ranks: a file includes those of lower ranks and its own folder. "data"
// itself would be files that lie in no folder. Inside models/ops the interface and its forms include each other.
struct Rank {
  int rank;
  std::string_view folder;
};
constexpr std::array<Rank, 27> kFolders = {{{1, "data/text"},
                                            {2, "data/toy"},
                                            {2, "data/tokenizer"},
                                            {3, "data/corpus"},
                                            {3, "data/task"},
                                            {4, "data/batch"},
                                            {1, "models/ops"},
                                            {2, "models/layers"},
                                            {3, "models/attention"},
                                            {4, "models/transformer"},
                                            {5, "models/translation"},
                                            {5, "models/bert"},
                                            {6, "models/language"},
                                            {7, "models/text"},
                                            {7, "models/exchange"},
                                            {8, "models/run"},
                                            {1, "eval/metrics"},
                                            {2, "eval/search"},
                                            {2, "eval/answers"},
                                            {3, "eval"},
                                            {1, "train/distributed"},
                                            {2, "train"},
                                            {3, "train/translation"},
                                            {3, "train/pretraining"},
                                            {4, "train/finetuning"},
                                            {1, "analysis/report"},
                                            {2, "analysis"}}};

// The levels that may not see LibTorch either.
constexpr std::array<std::string_view, 8> kWithoutTorch = {
    "core", "data/text", "data/tokenizer", "data/corpus", "data/task", "data/toy", "eval/metrics", "analysis/report"};

std::size_t level_of(std::string_view folder) {
  return static_cast<std::size_t>(std::ranges::find(kLevels, folder) - kLevels.begin());
}

// The header that a line includes, or nothing.
std::string_view included(std::string_view line) {
  const auto skip = [&](std::string_view what) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(what)) return false;
    line.remove_prefix(what.size());
    return true;
  };
  if (!skip("#") || !skip("include") || (!skip("\"") && !skip("<"))) return {};
  return line.substr(0, line.find_first_of("\">"));
}

// Calls see(file, header) for every #include in `folder` and returns the number of files.
template <class See>
int for_each_include(const fs::path& folder, See see) {
  int files = 0;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".hpp") continue;
    ++files;
    std::ifstream source(entry.path());
    for (std::string line; std::getline(source, line);) {
      if (const std::string header(included(line)); !header.empty()) see(entry.path(), header);
    }
  }
  return files;
}

TEST(Levels, IncludesGoOnlyLeftwards) {
  const fs::path root = ATTEND_SOURCE_DIR;
  int files = 0;
  for (const std::string_view folder : kLevels) {
    files += for_each_include(root / folder, [&](const fs::path& file, const std::string& header) {
      const std::string_view target = std::string_view(header).substr(0, header.find('/'));
      EXPECT_FALSE(target.starts_with('.')) << file << " includes " << header << " by a way of its own";
      if (level_of(target) == kLevels.size()) return;
      EXPECT_LE(level_of(target), level_of(folder)) << file << " includes " << header;
      EXPECT_TRUE(fs::exists(root / header)) << file << " includes " << header << ", which does not exist";
    });
  }
  EXPECT_GT(files, 10) << "the sources were not found in " << root;
}

// Where the folder of a path such as "data/text/lines.hpp" stands, or nothing.
const Rank* rank_of(const std::string& path) {
  const std::size_t level = path.find('/');
  const std::size_t folder = path.find('/', level + 1);
  const auto found =
      std::ranges::find(kFolders, path.substr(0, folder == std::string::npos ? level : folder), &Rank::folder);
  return found == kFolders.end() ? nullptr : &*found;
}

TEST(Levels, FoldersOfALevelIncludeOnlyLowerOnes) {
  const fs::path root = ATTEND_SOURCE_DIR;
  for (const std::string_view level : {"data", "models", "eval", "train", "analysis"}) {
    int between = 0;
    for_each_include(root / level, [&](const fs::path& file, const std::string& header) {
      const std::string path = fs::relative(file, root);
      const Rank* from = rank_of(path);
      ASSERT_NE(from, nullptr) << path << " lies in a folder that this test has no rank for";
      if (!header.starts_with(std::string(level) + '/')) return;
      const Rank* to = rank_of(header);
      ASSERT_NE(to, nullptr) << path << " includes " << header;
      if (from == to) return;
      EXPECT_LT(to->rank, from->rank) << path << " includes " << header;
      ++between;
    });
    EXPECT_GT(between, 0) << "no file of " << level << " includes one of another folder";
  }
}

TEST(Levels, WhatLinksNoLibTorchIncludesNone) {
  const fs::path root = ATTEND_SOURCE_DIR;
  int files = 0;
  for (const std::string_view folder : kWithoutTorch) {
    files += for_each_include(root / folder, [&](const fs::path& file, const std::string& header) {
      for (const std::string_view foreign : {"torch/", "ATen/", "c10/", "data/batch/", "models/"}) {
        EXPECT_FALSE(header.starts_with(foreign)) << file << " includes " << header;
      }
    });
  }
  EXPECT_GT(files, 10) << "the sources were not found in " << root;
}

TEST(Levels, NoHeaderIncludesAllOfLibTorch) {
  const fs::path root = ATTEND_SOURCE_DIR;
  int files = 0;
  for (const std::string_view folder : kLevels) {
    files += for_each_include(root / folder, [&](const fs::path& file, const std::string& header) {
      EXPECT_NE(header, "torch/torch.h") << file;
    });
  }
  EXPECT_GT(files, 10) << "the sources were not found in " << root;
}

}  // namespace
