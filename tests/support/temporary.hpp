// A directory for a test, deleted at its end; in memory if the system has such a place, since fuzzers write thousands
// of files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/files.hpp"

namespace attend {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const std::filesystem::path memory = "/dev/shm";
    const auto parent = std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "attend-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  // Writes a file, and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    write_file_atomic(path_ / name, text);
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

// A test with its own directory.
class TestWithFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const { return directory_.write(name, text); }

  TemporaryDirectory directory_;
};

}  // namespace attend
