#include "analysis/report/json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/report/bytes.hpp"

namespace attend {
namespace {

using Json = nlohmann::ordered_json;

// A class, since its functions can call each other in any order.
struct Members {
  const Comparison& whole;

  Json json_of(double value) const { return std::isfinite(value) ? Json(value) : Json(nullptr); }
  Json json_of(std::int64_t value) const { return value; }
  Json json_of(const std::string& text) const { return text; }

  Json json_of(const Estimate& it) const {
    return {{"value", json_of(it.value)}, {"low", json_of(it.low)}, {"high", json_of(it.high)}};
  }

  template <class T>
  Json json_of(const std::optional<T>& value) const {
    return value ? json_of(*value) : Json(nullptr);
  }

  template <class T>
  Json json_of(const std::vector<T>& values) const {
    Json list = Json::array();
    for (const T& value : values) list.push_back(json_of(value));
    return list;
  }

  Json json_of(const TestSet& it) const {
    return {{"source", it.source},
            {"target", it.target},
            {"sentences", it.sentences},
            {"source_words", it.source_words},
            {"target_words", it.target_words},
            {"gold", it.gold.empty() ? Json(nullptr) : Json(it.gold)}};
  }

  Json json_of(const RunFacts& it) const {
    return {{"path", it.path},
            {"seed", json_of(it.seed)},
            {"checkpoint", it.checkpoint},
            {"started", it.started},
            {"attend", it.attend}};
  }

  // An object with a member for each metric, by its key, of values parallel to the metrics.
  template <class T>
  Json by_metric(const std::vector<T>& values) const {
    Json members = Json::object();
    for (std::size_t m = 0; m < values.size(); ++m) members[whole.metrics[m].key] = json_of(values[m]);
    return members;
  }

  Json json_of(const ComparedMetric& it) const {
    return {{"key", it.key}, {"name", it.name}, {"lower_is_better", it.lower_is_better}, {"meaning", it.meaning}};
  }

  Json json_of(const Quality& it) const {
    Json members = by_metric(it.scores);
    members["perplexity_piece"] = json_of(it.perplexity_piece);
    members["perplexity_word"] = json_of(it.perplexity_word);
    return members;
  }

  Json json_of(const LengthTime& it) const {
    return {{"length", it.length}, {"milliseconds", json_of(it.milliseconds)}};
  }

  Json json_of(const Cost& it) const {
    return {{"parameters", json_of(it.parameters)},
            {"flops_per_token", json_of(it.flops_per_token)},
            {"flops_per_sentence", json_of(it.flops_per_sentence)},
            {"pieces_per_word", json_of(it.pieces_per_word)},
            {"tokens", json_of(it.tokens)},
            {"updates", json_of(it.updates)},
            {"train_seconds", json_of(it.train_seconds)},
            {"train_tokens_per_second", json_of(it.train_tokens_per_second)},
            {"train_memory_mb", json_of(it.train_memory_mb)},
            {"translation_tokens_per_second", json_of(it.translation_tokens_per_second)},
            {"translation_sentences_per_second", json_of(it.translation_sentences_per_second)},
            {"by_length", json_of(it.by_length)}};
  }

  Json json_of(const CurvePoint& it) const {
    Json members = {{"update", it.update},
                    {"tokens", json_of(it.tokens)},
                    {"seconds", json_of(it.seconds)},
                    {"loss", json_of(it.loss)}};
    for (const ComparedMetric& metric : whole.metrics) {
      const auto score = it.scores.find(metric.key);
      members[metric.key] = score == it.scores.end() ? Json(nullptr) : json_of(score->second);
    }
    return members;
  }

  Json json_of(const LevelReached& it) const { return {{"loss", json_of(it.loss)}, {"first", json_of(it.first)}}; }

  Json json_of(const WatchedStack& it) const {
    return {{"place", it.place}, {"gradient", json_of(it.gradient)}, {"rank_one", json_of(it.rank_one)}};
  }

  Json json_of(const WatchedUpdate& it) const { return {{"update", it.update}, {"stacks", json_of(it.stacks)}}; }

  Json json_of(const MeasuredRun& it) const {
    return {{"facts", json_of(it.facts)},
            {"quality", json_of(it.quality)},
            {"cost", json_of(it.cost)},
            {"curve", json_of(it.curve)},
            {"watched", json_of(it.watched)}};
  }

  Json json_of(const System& it) const {
    return {
        {"name", it.name}, {"description", it.description}, {"only_text", it.only_text}, {"runs", json_of(it.runs)}};
  }

  Json json_of(const OptionDifference& it) const {
    return {{"option", it.option},
            {"part", it.part == OptionPart::architecture ? "architecture" : "conditions"},
            {"values", json_of(it.values)}};
  }

  Json json_of(const SeedTest& it) const {
    return {{"difference", json_of(it.difference)}, {"p", json_of(it.p)}, {"p_holm", json_of(it.p_holm)}};
  }

  Json json_of(const PairTest& it) const {
    return {{"a", it.a},
            {"b", it.b},
            {"metric", it.metric},
            {"difference", json_of(it.difference)},
            {"p_bootstrap", json_of(it.p_bootstrap)},
            {"p_randomisation", json_of(it.p_randomisation)},
            {"p_holm", json_of(it.p_holm)},
            {"seeds", json_of(it.seeds)}};
  }

  Json json_of(const BreakdownGroup& it) const {
    return {{"name", it.name}, {"count", it.count}, {"values", json_of(it.values)}};
  }

  Json json_of(const Breakdown& it) const {
    return {
        {"id", it.id}, {"title", it.title}, {"measure", it.measure}, {"unit", it.unit}, {"groups", json_of(it.groups)}};
  }

  Json json_of(const NgramDifference& it) const {
    return {{"text", it.text}, {"in_reference", it.in_reference}, {"matched", json_of(it.matched)}};
  }

  Json json_of(const SearchErrors& it) const {
    return {{"compared", it.compared}, {"ranked", json_of(it.ranked)}, {"likelier", json_of(it.likelier)}};
  }

  Json json_of(const CrossScores& it) const {
    return {{"log_prob", json_of(it.log_prob)},
            {"length_penalty", json_of(it.length_penalty)},
            {"search_errors", json_of(it.search_errors)}};
  }

  Json json_of(const BeamPoint& it) const {
    return {{"beam", it.beam}, {whole.metrics[0].key, json_of(it.score)}, {"log_prob", json_of(it.log_prob)}};
  }

  Json json_of(const CalibrationBin& it) const {
    return {{"confidence", json_of(it.confidence)}, {"accuracy", json_of(it.accuracy)}, {"count", it.count}};
  }

  Json json_of(const Calibration& it) const {
    return {{"bins", json_of(it.bins)}, {"expected_error", json_of(it.expected_error)}};
  }

  Json json_of(const HeadStatistics& it) const {
    return {{"layer", it.layer},
            {"head", it.head},
            {"entropy", json_of(it.entropy)},
            {"coverage", json_of(it.coverage)},
            {"distance", json_of(it.distance)},
            {"monotonicity", json_of(it.monotonicity)},
            {"alignment_error", json_of(it.alignment_error)}};
  }

  Json json_of(const GradientReach& it) const {
    return {{"checkpoint", it.checkpoint}, {"by_distance", json_of(it.by_distance)}};
  }

  Json json_of(const StepTime& it) const {
    return {{"length", it.length}, {"threads", it.threads}, {"milliseconds", json_of(it.milliseconds)}};
  }

  Json json_of(const SystemProbe& it) const {
    return {{"reach", json_of(it.reach)}, {"step_time", json_of(it.step_time)}};
  }

  Json json_of(const Probe& it) const {
    return {{"systems", json_of(it.systems)}, {"by_distance", json_of(it.by_distance)}};
  }

  Json json_of(const AttentionMaps& it) const {
    return {{"source", json_of(it.source)},
            {"target", json_of(it.target)},
            {"layers", it.layers},
            {"heads", it.heads},
            {"weights", base64(as_text(it.weights))}};
  }

  Json json_of(const SystemSentence& it) const {
    Json members = {{"text", it.text}};
    members.update(by_metric(it.scores));
    members["log_prob"] = json_of(it.log_prob);
    members["own"] = json_of(it.own);
    members["reference"] = json_of(it.reference);
    return members;
  }

  Json json_of(const Sentence& it) const {
    return {{"source", it.source}, {"reference", it.reference}, {"systems", json_of(it.systems)}};
  }

  Json json_of(const Comparison& it) const {
    return {{"attend", it.attend},
            {"command", it.command},
            {"made", it.made},
            {"processor", it.processor},
            {"test", json_of(it.test)},
            {"notes", json_of(it.notes)},
            {"metrics", json_of(it.metrics)},
            {"systems", json_of(it.systems)},
            {"equal_vocabularies", it.equal_vocabularies},
            {"differences", json_of(it.differences)},
            {"tests", json_of(it.tests)},
            {"levels", json_of(it.levels)},
            {"where", json_of(it.where)},
            {"ngrams", json_of(it.ngrams)},
            {"cross_scores", json_of(it.cross_scores)},
            {"beams", json_of(it.beams)},
            {"calibration", json_of(it.calibration)},
            {"attention", json_of(it.attention)},
            {"probe", json_of(it.probe)},
            {"attention_left_out", it.attention_left_out},
            {"sentences", json_of(it.sentences)}};
  }
};

}  // namespace

std::string report_json(const Comparison& comparison) {
  return Members{comparison}.json_of(comparison).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attend
