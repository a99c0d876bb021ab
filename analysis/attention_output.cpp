#include "analysis/attention_output.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <ranges>
#include <span>
#include <utility>

#include "analysis/report/characters.hpp"
#include "analysis/report/page.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "data/text/word_alignment.hpp"

namespace attend {
namespace {

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
    const auto numbers = layers | std::views::transform(&LayerAttention::layer);
    const std::string all = fmt::format("{}", fmt::join(numbers, ", "));
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
  const auto words = aligned_words(text);
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

std::vector<AttentionMaps> attention_maps(const TranslationRun& run, const std::vector<std::string>& source,
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

namespace {

std::string heading_of(AttentionPlace place) { return capitalised(std::string(title_of(place))); }

bool has_place(const SentenceAttention& sentence, AttentionPlace place) {
  return std::ranges::find(sentence.layers, place, &LayerAttention::place) != sentence.layers.end();
}

// The map of the chosen layer and head, by default of the last layer and the mean of its heads.
HeatMap single_map(const SentenceAttention& sentence, const AttentionView& view) {
  HeadSelection choice = view.choice;
  choice.place = choice.place.value_or(view.usual_place);
  chosen(sentence, choice);  // refuses a place, layer or head that does not exist
  const AttentionMaps maps = maps_of(sentence, *choice.place, view.beginning);
  HeatMap map = heat_map(maps, choice.layer.value_or(maps.layers - 1), choice.head);
  map.title = fmt::format("{}, {}", title_of(*choice.place), map.title);
  if (*choice.place == AttentionPlace::encoder) map.row_axis = map.column_axis = "text";
  if (*choice.place == AttentionPlace::decoder) map.column_axis = "target read so far";
  return map;
}

class Terminal : public AttentionOutput {
 public:
  using Show = std::function<std::string(const SentenceAttention&, std::int64_t)>;
  explicit Terminal(Show show) : show_(std::move(show)) {}
  void add(std::size_t windows, const std::function<SentenceAttention(std::size_t)>& part) override {
    ++number_;
    for (std::size_t i = 0; i < windows; ++i) {
      const SentenceAttention sentence = part(i);
      if (!first_) std::cout << '\n';
      first_ = false;
      std::cout << (sentence.layers.empty() ? fmt::format("line {} has no pieces\n", number_)
                                            : show_(sentence, number_));
    }
  }

 private:
  Show show_;
  std::int64_t number_ = 0;  // of the record, from 1
  bool first_ = true;
};

class Svg : public AttentionOutput {
 public:
  Svg(const std::string& file, const AttentionView& view) : view_(view), file_(file) {}
  void add(std::size_t windows, const std::function<SentenceAttention(std::size_t)>& part) override {
    ++number_;
    for (std::size_t i = 0; i < windows; ++i) {
      const SentenceAttention sentence = part(i);
      const std::string window = windows == 1 ? "" : fmt::format(", window {}", i + 1);
      page_.add_heading(
          fmt::format("Line {}{}{}", number_, window, sentence.layers.empty() ? ": nothing to attend to" : ""));
      if (!sentence.layers.empty()) draw(sentence);
    }
  }
  void finish() override {
    file_.write(page_.document());
    file_.commit();
  }

 private:
  void draw(const SentenceAttention& sentence) {
    const bool only_one = sentence.layers.size() == 1 && sentence.layers[0].weights.size(0) == 1;
    if (view_.choice.layer || view_.choice.head || only_one) {
      HeatMap map = single_map(sentence, view_);
      map.title = capitalised(map.title);
      return page_.add(map);
    }
    const SentenceAttention shown = chosen(sentence, view_.choice);
    for (const AttentionPlace place : {AttentionPlace::cross, AttentionPlace::encoder, AttentionPlace::decoder}) {
      if (!has_place(shown, place)) continue;
      page_.add_all(maps_of(shown, place, view_.beginning), heading_of(place));
    }
  }

  AttentionView view_;
  AtomicFile file_;
  SvgPage page_;
  std::int64_t number_ = 0;
};

// Pieces or words as text for a person: "▁a ▁wh ole" is "a whole".
std::string joined(std::span<const std::string> pieces, bool words) {
  std::string text;
  for (const std::string& piece : pieces) text += (words && !text.empty() ? " " : "") + piece;
  for (std::size_t at = 0; (at = text.find(kSpaceMark, at)) != std::string::npos;) {
    text.replace(at, kSpaceMark.size(), at == 0 ? "" : " ");
  }
  return text;
}

class Page : public AttentionOutput {
 public:
  Page(const std::string& file, const AttentionView& view) : view_(view), file_(file) {
    page_ = {.title = view.run,
             .description = "The attention weights of every layer and head, sentence by sentence.",
             .making = {.command = view.command}};
    record_making(page_.making);
    for (const AttentionPlace place : kPlaces) page_.views.push_back(heading_of(place));
  }
  void add(std::size_t windows, const std::function<SentenceAttention(std::size_t)>& part) override {
    for (std::size_t i = 0; i < windows; ++i) add(chosen(part(i), view_.choice));
  }
  // Leaves out the places that the model does not have.
  void finish() override {
    for (std::size_t view = kPlaces.size(); view-- > 0;) {
      const auto has_view = [&](const AttentionPage::Sentence& sentence) { return sentence.maps[view].has_value(); };
      if (std::ranges::any_of(page_.sentences, has_view)) continue;
      page_.views.erase(page_.views.begin() + view);
      for (AttentionPage::Sentence& sentence : page_.sentences) {
        sentence.maps.erase(sentence.maps.begin() + view);
      }
    }
    file_.write(sentence_page(page_));
    file_.commit();
  }

 private:
  static constexpr std::array kPlaces = {AttentionPlace::cross, AttentionPlace::encoder, AttentionPlace::decoder};

  // The text without the end of the sentence, which the pieces of translations have.
  std::string text_of(const std::vector<std::string>& pieces) const {
    const bool has_end = view_.usual_place != AttentionPlace::encoder && !view_.words && !pieces.empty();
    return joined(std::span(pieces).first(pieces.size() - (has_end ? 1 : 0)), view_.words);
  }

  void add(const SentenceAttention& sentence) {
    AttentionPage::Sentence shown{
        .source = text_of(sentence.source), .target = sentence.target ? text_of(*sentence.target) : "", .maps = {}};
    for (const AttentionPlace place : kPlaces) {
      std::optional<AttentionMaps>& maps = shown.maps.emplace_back();
      if (has_place(sentence, place)) maps = maps_of(sentence, place, view_.beginning);
    }
    page_.sentences.push_back(std::move(shown));
  }

  AttentionView view_;
  AtomicFile file_;
  AttentionPage page_;
};

class JsonLines : public AttentionOutput {
 public:
  JsonLines(const std::string& file, const AttentionView& view) : choice_(view.choice), file_(file) {}
  void add(std::size_t windows, const std::function<SentenceAttention(std::size_t)>& part) override {
    write_record(file_, windows, [&](std::size_t i) { return chosen(part(i), choice_); });
  }
  void finish() override { file_.commit(); }

 private:
  HeadSelection choice_;
  AtomicFile file_;
};

}  // namespace

std::string_view title_of(AttentionPlace place) {
  switch (place) {
    case AttentionPlace::encoder: return "self-attention of the encoder";
    case AttentionPlace::decoder: return "self-attention of the decoder";
    case AttentionPlace::cross: return "attention to the source";
  }
  return {};
}

PictureKind picture_kind(const std::string& file, const std::string& origin) {
  std::string endings;
  for (const auto& [kind, ending] : {std::pair(PictureKind::page, ".html"), std::pair(PictureKind::svg, ".svg"),
                                     std::pair(PictureKind::json_lines, ".jsonl")}) {
    if (file != ending && file.ends_with(ending)) return kind;
    endings += (endings.empty() ? "" : " or ") + std::string(ending);
  }
  throw UserError(origin + ": " + file + " has an unknown ending", "name a file that ends in " + endings);
}

std::unique_ptr<AttentionOutput> texts_on_terminal(
    std::function<std::string(const SentenceAttention&, std::int64_t)> show) {
  return std::make_unique<Terminal>(std::move(show));
}

std::unique_ptr<AttentionOutput> attention_on_terminal(const AttentionView& view) {
  return texts_on_terminal([view](const SentenceAttention& sentence, std::int64_t /*number*/) {
    return to_text(single_map(sentence, view), view.style);
  });
}

std::unique_ptr<AttentionOutput> attention_in_file(const std::string& file, PictureKind kind,
                                                   const AttentionView& view) {
  switch (kind) {
    case PictureKind::page: return std::make_unique<Page>(file, view);
    case PictureKind::svg: return std::make_unique<Svg>(file, view);
    case PictureKind::json_lines: return std::make_unique<JsonLines>(file, view);
  }
  return nullptr;
}

}  // namespace attend
