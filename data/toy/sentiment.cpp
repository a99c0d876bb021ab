// Sentences of praise and blame (tasks.hpp).
#include <utility>

#include "data/toy/tasks.hpp"
#include "data/toy/thesaurus.hpp"

namespace attend::toy {
namespace {

class Opinion {
 public:
  explicit Opinion(Draw& draw) : draw_(draw), past_(draw.chance(0.6)) {}

  Sentence sentence(bool positive) {
    const double form = static_cast<double>(draw_.below(100)) / 100;
    if (form < 0.40) {
      Clause clause = this->clause(positive);
      if (draw_.chance(0.3)) {
        clause.time = draw_.time(past_, false);
        clause.time_first = draw_.chance(0.5);
      }
      return of_clause(std::move(clause));
    }
    if (form < 0.55) return of_clause(believed(positive));
    if (form >= 0.75 && form < 0.9) {
      Clause clause = this->clause(positive);
      const bool first = draw_.chance(0.5);
      clause.subordinates.push_back({&subordinators(past_)[1], this->clause(!positive), first});
      return of_clause(std::move(clause));
    }
    const bool contrast = form < 0.75;  // "but", else "and"
    Sentence sentence = of_clause(clause(positive != contrast));
    sentence.joiners.push_back(&kCoordinators[contrast ? 1 : 0]);
    sentence.clauses.push_back(clause(positive));
    return sentence;
  }

 private:
  // Something is good, or not bad.
  Clause clause(bool positive) {
    Clause clause;
    clause.negated = draw_.chance(0.33);
    clause.predicate = &draw_.pick(positive != clause.negated ? praise() : blame());
    clause.subject = of_noun(draw_.noun_of(clause.predicate->kinds));
    static constexpr Determiner kDeterminers[] = {Determiner::definite, Determiner::definite, Determiner::demonstrative,
                                                  Determiner::possessive};
    clause.subject.determiner = draw_.pick(kDeterminers);
    clause.subject.owner = static_cast<Owner>(draw_.below(5));
    if (draw_.chance(0.25)) clause.subject.number = Number::plural;
    clause.tense = past_ ? Tense::past : Tense::present;
    return clause;
  }

  // Someone says, or does not believe, that it is so.
  Clause believed(bool positive) {
    Clause clause;
    clause.subject = to_phrase(invent_person(draw_), Determiner::definite);
    clause.negated = draw_.chance(0.5);
    clause.verb = &verb(clause.negated || draw_.chance(0.5) ? "believe" : "say");
    clause.tense = past_ ? Tense::past : Tense::present;
    clause.subordinates.push_back({&kThat, this->clause(positive != clause.negated)});
    return clause;
  }

  Draw& draw_;
  bool past_;
};

}  // namespace

std::string draw_sentiment(Draw& draw, bool positive) { return to_text(to_english(Opinion(draw).sentence(positive))); }

}  // namespace attend::toy
