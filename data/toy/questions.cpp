// Questions about stories (story.hpp).
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "data/toy/story.hpp"

namespace attend::toy {
namespace {

enum class Asks { who, what, whom, where, when, price };
constexpr Asks kAsks[] = {Asks::who, Asks::what, Asks::whom, Asks::where, Asks::when, Asks::price};

// Verbs of one-time events that no other verb implies (driving somewhere implies going there). Answerable and
// unanswerable questions use only these, so that the verb does not give the label away.
constexpr std::string_view kAskedVerbs[] = {"buy",    "sell",    "lose",   "find", "steal", "write",
                                            "repair", "bring",   "send",   "give", "carry", "forget",
                                            "open",   "prepare", "invite", "call", "eat"};

struct Query {
  Asks asks;
  Event event;  // the event asked about, as the question describes it
};

class Questions {
 public:
  Questions(Draw& draw, const Story& story) : draw_(draw), story_(story) {
    for (const std::string& line : to_lines(story)) {
      begins_.push_back(context_.size() + (context_.empty() ? 0 : 1));
      if (!context_.empty()) context_ += ' ';
      context_ += line;
    }
  }

  const std::string& context() const { return context_; }

  // A new question, or nullopt after 100 attempts.
  std::optional<Asked> ask(bool answerable, const std::vector<Asked>& before) {
    for (int tries = 0; tries < 100; ++tries) {
      std::optional<Asked> asked = try_to_ask(answerable);
      if (!asked) continue;
      const bool is_new =
          std::ranges::none_of(before, [&](const Asked& other) { return other.question == asked->question; });
      if (is_new) return asked;
    }
    return std::nullopt;
  }

 private:
  std::optional<Asked> try_to_ask(bool answerable) {
    const Asks asks = draw_.pick(kAsks);
    const std::size_t at = draw_.below(story_.told.size());
    Query query{asks, story_.told[at].event};
    if (!can_ask(query)) return std::nullopt;
    query.event.because.clear();
    const auto fits = [&](const Told& told) { return answers(told.event, query); };
    if (!answerable && !exchange(query)) return std::nullopt;
    if (std::ranges::count_if(story_.told, fits) != (answerable ? 1 : 0)) return std::nullopt;
    Asked asked{.question = text(query), .answer = {}, .begin = 0};
    if (answerable) locate(query, at, asked);
    return asked;
  }

  static bool can_ask(const Query& query) {
    const Event& event = query.event;
    if (event.verb == nullptr || event.negated) return false;
    const auto is_verb = [&](std::string_view word) { return event.verb == &verb(word); };
    if (std::ranges::none_of(kAskedVerbs, is_verb)) return false;
    switch (query.asks) {
      case Asks::who: return event.agent.person() && event.object.has_value();
      case Asks::what:
        return event.object && !event.object->person() && !event.object->place() && !event.object->named();
      case Asks::whom: return event.recipient.has_value();
      case Asks::where: return event.place.has_value() && event.preposition == nullptr;
      case Asks::when: return event.time.has_value();
      case Asks::price: return event.price.has_value();
    }
    return false;
  }

  // True if a query may ask about `event`.
  static bool answers(const Event& event, const Query& query) {
    const Event& wanted = query.event;
    if (event.negated || event.verb == nullptr) return false;
    // The recipient of a sale is the buyer.
    const bool bought = wanted.verb == &verb("buy") && event.verb == &verb("sell") && event.recipient;
    if (event.verb != wanted.verb && !bought) return false;
    const Entity& agent = bought ? *event.recipient : event.agent;
    return (query.asks == Asks::who || agent == wanted.agent) &&
           (query.asks == Asks::what || event.object == wanted.object) &&
           (query.asks == Asks::whom || bought || event.recipient == wanted.recipient);
  }

  // Replaces the agent by another person of the story, or the thing if the question asks for the agent.
  bool exchange(Query& query) {
    if (query.asks == Asks::who) {
      const Event& other = draw_.pick(story_.told).event;
      if (!other.object || !query.event.object || other.object == query.event.object) return false;
      if (other.object->person() != query.event.object->person() || other.object->place() || other.object->named()) {
        return false;
      }
      if ((other.object->noun->kinds & query.event.verb->objects) == 0) return false;
      query.event.object = other.object;
      return true;
    }
    const Entity& other = draw_.pick(story_.people);
    if (other == query.event.agent) return false;
    // If the recipient would become the agent as well, the former agent becomes the recipient.
    if (query.event.recipient == other) query.event.recipient = query.event.agent;
    if (query.event.object == other) query.event.object = query.event.agent;
    query.event.agent = other;
    return true;
  }

  std::string text(const Query& query) {
    static constexpr Phrase kWhom{"to whom", ""}, kHowMany{"for how many euros", ""};
    Event event = query.event;
    event.place.reset();
    event.time.reset();
    event.price.reset();
    if (query.asks == Asks::whom) event.recipient.reset();
    Clause clause = to_clause(event, [&](const Entity& entity, bool) {
      const bool money = entity.noun == &kEuro;
      return to_phrase(entity, money ? Determiner::indefinite : Determiner::definite, draw_.chance(0.5));
    });
    clause.mood = Mood::question;
    NounPhrase interrogative{.kind = NounPhraseKind::interrogative};
    if (query.asks == Asks::whom) clause.question_word = &kWhom;
    if (query.asks == Asks::where) clause.question_word = &kQuestionWords[2];
    if (query.asks == Asks::when) clause.question_word = &kQuestionWords[1];
    if (query.asks == Asks::price) clause.question_word = &kHowMany;
    if (query.asks == Asks::who) {
      clause.subject = std::move(interrogative);
    } else if (query.asks == Asks::what) {
      interrogative.person = false;
      clause.object = owned(std::move(interrogative));
    }
    return to_english_text(std::move(clause));
  }

  // --- position of the answer

  void locate(const Query& query, std::size_t at, Asked& asked) const {
    const Told& told = story_.told[at];
    const Clause& clause = told.sentence.clauses.front();
    switch (query.asks) {
      case Asks::who: return locate(told.event.agent, at, asked);
      case Asks::what: return locate(*told.event.object, at, asked);
      case Asks::whom: return locate(*told.event.recipient, at, asked);
      case Asks::where: return locate(*told.event.place, at, asked);
      case Asks::when: return take(at, &clause, {Part::time}, asked);
      case Asks::price:
        for (const Adverbial& adverbial : clause.adverbials) {
          if (adverbial.phrase.noun == &kEuro) return take(at, &adverbial.phrase, {Part::count}, asked);
        }
        ensure(false, "the price is mentioned");
    }
  }

  // The last mention by name or description, in the sentence of the event or before it.
  void locate(const Entity& entity, std::size_t at, Asked& asked) const {
    for (std::size_t i = at + 1; i-- > 0;) {
      for (const Mention& mention : story_.told[i].mentions) {
        if (mention.entity != entity || mention.phrase->kind == NounPhraseKind::pronoun) continue;
        return take(i, mention.phrase, {Part::determiner, Part::count, Part::adjective, Part::noun}, asked);
      }
    }
    ensure(false, "the entity was introduced");
  }

  // The words of sentence `at` that express these parts of the node, without the mark after the last.
  void take(std::size_t at, const void* node, std::initializer_list<Part> parts, Asked& asked) const {
    std::size_t place = begins_[at], end = 0;
    bool found = false;
    for (const Word& word : to_english(story_.told[at].sentence)) {
      const bool says = std::ranges::any_of(word.concepts, [&](const Concept& concept_) {
        return concept_.node == node && std::ranges::find(parts, concept_.part) != parts.end();
      });
      if (says && !found) asked.begin = place;
      found = found || says;
      place += word.text.size();
      if (says) end = place;
      ++place;
    }
    ensure(found, "the answer is mentioned");
    while (std::string_view(".,").find(context_[end - 1]) != std::string_view::npos) --end;
    asked.answer = context_.substr(asked.begin, end - asked.begin);
  }

  Draw& draw_;
  const Story& story_;
  std::string context_;
  std::vector<std::size_t> begins_;  // of the sentences
};

}  // namespace

Passage draw_passage(Draw& draw, const std::vector<bool>& answerable) {
  while (true) {
    const Story story = invent_story(draw);
    Questions questions(draw, story);
    Passage passage{.context = questions.context(), .asked = {}};
    for (const bool can_be_answered : answerable) {
      std::optional<Asked> asked = questions.ask(can_be_answered, passage.asked);
      if (!asked) break;
      passage.asked.push_back(std::move(*asked));
    }
    if (passage.asked.size() == answerable.size()) return passage;
  }
}

}  // namespace attend::toy
