// English of the built-in world: subject, verb, object; do-support; time at the end.
#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "data/toy/meaning.hpp"

namespace attend::toy {
namespace {

class English {
 public:
  std::vector<Word> sentence(const Sentence& sentence) {
    for (std::size_t i = 0; i < sentence.clauses.size(); ++i) {
      if (i > 0) {
        writer_.comma();
        writer_.phrase(sentence.joiners[i - 1]->english, &sentence.clauses[i], Part::conjunction);
      }
      clause(sentence.clauses[i]);
    }
    std::vector<Word> words = writer_.finish(sentence.clauses.back().mood == Mood::question ? '?' : '.');
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const bool article = words[i].text == "a" || words[i].text == "A";
      if (article && std::string_view("aeiou").find(words[i + 1].text[0]) != std::string_view::npos)
        words[i].text += 'n';
    }
    return words;
  }

 private:
  void pronoun(const NounPhrase& phrase, bool subject) {
    const char* text = nullptr;
    if (phrase.kind == NounPhraseKind::interrogative) {
      text = phrase.person ? "who" : "what";
    } else if (phrase.kind == NounPhraseKind::relative) {
      text = !phrase.person ? "that" : subject ? "who" : "whom";
    } else if (phrase.first_person) {
      text = is_plural(phrase) ? (subject ? "we" : "us") : (subject ? "I" : "me");
    } else if (is_plural(phrase)) {
      text = subject ? "they" : "them";
    } else if (!phrase.person) {
      text = "it";
    } else {
      text = phrase.gender == Gender::feminine ? (subject ? "she" : "her") : (subject ? "he" : "him");
    }
    writer_.word(text, {{&phrase, Part::noun}});
  }

  void determiner(const NounPhrase& phrase) {
    static constexpr const char* kOwners[] = {"my", "his", "her", "our", "their"};
    const auto say = [&](const char* text) { writer_.word(text, {{&phrase, Part::determiner}}); };
    switch (phrase.determiner) {
      case Determiner::definite: return say("the");
      case Determiner::indefinite: return say("a");
      case Determiner::demonstrative: return say(phrase.number == Number::plural ? "these" : "this");
      case Determiner::every: return say("every");
      case Determiner::possessive: return say(kOwners[static_cast<int>(phrase.owner)]);
      case Determiner::bare: return;
    }
  }

  void noun_phrase(const NounPhrase& phrase, bool subject) {
    if (phrase.kind == NounPhraseKind::noun) {
      determiner(phrase);
      if (phrase.count) writer_.word(std::to_string(*phrase.count), {{&phrase, Part::count}});
      for (std::size_t i = 0; i < phrase.adjectives.size(); ++i) {
        writer_.word(std::string(phrase.adjectives[i]->english), {{&phrase, Part::adjective, i}});
      }
      if (phrase.modifier) writer_.word(std::string(phrase.modifier->english), {{&phrase, Part::noun}});
      const Noun& noun = *phrase.noun;
      writer_.word(std::string(phrase.number == Number::plural ? noun.english_plural : noun.english),
                   {{&phrase, Part::noun}});
    } else if (!phrase.name.empty()) {
      if (phrase.titled) {
        writer_.word(phrase.gender == Gender::feminine ? "Mrs." : "Mr.", {{&phrase, Part::determiner}});
      }
      writer_.word(phrase.name, {{&phrase, Part::noun}});
    } else {
      pronoun(phrase, subject);
    }
    if (phrase.with) {
      writer_.phrase(kWith.english, &phrase, Part::with);
      noun_phrase(*phrase.with, false);
    }
    if (phrase.relative) clause(*phrase.relative);
    if (phrase.other) {
      writer_.word("and", {{&phrase, Part::join}});
      noun_phrase(*phrase.other, subject);
    }
  }

  static std::string to_be(const Clause& clause) {
    const bool first = clause.subject.first_person, plural = is_plural(clause.subject);
    if (clause.tense == Tense::past) return plural ? "were" : "was";
    return plural ? "are" : first ? "am" : "is";
  }

  static bool is_third(const Clause& clause) { return !is_plural(clause.subject) && !clause.subject.first_person; }

  // The auxiliary before the subject of a question and before "not"; empty if English needs none.
  static std::string auxiliary(const Clause& clause) {
    if (clause.verb == nullptr) return to_be(clause);
    if (clause.modal != nullptr && !clause.modal->do_support) return std::string(clause.modal->english);
    const bool asks_subject = clause.subject.kind == NounPhraseKind::interrogative;
    if (!clause.negated && (clause.mood == Mood::statement || asks_subject)) return {};
    return clause.tense == Tense::past ? "did" : is_third(clause) ? "does" : "do";
  }

  // The words of a multi-word verb ("look for") form one concept.
  void verb_words(std::string_view text, const std::vector<Concept>& concepts) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      writer_.word(std::string(text.substr(0, end)), concepts);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  // The words after subject, auxiliary, negation and frequency.
  void main_verb(const Clause& clause, bool has_auxiliary) {
    const Concept finite{&clause, Part::finite}, meaning{&clause, Part::verb};
    if (clause.verb == nullptr) return;
    bool inflected = !has_auxiliary;
    if (clause.modal != nullptr && clause.modal->do_support) {
      verb_words(inflected && is_third(clause) ? clause.modal->third : clause.modal->english, {finite});
      inflected = false;
    } else if (clause.modal != nullptr) {
      inflected = false;
    }
    if (!inflected) return verb_words(clause.verb->english, {meaning});
    verb_words(clause.tense == Tense::past ? clause.verb->past
               : is_third(clause)          ? clause.verb->third
                                           : clause.verb->english,
               {meaning, finite});
  }

  void clause(const Clause& clause) {
    for (const Subordinate& subordinate : clause.subordinates) {
      if (!subordinate.first) continue;
      this->subordinate(subordinate);
      writer_.comma();
    }
    if (clause.time_first) writer_.phrase(clause.time->english, &clause, Part::time);
    if (clause.question_word) writer_.phrase(clause.question_word->english, &clause, Part::question);
    if (clause.object && is_fronted(*clause.object)) noun_phrase(*clause.object, false);

    const std::string auxiliary_text = auxiliary(clause);
    const Concept finite{&clause, Part::finite}, negation{&clause, Part::negation};
    // "cannot" is one word.
    const bool cannot = clause.negated && auxiliary_text == "can";
    const auto write_auxiliary = [&] {
      if (cannot) return writer_.word("cannot", {finite, negation});
      if (!auxiliary_text.empty()) writer_.word(auxiliary_text, {finite});
    };
    const bool inverted = clause.mood == Mood::question && clause.subject.kind != NounPhraseKind::interrogative;
    if (inverted) write_auxiliary();
    noun_phrase(clause.subject, true);
    if (!inverted) write_auxiliary();
    if (clause.negated && !cannot) writer_.word("not", {negation});
    if (clause.frequency) writer_.phrase(clause.frequency->english, &clause, Part::frequency);
    main_verb(clause, !auxiliary_text.empty());
    rest(clause);
  }

  // The words after the verb.
  void rest(const Clause& clause) {
    if (clause.very) writer_.word("very", {{&clause, Part::very}});
    if (clause.predicate) writer_.word(std::string(clause.predicate->english), {{&clause, Part::predicate}});
    const bool has_particle = clause.verb != nullptr && !clause.verb->particle.empty();
    const bool pronoun_object = clause.object && clause.object->kind == NounPhraseKind::pronoun;
    const auto particle = [&] { writer_.word(std::string(clause.verb->particle), {{&clause, Part::verb}}); };
    if (has_particle && !pronoun_object) particle();
    if (clause.object && !is_fronted(*clause.object)) noun_phrase(*clause.object, false);
    if (has_particle && pronoun_object) particle();
    if (clause.recipient) {
      writer_.word("to", {{&clause, Part::recipient}});
      noun_phrase(*clause.recipient, false);
    }
    for (const Adverbial& adverbial : clause.adverbials) {
      writer_.phrase(adverbial.preposition->english, &adverbial, Part::preposition);
      noun_phrase(adverbial.phrase, false);
    }
    if (clause.time && !clause.time_first) writer_.phrase(clause.time->english, &clause, Part::time);
    for (const Subordinate& subordinate : clause.subordinates) {
      if (!subordinate.first) this->subordinate(subordinate);
    }
  }

  void subordinate(const Subordinate& subordinate) {
    writer_.phrase(subordinate.conjunction->english, &subordinate, Part::conjunction);
    if (subordinate.conjunction != &kPurpose) return clause(subordinate.clause);
    ensure(!subordinate.clause.negated && subordinate.clause.verb != nullptr, "the purpose is a plain infinitive");
    verb_words(subordinate.clause.verb->english, {{&subordinate.clause, Part::verb}});
    rest(subordinate.clause);
  }

  Writer writer_;
};

}  // namespace

std::vector<Word> to_english(const Sentence& sentence) { return English().sentence(sentence); }

}  // namespace attend::toy
