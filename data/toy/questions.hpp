// Questions about stories of the built-in world, whose answers are spans of them. A question that cannot be answered
// exchanges one of those that a question speaks of for another of the story, so that nothing told answers it, though
// the story has all its words.
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
  std::string answer;     // empty: it cannot be answered
  std::size_t begin = 0;  // of the answer in the context, in bytes; the text is ASCII
};

struct Passage {
  std::string context;
  std::vector<Asked> asked;
};

// A story with as many questions as `answerable` says, in its order; no question is there twice.
Passage draw_passage(Draw& draw, const std::vector<bool>& answerable);

}  // namespace attend::toy
