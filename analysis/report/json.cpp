#include "analysis/report/json.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "analysis/report/sentence_data.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

using Json = nlohmann::ordered_json;

// A class, so that its functions can call each other in any order.
struct Members {
  std::vector<ComparedMetric> metrics = {};

  // Texts and numbers; those that are not finite become null.
  template <class T>
  Json json_of(const T& value) const {
    return value;
  }

  template <class T>
  requires requires(const T& it) { it.members(); }
  Json json_of(const T& it) const {
    Json members = Json::object();
    std::string_view names = T::kMembers;
    const auto add = [&](const auto& field) {
      const std::size_t end = std::min(names.find(", "), names.size());
      members[std::string(names.substr(0, end))] = json_of(field);
      names.remove_prefix(std::min(end + 2, names.size()));
    };
    std::apply([&](const auto&... fields) { (add(fields), ...); }, it.members());
    return members;
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
std::string report_json(const TaskComparison& comparison) { return json_text(comparison, comparison.metrics); }

}  // namespace attend
