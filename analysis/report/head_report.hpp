// The results of `attend heads`, as one plain value: report.json, the page and the Markdown are made from it alone.
// docs/heads.md defines each number. Layers and heads are counted from 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/report/sections.hpp"

namespace attend {

// A head of self-attention, described by its weights between the words of all sentences.
struct HeadHabits {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  double entropy = 0;   // nats, of the weights of a piece
  double distance = 0;  // words, between a word and those that it attends to
  double outside = 0;   // share of a word's weights on special pieces and on words that are left out
  double previous = 0;  // shares of the words whose largest weight is at the previous word, at themselves, and at the
  double self = 0;      // next word
  double next = 0;
  std::optional<double> gate = {};    // of a run with gates
  std::optional<double> rarest = {};  // share of the words whose largest weight is at the least frequent word
  std::vector<std::string> roles = {};
  JSON_MEMBERS(layer, head, entropy, distance, outside, previous, self, next, rarest, roles, gate);
};

// The head that finds a relation best in the first half of the sentences, measured on the second half.
struct HeadRelation {
  std::string relation;         // "nsubj"
  bool to_head = true;          // from the dependent to its head; false: the other way
  std::int64_t chosen_on = 0;   // instances in the first half
  std::int64_t instances = 0;   // in the second half
  std::vector<double> by_head;  // accuracy in the first half, parallel to the heads
  std::size_t chosen = 0;       // index of the best of them
  std::int64_t offset = 0;      // in words: the best fixed one in the first half, which is the baseline
  double offset_chosen_on = 0;  // its accuracy in the first half
  double baseline = 0;          // its accuracy in the second half
  Estimate accuracy;            // of the chosen head in the second half
  double p = 1;                 // one-sided, of equal accuracies of head and offset
  double p_holm = 1;

  std::string direction() const { return to_head ? "dependent to head" : "head to dependent"; }
  JSON_MEMBERS(relation, to_head, chosen_on, instances, by_head, chosen, offset, offset_chosen_on, baseline, accuracy,
               p, p_holm);
};

// The change of a score of the same sentences from the unchanged model.
struct TestedChange {
  Estimate change;
  double p = 1;  // two-sided
  double p_holm = 1;
  bool p_is_least = false;  // no resample contradicts the change: with more, p might be lower
  JSON_MEMBERS(change, p, p_holm);
};

// The change of the loss without a head, in nats per piece.
struct HeadSilence : TestedChange {
  std::string place;  // "encoder", "decoder" or "cross"
  std::int64_t layer = 0;
  std::int64_t head = 0;
  double importance = 0;                  // Σ over sentences |∂ loss / ∂ gate of the head|, by piece
  std::optional<double> gate = {};        // of a run with gates
  std::optional<TestedChange> bleu = {};  // of greedy translations
  JSON_MEMBERS(place, layer, head, importance, change, p, p_holm, gate, bleu);
};

// The model without the least important heads.
struct PruningStep {
  std::int64_t removed = 0;
  double share = 0;      // of all heads
  double loss = 0;       // in nats per piece
  Estimate change = {};  // of the loss
  JSON_MEMBERS(removed, share, loss, change);
};

struct Silencing {
  std::string of;  // whose loss it is: "the pieces of corpus.conllu"
  std::int64_t sentences = 0;
  std::int64_t pieces = 0;
  double loss = 0;  // of the whole model, in nats per piece
  std::vector<HeadSilence> heads = {};
  std::vector<PruningStep> pruning = {};  // by share; empty if each layer has one head
  std::optional<double> bleu = {};        // of the whole model's greedy translations
  std::string bleu_signature = {};
  JSON_MEMBERS(of, sentences, pieces, loss, heads, pruning, bleu, bleu_signature);
};

// A translation model with other weights in place of its attention to the source.
struct ReplacedAttention {
  std::string weights;  // "uniform"
  double loss = 0;      // in nats per piece
  TestedChange loss_change;
  std::optional<double> bleu = {};  // of greedy translations; none for weights that need a given one
  std::optional<TestedChange> bleu_change = {};
  JSON_MEMBERS(weights, loss, loss_change, bleu, bleu_change);
};

struct Replacement {
  std::string source = {};  // file names
  std::string target = {};
  std::string alignment = {};  // file of the given links, empty without
  std::int64_t sentences = 0;
  std::int64_t pieces = 0;
  std::int64_t linked_pieces = 0;
  double loss = 0;  // of the model with its own weights
  double bleu = 0;
  std::string bleu_signature;
  std::vector<ReplacedAttention> weights = {};
  JSON_MEMBERS(source, target, alignment, sentences, pieces, linked_pieces, loss, bleu, bleu_signature, weights);
};

struct HeadReport : Making {
  std::string run;
  std::string place;  // of the self-attention: "encoder", or "decoder" of a language model
  bool causal = false;
  std::string data;  // file of the trees
  std::int64_t sentences = 0;
  std::int64_t words = 0;
  std::vector<std::string> notes;  // sentences that a reader needs before the numbers
  std::vector<HeadHabits> heads;
  std::vector<HeadRelation> relations;  // by name
  std::int64_t rare_relations = 0;      // left out: too few instances in a half
  std::optional<Silencing> silencing;
  std::optional<Replacement> replacement = {};  // of recurrent attention; then nothing is reported of heads
  std::vector<std::string> pruned = {};         // the heads that the pruned run lacks: "encoder.0.3"
  JSON_MEMBERS(attend, command, made, run, place, causal, data, sentences, words, notes, heads, relations,
               rare_relations, silencing, replacement, pruned);
};

// A head is positional if the largest weight of this share of the words is at one offset (Voita et al. 2019, arXiv
// 1905.09418, section 5.1); it attends to rare words if that of this share is at the least frequent word.
inline constexpr double kPositionalShare = 0.9;
inline constexpr double kRarestShare = 0.5;
// Relations with fewer instances in either half are left out.
inline constexpr std::int64_t kFewestInstances = 20;

// The run and the data, then sections 1 to 3: roles, relations, silencing. For recurrent attention, only the effect of
// other weights.
SectionReport section_report(const HeadReport& report);

}  // namespace attend
