#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "data/toy/story.hpp"

namespace attend::toy {

std::string headline_of(const Story& story) {
  // Each plot has one of these; the first says most of it.
  for (const std::string_view central : {"steal", "repair", "lose", "send", "visit", "invite", "buy", "find"}) {
    for (const Told& told : story.told) {
      if (told.event.verb != &verb(central) || told.event.negated) continue;
      Event event = told.event;
      event.time.reset();
      event.because.clear();
      Clause clause = to_clause(event, [](const Entity& entity, bool) { return to_phrase(entity, Determiner::bare); });
      clause.tense = Tense::present;
      std::string text = to_english_text(std::move(clause));
      text.pop_back();  // the full stop
      return text;
    }
  }
  throw std::logic_error("a story has an event for its headline");
}

}  // namespace attend::toy
