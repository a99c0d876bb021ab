// German of the built-in world: the finite verb comes second, the other verbs last, and between them pronouns, time,
// dative, accusative, negation, place. In a subordinate clause the finite verb is last. The relative clause of an
// object and every subordinate clause follow the last verb.
#include <string>

#include "core/error.hpp"
#include "data/toy/meaning.hpp"

namespace attend::toy {
namespace {

// Column of a declension: the three genders of the singular, then the plural.
enum Column { kMasculine, kFeminine, kNeuter, kPlural };
using Declension = std::string_view[3][4];  // [case][column]

constexpr Declension kDefinite = {
    {"der", "die", "das", "die"}, {"den", "die", "das", "die"}, {"dem", "der", "dem", "den"}};
constexpr Declension kRelative = {
    {"der", "die", "das", "die"}, {"den", "die", "das", "die"}, {"dem", "der", "dem", "denen"}};
constexpr Declension kPersonal = {
    {"er", "sie", "es", "sie"}, {"ihn", "sie", "es", "sie"}, {"ihm", "ihr", "ihm", "ihnen"}};
constexpr Declension kDieser = {{"er", "e", "es", "e"}, {"en", "e", "es", "e"}, {"em", "er", "em", "en"}};
constexpr Declension kEin = {{"", "e", "", "e"}, {"en", "e", "", "e"}, {"em", "er", "em", "en"}};
// Endings of an adjective after der (weak), after ein (mixed) and after nothing (strong; only the plural occurs).
constexpr Declension kWeak = {{"e", "e", "e", "en"}, {"en", "e", "e", "en"}, {"en", "en", "en", "en"}};
constexpr Declension kMixed = {{"er", "e", "es", "en"}, {"en", "e", "es", "en"}, {"en", "en", "en", "en"}};
constexpr std::string_view kStrongPlural[3] = {"e", "e", "en"};

constexpr std::string_view kOwners[] = {"mein", "sein", "ihr", "unser", "ihr"};

Column column(const NounPhrase& phrase) {
  if (phrase.number == Number::plural) return kPlural;
  return static_cast<Column>(phrase.noun != nullptr ? phrase.noun->gender : phrase.gender);
}

// "Masc"; nothing in the plural, whose forms do not tell genders apart.
std::string_view gender_name(Column column) {
  static constexpr std::string_view kGenders[] = {"Masc", "Fem", "Neut", ""};
  return kGenders[column];
}

std::string_view case_name(Case case_) {
  static constexpr std::string_view kCases[] = {"Nom", "Acc", "Dat"};
  return kCases[static_cast<int>(case_)];
}

std::string operator+(std::string_view a, std::string_view b) { return std::string(a).append(b); }

std::string noun_form(const NounPhrase& phrase, Case case_) {
  const Noun& noun = *phrase.noun;
  const bool plural = phrase.number == Number::plural;
  const bool oblique = noun.weak && case_ != Case::nominative;  // den Studenten: as the plural
  std::string form(plural || oblique ? noun.german_plural : noun.german);
  if (plural && case_ == Case::dative && form.back() != 'n' && form.back() != 's') form += 'n';
  if (phrase.modifier == nullptr) return form;
  form[0] = static_cast<char>(form[0] - 'A' + 'a');
  return phrase.modifier->german + form;
}

// The contraction of a preposition and a definite article; empty if there is none.
std::string contraction(std::string_view preposition, std::string_view article) {
  if (article == "dem") {
    if (preposition == "in") return "im";
    if (preposition == "an") return "am";
    if (preposition == "von") return "vom";
    if (preposition == "zu") return "zum";
  }
  return preposition == "zu" && article == "der" ? "zur" : "";
}

// "kein": the object absorbs the negation of its clause.
bool takes_negation(const Clause& clause) {
  if (!clause.negated || !clause.object || clause.object->kind != NounPhraseKind::noun || clause.object->count)
    return false;
  return clause.object->determiner == Determiner::indefinite || clause.object->determiner == Determiner::bare;
}

// The third-person singular, the plural and the first-person singular of a verb.
std::string_view agree(const NounPhrase& subject, std::string_view third, std::string_view plural,
                       std::string_view first) {
  return is_plural(subject) ? plural : subject.first_person ? first : third;
}

// The context of a noun phrase, as far as it changes the form.
struct Context {
  const Clause* negated = nullptr;  // the clause whose negation it absorbs
  const void* recipient = nullptr;  // the clause whose recipient it is: English "to"
  bool article_said = false;        // in a contraction
  bool relative_later = false;      // its relative clause follows the last verb
};

class German {
 public:
  std::vector<Word> sentence(const Sentence& sentence) {
    for (std::size_t i = 0; i < sentence.clauses.size(); ++i) {
      const Clause& clause = sentence.clauses[i];
      if (i == 0) {
        this->clause(clause, Order::verb_second, {"root"});
        continue;
      }
      if (sentence.joiners[i - 1] == &kFullStop) {
        writer_.full_stop(head_of(sentence.clauses[i - 1]));
        this->clause(clause, Order::verb_second, {"parataxis", head_of(sentence.clauses[0])});
        continue;
      }
      const Concept head = head_of(clause);
      const Phrase& joiner = *sentence.joiners[i - 1];
      if (joiner.german != "und") writer_.comma(head);
      writer_.phrase(joiner.german, &clause, Part::conjunction, {"CCONJ", {"cc", head}});
      this->clause(clause, Order::verb_second, {"conj", head_of(sentence.clauses[0])});
    }
    return writer_.finish(sentence.clauses.back().mood == Mood::question ? '?' : '.');
  }

 private:
  enum class Order { verb_second, verb_last };

  void pronoun(const NounPhrase& phrase, Case case_, const Dependency& dependency, std::vector<Concept> concepts) {
    const int row = static_cast<int>(case_);
    static constexpr std::string_view kFirst[2][3] = {{"ich", "mich", "mir"}, {"wir", "uns", "uns"}};
    static constexpr std::string_view kWho[3] = {"wer", "wen", "wem"};
    const Column col = column(phrase);
    std::string_view text = kPersonal[row][col];
    WordFeatures features = {{"Case", case_name(case_)},
                             {"Gender", phrase.first_person ? "" : gender_name(col)},
                             {"Number", number_of(phrase)},
                             {"Person", phrase.first_person ? "1" : "3"},
                             {"PronType", "Prs"}};
    if (phrase.kind == NounPhraseKind::interrogative) {
      text = phrase.person ? kWho[row] : "was";
      features = {{"Case", case_name(case_)}, {"PronType", "Int"}};
    } else if (phrase.kind == NounPhraseKind::relative) {
      text = kRelative[row][col];
      features = {
          {"Case", case_name(case_)}, {"Gender", gender_name(col)}, {"Number", number_of(phrase)}, {"PronType", "Rel"}};
    } else if (phrase.first_person) {
      text = kFirst[is_plural(phrase)][row];
    }
    concepts.push_back({&phrase, Part::noun});
    writer_.word(text, std::move(concepts), {"PRON", dependency, std::move(features)});
  }

  // Writes the determiner, if any; returns true if a word was written.
  bool determiner(const NounPhrase& phrase, Case case_, std::vector<Concept> concepts, bool negated) {
    const int row = static_cast<int>(case_);
    const Column col = column(phrase);
    const bool possessive = phrase.determiner == Determiner::possessive;
    const bool of_first_person = phrase.owner == Owner::me || phrase.owner == Owner::us;
    const auto say = [&](std::string_view stem, std::string_view ending, std::string_view type,
                         std::string_view definite = {}) {
      concepts.push_back({&phrase, Part::determiner});
      writer_.word(stem + ending, std::move(concepts),
                   {"DET",
                    {possessive ? "det:poss" : "det", head_of(phrase)},
                    {{"Case", case_name(case_)},
                     {"Definite", definite},
                     {"Gender", gender_name(col)},
                     {"Number", number_of(phrase)},
                     {"Person", !possessive       ? ""
                                : of_first_person ? "1"
                                                  : "3"},
                     {"Poss", possessive ? "Yes" : ""},
                     {"PronType", type}}});
      return true;
    };
    const auto say_none = [&] { return say("kein", kEin[row][col], "Neg"); };
    switch (phrase.determiner) {
      case Determiner::definite: return say("", kDefinite[row][col], "Art", "Def");
      case Determiner::indefinite: return negated ? say_none() : say("ein", kEin[row][col], "Art", "Ind");
      case Determiner::demonstrative: return say("dies", kDieser[row][col], "Dem");
      case Determiner::every: return say("jed", kDieser[row][col], "Tot");
      case Determiner::possessive: return say(kOwners[static_cast<int>(phrase.owner)], kEin[row][col], "Prs");
      case Determiner::bare: break;
    }
    return negated && say_none();
  }

  static std::string_view adjective_ending(const NounPhrase& phrase, Case case_, bool negated) {
    const int row = static_cast<int>(case_);
    switch (phrase.determiner) {
      case Determiner::definite:
      case Determiner::demonstrative:
      case Determiner::every: return kWeak[row][column(phrase)];
      case Determiner::bare:
        if (!negated) return kStrongPlural[row];
        [[fallthrough]];
      case Determiner::indefinite:
      case Determiner::possessive: return kMixed[row][column(phrase)];
    }
    return {};
  }

  void noun_phrase(const NounPhrase& phrase, Case case_, const Dependency& dependency, const Context& context = {}) {
    const Concept head = head_of(phrase);
    std::vector<Concept> first;  // also said by the phrase's first word
    if (context.negated) first.push_back({context.negated, Part::negation});
    if (context.recipient) first.push_back({context.recipient, Part::recipient});
    if (phrase.kind == NounPhraseKind::noun) {
      const bool negated = context.negated != nullptr;
      if (!context.article_said && determiner(phrase, case_, first, negated)) first.clear();
      const auto add = [&](std::string text, Concept concept_, Syntax syntax) {
        first.push_back(concept_);
        writer_.word(std::move(text), std::move(first), std::move(syntax));
        first.clear();
      };
      if (phrase.count) {
        add(std::to_string(*phrase.count), {&phrase, Part::count}, {"NUM", {"nummod", head}, {{"NumType", "Card"}}});
      }
      for (std::size_t i = 0; i < phrase.adjectives.size(); ++i) {
        add(phrase.adjectives[i]->stem + adjective_ending(phrase, case_, negated), {&phrase, Part::adjective, i},
            {"ADJ",
             {"amod", head},
             {{"Case", case_name(case_)},
              {"Degree", "Pos"},
              {"Gender", gender_name(column(phrase))},
              {"Number", number_of(phrase)}}});
      }
      add(noun_form(phrase, case_), {&phrase, Part::noun},
          {"NOUN", dependency, nominal_features(phrase, case_, static_cast<Column>(phrase.noun->gender))});
    } else if (!phrase.name.empty()) {
      const Column col = phrase.kind == NounPhraseKind::person_name ? column(phrase) : kPlural;
      if (phrase.titled) {
        first.push_back({&phrase, Part::determiner});
        const bool feminine = phrase.gender == Gender::feminine;
        const char* const male = case_ == Case::nominative ? "Herr" : "Herrn";
        writer_.word(feminine ? "Frau" : male, std::move(first),
                     {"NOUN", {"nmod", head}, nominal_features(phrase, case_, col)});
        first.clear();
      }
      first.push_back({&phrase, Part::noun});
      writer_.word(phrase.name, std::move(first), {"PROPN", dependency, nominal_features(phrase, case_, col)});
    } else {
      pronoun(phrase, case_, dependency, std::move(first));
    }
    if (phrase.with) {
      writer_.phrase(kWith.german, &phrase, Part::with, {"ADP", {"case", head_of(*phrase.with)}});
      noun_phrase(*phrase.with, kWith.governs, {"nmod", head});
    }
    if (phrase.relative && !context.relative_later) enclosed(*phrase.relative, phrase);
    if (phrase.other) {
      writer_.word("und", {{&phrase, Part::join}}, {"CCONJ", {"cc", head_of(*phrase.other)}});
      noun_phrase(*phrase.other, case_, {"conj", head});
    }
  }

  static WordFeatures nominal_features(const NounPhrase& phrase, Case case_, Column gender) {
    return {{"Case", case_name(case_)}, {"Gender", gender_name(gender)}, {"Number", number_of(phrase)}};
  }

  void adverbial(const Adverbial& adverbial, Concept head) {
    const Preposition& preposition = *adverbial.preposition;
    const NounPhrase& phrase = adverbial.phrase;
    const bool article = phrase.kind == NounPhraseKind::noun && phrase.determiner == Determiner::definite;
    const std::string joined =
        article ? contraction(preposition.german, kDefinite[static_cast<int>(preposition.governs)][column(phrase)])
                : "";
    const Syntax syntax = {"ADP", {"case", head_of(phrase)}};  // "im", too, is one word
    if (joined.empty()) {
      writer_.phrase(preposition.german, &adverbial, Part::preposition, syntax);
    } else {
      writer_.word(joined, {{&adverbial, Part::preposition}, {&phrase, Part::determiner}}, syntax);
    }
    noun_phrase(phrase, preposition.governs, {"obl", head}, {.article_said = !joined.empty()});
  }

  // The relative clause of a phrase, its verb last, between commas.
  void enclosed(const Clause& clause, const NounPhrase& phrase) {
    writer_.comma(head_of(clause));
    this->clause(clause, Order::verb_last, {"acl:relcl", head_of(phrase)});
    writer_.comma(head_of(clause));
  }

  // A clause that depends on `on`.
  void subordinate(const Subordinate& subordinate, Concept on) {
    const Clause& clause = subordinate.clause;
    const Concept head = head_of(clause);
    const bool is_object = subordinate.conjunction == &kThat || subordinate.conjunction == &kWhether;
    const Dependency dependency = {is_object ? "ccomp" : "advcl", on};
    if (!subordinate.first) writer_.comma(head);  // "aber als ..."
    writer_.phrase(subordinate.conjunction->german, &subordinate, Part::conjunction, {"SCONJ", {"mark", head}});
    if (subordinate.conjunction == &kPurpose) {
      const Concept conjunction{&subordinate, Part::conjunction};
      const Verb& verb = *clause.verb;
      const Syntax infinitive = {"VERB", dependency, {{"VerbForm", "Inf"}}};
      middle(clause, dependency);
      if (verb.prefix.empty()) {
        writer_.word("zu", {conjunction}, {"PART", {"mark", head}});
        writer_.word(verb.infinitive, {head}, infinitive);
      } else {
        writer_.word(verb.prefix + ("zu" + verb.infinitive), {head, conjunction}, infinitive);
      }
      extraposed(clause);
    } else {
      this->clause(clause, Order::verb_last, dependency);
    }
    writer_.comma(head);
  }

  // The verb of a clause: the finite form that moves, and what stays at the end.
  struct Verbs {
    Word finite;
    std::vector<Word> last;
  };

  static Verbs verbs(const Clause& clause, const Dependency& dependency) {
    const Concept finite{&clause, Part::finite}, meaning{&clause, Part::verb};
    const NounPhrase& subject = clause.subject;
    const bool past = clause.tense == Tense::past;
    if (clause.verb == nullptr) {
      const std::string_view form = past ? agree(subject, "war", "waren", "war") : agree(subject, "ist", "sind", "bin");
      const Syntax copula = {"AUX", {"cop", head_of(clause)}, finite_features(subject, past ? "Past" : "Pres")};
      return {{std::string(form), {finite}, copula}, {}};
    }
    const Verb& verb = *clause.verb;
    const auto with_auxiliary = [&](std::string_view auxiliary, std::string_view tense, std::string last,
                                    std::string_view form_of_last) {
      Word other{std::move(last), {meaning}, {"VERB", dependency, {{"VerbForm", form_of_last}}}};
      return Verbs{{std::string(auxiliary), {finite}, {"AUX", {"aux", meaning}, finite_features(subject, tense)}},
                   {std::move(other)}};
    };
    if (clause.modal != nullptr) {
      const std::string_view form = agree(subject, clause.modal->singular, clause.modal->plural, clause.modal->first);
      return with_auxiliary(form, {}, verb.prefix + verb.infinitive, "Inf");  // "sollte" has the form of a past
    }
    if (past) {
      const std::string_view form =
          verb.with_sein ? agree(subject, "ist", "sind", "bin") : agree(subject, "hat", "haben", "habe");
      return with_auxiliary(form, "Pres", std::string(verb.participle), "Part");
    }
    Verbs present{{std::string(agree(subject, verb.german_third, verb.infinitive, verb.first)),
                   {meaning, finite},
                   {"VERB", dependency, finite_features(subject, "Pres")}},
                  {}};
    if (!verb.prefix.empty()) {
      present.last.push_back({std::string(verb.prefix), {meaning}, {"ADP", {"compound:prt", meaning}}});
    }
    return present;
  }

  void write(const Word& word) { writer_.word(word.text, word.concepts, word.syntax); }

  void clause(const Clause& clause, Order order, const Dependency& dependency) {
    const Verbs verbs = German::verbs(clause, dependency);
    bool subject_said = false;
    const auto subject = [&] {
      noun_phrase(clause.subject, Case::nominative, {"nsubj", head_of(clause)});
      subject_said = true;
    };
    const bool object_first = clause.object && is_fronted(*clause.object);
    if (order == Order::verb_last) {
      ensure(!clause.time_first, "a subordinate clause opens with its conjunction or relative pronoun");
      if (object_first) object(clause);
    } else if (!first_place(clause)) {
      if (object_first) {
        object(clause);
      } else if (clause.mood == Mood::statement || is_fronted(clause.subject)) {
        subject();
      }
    }
    if (order == Order::verb_second) write(verbs.finite);
    if (!subject_said) subject();
    middle(clause, dependency);
    if (order == Order::verb_second) {
      for (const Word& word : verbs.last) write(word);
    } else if (clause.verb != nullptr && clause.modal == nullptr && clause.tense == Tense::present) {
      writer_.word(clause.verb->prefix + verbs.finite.text, verbs.finite.concepts, verbs.finite.syntax);  // anruft
    } else {
      for (const Word& word : verbs.last) write(word);
      write(verbs.finite);
    }
    extraposed(clause);
  }

  // Writes the constituent before the finite verb that replaces the subject; returns true if there is one.
  bool first_place(const Clause& clause) {
    for (const Subordinate& subordinate : clause.subordinates) {
      if (!subordinate.first) continue;
      this->subordinate(subordinate, head_of(clause));
      return true;
    }
    if (clause.time_first) {
      time(clause);
    } else if (clause.question_word) {
      writer_.phrase(clause.question_word->german, &clause, Part::question,
                     {"ADV", {"advmod", head_of(clause)}, {{"PronType", "Int"}}});
    } else {
      return false;
    }
    return true;
  }

  void time(const Clause& clause) { writer_.time(clause.time->german, clause, head_of(clause), "NOUN"); }

  void object(const Clause& clause) {
    const Case case_ = clause.verb->object == Object::dative ? Case::dative : Case::accusative;
    noun_phrase(*clause.object, case_, {"obj", head_of(clause)},
                {.negated = takes_negation(clause) ? &clause : nullptr, .relative_later = true});
  }

  // Writes everything between the subject and the last verb; `dependency` is that of the clause.
  void middle(const Clause& clause, const Dependency& dependency) {
    const Concept head = head_of(clause);
    const auto is_pronoun = [](const NounPhrase& phrase) { return phrase.kind == NounPhraseKind::pronoun; };
    const auto recipient = [&] {
      noun_phrase(*clause.recipient, Case::dative, {"iobj", head}, {.recipient = &clause});
    };
    const bool has_object = clause.object && !is_fronted(*clause.object);
    if (has_object && is_pronoun(*clause.object)) object(clause);
    if (clause.recipient && is_pronoun(*clause.recipient)) recipient();
    if (clause.time && !clause.time_first) time(clause);
    if (clause.frequency) {
      writer_.phrase(clause.frequency->german, &clause, Part::frequency, {"ADV", {"advmod", head}});
    }
    if (clause.recipient && !is_pronoun(*clause.recipient)) recipient();
    if (has_object && !is_pronoun(*clause.object)) object(clause);
    if (clause.negated && !takes_negation(clause)) {
      writer_.word("nicht", {{&clause, Part::negation}}, {"PART", {"advmod", head}, {{"Polarity", "Neg"}}});
    }
    for (const Adverbial& each : clause.adverbials) adverbial(each, head);
    if (clause.very) writer_.word("sehr", {{&clause, Part::very}}, {"ADV", {"advmod", head}});
    if (clause.predicate) {
      writer_.word(clause.predicate->german, {{&clause, Part::predicate}}, {"ADJ", dependency, {{"Degree", "Pos"}}});
    }
  }

  // Writes everything after the last verb.
  void extraposed(const Clause& clause) {
    if (clause.object && clause.object->relative) enclosed(*clause.object->relative, *clause.object);
    for (const Subordinate& subordinate : clause.subordinates) {
      if (!subordinate.first) this->subordinate(subordinate, head_of(clause));
    }
  }

  Writer writer_;
};

}  // namespace

std::vector<Word> to_german(const Sentence& sentence) { return German().sentence(sentence); }

}  // namespace attend::toy
