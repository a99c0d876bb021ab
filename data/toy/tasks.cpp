#include "data/toy/tasks.hpp"

namespace attend::toy {
namespace {

std::string points(int tenths) { return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10); }

const TableTask kTasks[] = {
    {"sentiment",
     {"sentence", "label"},
     {"negative", "positive"},
     [](Draw& draw, std::size_t label) -> std::vector<std::string> { return {draw_sentiment(draw, label == 1)}; }},
    {"inference",
     {"premise", "hypothesis", "label"},
     {"entailment", "neutral", "contradiction"},
     [](Draw& draw, std::size_t label) -> std::vector<std::string> {
       const InferencePair pair = draw_inference(draw, static_cast<Relation>(label));
       return {to_text(pair.premise), to_text(pair.hypothesis)};
     }},
    {"similarity",
     {"sentence1", "sentence2", "score"},
     {},
     [](Draw& draw, std::size_t) -> std::vector<std::string> {
       const SimilarPair pair = draw_similar(draw);
       const auto text = [&](const Event& event) {
         Clause clause = to_clause(event, [](const Entity& entity, bool) {
           const bool thing = !entity.person() && !entity.place();
           return to_phrase(entity, thing ? Determiner::indefinite : Determiner::definite);
         });
         clause.time_first = draw.chance(0.4);
         return to_english_text(std::move(clause));
       };
       std::string first = text(pair.first);
       return {std::move(first), text(pair.second), points(shared_meaning(pair.first, pair.second))};
     }},
    {"acceptability",
     {"sentence", "label"},
     {"unacceptable", "acceptable"},
     [](Draw& draw, std::size_t label) -> std::vector<std::string> {
       return {draw_acceptability(draw, label == 1).text};
     }},
};

}  // namespace

std::span<const TableTask> table_tasks() { return kTasks; }

}  // namespace attend::toy
