// Output of `attend attention`: a heat map on the terminal, a page, a picture in SVG, or JSON lines.
//
// Each line of text is one record: a sentence, a sentence pair or, for some tasks, several windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "analysis/attention_maps.hpp"
#include "analysis/report/heat_map.hpp"
#include "eval/attention.hpp"

namespace attend {

enum class PictureKind { page, svg, json_lines };

// The kind of a file by the ending of its name. UserError with all known endings; `origin` is the option that named the
// file.
PictureKind picture_kind(const std::string& file, const std::string& origin);

// "attention to the source"
std::string_view title_of(AttentionPlace place);

struct AttentionView {
  HeadSelection choice = {};
  AttentionPlace usual_place = AttentionPlace::cross;  // of a single map, if none is chosen
  std::string beginning = {};                          // the piece that a decoder reads first; empty for words
  TextStyle style = {};
  bool words = false;        // between words, not pieces
  std::string run = {};      // its path, the title of a page
  std::string command = {};  // the command line that made the page
};

class AttentionOutput {
 public:
  virtual ~AttentionOutput() = default;
  // Adds a record of `windows` parts, at least one. UserError if the chosen place, layer or head does not exist.
  virtual void add(std::size_t windows, const std::function<SentenceAttention(std::size_t)>& part) = 0;
  // Writes the file, which until then is unchanged.
  virtual void finish() {}
};

// Writes a text for each part of a record to standard output, with empty lines between them. `show` gets the part and
// the number of its record, from 1; a part without pieces is only reported as such.
std::unique_ptr<AttentionOutput> texts_on_terminal(
    std::function<std::string(const SentenceAttention&, std::int64_t)> show);

// Writes to standard output a heat map of the chosen layer and head; by default of the last layer and the mean of its
// heads.
std::unique_ptr<AttentionOutput> attention_on_terminal(const AttentionView& view);

// Writes a file, or replaces it. A page shows all chosen weights, sentence by sentence. An SVG shows the heat map of
// the terminal if a layer or head is chosen or only one exists, and otherwise every layer and head.
std::unique_ptr<AttentionOutput> attention_in_file(const std::string& file, PictureKind kind,
                                                   const AttentionView& view);

}  // namespace attend
