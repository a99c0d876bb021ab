// The level rule of docs/architecture.md: includes go only leftwards, core < data < ... < cli.
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

// The levels that may not see LibTorch either.
constexpr std::array<std::string_view, 7> kWithoutTorch = {"core",      "data/text", "data/tokenizer", "data/corpus",
                                                           "data/task", "data/toy",  "eval/metrics"};

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
