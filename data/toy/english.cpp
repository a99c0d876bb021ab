// English of the built-in world: subject, verb, object; do-support; time at the end.
#include <string>
#include <utility>

#include "core/error.hpp"
#include "data/text/lines.hpp"
#include "data/toy/meaning.hpp"

namespace attend::toy {
namespace {

class English {
 public:
  std::vector<Word> sentence(const Sentence& sentence) {
    for (std::size_t i = 0; i < sentence.clauses.size(); ++i) {
      const Clause& clause = sentence.clauses[i];
      if (i == 0) {
        this->clause(clause, {"root"});
        continue;
      }
      if (sentence.joiners[i - 1] == &kFullStop) {
        writer_.full_stop(main_head(sentence.clauses[i - 1]));
        this->clause(clause, {"parataxis", main_head(sentence.clauses[0])});
        continue;
      }
      const Concept head = main_head(clause);
      writer_.comma(head);
      writer_.phrase(sentence.joiners[i - 1]->english, &clause, Part::conjunction, {"CCONJ", {"cc", head}});
      this->clause(clause, {"conj", main_head(sentence.clauses[0])});
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
  // "want to" and "have to" head their clause, and the verb depends on them (xcomp).
  static Concept main_head(const Clause& clause) {
    return clause.modal != nullptr && clause.modal->do_support ? Concept{&clause, Part::finite} : head_of(clause);
  }

  static std::string_view gender(Gender gender) { return gender == Gender::feminine ? "Fem" : "Masc"; }

  void pronoun(const NounPhrase& phrase, bool subject, const Dependency& dependency) {
    const char* text = nullptr;
    WordFeatures features = {{"Case", subject ? "Nom" : "Acc"},
                             {"Gender", phrase.first_person || is_plural(phrase) ? ""
                                        : phrase.person                          ? gender(phrase.gender)
                                                                                 : "Neut"},
                             {"Number", number_of(phrase)},
                             {"Person", phrase.first_person ? "1" : "3"},
                             {"PronType", "Prs"}};
    if (phrase.kind == NounPhraseKind::interrogative) {
      text = phrase.person ? "who" : "what";
      features = {{"PronType", "Int"}};
    } else if (phrase.kind == NounPhraseKind::relative) {
      text = !phrase.person ? "that" : subject ? "who" : "whom";
      features = {{"PronType", "Rel"}};
    } else if (phrase.first_person) {
      text = is_plural(phrase) ? (subject ? "we" : "us") : (subject ? "I" : "me");
    } else if (is_plural(phrase)) {
      text = subject ? "they" : "them";
    } else if (!phrase.person) {
      text = "it";
    } else {
      text = phrase.gender == Gender::feminine ? (subject ? "she" : "her") : (subject ? "he" : "him");
    }
    writer_.word(text, {{&phrase, Part::noun}}, {"PRON", dependency, std::move(features)});
  }

  void determiner(const NounPhrase& phrase) {
    const auto say = [&](const char* text, WordFeatures features) {
      writer_.word(text, {{&phrase, Part::determiner}}, {"DET", {"det", head_of(phrase)}, std::move(features)});
    };
    switch (phrase.determiner) {
      case Determiner::definite: return say("the", {{"Definite", "Def"}, {"PronType", "Art"}});
      case Determiner::indefinite: return say("a", {{"Definite", "Ind"}, {"PronType", "Art"}});
      case Determiner::demonstrative:
        return say(phrase.number == Number::plural ? "these" : "this",
                   {{"Number", number_of(phrase)}, {"PronType", "Dem"}});
      case Determiner::every: return say("every", {{"PronType", "Tot"}});
      case Determiner::possessive: return possessive(phrase);
      case Determiner::bare: return;
    }
  }

  void possessive(const NounPhrase& phrase) {
    struct Form {
      std::string_view text, gender, number, person;  // of the owner
    };
    static constexpr Form kOwners[] = {{"my", "", "Sing", "1"},
                                       {"his", "Masc", "Sing", "3"},
                                       {"her", "Fem", "Sing", "3"},
                                       {"our", "", "Plur", "1"},
                                       {"their", "", "Plur", "3"}};
    const Form& owner = kOwners[static_cast<int>(phrase.owner)];
    writer_.word(owner.text, {{&phrase, Part::determiner}},
                 {"PRON",
                  {"nmod:poss", head_of(phrase)},
                  {{"Case", "Gen"},
                   {"Gender", owner.gender},
                   {"Number", owner.number},
                   {"Person", owner.person},
                   {"Poss", "Yes"},
                   {"PronType", "Prs"}}});
  }

  void noun_phrase(const NounPhrase& phrase, bool subject, const Dependency& dependency) {
    const Concept head = head_of(phrase);
    if (phrase.kind == NounPhraseKind::noun) {
      determiner(phrase);
      if (phrase.count) {
        writer_.word(std::to_string(*phrase.count), {{&phrase, Part::count}},
                     {"NUM", {"nummod", head}, {{"NumType", "Card"}}});
      }
      for (std::size_t i = 0; i < phrase.adjectives.size(); ++i) {
        writer_.word(phrase.adjectives[i]->english, {{&phrase, Part::adjective, i}},
                     {"ADJ", {"amod", head}, {{"Degree", "Pos"}}});
      }
      if (phrase.modifier) {
        writer_.word(phrase.modifier->english, {{&phrase, Part::noun}},
                     {"NOUN", {"compound", head}, {{"Number", "Sing"}}});
      }
      const Noun& noun = *phrase.noun;
      writer_.word(phrase.number == Number::plural ? noun.english_plural : noun.english, {{&phrase, Part::noun}},
                   {"NOUN", dependency, {{"Number", number_of(phrase)}}});
    } else if (!phrase.name.empty()) {
      if (phrase.titled) {
        writer_.word(phrase.gender == Gender::feminine ? "Mrs." : "Mr.", {{&phrase, Part::determiner}},
                     {"PROPN", {"nmod:desc", head}, {{"Number", "Sing"}}});
      }
      writer_.word(phrase.name, {{&phrase, Part::noun}}, {"PROPN", dependency, {{"Number", "Sing"}}});
    } else {
      pronoun(phrase, subject, dependency);
    }
    if (phrase.with) {
      writer_.phrase(kWith.english, &phrase, Part::with, {"ADP", {"case", head_of(*phrase.with)}});
      noun_phrase(*phrase.with, false, {"nmod", head});
    }
    if (phrase.relative) clause(*phrase.relative, {"acl:relcl", head});
    if (phrase.other) {
      writer_.word("and", {{&phrase, Part::join}}, {"CCONJ", {"cc", head_of(*phrase.other)}});
      noun_phrase(*phrase.other, subject, {"conj", head});
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

  // The words of a multi-word verb ("look for", "want to") form one concept.
  void verb_words(std::string_view text, const std::vector<Concept>& concepts, Syntax first, const Syntax& others) {
    for (const std::string_view word : spaced_words(text)) writer_.word(word, concepts, std::exchange(first, others));
  }

  // A form of the clause's verb; the "for" of "look for" belongs to the object.
  void verb_words(const Clause& clause, std::string_view form, const std::vector<Concept>& concepts,
                  const Dependency& dependency, WordFeatures features) {
    const Syntax preposition = {"ADP", {"case", clause.object ? head_of(*clause.object) : head_of(clause)}};
    verb_words(form, concepts, {"VERB", dependency, std::move(features)}, preposition);
  }

  // The words after subject, auxiliary, negation and frequency.
  void main_verb(const Clause& clause, bool has_auxiliary, const Dependency& dependency) {
    const Concept finite{&clause, Part::finite}, meaning{&clause, Part::verb};
    static const WordFeatures kInfinitive = {{"VerbForm", "Inf"}};
    if (clause.verb == nullptr) return;
    bool inflected = !has_auxiliary;
    Dependency of_verb = dependency;
    if (clause.modal != nullptr && clause.modal->do_support) {
      verb_words(inflected && is_third(clause) ? clause.modal->third : clause.modal->english, {finite},
                 {"VERB", dependency, inflected ? finite_features(clause.subject, "Pres") : kInfinitive},
                 {"PART", {"mark", meaning}});
      inflected = false;
      of_verb = {"xcomp", finite};
    } else if (clause.modal != nullptr) {
      inflected = false;
    }
    if (!inflected) return verb_words(clause, clause.verb->english, {meaning}, of_verb, kInfinitive);
    const bool past = clause.tense == Tense::past;
    verb_words(clause,
               past               ? clause.verb->past
               : is_third(clause) ? clause.verb->third
                                  : clause.verb->english,
               {meaning, finite}, of_verb, finite_features(clause.subject, past ? "Past" : "Pres"));
  }

  static Syntax auxiliary_syntax(const Clause& clause) {
    const std::string_view tense = clause.tense == Tense::past ? "Past" : "Pres";
    if (clause.verb == nullptr) return {"AUX", {"cop", head_of(clause)}, finite_features(clause.subject, tense)};
    const bool modal = clause.modal != nullptr && !clause.modal->do_support;
    return {"AUX",
            {"aux", main_head(clause)},
            modal ? WordFeatures{{"VerbForm", "Fin"}} : finite_features(clause.subject, tense)};
  }

  void clause(const Clause& clause, const Dependency& dependency) {
    const Concept head = main_head(clause);
    for (const Subordinate& subordinate : clause.subordinates) {
      if (!subordinate.first) continue;
      this->subordinate(subordinate, head);
      writer_.comma(main_head(subordinate.clause));
    }
    if (clause.time_first) time(clause);
    if (clause.question_word) {
      writer_.phrase(clause.question_word->english, &clause, Part::question,
                     {"ADV", {"advmod", head}, {{"PronType", "Int"}}});
    }
    if (clause.object && is_fronted(*clause.object)) object(clause, dependency);

    const std::string auxiliary_text = auxiliary(clause);
    const Concept finite{&clause, Part::finite}, negation{&clause, Part::negation};
    // "cannot" is one word.
    const bool cannot = clause.negated && auxiliary_text == "can";
    const auto write_auxiliary = [&] {
      if (auxiliary_text.empty()) return;
      Syntax syntax = auxiliary_syntax(clause);
      if (!cannot) return writer_.word(auxiliary_text, {finite}, std::move(syntax));
      syntax.features.insert(syntax.features.begin(), {"Polarity", "Neg"});
      writer_.word("cannot", {finite, negation}, std::move(syntax));
    };
    const bool inverted = clause.mood == Mood::question && clause.subject.kind != NounPhraseKind::interrogative;
    if (inverted) write_auxiliary();
    noun_phrase(clause.subject, true, {"nsubj", head});
    if (!inverted) write_auxiliary();
    if (clause.negated && !cannot) {
      writer_.word("not", {negation}, {"PART", {"advmod", head}, {{"Polarity", "Neg"}}});
    }
    if (clause.frequency) {
      writer_.phrase(clause.frequency->english, &clause, Part::frequency, {"ADV", {"advmod", head}});
    }
    main_verb(clause, !auxiliary_text.empty(), dependency);
    rest(clause, dependency);
  }

  void time(const Clause& clause) { writer_.time(clause.time->english, clause, main_head(clause), "PROPN"); }

  // "was a teacher" has the teacher as its head.
  void object(const Clause& clause, const Dependency& dependency) {
    const bool of_preposition = clause.verb != nullptr && clause.verb->english.find(' ') != std::string_view::npos;
    noun_phrase(*clause.object, false,
                clause.verb == nullptr ? dependency : Dependency{of_preposition ? "obl" : "obj", head_of(clause)});
  }

  // The words after the verb.
  void rest(const Clause& clause, const Dependency& dependency) {
    const Concept head = head_of(clause);
    if (clause.very) writer_.word("very", {{&clause, Part::very}}, {"ADV", {"advmod", head}});
    if (clause.predicate) {
      writer_.word(clause.predicate->english, {{&clause, Part::predicate}}, {"ADJ", dependency, {{"Degree", "Pos"}}});
    }
    const bool has_particle = clause.verb != nullptr && !clause.verb->particle.empty();
    const bool pronoun_object = clause.object && clause.object->kind == NounPhraseKind::pronoun;
    const auto particle = [&] {
      writer_.word(clause.verb->particle, {{&clause, Part::verb}}, {"ADP", {"compound:prt", head}});
    };
    if (has_particle && !pronoun_object) particle();
    if (clause.object && !is_fronted(*clause.object)) object(clause, dependency);
    if (has_particle && pronoun_object) particle();
    if (clause.recipient) {
      writer_.word("to", {{&clause, Part::recipient}}, {"ADP", {"case", head_of(*clause.recipient)}});
      noun_phrase(*clause.recipient, false, {"obl", head});
    }
    for (const Adverbial& adverbial : clause.adverbials) {
      writer_.phrase(adverbial.preposition->english, &adverbial, Part::preposition,
                     {"ADP", {"case", head_of(adverbial.phrase)}});
      noun_phrase(adverbial.phrase, false, {"obl", head});
    }
    if (clause.time && !clause.time_first) time(clause);
    for (const Subordinate& subordinate : clause.subordinates) {
      if (!subordinate.first) this->subordinate(subordinate, main_head(clause));
    }
  }

  // A clause that depends on `head`.
  void subordinate(const Subordinate& subordinate, Concept head) {
    const Clause& clause = subordinate.clause;
    const Phrase* const conjunction = subordinate.conjunction;
    writer_.phrase(conjunction->english, &subordinate, Part::conjunction, {"SCONJ", {"mark", main_head(clause)}});
    const Dependency dependency = {conjunction == &kThat || conjunction == &kWhether ? "ccomp" : "advcl", head};
    if (conjunction != &kPurpose) return this->clause(clause, dependency);
    ensure(!clause.negated && clause.verb != nullptr, "the purpose is a plain infinitive");
    writer_.word("to", {{&subordinate, Part::conjunction}}, {"PART", {"mark", head_of(clause)}});
    verb_words(clause, clause.verb->english, {{&clause, Part::verb}}, dependency, {{"VerbForm", "Inf"}});
    rest(clause, dependency);
  }

  Writer writer_;
};

}  // namespace

std::vector<Word> to_english(const Sentence& sentence) { return English().sentence(sentence); }

}  // namespace attend::toy
