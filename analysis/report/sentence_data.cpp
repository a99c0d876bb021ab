#include "analysis/report/sentence_data.hpp"

#include <zlib.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

// A zlib stream (RFC 1950), which a browser's DecompressionStream("deflate") reads.
std::string deflated(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string stream(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(stream.data()), &size,
                             reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_COMPRESSION);
  ensure(code == Z_OK, "zlib deflates into a buffer of compressBound bytes");
  stream.resize(size);
  return stream;
}

using nlohmann::ordered_json;

constexpr int kDecimals = 3;  // enough to read and to sort

ordered_json rounded(const std::optional<double>& value) {
  const double scale = std::pow(10, kDecimals);
  return value && std::isfinite(*value) ? ordered_json(std::round(*value * scale) / scale) : ordered_json(nullptr);
}

std::size_t number_of(const std::vector<std::string>& pieces, std::vector<std::vector<std::string>>& known) {
  const auto found = std::ranges::find(known, pieces);
  if (found != known.end()) return found - known.begin();
  known.push_back(pieces);
  return known.size() - 1;
}

}  // namespace

std::size_t attention_bytes(const Sentence& sentence) {
  std::string weights;
  for (const SystemSentence& system : sentence.systems) {
    if (system.reference) weights += as_text(system.reference->weights);
    if (system.own) weights += as_text(system.own->weights);
  }
  return weights.empty() ? 0 : deflated(weights).size();
}

bool fits_page(std::size_t bytes) { return (bytes + 2) / 3 * 4 <= kAttentionBudget; }

PackedSentences packed(const ShownSentences& shown) {
  PackedSentences pack;
  ordered_json texts = {{"systems", ordered_json::array()},
                        {"views", shown.views},
                        {"metrics", ordered_json::array()},
                        {"sentences", ordered_json::array()}};
  for (const ShownSystem& system : shown.systems) {
    texts["systems"].push_back({{"name", system.name}, {"layer", system.layer}, {"head", system.head}});
  }
  for (const ComparedMetric& metric : shown.metrics) {
    texts["metrics"].push_back({{"name", metric.name},
                                {"lower_is_better", metric.lower_is_better},
                                {"decimals", std::min(metric.decimals, kDecimals)}});
  }
  std::string streams;
  for (const ShownSentence& sentence : shown.sentences) {
    ordered_json record = {
        {"source", sentence.source}, {"reference", sentence.reference}, {"outputs", ordered_json::array()}};
    for (const ShownOutput& output : sentence.outputs) {
      ordered_json scores = ordered_json::array();
      for (const double score : output.scores) scores.push_back(rounded(score));
      record["outputs"].push_back(
          {{"text", output.text}, {"scores", std::move(scores)}, {"log_prob", rounded(output.log_prob)}});
    }
    std::vector<std::vector<std::string>> pieces;
    ordered_json maps = ordered_json::array();
    std::string weights;
    for (const ShownMaps& map : sentence.maps) {
      const AttentionMaps& it = *map.maps;
      if (it.weights.empty()) continue;  // of a blank line
      ensure(it.weights.size() == static_cast<std::size_t>(it.layers * it.heads) * it.target.size() * it.source.size(),
             "attention maps have a weight for each layer, head, target piece and source piece");
      maps.push_back({{"system", map.system},
                      {"view", map.view},
                      {"layers", it.layers},
                      {"heads", it.heads},
                      {"source", number_of(it.source, pieces)},
                      {"target", number_of(it.target, pieces)}});
      weights += as_text(it.weights);
    }
    if (!maps.empty()) {
      const std::string stream = pack.without_for_budget == 0 ? deflated(weights) : std::string();
      if (!stream.empty() && fits_page(streams.size() + stream.size())) {
        record["pieces"] = pieces;
        record["maps"] = maps;
        record["at"] = {streams.size(), stream.size()};
        streams += stream;
        ++pack.with_attention;
      } else {
        ++pack.without_for_budget;
      }
    }
    texts["sentences"].push_back(std::move(record));
  }
  pack.texts = base64(deflated(texts.dump(-1, ' ', false, ordered_json::error_handler_t::replace)));
  pack.weights = base64(streams);
  return pack;
}

}  // namespace attend
