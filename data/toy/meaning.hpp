// The meaning of a sentence of the built-in world, as a small tree, and its realisation as a sentence in English
// (english.cpp) and in German (german.cpp). Every realised word carries the concepts that it expresses (two words are
// aligned if they share one) and its part in the dependency tree of its sentence.
//
//   Clause sleep{.subject = {.noun = &noun("dog")}, .verb = &verb("sleep"), .tense = Tense::past};
//   render(of_clause(std::move(sleep)))    ->  "The dog slept."  "Der Hund hat geschlafen."  0-0 1-1 2-2 2-3
//
// The grammar covers what the corpus needs and no more: no genitive, no passive, no address (du, Sie), no imperative.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/text/conll.hpp"
#include "data/text/word_alignment.hpp"
#include "data/toy/lexicon.hpp"

namespace attend::toy {

enum class Number { singular, plural };
inline Number opposite(Number number) { return number == Number::plural ? Number::singular : Number::plural; }

enum class Tense { present, past };  // past: English simple past, German perfect (but "war" for "was")

struct Clause;

// relative and interrogative phrases ("who", "der", "what") are fronted; a relative one has the gender and number of
// the noun that its clause belongs to.
enum class NounPhraseKind { noun, person_name, town_name, company_name, pronoun, relative, interrogative };
enum class Determiner { definite, indefinite, demonstrative, every, possessive, bare };
enum class Owner { me, him, her, us, them };

struct NounPhrase {
  NounPhraseKind kind = NounPhraseKind::noun;
  const Noun* noun = nullptr;  // of a pronoun or relative: the noun it stands for, if any
  const Phrase* modifier = nullptr;
  Number number = Number::singular;
  Determiner determiner = Determiner::definite;
  Owner owner = Owner::me;
  std::optional<int> count = {};  // 45 keys
  std::vector<const Adjective*> adjectives = {};
  std::string name = {};                   // Tarvel
  bool titled = false;                     // Mr. or Mrs. Tarvel
  Gender gender = Gender::masculine;       // of a name or pronoun; a noun brings its own
  bool first_person = false;               // I, we
  bool person = true;                      // who, he, she; or which, it
  int entity = 0;                          // equal in a noun and the pronouns that stand for it; 0: none
  std::unique_ptr<NounPhrase> with = {};   // with the red hat
  std::unique_ptr<Clause> relative = {};   // contains a phrase of kind relative
  std::unique_ptr<NounPhrase> other = {};  // and the dog
};

// A prepositional phrase that follows the object.
struct Adverbial {
  const Preposition* preposition = nullptr;
  NounPhrase phrase;
};

// A time with its numbers filled in, in the units of Phrase.
struct Time {
  std::string english, german;
  bool operator==(const Time&) const = default;
};

enum class Mood { statement, question };

struct Subordinate;

struct Clause {
  NounPhrase subject;
  const Verb* verb = nullptr;            // nullptr: to be
  const Adjective* predicate = nullptr;  // with to be
  bool very = false;
  Tense tense = Tense::present;
  const Modal* modal = nullptr;  // with the present
  bool negated = false;
  Mood mood = Mood::statement;
  const Phrase* question_word = nullptr;  // why, when, where
  const Phrase* frequency = nullptr;
  std::optional<Time> time;
  bool time_first = false;
  std::unique_ptr<NounPhrase> object;
  std::unique_ptr<NounPhrase> recipient;
  std::vector<Adverbial> adverbials;
  std::vector<Subordinate> subordinates;
};

struct Subordinate {
  const Phrase* conjunction = nullptr;  // kPurpose: the clause is an infinitive, its subject stays silent
  Clause clause;
  bool first = false;  // before the clause it belongs to; at most one, and not with time_first
};

// One or more main clauses; joiners[i] precedes clauses[i + 1]. After kFullStop, it is a sentence of its own.
struct Sentence {
  std::vector<Clause> clauses;
  std::vector<const Phrase*> joiners;
};

// Calls visit(phrase) for each noun phrase below a clause, from the subject on; relative and subordinate clauses too.
template <class AnyClause, class Visit>
void for_each_phrase(AnyClause& clause, const Visit& visit) {
  const auto reach = [&](const auto& self, auto& phrase) -> void {
    visit(phrase);
    if (phrase.with) self(self, *phrase.with);
    if (phrase.relative) for_each_phrase(*phrase.relative, visit);
    if (phrase.other) self(self, *phrase.other);
  };
  reach(reach, clause.subject);
  if (clause.object) reach(reach, *clause.object);
  if (clause.recipient) reach(reach, *clause.recipient);
  for (auto& adverbial : clause.adverbials) reach(reach, adverbial.phrase);
  for (auto& subordinate : clause.subordinates) for_each_phrase(subordinate.clause, visit);
}

// A node that another one owns.
template <class Node>
std::unique_ptr<Node> owned(Node node) {
  return std::make_unique<Node>(std::move(node));
}

// A sentence of one clause.
Sentence of_clause(Clause clause);

// The concept that a word expresses: a part of a node of the tree.
enum class Part {
  determiner,
  count,
  adjective,
  noun,
  join,
  with,
  verb,
  finite,
  negation,
  predicate,
  very,
  question,
  frequency,
  time,
  recipient,
  preposition,
  conjunction,
};

struct Concept {
  const void* node = nullptr;
  Part part = Part::noun;
  std::size_t unit = 0;
  bool operator==(const Concept&) const = default;
};

// A word or phrase depends on the first word that expresses the concept `head` and does not depend on it itself. The
// root depends on no node. Relations are those of Universal Dependencies.
struct Dependency {
  std::string_view relation = {};
  Concept head = {};
};

// Names and values of Universal Dependencies in the order of the names; those without a value do not hold.
using WordFeatures = std::vector<std::pair<std::string_view, std::string_view>>;

// A word in the dependency tree.
struct Syntax {
  std::string_view part_of_speech = {};  // UPOS
  Dependency dependency = {};
  WordFeatures features = {};
};

// Words are separated by spaces; punctuation is attached to the preceding word, as in raw text.
struct Word {
  std::string text;
  std::vector<Concept> concepts;
  Syntax syntax = {};
  std::optional<Concept> mark = {};  // head of the punctuation mark that ends the text; no node: the root
};

struct SentencePair {
  std::vector<Word> english, german;
  std::vector<Link> alignment;  // ordered by src, then tgt
};

SentencePair render(const Sentence& sentence);

// The gold antecedents of a rendered sentence: a link from each pronoun that stands for a noun to that noun, or to each
// of two nouns, as positions of words.
std::vector<Link> antecedents_of(const Sentence& sentence, const std::vector<Word>& words);

std::string to_text(const std::vector<Word>& words);
// True if the word expresses the part of a node of the tree.
bool expresses(const Word& word, const void* node, Part part);
// The index of the first word that does; there must be one.
std::size_t position_of(const std::vector<Word>& words, const void* node, Part part);

// The text with a word moved from one position to another; the capital at the beginning, commas and the mark at the end
// keep their places.
std::string with_moved(const std::vector<Word>& words, std::size_t from, std::size_t to);

// The English of a sentence of one clause.
std::string to_english_text(Clause clause);

// The two grammars; render() calls both.
std::vector<Word> to_english(const Sentence& sentence);
std::vector<Word> to_german(const Sentence& sentence);

// The head of a noun phrase is its noun; of a clause, its verb or the predicate of "to be".
Concept head_of(const NounPhrase& phrase);
Concept head_of(const Clause& clause);

// True if the verb agrees with a plural.
bool is_plural(const NounPhrase& phrase);
// "Sing" or "Plur".
std::string_view number_of(const NounPhrase& phrase);
// The features of a finite verb.
WordFeatures finite_features(const NounPhrase& subject, std::string_view tense);
// True if the phrase opens its clause in both languages.
bool is_fronted(const NounPhrase& phrase);

// A sentence under construction: appends words, and attaches punctuation to the word before it.
class Writer {
 public:
  void word(std::string_view text, std::vector<Concept> concepts, Syntax syntax);
  // The units of a fixed phrase (see lexicon.hpp), each a concept (node, part, unit). Of several words, the first
  // depends on what the phrase does, and the others, of the same part of speech, on it.
  void phrase(std::string_view units, const void* node, Part part, Syntax syntax);
  // The units of a clause's time, which depends on `head`; a capitalised word is a `capitalised`. Words of times have
  // no features.
  void time(std::string_view units, const Clause& clause, Concept head, std::string_view capitalised);
  // A comma before the next word, unless the sentence ends; in the tree it depends on `head`, that of the clause which
  // it sets off. Of two commas at one place the later one counts.
  void comma(Concept head);
  // A full stop within the text, which depends on `head`; the next word opens a sentence.
  void full_stop(Concept head);
  // Ends the sentence with `mark`.
  std::vector<Word> finish(char mark);

 private:
  std::vector<Word> words_;
  std::optional<Concept> comma_;  // due before the next word
  bool opens_ = true;             // the next word is the first of a sentence
};

// Dependency trees of rendered sentences, in the terms of Universal Dependencies (universaldependencies.org), with
// punctuation marks as words of their own:
//
//   The woman sings.     the <-det- woman <-nsubj- sings (root) -punct-> .
//
// German contractions ("im") and English "cannot" are one word each, and titles depend on names.

// The tree of a sentence that to_english or to_german has rendered; relations have their subtypes (acl:relcl).
TreeSentence to_tree(const std::vector<Word>& words);

}  // namespace attend::toy
