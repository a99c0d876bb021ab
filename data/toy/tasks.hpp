// The labelled sets of the built-in world that are tables. The label is drawn first and the text is generated to have
// it, so it is gold by construction; everything that should not give the label away is drawn independently of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/toy/event.hpp"

namespace attend::toy {

struct TableTask {
  std::string_view folder;
  std::vector<std::string_view> columns;  // the texts, then the label
  std::vector<std::string_view> labels;   // none: the last column is a score from 0.0 to 5.0
  // The texts of an example with labels[label]; without labels, also the score.
  std::vector<std::string> (*draw)(Draw& draw, std::size_t label);
};

std::span<const TableTask> table_tasks();

// A sentence of praise or blame. Its final polarity counts: after "but", not after "although", reversed by every "not"
// and "did not believe". labels: negative, positive.
std::string draw_sentiment(Draw& draw, bool positive);

// --- inference: whether the premise entails the hypothesis, contradicts it, or neither

// An event, or the colour, price or place of a thing. `owner` bought the thing: "the hat that Mrs. Tarvel bought was
// red".
struct Claim {
  Event event;
  std::optional<Entity> owner = {};
};

enum class Relation { entailment, neutral, contradiction };

// An event with more details implies the one with fewer, and the reverse for negated events. A thing has one colour,
// one price and one place.
Relation relation(const Claim& premise, const Claim& hypothesis);
std::string to_text(const Claim& claim);

struct InferencePair {
  Claim premise, hypothesis;
};
// The hypothesis is drawn independently of the relation.
InferencePair draw_inference(Draw& draw, Relation wanted);

// --- similarity: how much of the meaning two sentences share, from 0 to 50 (tenths of a point)

// Sum over equal parts: agent 10, verb 12, object 10 and its adjective 4, place 7, time 7; 5 for a more general
// object. Each event must have all parts.
int shared_meaning(const Event& a, const Event& b);

// --- acceptability: whether the sentence is English

enum class Break {
  none,
  agreement,   // the finite verb disagrees with its subject in number
  determiner,  // "hat the"
  adjective,   // "the hat red"
  verb,        // "the man a hat buys"
  negation,    // "the man does buy not a hat"
};

struct Judgement {
  std::string text;
  std::string intact;  // the sentence before it was broken
  Break rule = Break::none;
};
Judgement draw_acceptability(Draw& draw, bool acceptable);

}  // namespace attend::toy
