// Stories of the built-in world: events in an order that makes sense, about a few people and things that stay what they
// are. Who or what was introduced is referred to again by a pronoun where only one can be meant, by the name, or by a
// description ("the baker").
//
//   Mrs. Tarvel was a baker. She lived in Kolin. On Monday she lost a red ring in the park. The baker was sad ...
#pragma once

#include <vector>

#include "data/toy/event.hpp"

namespace attend::toy {

// A place where a sentence refers to someone or something; the phrase is a part of that sentence.
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
  std::vector<Entity> people;  // with names: whom it is about, and another
  std::vector<Told> told;
};

// A story of about 6 to 18 sentences.
Story invent_story(Draw& draw);

// The sentences, a line each.
std::vector<std::string> to_lines(const Story& story);

}  // namespace attend::toy
