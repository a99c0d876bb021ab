// What `attend attention` makes of attention weights: a heat map on the terminal, a page, a picture in SVG,
// or JSON lines.
//
// Records come one after the other; a record is what a line of text is read as, one sentence (pair) or, for some tasks,
// several windows.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/attention_maps.hpp"
#include "analysis/report/heat_map.hpp"
#include "eval/attention.hpp"

namespace attend {

// The kinds of files, by the ending of their names.
enum class PictureKind { page, svg, json_lines };
inline constexpr std::array kPictureEndings{std::pair{PictureKind::page, std::string_view(".html")},
                                            std::pair{PictureKind::svg, std::string_view(".svg")},
                                            std::pair{PictureKind::json_lines, std::string_view(".jsonl")}};

// UserError naming the endings that there are; `origin` is where the file was named.
PictureKind picture_kind(const std::string& file, const std::string& origin);

struct AttentionView {
  AttentionChoice choice = {};
  AttentionPlace usual_place = AttentionPlace::cross;  // of a single map where none is chosen
  std::string beginning = {};                          // the piece that a decoder reads first; empty of words
  TextStyle style = {};
  bool words = false;    // between words, not pieces
  std::string run = {};  // its path, the title of a page
};

class AttentionOutput {
 public:
  virtual ~AttentionOutput() = default;
  // A record of `windows` parts, at least one. UserError where there is no such place, layer or head.
  virtual void add(std::size_t windows, const std::function<SentenceAttention(std::size_t)>& part) = 0;
  // A file appears now, or not at all.
  virtual void finish() {}
};

// On standard output: a heat map of the layer and head, or of the last layer and the mean of its heads.
std::unique_ptr<AttentionOutput> attention_on_terminal(const AttentionView& view);

// A file, which is replaced where it exists. A page shows all weights that are chosen, sentence by sentence. SVG shows
// that heat map where a layer or head is chosen, or there is only one; else every layer and head.
std::unique_ptr<AttentionOutput> attention_in_file(const std::string& file, PictureKind kind,
                                                   const AttentionView& view);

}  // namespace attend
