// Questions on a paragraph whose answers are spans of it: the JSON of SQuAD 1.1 and 2.0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/task/labelled_task.hpp"

namespace attend {

struct Answer {
  std::string text = {};
  std::optional<std::size_t> begin = {};  // bytes of the context; nothing where it does not stand in it
};

struct Question {
  std::string id = {};
  std::string text = {};
  std::size_t context = 0;           // which of the contexts
  std::vector<Answer> answers = {};  // none: it cannot be answered (2.0)
};

struct QuestionSet {
  std::vector<std::string> contexts = {};
  std::vector<Question> questions = {};
  bool may_lack_answers = false;  // 2.0
  std::uint64_t moved = 0;        // answers that stand elsewhere in their context than the file says, and were found
  std::uint64_t lost = 0;         // answers that stand nowhere in it

  // Whether the question shows where its answer stands, or that it has none.
  bool can_be_learnt(const Question& question) const {
    return question.answers.empty() ? may_lack_answers : question.answers[0].begin.has_value();
  }
};

// Offsets in the file count code points. An answer that is not at its offset is taken to be at the nearest place where
// it stands. UserError naming the file and the question, or its place, for what is missing or of another type, and for
// an id that is there twice. Questions of a file that is to be predicted may lack `answers`.
QuestionSet read_squad(const std::string& file, Labelled labelled);

}  // namespace attend
