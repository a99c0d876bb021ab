#include "analysis/report/json.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/report/bytes.hpp"
#include "core/base64.hpp"

namespace attend {
namespace {

using Json = nlohmann::ordered_json;

#define OF(member) \
  { #member, json_of(it.member) }

// A class, since its functions can call each other in any order.
struct Members {
  std::vector<ComparedMetric> metrics = {};

  Json json_of(double value) const { return std::isfinite(value) ? Json(value) : Json(nullptr); }
  Json json_of(std::int64_t value) const { return value; }
  Json json_of(bool value) const { return value; }
  Json json_of(const std::string& text) const { return text; }
  Json json_of(const Estimate& it) const { return {OF(value), OF(low), OF(high)}; }

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

  Json json_of(const TestSet& it) const {
    return {OF(source),       OF(target),       OF(sentences),
            OF(source_words), OF(target_words), {"gold", it.gold.empty() ? Json(nullptr) : Json(it.gold)}};
  }

  Json json_of(const RunFacts& it) const { return {OF(path), OF(seed), OF(checkpoint), OF(started), OF(attend)}; }

  // An object with a member for each metric, by its key, of values parallel to the metrics.
  template <class T>
  Json by_metric(const std::vector<T>& values) const {
    Json members = Json::object();
    for (std::size_t m = 0; m < values.size(); ++m) members[metrics[m].key] = json_of(values[m]);
    return members;
  }

  Json json_of(const ComparedMetric& it) const { return {OF(key), OF(name), OF(lower_is_better), OF(meaning)}; }

  Json json_of(const Quality& it) const {
    Json members = by_metric(it.scores);
    members.emplace("perplexity_piece", json_of(it.perplexity_piece));
    members.emplace("perplexity_word", json_of(it.perplexity_word));  // unless it is a metric
    return members;
  }

  Json json_of(const LengthTime& it) const { return {OF(length), OF(milliseconds)}; }

  Json json_of(const Cost& it) const {
    return {OF(parameters),
            OF(flops_per_token),
            OF(flops_per_sentence),
            OF(pieces_per_word),
            OF(tokens),
            OF(updates),
            OF(train_seconds),
            OF(train_tokens_per_second),
            OF(train_memory_mb),
            OF(translation_tokens_per_second),
            OF(translation_sentences_per_second),
            OF(by_length)};
  }

  Json json_of(const CurvePoint& it) const {
    Json members = {OF(update), OF(tokens), OF(seconds), OF(loss)};
    for (const ComparedMetric& metric : metrics) {
      const auto score = it.scores.find(metric.key);
      members[metric.key] = score == it.scores.end() ? Json(nullptr) : json_of(score->second);
    }
    return members;
  }

  Json json_of(const LevelReached& it) const { return {OF(loss), OF(first)}; }
  Json json_of(const WatchedStack& it) const { return {OF(place), OF(gradient), OF(rank_one)}; }
  Json json_of(const WatchedUpdate& it) const { return {OF(update), OF(stacks)}; }
  Json json_of(const MeasuredRun& it) const { return {OF(facts), OF(quality), OF(cost), OF(curve), OF(watched)}; }
  Json json_of(const System& it) const { return {OF(name), OF(description), OF(only_text), OF(runs)}; }

  Json json_of(const OptionDifference& it) const {
    return {OF(option), {"part", it.part == OptionPart::architecture ? "architecture" : "conditions"}, OF(values)};
  }

  Json json_of(const SeedTest& it) const { return {OF(difference), OF(p), OF(p_holm)}; }

  Json json_of(const PairTest& it) const {
    return {OF(a), OF(b), OF(metric), OF(difference), OF(p_bootstrap), OF(p_randomisation), OF(p_holm), OF(seeds)};
  }

  Json json_of(const BreakdownGroup& it) const { return {OF(name), OF(count), OF(values)}; }
  Json json_of(const Breakdown& it) const { return {OF(id), OF(title), OF(measure), OF(unit), OF(groups)}; }
  Json json_of(const ContrastAccuracy& it) const { return {OF(pairs), OF(values)}; }
  Json json_of(const ContrastTest& it) const { return {OF(a), OF(b), OF(only_a), OF(only_b), OF(p), OF(p_holm)}; }
  Json json_of(const ContrastSet& it) const { return {OF(file), OF(all), OF(kinds), OF(distances), OF(tests)}; }
  Json json_of(const NgramDifference& it) const { return {OF(text), OF(in_reference), OF(matched)}; }
  Json json_of(const SearchErrors& it) const { return {OF(compared), OF(ranked), OF(likelier)}; }
  Json json_of(const CrossScores& it) const { return {OF(log_prob), OF(length_penalty), OF(search_errors)}; }

  Json json_of(const BeamPoint& it) const { return {OF(beam), {metrics[0].key, json_of(it.score)}, OF(log_prob)}; }

  Json json_of(const CalibrationBin& it) const { return {OF(confidence), OF(accuracy), OF(count)}; }
  Json json_of(const Calibration& it) const { return {OF(bins), OF(expected_error)}; }

  Json json_of(const HeadStatistics& it) const {
    return {OF(layer), OF(head), OF(entropy), OF(coverage), OF(distance), OF(monotonicity), OF(alignment_error)};
  }

  Json json_of(const GradientReach& it) const { return {OF(checkpoint), OF(by_distance)}; }
  Json json_of(const StepTime& it) const { return {OF(length), OF(threads), OF(milliseconds)}; }
  Json json_of(const SystemProbe& it) const { return {OF(reach), OF(step_time)}; }
  Json json_of(const Probe& it) const { return {OF(systems), OF(by_distance)}; }

  Json json_of(const AttentionMaps& it) const {
    return {OF(source), OF(target), OF(layers), OF(heads), {"weights", base64(as_text(it.weights))}};
  }

  Json json_of(const SystemSentence& it) const {
    Json members = {{"text", it.text}};
    members.update(by_metric(it.scores));
    members["log_prob"] = json_of(it.log_prob);
    members["own"] = json_of(it.own);
    members["reference"] = json_of(it.reference);
    return members;
  }

  Json json_of(const Sentence& it) const { return {OF(source), OF(reference), OF(systems)}; }

  Json json_of(const TestText& it) const { return {OF(files), OF(documents), OF(words), OF(bytes)}; }
  Json json_of(const ContextLoss& it) const { return {OF(tokens), OF(loss)}; }
  Json json_of(const DistanceShares& it) const { return {OF(layer), OF(shares)}; }

  Json json_of(const HeadHabits& it) const {
    return {OF(layer), OF(head), OF(entropy), OF(distance), OF(outside), OF(previous),
            OF(self),  OF(next), OF(rarest),  OF(roles),    OF(gate)};
  }

  Json json_of(const HeadRelation& it) const {
    return {OF(relation),  OF(to_head),
            OF(chosen_on), OF(instances),
            OF(by_head),   {"chosen", static_cast<std::int64_t>(it.chosen)},
            OF(offset),    OF(offset_chosen_on),
            OF(baseline),  OF(accuracy),
            OF(p),         OF(p_holm)};
  }

  Json json_of(const TestedChange& it) const { return {OF(change), OF(p), OF(p_holm)}; }

  Json json_of(const HeadSilence& it) const {
    return {OF(place), OF(layer), OF(head), OF(importance), OF(change), OF(p), OF(p_holm), OF(gate), OF(bleu)};
  }

  Json json_of(const PruningStep& it) const { return {OF(removed), OF(share), OF(loss), OF(change)}; }

  Json json_of(const Silencing& it) const {
    return {OF(of), OF(sentences), OF(pieces), OF(loss), OF(heads), OF(pruning), OF(bleu), OF(bleu_signature)};
  }

  Json json_of(const ReplacedAttention& it) const {
    return {OF(weights), OF(loss), OF(loss_change), OF(bleu), OF(bleu_change)};
  }

  Json json_of(const Replacement& it) const {
    return {OF(source),        OF(target), OF(alignment), OF(sentences),      OF(pieces),
            OF(linked_pieces), OF(loss),   OF(bleu),      OF(bleu_signature), OF(weights)};
  }

  Json json_of(const HeadReport& it) const {
    return {OF(attend),         OF(command),   OF(made),        OF(run),   OF(place), OF(causal),
            OF(data),           OF(sentences), OF(words),       OF(notes), OF(heads), OF(relations),
            OF(rare_relations), OF(silencing), OF(replacement), OF(pruned)};
  }

  Json json_of(const Spread& it) const { return {OF(mean), OF(deviation)}; }
  Json json_of(const LinearProbeLayer& it) const {
    return {OF(accuracy), OF(control), OF(selectivity), OF(random), OF(bits), OF(compression)};
  }
  Json json_of(const LinearProbeTask& it) const {
    return {OF(id),       OF(title),  OF(labels),        OF(fitted),
            OF(held_out), OF(tested), OF(most_frequent), OF(most_frequent_accuracy),
            OF(layers)};
  }
  Json json_of(const StructuralProbeLayer& it) const {
    return {OF(attachment), OF(distance_correlation), OF(root_accuracy), OF(depth_correlation)};
  }
  Json json_of(const Probing& it) const {
    return {OF(attend),
            OF(command),
            OF(made),
            OF(run),
            OF(checkpoint),
            OF(model),
            OF(data),
            OF(sentences),
            OF(left_out),
            OF(words),
            OF(fitted),
            OF(held_out),
            OF(tested),
            OF(seeds),
            OF(not_measured),
            OF(tasks),
            OF(left_neighbour_attachment),
            OF(structure),
            OF(random_structure)};
  }

  Json json_of(const Agreement& it) const { return {OF(tau), OF(significant), OF(measured), OF(undefined)}; }
  Json json_of(const ExplanationAgreement& it) const { return {OF(name), OF(gradient), OF(leave_one_out)}; }
  Json json_of(const LargestWeightBand& it) const { return {OF(from), OF(to), OF(texts), OF(permuted)}; }
  Json json_of(const WeightPerturbation& it) const {
    return {OF(texts), OF(largest),           OF(uniform),    OF(permuted),
            OF(bands), OF(adversarial_texts), OF(divergence), OF(change)};
  }
  Json json_of(const Faithfulness& it) const {
    return {OF(attend), OF(command), OF(made),  OF(run),      OF(checkpoint),   OF(attention), OF(data),
            OF(item),   OF(texts),   OF(items), OF(left_out), OF(explanations), OF(weights)};
  }

  Json json_of(const LanguageComparison& it) const {
    return {OF(attend),   OF(command),   OF(made),     OF(processor),          OF(test),
            OF(notes),    OF(metrics),   OF(systems),  OF(equal_vocabularies), OF(differences),
            OF(tests),    OF(levels),    OF(where),    OF(contrasts),          OF(context_words),
            OF(contexts), OF(distances), OF(attention)};
  }

  Json json_of(const Comparison& it) const {
    return {OF(attend),       OF(command),   OF(made),
            OF(processor),    OF(test),      OF(notes),
            OF(metrics),      OF(systems),   OF(equal_vocabularies),
            OF(differences),  OF(tests),     OF(levels),
            OF(where),        OF(contrasts), OF(ngrams),
            OF(cross_scores), OF(beams),     OF(calibration),
            OF(attention),    OF(probe),     OF(attention_left_out),
            OF(sentences)};
  }
};

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
