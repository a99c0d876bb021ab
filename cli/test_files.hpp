// The files of --test of commands that measure a translation run.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/number.hpp"
#include "core/options.hpp"

namespace attend {

// Throws UserError unless they are none, or a source and its translation.
inline void check_test_files(const std::vector<std::string>& files, const OptionOrigins& origins) {
  if (files.empty() || files.size() == 2) return;
  throw UserError(fmt::format("{}: {}, expected 2", origins("test"), counted(std::ssize(files), "file")),
                  "write --test SOURCE TARGET");
}

}  // namespace attend
