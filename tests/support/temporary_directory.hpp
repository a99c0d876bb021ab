// A directory that is gone with the test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "core/files.hpp"

namespace attend {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "attend-test-XXXXXX").string();
    path_ = mkdtemp(path.data());
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

  // Writes a file and gives its path.
  std::string write(const std::string& name, std::string_view text) const {
    write_file_atomic(path_ / name, text);
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace attend
