// Questions about a paragraph, answered by spans of it: the JSON format of SQuAD 1.1 and 2.0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/text/labelled.hpp"

namespace attend {

struct Answer {
  std::string text = {};
  std::optional<std::size_t> begin = {};  // in bytes of the context; empty if the context does not contain it
};

struct Question {
  std::string id = {};
  std::string text = {};
  std::size_t context = 0;           // index into QuestionSet::contexts
  std::vector<Answer> answers = {};  // empty: unanswerable (2.0)
};

struct QuestionSet {
  std::vector<std::string> contexts = {};
  std::vector<Question> questions = {};
  bool may_lack_answers = false;  // 2.0
  std::uint64_t moved = 0;        // answers with a wrong offset, found elsewhere in their context
  std::uint64_t lost = 0;         // answers that their context does not contain

  // True if the position of the answer is known or the question is marked unanswerable.
  bool can_be_learnt(const Question& question) const {
    return question.answers.empty() ? may_lack_answers : question.answers[0].begin.has_value();
  }
};

// Offsets in the file count code points. An answer that is not at its offset is moved to its nearest occurrence. Throws
// UserError naming the file and the question, or its path in the JSON, for a missing member, a member of the wrong
// type, a duplicate id, or answers that are empty or contradict is_impossible. In a file to predict, questions may lack
// `answers`.
QuestionSet read_squad(const std::string& file, Labelled labelled);

}  // namespace attend
