// Search, and its options.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/options.hpp"
#include "eval/search/hypothesis.hpp"
#include "models/layers/step_model.hpp"

namespace attend {

enum class LengthPenaltyKind { power, gnmt };
template <>
inline constexpr auto kEnumNames<LengthPenaltyKind> = std::to_array<EnumName<LengthPenaltyKind>>(
    {{LengthPenaltyKind::power, "power"}, {LengthPenaltyKind::gnmt, "gnmt"}});

// Visits the options of a config that draws pieces: the seed, and those that keep the likeliest of a distribution.
template <class Config, class Visitor>
void visit_draws(Config& config, Visitor& visit, const Condition& only) {
  visit("seed", config.seed,
        {.help = "seed of the draws, which depend on neither batches nor workers",
         .min = 0,
         .max = 9e15,
         .common = true,
         .only = only});
  visit("top-k", config.top_k,
        {.help = "draw from this many likeliest pieces; 0: all", .min = 0, .max = 1e6, .common = true, .only = only});
  visit("top-p", config.top_p,
        {.help = "draw from the smallest set of likeliest pieces whose probabilities sum to at least this",
         .min = 0.0001,
         .max = 1,
         .common = true,
         .only = only});
  visit("min-p", config.min_p,
        {.help = "draw from pieces with at least this share of the highest probability",
         .min = 0,
         .max = 1,
         .only = only});
}

// Facts on which options of search depend, and their values. Samples are not ranked unless another run reranks them.
inline constexpr Fact kDecodingBy{"decoding by"}, kResultsThat{"results that"};
inline constexpr std::string_view kBySearch = "search", kBySampling = "sampling", kAreRanked = "are ranked",
                                  kAreNotRanked = "stand alone", kAreAlike = "are chosen by their likeness alone";

struct SearchConfig {
  std::int64_t beam = 1;
  std::int64_t nbest = 1;
  double length_penalty = 1.0;
  LengthPenaltyKind length_penalty_kind = LengthPenaltyKind::power;
  double coverage_penalty = 0;
  double patience = 1;
  std::int64_t diverse_groups = 0;
  double diversity = 0.5;
  std::int64_t min_length = 0;
  std::optional<std::int64_t> max_length = {};
  double attention_threshold = 0;
  double repetition_penalty = 1;
  std::int64_t no_repeat_ngram = 0;
  std::int64_t sample = 0;
  std::int64_t seed = 1;
  double temperature = 1;
  std::int64_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  std::optional<double> epsilon = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Search");
    constexpr Condition kSearching = {kDecodingBy, {kBySearch}}, kSampling = {kDecodingBy, {kBySampling}};
    constexpr Condition kScored = {kResultsThat, {kAreRanked, kAreNotRanked}};
    visit("beam", self.beam,
          {.help = "beam size; 1: greedy search", .min = 1, .max = 1000, .common = true, .only = kSearching});
    visit("nbest", self.nbest,
          {.help = "hypotheses printed per sentence, at most the beam size; above 1, as \"NUMBER ||| TEXT ||| SCORE\", "
                   "where NUMBER is the input line, from 0; with --mbr, the hypotheses from which it chooses one",
           .min = 1,
           .max = 1000,
           .only = kSearching});
    visit("length-penalty", self.length_penalty,
          {.help = "alpha in the ranking of hypotheses by log p / length^alpha",
           .min = 0,
           .max = 10,
           .common = true,
           .only = kScored});
    visit("length-penalty-kind", self.length_penalty_kind,
          {.help = "divisor of log p: length^alpha (power) or ((5 + length) / 6)^alpha (gnmt)", .only = kScored});
    visit("coverage-penalty", self.coverage_penalty,
          {.help = "weight B of a term in the ranking of hypotheses: the sum over source positions of log "
                   "min(attention received, 1), from the decoder's last layer, averaged over heads; slower; 0: none",
           .min = 0,
           .max = 10,
           .only = {kResultsThat, {kAreRanked}}});
    visit("patience", self.patience,
          {.help = "end the search for a sentence when beam x patience hypotheses, rounded, are finished",
           .min = 0.001,
           .max = 100,
           .only = kSearching});
    visit("diverse-groups", self.diverse_groups,
          {.help = "number of equal groups of the beam; each avoids the tokens that earlier groups have chosen in the "
                   "same step; 0: no groups",
           .min = 0,
           .max = 1000,
           .only = kSearching});
    visit("diversity", self.diversity,
          {.help = "penalty on log p of a token for each hypothesis of earlier groups that continues with it",
           .min = 0,
           .max = 100,
           .only = {"diverse-groups"}});
    visit("min-length", self.min_length, {.help = "minimum length in pieces", .min = 0, .max = 100000});
    visit("max-length", self.max_length,
          {.help = "maximum length in pieces; auto: 2 x source + 10, and at least min-length",
           .min = 1,
           .max = 100000,
           .common = true});
    visit(
        "attention-threshold", self.attention_threshold,
        {.help =
             "set cross-attention weights below this threshold to zero and rescale the others to the same sum; 0: none",
         .min = 0,
         .max = 0.999});
    visit("repetition-penalty", self.repetition_penalty,
          {.help = "factor on log p of pieces that the hypothesis already contains; above 1, they become less likely",
           .min = 0.01,
           .max = 100});
    visit("no-repeat-ngram", self.no_repeat_ngram,
          {.help = "never generate a sequence of this many pieces twice; 0: no restriction", .min = 0, .max = 1000});
    visit("sample", self.sample,
          {.help = "draw this many translations per sentence at random, piece by piece, instead of searching with a "
                   "beam. Several are printed as with --nbest, in the order of drawing; with --mbr or --rerank, only "
                   "the best is. 0: search",
           .min = 0,
           .max = 1000,
           .common = true});
    visit("temperature", self.temperature,
          {.help = "divisor of log p; below 1, likely pieces become likelier",
           .min = 0.01,
           .max = 100,
           .common = true,
           .only = kSampling});
    visit_draws(self, visit, kSampling);
    visit(
        "epsilon", self.epsilon,
        {.help =
             "draw from pieces with at least this probability, or else from the likeliest; auto: 0.02 for the samples "
             "that --mbr draws without --top-k, --top-p and --min-p, else 0",
         .min = 0,
         .max = 1,
         .only = kSampling});
  }

  // UserError for contradictory numbers.
  void validate(const OptionOrigins& origins) const;

  // Maximum hypotheses of a sentence at a time, and the number of its results.
  std::int64_t rows() const { return sample > 0 ? sample : beam; }
  std::int64_t num_results() const { return sample > 0 ? sample : nbest; }

  // The divisor of log p for `length` tokens, eos included: length^alpha, or lp of Wu et al. 2016 (arXiv
  // 1609.08144, eq. 14).
  double length_norm(double length) const {
    return std::pow(length_penalty_kind == LengthPenaltyKind::gnmt ? (5 + length) / 6 : length, length_penalty);
  }

  // How many hypotheses a beam of this size must finish: its patience (Kasai et al. 2022, arXiv 2204.05424).
  std::int64_t enough(std::int64_t beam_size) const {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(beam_size) * patience));
  }

  std::int64_t longest(std::int64_t src_length) const {
    return max_length.value_or(std::max(min_length, 2 * src_length + 10));
  }
};

// Search over a StepModel: a loop of steps in which logits processors change the scores of the next tokens and a
// strategy (strategies.hpp) chooses the hypotheses that live on. A sentence that is done leaves the batch. While a
// prompt is read, one row stands for all hypotheses that will follow it, and nothing is chosen.

struct SearchRequest {
  const StepModel& model;
  std::span<const Wanted> wanted;  // one for each sequence of the model
  TargetIds ids;
  const SearchConfig& config;
  // Called after each step with the tokens so far of the first hypothesis of each sentence that is not done.
  std::function<void(std::span<const std::int32_t> ids)> on_step = {};
};

// The results for every sequence, at least one each: for a beam the best `nbest` hypotheses, best first; else the
// samples in their order. Sequences are independent. If a model's logits are not finite, the hypothesis ends there.
// Interrupted after SIGINT or SIGTERM, which are polled before every step.
std::vector<std::vector<Hypothesis>> search(const SearchRequest& request, Pass& pass);

}  // namespace attend
