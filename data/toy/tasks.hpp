// The labelled sets of the built-in world that are tables: what an example of each is. The label comes first and the
// text is made to have it, so it is gold by construction, and what should not tell the label is drawn without knowing
// it.
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
  // The texts and the label of an example; its label is that of the `label`-th, where there are labels.
  std::vector<std::string> (*draw)(Draw& draw, std::size_t label);
};

std::span<const TableTask> table_tasks();

// A sentence of praise or blame. What counts is what the sentence says in the end: after "but" and not after
// "although", with every "not" and "did not believe" turning it around. labels: negative, positive.
std::string draw_sentiment(Draw& draw, bool positive);

// --- inference: whether the hypothesis is true, open or false where the premise is true

// An event, or what a thing is (its colour), costs, or where it is. Of a thing, `owner` bought it: "the hat that Mrs.
// Tarvel bought was red".
struct Claim {
  Event event;
  std::optional<Entity> owner = {};
};

enum class Relation { entailment, neutral, contradiction };

// An event with more said of it implies the one with less, and of negated ones the other way round. A thing has one
// colour, one price and one place.
Relation relation(const Claim& premise, const Claim& hypothesis);
std::string to_text(const Claim& claim);

struct InferencePair {
  Claim premise, hypothesis;
};
// The hypothesis is drawn before the relation matters.
InferencePair draw_inference(Draw& draw, Relation wanted);

// --- paraphrase: the same said in two ways, or two things said with the same words

struct TextPair {
  std::string first, second;
};
// Not a paraphrase: who does and who is done to are exchanged, or which of two things is old, or came before the other.
// How the two are said is drawn alike for both labels.
TextPair draw_paraphrase(Draw& draw, bool same_meaning);

// --- similarity: how much of the meaning two sentences share, from 0 to 50 (tenths of a point)

struct SimilarPair {
  Event first, second;
};
SimilarPair draw_similar(Draw& draw);
// Of agent 10, verb 12, object 10 and its adjective 4, place 7 and time 7: what is the same; half for a more general
// noun. Each must have all of them.
int shared_meaning(const Event& a, const Event& b);

// --- acceptability: whether the sentence is English

enum class Break {
  none,
  agreement,   // the finite verb has the number that its subject has not
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
