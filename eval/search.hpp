// Greedy and beam search over a StepModel. Greedy is a beam of 1.
//
// A beam keeps the K likeliest unfinished hypotheses of a sentence. Each step scores every continuation, and of the 2K
// best, those that end in eos and rank among the first K are finished, and the first K others continue. A sentence is
// done when K are finished or the maximum length is reached; then its rows leave the batch (as in fairseq and
// CTranslate2). Hypotheses are ranked by log p(y) / |y|^alpha, |y| counting eos: the rule of Marian, fairseq, Hugging
// Face and CTranslate2, not the ((5 + |y|) / 6)^alpha of Wu et al. 2016 (arXiv 1609.08144). Not included: sampling,
// coverage, constraints.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/options.hpp"
#include "models/layers/step_model.hpp"

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

// The decoder's first token, end token, and tokens it must not produce; -1: none.
struct TargetIds {
  std::int64_t bos = -1;
  std::int64_t eos = -1;
  std::int64_t pad = -1;
};

struct Hypothesis {
  std::vector<std::int32_t> ids;  // without bos and eos
  double log_prob = 0;            // of the ids, and eos if it was generated
  double score = 0;               // ranking criterion
  bool ended = false;             // by eos, not by the maximum length
};

struct SearchRequest {
  const StepModel& model;
  std::span<const std::int64_t> longest;  // the maximum length of each sequence
  TargetIds ids;
  const SearchConfig& config;
};

// The best `nbest` hypotheses of every sequence, best first; at least one each. Sequences are independent. If a model's
// logits are not finite, the hypothesis ends there. Interrupted after SIGINT or SIGTERM, which are polled before every
// step.
std::vector<std::vector<Hypothesis>> search(const SearchRequest& request, Pass& pass);

}  // namespace attend
