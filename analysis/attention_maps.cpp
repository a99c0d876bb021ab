#include "analysis/attention_maps.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <utility>

#include "core/error.hpp"
#include "core/number.hpp"
#include "data/text/lines.hpp"
#include "eval/pair_attention.hpp"

namespace attend {
namespace {

std::string layers_in_words(const std::vector<LayerAttention>& layers) {
  std::string numbers;
  for (const LayerAttention& layer : layers) numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", layer.layer);
  return numbers;
}

PiecesOfWords shifted(PiecesOfWords words, std::int64_t by) {
  for (auto& pieces : words) {
    for (std::int64_t& piece : pieces) piece += by;
  }
  return words;
}

}  // namespace

SentenceAttention chosen(SentenceAttention sentence, const HeadSelection& choice) {
  if (sentence.layers.empty()) return sentence;
  std::vector<LayerAttention>& layers = sentence.layers;
  if (choice.place) {
    std::erase_if(layers, [&](const LayerAttention& layer) { return layer.place != *choice.place; });
    if (layers.empty()) {
      throw UserError(fmt::format("--place {}: this model has no such attention", name_of(*choice.place)),
                      "leave --place out");
    }
  }
  if (choice.layer) {
    const std::string all = layers_in_words(layers);
    std::erase_if(layers, [&](const LayerAttention& layer) { return layer.layer != *choice.layer; });
    if (layers.empty()) {
      throw UserError(fmt::format("--layer {}: this model has no such layer", *choice.layer), "choose one of " + all);
    }
  }
  if (choice.head) {
    for (LayerAttention& layer : layers) {
      const std::int64_t heads = layer.weights.size(0);
      if (*choice.head >= heads) {
        throw UserError(fmt::format("--head {}: layer {} has {}", *choice.head, layer.layer, counted(heads, "head")),
                        heads == 1 ? "choose head 0" : fmt::format("choose one from 0 to {}", heads - 1));
      }
      layer.weights = layer.weights.narrow(0, *choice.head, 1);
      layer.first_head = *choice.head;
    }
  }
  return sentence;
}

WordsInPieces words_in_pieces(std::string_view text, const PiecesOfWords& pieces, std::int64_t first) {
  WordsInPieces result;
  const auto words = spaced_words(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (pieces[i].empty()) continue;
    result.words.emplace_back(words[i]);
    result.pieces.push_back(pieces[i]);
  }
  result.pieces = shifted(std::move(result.pieces), first);
  return result;
}

SentenceAttention in_words(const SentenceAttention& sentence, const WordsInPieces& source,
                           const WordsInPieces& target) {
  SentenceAttention result{.source = source.words, .target = {}, .layers = {}};
  if (sentence.target) result.target = target.words;
  const PiecesOfWords read = shifted(target.pieces, 1);
  for (const LayerAttention& layer : sentence.layers) {
    const PiecesOfWords& rows = layer.place == AttentionPlace::encoder ? source.pieces : target.pieces;
    const PiecesOfWords& columns = layer.place == AttentionPlace::decoder ? read : source.pieces;
    std::vector<at::Tensor> heads;
    for (const at::Tensor& weights_TS : layer.weights.unbind(0)) {
      heads.push_back(merge_words(weights_TS, columns, rows).to(at::kFloat));
    }
    LayerAttention& merged = result.layers.emplace_back(layer);
    merged.weights = at::stack(heads);
  }
  return result;
}

AttentionAxes axes_of(const SentenceAttention& sentence, AttentionPlace place, const std::string& beginning) {
  AttentionAxes axes{.rows = sentence.target.value_or(sentence.source), .columns = sentence.source};
  if (place == AttentionPlace::encoder) axes.rows = axes.columns;
  if (place == AttentionPlace::decoder) {
    axes.columns = axes.rows;
    if (!beginning.empty() && !axes.columns.empty()) {
      axes.columns.pop_back();
      axes.columns.insert(axes.columns.begin(), beginning);
    }
  }
  return axes;
}

AttentionMaps maps_of(const SentenceAttention& sentence, AttentionPlace place, const std::string& beginning) {
  AttentionAxes axes = axes_of(sentence, place, beginning);
  AttentionMaps maps;
  maps.source = std::move(axes.columns);
  maps.target = std::move(axes.rows);
  for (const LayerAttention& layer : sentence.layers) {
    if (layer.place != place) continue;
    const at::Tensor weights_NTS = layer.weights;
    ensure(maps.layers == 0 || maps.heads == weights_NTS.size(0), "every layer has the same heads");
    maps.heads = weights_NTS.size(0);
    ++maps.layers;
    const at::Tensor bytes = (weights_NTS.nan_to_num(0).clamp(0, 1) * 255).round().to(at::kByte).contiguous();
    const auto* begin = bytes.const_data_ptr<std::uint8_t>();
    maps.weights.insert(maps.weights.end(), begin, begin + bytes.numel());
  }
  return maps;
}

std::vector<AttentionMaps> attention_maps(const Run& run, const std::vector<std::string>& source,
                                          const std::vector<std::string>& target, double threshold) {
  ensure(source.size() == target.size(), "a translation for each line");
  std::vector<AttentionMaps> maps;
  PairAttention pairs(run, {.only = AttentionPlace::cross, .threshold = threshold},
                      [&](const PiecePair&, const SentenceAttention& attention) {
                        maps.push_back(maps_of(attention, AttentionPlace::cross, {}));
                      });
  for (std::size_t i = 0; i < source.size(); ++i) pairs.add(pair_in_pieces(run.tokenizers, source[i], target[i]));
  pairs.finish();
  return maps;
}

}  // namespace attend
