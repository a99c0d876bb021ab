// The two kinds of failure. A UserError is the user's fault: one or two lines that say what happened and what to do,
// exit code 2, no stack trace. Everything else that is thrown is ours: exit code 1. No library of attend exits.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace attend {

// Exit codes of the program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitOurFailure = 1;
inline constexpr int kExitUserMistake = 2;
inline constexpr int kExitInterrupted = 75;

// What the user got wrong. `message` names the file and the line or key, what was found and what was expected; `remedy`
// says what to do and is printed on a second line.
//
//   throw UserError("corpus/train.de: 28,999 lines, but corpus/train.en has 29,000", "the two files must be
//   line-aligned");
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message, std::string remedy = {})
      : std::runtime_error(message), remedy_(std::move(remedy)) {}
  const std::string& remedy() const { return remedy_; }

 private:
  std::string remedy_;
};

// Thrown where work was stopped by a signal after everything was saved; the program exits with 75.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws std::logic_error naming the invariant and the place when `condition` is false: a fault of ours, never the
// user's.
inline void ensure(bool condition, std::string_view invariant,
                   std::source_location where = std::source_location::current()) {
  if (!condition) {
    throw std::logic_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                           ": broken invariant: " + std::string(invariant));
  }
}

}  // namespace attend
