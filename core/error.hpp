// The two kinds of failure. A UserError is the user's mistake: problem and remedy are printed on one or two lines,
// without a stack trace; exit code 2. Other exceptions, except Interrupted, are defects of the program: exit code 1.
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

// A mistake of the user. `message` names the file and the line or key, the value found and the values expected;
// `remedy` is an imperative, printed on a second line.
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

// Thrown once everything is saved and reported after a signal, or the loss of another process, has stopped the work;
// exit code 75. An empty message is not shown.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws std::logic_error naming the invariant and the source line if `condition` is false, which is a defect of the
// program.
inline void ensure(bool condition, std::string_view invariant,
                   std::source_location where = std::source_location::current()) {
  if (!condition) {
    throw std::logic_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                           ": broken invariant: " + std::string(invariant));
  }
}

}  // namespace attend
