// Questions about stories of the built-in world, answered by spans of them. An unanswerable question replaces one of
// the entities by another from the story, so that the story has all its words but no answer.
//
//   "Mrs. Tarvel lost a red ring in the park. Mr. Dolan found it."
//   Where did Mrs. Tarvel lose the ring?   the park
//   Where did Mr. Dolan lose the ring?     cannot be answered
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/toy/event.hpp"

namespace attend::toy {

struct Asked {
  std::string question;
  std::string answer;     // empty: unanswerable
  std::size_t begin = 0;  // of the answer in the context, in bytes; the text is ASCII
};

struct Passage {
  std::string context;
  std::vector<Asked> asked;
};

// A story with one question per entry of `answerable`, in its order, all distinct.
Passage draw_passage(Draw& draw, const std::vector<bool>& answerable);

}  // namespace attend::toy
