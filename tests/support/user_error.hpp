// Messages of UserError, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"

namespace attend {

// The message of the UserError that `work` throws, with a remedy; empty if it throws none.
template <class Work>
std::string user_error_of(const Work& work) {
  try {
    work();
  } catch (const UserError& error) {
    EXPECT_FALSE(error.remedy().empty()) << error.what();
    return error.what();
  }
  return {};
}

// The same with its remedy, "MESSAGE | REMEDY".
template <class Work>
std::string error_and_remedy_of(const Work& work) {
  try {
    work();
  } catch (const UserError& error) {
    return std::string(error.what()) + " | " + error.remedy();
  }
  return {};
}

// An error without the file or directory that it begins with; empty if there is none.
inline std::string without_place(std::string error, const std::string& place) {
  EXPECT_TRUE(error.empty() || error.starts_with(place)) << error;
  return error.erase(0, place.size());
}

}  // namespace attend
