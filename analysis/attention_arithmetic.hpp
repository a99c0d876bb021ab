// `attend attention --steps`: how one query of one head computes its weights and its output vector, as a table or as
// JSON lines, computed from the operands of the model's forward pass.
//
//   energy = scale product,  weight = factor softmax(energy + bias + mask),  vector = Σ weight value
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attention_output.hpp"

namespace attend {

// Vectors have a number for each position, or are empty if the attention lacks the quantity.
struct QueryArithmetic {
  AttentionPlace place = AttentionPlace::cross;
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::string piece;  // the one that attends (encoder) or is predicted
  std::vector<std::string> positions;
  std::optional<double> scale = {};
  std::vector<double> products = {};  // energies without their scale
  std::vector<double> energies;
  std::vector<double> bias;  // may be -infinity
  std::vector<bool> outside;
  std::vector<double> softmax;
  std::vector<double> factor;
  std::vector<double> weights;
  std::vector<double> value_norms;
  std::vector<double> weighted_norms =
      {};  // ‖weight value‖; empty if the vector is the value of the largest weight alone
  double vector_norm = 0;
};

struct QueryChoice {
  AttentionPlace place = AttentionPlace::cross;
  std::optional<std::int64_t> layer = {};  // default: the last
  std::int64_t head = 0;
  std::optional<std::int64_t> query = {};  // default: the last
  std::string beginning = {};              // the piece that a decoder reads first
};

// `sentence` is line `number`, has pieces, and was observed with its operands. UserError naming the option of `attend
// attention` if the place, layer, head or query does not exist.
QueryArithmetic arithmetic_of(const SentenceAttention& sentence, const QueryChoice& choice, std::int64_t number);

// A title, the equations, a row for each position, and the sums.
std::string to_text(const QueryArithmetic& steps);

// Tables on standard output, separated by empty lines.
std::unique_ptr<AttentionOutput> arithmetic_on_terminal(const QueryChoice& choice);

// A JSON object for each line of text, with the members of QueryArithmetic; numbers that are not finite are null, and
// empty members are left out. A line without pieces has only "positions": []. A line that is read in several windows is
// {"windows": […]}.
std::unique_ptr<AttentionOutput> arithmetic_in_file(const std::string& file, const QueryChoice& choice);

}  // namespace attend
