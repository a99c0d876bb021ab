// What the user is told.
#pragma once

#include <string>

#include "core/error.hpp"

namespace attend {

// The message of the UserError that `work` throws; empty if it throws none.
template <class Work>
std::string user_error_of(const Work& work) {
  try {
    work();
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

}  // namespace attend
