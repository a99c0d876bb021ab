// Stories of the built-in world, and questions about them. A story is a plausible sequence of events about a few people
// and things with constant properties. Known entities are referred to by a pronoun if it is unambiguous, by name, or by
// a description ("the baker").
//
//   Mrs. Tarvel was a baker. She lived in Kolin. On Monday she lost a red ring in the park. The baker was sad ...
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/toy/event.hpp"

namespace attend::toy {

// A mention of an entity in a sentence; the phrase is part of that sentence.
struct Mention {
  Entity entity;
  const NounPhrase* phrase = nullptr;
};

struct Told {
  Event event;
  Sentence sentence;  // one clause
  std::vector<Mention> mentions;
};

struct Story {
  std::vector<Entity> people;  // with names: the protagonist and another person
  std::vector<Told> told;
};

// A story of about 6 to 18 sentences.
Story invent_story(Draw& draw);

// The sentences, one per line.
std::vector<std::string> to_lines(const Story& story);

// What the story is about, in the present tense and without articles: "Mrs. Tarvel loses red ring in park".
std::string headline_of(const Story& story);

// Questions about a story, answered by spans of it. An unanswerable question replaces one of the entities by another
// from the story, so that the story has all its words but no answer.
//
//   "Mrs. Tarvel lost a red ring in the park. Mr. Dolan found it."
//   Where did Mrs. Tarvel lose the ring?   the park
//   Where did Mr. Dolan lose the ring?     cannot be answered

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
