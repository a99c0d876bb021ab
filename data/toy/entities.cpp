#include "data/toy/entities.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "data/text/lines.hpp"
#include "data/toy/thesaurus.hpp"
#include "data/toy/world.hpp"

namespace attend::toy {
namespace {

using Names = std::map<const void*, std::string_view>;  // phrase to type

void find_names(const Clause& clause, Names& names);

void find_names(const NounPhrase& phrase, Names& names) {
  if (phrase.kind == NounPhraseKind::person_name) names[&phrase] = "PER";
  if (phrase.kind == NounPhraseKind::town_name) names[&phrase] = "LOC";
  if (phrase.kind == NounPhraseKind::company_name) names[&phrase] = "ORG";
  if (phrase.with) find_names(*phrase.with, names);
  if (phrase.relative) find_names(*phrase.relative, names);
  if (phrase.other) find_names(*phrase.other, names);
}

void find_names(const Clause& clause, Names& names) {
  find_names(clause.subject, names);
  if (clause.object) find_names(*clause.object, names);
  if (clause.recipient) find_names(*clause.recipient, names);
  for (const Adverbial& adverbial : clause.adverbials) find_names(adverbial.phrase, names);
  for (const Subordinate& subordinate : clause.subordinates) find_names(subordinate.clause, names);
}

// Business between people and companies.
class Business {
 public:
  explicit Business(Draw& draw) : draw_(draw) {}

  Event event() {
    Event event;
    const std::uint64_t kind = draw_.below(4);
    if (kind == 0) {
      // The only place where a company may have a bare name: the verb distinguishes it from a person.
      event = {.agent = person(), .verb = &kWorkFor, .object = invent_named(draw_, NounPhraseKind::company_name)};
    } else if (kind == 1) {
      const bool company_first = draw_.chance(0.5);
      event = {.agent = company_first ? company() : person(), .verb = &one_of({"thank", "invite", "call", "help"})};
      event.object = company_first ? person() : company();
    } else {
      const bool company_first = draw_.chance(0.5);
      event = {.agent = company_first ? company() : person(), .verb = &one_of({"sell", "give", "bring", "show"})};
      event.object = of(draw_.noun_of(kGoods));
      event.recipient = company_first == draw_.chance(0.7) ? person() : company();
    }
    if (draw_.chance(0.4)) event.place = invent_named(draw_, NounPhraseKind::town_name);
    if (draw_.chance(0.4)) event.time = draw_.time(true, false);
    return event;
  }

 private:
  const Verb& one_of(std::initializer_list<std::string_view> words) { return verb(draw_.pick(words)); }
  Entity person() {
    Entity person = invent_person(draw_);
    if (!person.titled) person.name = draw_.name() + " " + person.name;
    return person;
  }
  // Unambiguous: Tarvel Bank.
  Entity company() {
    while (true) {
      Entity company = invent_named(draw_, NounPhraseKind::company_name);
      if (company.name.find(' ') != std::string::npos) return company;
    }
  }

  Draw& draw_;
};

Sentence invent(Draw& draw) {
  if (draw.chance(0.5)) {
    const std::size_t words = std::min<std::size_t>(invent_length(draw.stream()), 20);
    return invent_sentence(draw.stream(), words);
  }
  Clause clause = to_clause(Business(draw).event());
  clause.time_first = clause.time && draw.chance(0.5);
  return of_clause(std::move(clause));
}

}  // namespace

std::vector<Token> to_tokens(const Sentence& sentence) {
  Names names;
  for (const Clause& clause : sentence.clauses) find_names(clause, names);
  std::vector<Token> tokens;
  for (const Word& word : to_english(sentence)) {
    std::string_view type;
    for (const Concept& concept_ : word.concepts) {
      const auto found = names.find(concept_.node);
      if (found != names.end() && concept_.part == Part::noun) type = found->second;
    }
    std::string_view text = word.text;
    std::string_view mark;
    if (text != "Mr." && text != "Mrs." && std::string_view(".,?").find(text.back()) != std::string_view::npos) {
      mark = text.substr(text.size() - 1);
      text.remove_suffix(1);
    }
    // A name of two words is one word of the sentence, and so is "piece of furniture".
    const char* place = "B-";
    for (const std::string_view part : spaced_words(text)) {
      const std::string tag = std::exchange(place, "I-");
      tokens.push_back({std::string(part), type.empty() ? "O" : tag + std::string(type)});
    }
    if (!mark.empty()) tokens.push_back({std::string(mark), "O"});
  }
  return tokens;
}

std::vector<Token> draw_entities(Draw& draw) {
  while (true) {
    std::vector<Token> tokens = to_tokens(invent(draw));
    const bool has_name = std::ranges::any_of(tokens, [](const Token& token) { return token.tag != "O"; });
    if (has_name || draw.chance(0.15)) return tokens;
  }
}

}  // namespace attend::toy
