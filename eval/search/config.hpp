// The options of search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/options.hpp"

namespace attend {

struct SearchConfig {
  std::int64_t beam = 1;
  std::int64_t nbest = 1;
  double length_penalty = 1.0;
  std::int64_t min_length = 0;
  std::optional<std::int64_t> max_length = {};
  double attention_threshold = 0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Search");
    visit("beam", self.beam, {.help = "beam size; 1: greedy search", .min = 1, .max = 1000});
    visit("nbest", self.nbest,
          {.help = "hypotheses printed per sentence, at most the beam size; above 1, as \"NUMBER ||| TEXT ||| SCORE\", "
                   "where NUMBER is the input line, from 0",
           .min = 1,
           .max = 1000});
    visit("length-penalty", self.length_penalty,
          {.help = "alpha in the ranking of hypotheses by log p / length^alpha", .min = 0, .max = 10});
    visit("min-length", self.min_length, {.help = "minimum length in pieces", .min = 0, .max = 100000});
    visit(
        "max-length", self.max_length,
        {.help = "maximum length in pieces; auto: 2 x source + 10, and at least min-length", .min = 1, .max = 100000});
    visit(
        "attention-threshold", self.attention_threshold,
        {.help =
             "set cross-attention weights below this threshold to zero and rescale the others to the same sum; 0: none",
         .min = 0,
         .max = 0.999});
  }

  // UserError for contradictory options.
  void validate(const OptionOrigins& origins) const;

  std::int64_t longest(std::int64_t src_length) const {
    return max_length.value_or(std::max(min_length, 2 * src_length + 10));
  }
};

}  // namespace attend
