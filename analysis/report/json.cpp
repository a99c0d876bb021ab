#include "analysis/report/json.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/report/sentence_data.hpp"
#include "core/bytes.hpp"

namespace attend {
namespace {

using Json = nlohmann::ordered_json;

#define MEMBER(field) members[#field] = json_of(it.field);
// The object of a struct, with a member for each of these fields.
#define MEMBERS(Type, ...)                                         \
  Json json_of(const Type& it) const {                             \
    Json members = Json::object();                                 \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(MEMBER, __VA_ARGS__)) \
    return members;                                                \
  }

// A class, so that its functions can call each other in any order.
struct Members {
  std::vector<ComparedMetric> metrics = {};

  // Texts and numbers; those that are not finite become null.
  template <class T>
  Json json_of(const T& value) const {
    return value;
  }

  Json json_of(OptionPart part) const { return part == OptionPart::architecture ? "architecture" : "conditions"; }
  Json json_of(const std::vector<std::uint8_t>& bytes) const { return base64(as_text(bytes)); }

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

  // An object with a member for each key.
  template <class Key, class T>
  Json json_of(const std::map<Key, T>& values) const {
    Json members = Json::object();
    for (const auto& [key, value] : values) members[fmt::format("{}", key)] = json_of(value);
    return members;
  }

  // An object of values parallel to the metrics, by the metrics' keys.
  template <class T>
  Json by_metric(const std::vector<T>& values) const {
    Json members = Json::object();
    for (std::size_t m = 0; m < values.size(); ++m) members[metrics[m].key] = json_of(values[m]);
    return members;
  }

  Json json_of(const TestSet& it) const {
    return {{"source", it.source},
            {"target", it.target},
            {"sentences", it.sentences},
            {"source_words", it.source_words},
            {"target_words", it.target_words},
            {"gold", it.gold.empty() ? Json(nullptr) : Json(it.gold)}};
  }

  Json json_of(const Quality& it) const {
    Json members = by_metric(it.scores);
    members.emplace("perplexity_piece", json_of(it.perplexity_piece));
    members.emplace("perplexity_word", json_of(it.perplexity_word));  // unless it is a metric
    return members;
  }

  Json json_of(const CurvePoint& it) const {
    Json members = {{"update", it.update}, {"tokens", it.tokens}, {"seconds", it.seconds}, {"loss", json_of(it.loss)}};
    for (const ComparedMetric& metric : metrics) {
      const auto score = it.scores.find(metric.key);
      members[metric.key] = score == it.scores.end() ? Json(nullptr) : json_of(score->second);
    }
    return members;
  }

  Json json_of(const BeamPoint& it) const {
    return {{"beam", it.beam}, {metrics[0].key, it.score}, {"log_prob", it.log_prob}};
  }

  Json json_of(const SystemSentence& it) const {
    Json members = {{"text", it.text}};
    members.update(by_metric(it.scores));
    members["log_prob"] = json_of(it.log_prob);
    members["own"] = json_of(it.own);
    members["reference"] = json_of(it.reference);
    return members;
  }

  MEMBERS(Estimate, value, low, high)
  MEMBERS(Spread, mean, deviation)
  MEMBERS(RunFacts, path, seed, checkpoint, started, attend)
  MEMBERS(ComparedMetric, key, name, lower_is_better, meaning)
  MEMBERS(LengthTime, length, milliseconds)
  MEMBERS(Cost, parameters, flops_per_token, flops_per_sentence, pieces_per_word, tokens, updates, train_seconds,
          train_tokens_per_second, train_memory_mb, translation_tokens_per_second, translation_sentences_per_second,
          by_length)
  MEMBERS(LevelReached, loss, first)
  MEMBERS(WatchedStack, place, gradient, rank_one)
  MEMBERS(WatchedUpdate, update, stacks)
  MEMBERS(MeasuredRun, facts, quality, cost, curve, watched)
  MEMBERS(System, name, description, only_text, runs)
  MEMBERS(OptionDifference, option, part, values)
  MEMBERS(SeedTest, difference, p, p_holm)
  MEMBERS(PairTest, a, b, metric, difference, p_bootstrap, p_randomisation, p_holm, seeds)
  MEMBERS(BreakdownGroup, name, count, values)
  MEMBERS(Breakdown, id, title, measure, unit, groups)
  MEMBERS(ContrastAccuracy, pairs, values)
  MEMBERS(ContrastTest, a, b, only_a, only_b, p, p_holm)
  MEMBERS(ContrastSet, file, all, kinds, distances, tests)
  MEMBERS(NgramDifference, text, in_reference, matched)
  MEMBERS(SearchErrors, compared, ranked, likelier)
  MEMBERS(CrossScores, log_prob, length_penalty, search_errors)
  MEMBERS(CalibrationBin, confidence, accuracy, count)
  MEMBERS(Calibration, bins, expected_error)
  MEMBERS(HeadStatistics, layer, head, entropy, coverage, distance, monotonicity, alignment_error)
  MEMBERS(GradientReach, checkpoint, by_distance)
  MEMBERS(StepTime, length, threads, milliseconds)
  MEMBERS(SystemProbe, reach, step_time)
  MEMBERS(Probe, systems, by_distance)
  MEMBERS(AttentionMaps, source, target, layers, heads, weights)
  MEMBERS(Sentence, source, reference, systems)
  MEMBERS(Comparison, attend, command, made, processor, test, notes, metrics, systems, equal_vocabularies, differences,
          tests, levels, where, contrasts, ngrams, cross_scores, beams, calibration, attention, probe,
          attention_left_out, sentences)

  MEMBERS(TestText, files, documents, words, bytes)
  MEMBERS(ContextLoss, tokens, loss)
  MEMBERS(DistanceShares, layer, shares)
  MEMBERS(LanguageComparison, attend, command, made, processor, test, notes, metrics, systems, equal_vocabularies,
          differences, tests, levels, where, contrasts, context_words, contexts, distances, attention)

  MEMBERS(HeadHabits, layer, head, entropy, distance, outside, previous, self, next, rarest, roles, gate)
  MEMBERS(HeadRelation, relation, to_head, chosen_on, instances, by_head, chosen, offset, offset_chosen_on, baseline,
          accuracy, p, p_holm)
  MEMBERS(TestedChange, change, p, p_holm)
  MEMBERS(HeadSilence, place, layer, head, importance, change, p, p_holm, gate, bleu)
  MEMBERS(PruningStep, removed, share, loss, change)
  MEMBERS(Silencing, of, sentences, pieces, loss, heads, pruning, bleu, bleu_signature)
  MEMBERS(ReplacedAttention, weights, loss, loss_change, bleu, bleu_change)
  MEMBERS(Replacement, source, target, alignment, sentences, pieces, linked_pieces, loss, bleu, bleu_signature, weights)
  MEMBERS(HeadReport, attend, command, made, run, place, causal, data, sentences, words, notes, heads, relations,
          rare_relations, silencing, replacement, pruned)

  MEMBERS(LinearProbeLayer, accuracy, control, selectivity, random, bits, compression)
  MEMBERS(LinearProbeTask, id, title, labels, fitted, held_out, tested, most_frequent, most_frequent_accuracy, layers)
  MEMBERS(StructuralProbeLayer, attachment, distance_correlation, root_accuracy, depth_correlation)
  MEMBERS(Probing, attend, command, made, run, checkpoint, model, data, sentences, left_out, words, fitted, held_out,
          tested, seeds, not_measured, tasks, left_neighbour_attachment, structure, random_structure)

  MEMBERS(Agreement, tau, significant, measured, undefined)
  MEMBERS(ExplanationAgreement, name, gradient, leave_one_out)
  MEMBERS(LargestWeightBand, from, to, texts, permuted)
  MEMBERS(WeightPerturbation, texts, largest, uniform, permuted, bands, adversarial_texts, divergence, change)
  MEMBERS(Faithfulness, attend, command, made, run, checkpoint, attention, data, item, texts, items, left_out,
          explanations, weights)
};

#undef MEMBERS
#undef MEMBER

template <class Report>
std::string json_text(const Report& report, const std::vector<ComparedMetric>& metrics) {
  return Members{metrics}.json_of(report).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string report_json(const HeadReport& report) { return json_text(report, {}); }
std::string report_json(const Probing& probing) { return json_text(probing, {}); }
std::string report_json(const Faithfulness& faithfulness) { return json_text(faithfulness, {}); }
std::string report_json(const Comparison& comparison) { return json_text(comparison, comparison.metrics); }
std::string report_json(const LanguageComparison& comparison) { return json_text(comparison, comparison.metrics); }

}  // namespace attend
