// Attention weights, prepared for display and shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/report/heat_map.hpp"
#include "eval/attention.hpp"
#include "eval/pair_attention.hpp"
#include "models/run/run.hpp"

namespace attend {

// Attention weights prepared for display: chosen by place, layer and head, merged from pieces into words, and packed as
// AttentionMaps.

// A choice of weights; an empty member chooses all.
struct HeadSelection {
  std::optional<AttentionPlace> place = {};
  std::optional<std::int64_t> layer = {};
  std::optional<std::int64_t> head = {};
};

// The chosen weights. Layers keep their numbers; a chosen head is the only one of its layer. UserError naming the
// option of `attend attention` if the place, layer or head does not exist. A sentence without weights is not changed.
SentenceAttention chosen(SentenceAttention sentence, const HeadSelection& choice);

struct WordsInPieces {
  std::vector<std::string> words;
  PiecesOfWords pieces;
};

// The words of `text` that have pieces, whose numbers are increased by `first`.
WordsInPieces words_in_pieces(std::string_view text, const PiecesOfWords& pieces, std::int64_t first = 0);

// The same weights between words (merge_words). Columns of a decoder's self-attention, which are shifted by the
// beginning of the sentence, become target words, too. Weights to pieces outside words are dropped.
SentenceAttention in_words(const SentenceAttention& sentence, const WordsInPieces& source, const WordsInPieces& target);

// The pieces or words that attend (rows) and are attended to (columns) in one place. An encoder's rows are the source.
// A decoder's columns are its input: `beginning` and the target without its last piece, or, if `beginning` is empty
// (for words), the target.
struct AttentionAxes {
  std::vector<std::string> rows, columns;
};
AttentionAxes axes_of(const SentenceAttention& sentence, AttentionPlace place, const std::string& beginning);

// The weights of one place as bytes: 255 is 1.
AttentionMaps maps_of(const SentenceAttention& sentence, AttentionPlace place, const std::string& beginning);

// The attention of a run to the source for the lines of `source` and their given translations; maps without weights for
// a line without pieces or a model without attention. Weights below the threshold are cut as in search. Interrupted
// after SIGINT or SIGTERM.
std::vector<AttentionMaps> attention_maps(const TranslationRun& run, const std::vector<std::string>& source,
                                          const std::vector<std::string>& target, double threshold);

// Output of `attend attention`: a heat map on the terminal, a page, a picture in SVG, or JSON lines.
//
// Each line of text is one record: a sentence, a sentence pair or, for some tasks, several windows.

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
