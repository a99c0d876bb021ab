// The results of `attend compare`, as one plain value each for translations, language models and encoders. report.json,
// the page and the Markdown are made from it alone (json.hpp, page.hpp, sections.hpp). docs/compare.md defines each
// number.
//
// A system is a configuration, with one run for each of its seeds; or translations alone, with one "run" that has only
// facts and metrics. Numbers that were not measured are missing (std::nullopt, or an empty vector), never zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace attend {

// The fields of a struct that report.json has, in this order.
#define JSON_MEMBERS(...)                                \
  auto members() const { return std::tie(__VA_ARGS__); } \
  static constexpr std::string_view kMembers = #__VA_ARGS__

// How a report was made.
struct Making {
  std::string attend = {};   // the version
  std::string command = {};  // the command line
  std::string made = {};     // date
};
// Sets the version and the date.
void record_making(Making& making);

// A value with its 95 % interval; the bounds are NaN if there is none.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  JSON_MEMBERS(value, low, high);
};

// Mean and sample standard deviation over seeds or items. The deviation of a single value is NaN, and so are both of
// none.
struct Spread {
  double mean = 0;
  double deviation = 0;
  JSON_MEMBERS(mean, deviation);
};
Spread spread_of(const std::vector<double>& values);

// ---- the test set and the runs

struct TestSet {
  std::string source;  // file names
  std::string target;
  std::int64_t sentences = 0;
  std::int64_t source_words = 0;
  std::int64_t target_words = 0;
  std::optional<std::string> gold = {};  // file of gold links
  JSON_MEMBERS(source, target, sentences, source_words, target_words, gold);
};

// One trained model, a file of translations, or the run that another search uses.
struct RunFacts {
  std::string path;
  std::optional<std::int64_t> seed;
  std::string checkpoint;  // which weights were used
  std::string started;     // date
  std::string attend;      // the version that trained the model
  JSON_MEMBERS(path, seed, checkpoint, started, attend);
};

// ---- 2. quality and 3. cost, of one run

// A metric of the outputs. The first is the main metric, which scores groups and beams, and orders sentences.
struct ComparedMetric {
  std::string key;   // "bleu"
  std::string name;  // "BLEU"
  bool lower_is_better = false;
  std::string meaning;  // "precision of n-grams up to 4 with a brevity penalty"
  int decimals = 1;     // shown
  JSON_MEMBERS(key, name, lower_is_better, meaning);
};

struct Quality {
  std::vector<Estimate> scores;            // parallel to metrics
  std::optional<double> perplexity_piece;  // of the reference
  std::optional<double> perplexity_word;
};

struct LengthTime {
  std::string length;       // "10 to 19" source words
  double milliseconds = 0;  // per sentence, batch of one
  JSON_MEMBERS(length, milliseconds);
};

struct Cost {
  std::optional<std::int64_t> parameters;
  std::optional<double> flops_per_token;        // of a forward pass, by target token, at the test set's mean lengths
  std::optional<double> flops_per_sentence;     // the same by sentence
  std::optional<double> pieces_per_word;        // of the references, ends of sentences included
  std::optional<std::int64_t> tokens, updates;  // of the training
  std::optional<double> train_seconds;
  std::optional<double> train_tokens_per_second;
  std::optional<double> train_memory_mb;  // peak resident
  std::optional<double> translation_tokens_per_second;
  std::optional<double> translation_sentences_per_second;
  std::vector<LengthTime> by_length;
  std::optional<double> texts_per_second = {};  // answered by a fine-tuned run
  JSON_MEMBERS(parameters, flops_per_token, flops_per_sentence, pieces_per_word, tokens, updates, train_seconds,
               train_tokens_per_second, train_memory_mb, translation_tokens_per_second,
               translation_sentences_per_second, by_length, texts_per_second);
};

// ---- 4. curves

struct CurvePoint {
  std::int64_t update = 0;
  double tokens = 0;
  double seconds = 0;
  std::optional<double> loss = {};            // on the validation set, nats per piece
  std::map<std::string, double> scores = {};  // by the keys of the metrics that validation computed
};

// A level of the validation loss that some run reached, and the first point at which each system reached it.
struct LevelReached {
  double loss = 0;
  std::vector<std::optional<CurvePoint>> first = {};  // parallel to systems
  JSON_MEMBERS(loss, first);
};

// ---- 6. depth

// The layers of an encoder or decoder after a watched update (--watch), from the bottom.
struct WatchedStack {
  std::string place;             // "encoder"
  std::vector<double> gradient;  // norm, of each layer
  std::vector<double> rank_one;  // distance of the hidden states from rank one: the embedded input, then each layer
  JSON_MEMBERS(place, gradient, rank_one);
};

struct WatchedUpdate {
  std::int64_t update = 0;
  std::vector<WatchedStack> stacks = {};
  JSON_MEMBERS(update, stacks);
};

struct MeasuredRun {
  RunFacts facts;
  Quality quality = {};
  Cost cost;
  std::vector<CurvePoint> curve;
  std::vector<WatchedUpdate> watched = {};  // the first and the last of the training, or one
  JSON_MEMBERS(facts, quality, cost, curve, watched);
};

// ---- a system

struct System {
  std::string name;                    // unique: "luong"
  std::string description;             // "luong: LSTM, general score, global, soft"
  bool only_text = false;              // a given text or another search: nothing that needs a model is measured
  std::vector<MeasuredRun> runs = {};  // at least one; the first gives sections 5 to 8
  JSON_MEMBERS(name, description, only_text, runs);
};

// ---- 1. differences

enum class OptionPart { architecture, conditions };

struct OptionDifference {
  std::string option;
  OptionPart part = OptionPart::architecture;
  std::vector<std::string> values = {};  // parallel to systems
  JSON_MEMBERS(option, part, values);
};

// Of the first run of a system whose training is recorded.
struct LearningRate {
  std::string system;
  std::string family;  // "luong"
  std::string rate;
};

// ---- 2. significance, of two systems under one metric

// The exact permutation test of the difference between the mean scores of all runs of two systems.
struct SeedTest {
  double difference = 0;  // b - a
  double p = 1;
  double p_holm = 1;  // after Holm's correction over the pairs of this metric
  JSON_MEMBERS(difference, p, p_holm);
};

constexpr std::size_t pairs_among(std::size_t systems) { return systems * (systems - 1) / 2; }

struct PairTest {
  std::int64_t a = 0;  // numbers of systems
  std::int64_t b = 0;
  std::string metric;  // "BLEU"
  bool lower_is_better = false;
  Estimate difference;  // b - a, first runs, paired bootstrap
  // Of the tests that the metric allows: where it is a share of right answers, McNemar's exact test alone, which is the
  // randomisation with all its trials; where it is no sum over segments, the bootstrap alone.
  std::optional<double> p_bootstrap = {};      // Koehn 2004
  std::optional<double> p_randomisation = {};  // Riezler and Maxwell 2005
  std::optional<double> p_mcnemar = {};
  double p_holm = 1;                   // the largest of these, after Holm's correction over the pairs of this metric
  bool p_is_least = false;             // neither resamples nor trials contradict it: with more, p might be lower
  std::optional<SeedTest> seeds = {};  // if both have several
  int decimals = 2;                    // of the difference, shown
  JSON_MEMBERS(a, b, metric, difference, p_bootstrap, p_randomisation, p_mcnemar, p_holm, seeds);

  // The least and the greatest p of these tests.
  std::pair<double, double> p_range() const {
    std::pair<double, double> range = {1, 0};
    for (const std::optional<double>& p : {p_bootstrap, p_randomisation, p_mcnemar}) {
      if (p) range = {std::min(range.first, *p), std::max(range.second, *p)};
    }
    return range;
  }
};

// ---- 5. where

struct BreakdownGroup {
  std::string name;                                  // "20 and more"
  std::int64_t count = 0;                            // sentences or words
  std::vector<std::optional<Estimate>> values = {};  // parallel to systems
  JSON_MEMBERS(name, count, values);
};

// A measure by groups of sentences or words.
struct Breakdown {
  std::string id;  // "length", "frequency", "copied", "position"
  std::string title;
  std::string measure = {};  // "BLEU", "recall in percent"
  std::string unit = {};     // counted by `count`: "sentences", "words"
  std::vector<BreakdownGroup> groups = {};
  JSON_MEMBERS(id, title, measure, unit, groups);
};

// The share of minimal pairs whose better sentence a system finds the more probable one, in percent.
struct ContrastAccuracy {
  std::int64_t pairs = 0;
  std::vector<std::optional<Estimate>> values = {};  // parallel to systems; Wilson's intervals
  JSON_MEMBERS(pairs, values);
};

// McNemar's test of two systems, on the pairs that only one of them gets right.
struct ContrastTest {
  std::int64_t a = 0;  // numbers of systems
  std::int64_t b = 0;
  std::int64_t only_a = 0;  // pairs
  std::int64_t only_b = 0;
  double p = 1;
  double p_holm = 1;  // after Holm's correction over the pairs of systems
  JSON_MEMBERS(a, b, only_a, only_b, p, p_holm);
};

// A file of minimal pairs.
struct ContrastSet {
  std::string file;
  ContrastAccuracy all = {};
  std::map<std::string, ContrastAccuracy> kinds = {};       // of the error; empty if the file names none
  std::map<std::int64_t, ContrastAccuracy> distances = {};  // the same
  std::vector<ContrastTest> tests = {};
  JSON_MEMBERS(file, all, kinds, distances, tests);
};

// An n-gram of the references that some systems produce and others miss.
struct NgramDifference {
  std::string text;
  std::int64_t in_reference = 0;
  std::vector<std::int64_t> matched;  // parallel to systems
  JSON_MEMBERS(text, in_reference, matched);
};

// ---- 6. why

// The share of sentences, in percent, in which search missed the reference, among those whose output ended before the
// maximum length and whose reference does not exceed it; missing if there are none.
struct SearchErrors {
  std::int64_t compared = 0;
  std::optional<double> ranked;    // the reference ranks above the output: a search error
  std::optional<double> likelier;  // it has the higher probability, not divided by its length
  JSON_MEMBERS(compared, ranked, likelier);
};

// The log-probabilities that models assign to the systems' outputs and to the reference.
struct CrossScores {
  // log_prob[scorer][text]: mean per sentence whose source is not blank, in nats; missing if a text cannot be scored.
  // The row of a scorer without a model is empty.
  std::vector<std::vector<std::optional<double>>> log_prob;
  double length_penalty = 1;                     // alpha: search ranks by log p / length^alpha
  std::vector<SearchErrors> search_errors = {};  // parallel to systems
  JSON_MEMBERS(log_prob, length_penalty, search_errors);
};

struct BeamPoint {
  std::int64_t beam = 1;
  double score = 0;     // by the main metric
  double log_prob = 0;  // mean per sentence that is not blank, nats
};

struct CalibrationBin {
  double confidence = 0;  // mean probability of the likeliest piece
  double accuracy = 0;    // share of positions where it is the reference's
  std::int64_t count = 0;
  JSON_MEMBERS(confidence, accuracy, count);
};

struct Calibration {
  std::vector<CalibrationBin> bins;
  double expected_error = 0;  // ECE, 0 to 1
  JSON_MEMBERS(bins, expected_error);
};

struct HeadStatistics {
  std::int64_t layer = 0;
  std::int64_t head = 0;    // -1: the mean of the layer's heads
  double entropy = 0;       // nats
  double coverage = 0;      // mean over source pieces of min(1, sum over target pieces of the weight)
  double distance = 0;      // mean |expected source position - target position * S / T|, in pieces
  double monotonicity = 0;  // share of target steps whose likeliest source position is not before the previous step's
  std::optional<double> alignment_error = {};  // AER in percent, with gold links
  JSON_MEMBERS(layer, head, entropy, coverage, distance, monotonicity, alignment_error);
};

// ---- 7. the four weaknesses of the RNN

// The norm of the gradient of a target word's log-probability with respect to source embeddings, by distance.
struct GradientReach {
  std::string checkpoint;           // "step-100"
  std::vector<double> by_distance;  // mean norm, relative to that at distance 0; NaN if no pair is that far
  JSON_MEMBERS(checkpoint, by_distance);
};

struct StepTime {
  std::int64_t length = 0;  // source and target pieces
  std::int64_t threads = 1;
  double milliseconds = 0;  // per update, forward and backward
  JSON_MEMBERS(length, threads, milliseconds);
};

struct SystemProbe {
  std::vector<GradientReach> reach;
  std::vector<StepTime> step_time;
  JSON_MEMBERS(reach, step_time);
};

struct Probe {
  std::vector<SystemProbe> systems;    // parallel to systems
  std::vector<Breakdown> by_distance;  // quality by distance of the words that must agree
  JSON_MEMBERS(systems, by_distance);
};

// ---- 8. sentences

// Attention of one sentence pair to its source.
struct AttentionMaps {
  std::vector<std::string> source;  // pieces
  std::vector<std::string> target;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::vector<std::uint8_t> weights;  // [layers, heads, T, S] as bytes: 255 is 1
  JSON_MEMBERS(source, target, layers, heads, weights);
};

struct SystemSentence {
  std::string text;
  std::vector<double> scores = {};  // of the sentence, parallel to metrics
  std::optional<double> log_prob = {};
  std::optional<AttentionMaps> own = {};        // over its own translation
  std::optional<AttentionMaps> reference = {};  // over the reference: the shared axes
};

struct Sentence {
  std::string source;
  std::string reference;
  std::vector<SystemSentence> systems = {};  // parallel to systems
  JSON_MEMBERS(source, reference, systems);
};

// What a report counts.
struct Units {
  std::string segment = "sentence";  // of the test set; resampled for intervals, and exchanged in tests of pairs
  std::string token = "target token";
  std::string word = "target word";
  std::string text = "references";  // what the model is tested on
  bool predicts_pieces = true;      // if not, there is no perplexity, and losses do not depend on the vocabulary
};

// What all comparisons have in common.
struct ComparedSystems : Making {
  std::string processor;
  Units units;
  std::vector<std::string> notes;       // sentences that a reader needs before the numbers
  std::vector<ComparedMetric> metrics;  // at least one
  std::vector<System> systems;
  bool equal_vocabularies = true;  // if not, numbers by piece cannot be compared

  std::vector<OptionDifference> differences;
  std::vector<LearningRate> learning_rates;
  std::vector<PairTest> tests;
  std::vector<LevelReached> levels;
  std::vector<Breakdown> where;
  std::vector<ContrastSet> contrasts;
};

struct Comparison : ComparedSystems {
  TestSet test;
  std::vector<NgramDifference> ngrams;
  std::optional<CrossScores> cross_scores;
  std::vector<std::vector<BeamPoint>> beams;            // parallel to systems
  std::vector<std::optional<Calibration>> calibration;  // parallel to systems
  std::vector<std::vector<HeadStatistics>> attention;   // parallel to systems; empty without attention
  std::optional<Probe> probe;
  std::vector<Sentence> sentences;
  std::int64_t attention_left_out = 0;  // sentences whose attention was not kept, to bound the report
  JSON_MEMBERS(attend, command, made, processor, test, notes, metrics, systems, equal_vocabularies, differences, tests,
               levels, where, contrasts, ngrams, cross_scores, beams, calibration, attention, probe, attention_left_out,
               sentences);
};

// ---- language models: the parts of every comparison, and how the loss depends on the context. The metrics are
// perplexity by word and bits per byte of the test text, whose segments are documents.

struct TestText {
  std::string files;
  std::int64_t documents = 0;
  std::int64_t words = 0;  // between white space
  std::int64_t bytes = 0;  // of the lines, with their line breaks
  JSON_MEMBERS(files, documents, words, bytes);
};

// The loss of the same words, each piece of which is read with exactly `tokens` tokens before it.
struct ContextLoss {
  std::int64_t tokens = 0;
  std::vector<std::optional<Estimate>> loss = {};  // nats per word, parallel to systems; missing if a model reads fewer
  JSON_MEMBERS(tokens, loss);
};

// The share of a layer's attention by distance, the mean over heads and tokens.
struct DistanceShares {
  std::int64_t layer = 0;
  std::vector<double> shares = {};  // parallel to distances; their sum is 1
  JSON_MEMBERS(layer, shares);
};

struct LanguageComparison : ComparedSystems {
  TestText test;
  std::int64_t context_words = 0;                      // words of each ContextLoss
  std::vector<ContextLoss> contexts;                   // the shortest first; empty if the text is too short
  std::vector<std::string> distances;                  // to the token that is attended to: "0", "1", "2 to 3"
  std::vector<std::vector<DistanceShares>> attention;  // parallel to systems; empty without attention
  JSON_MEMBERS(attend, command, made, processor, test, notes, metrics, systems, equal_vocabularies, differences, tests,
               levels, where, contrasts, context_words, contexts, distances, attention);
};

// ---- encoders: fine-tuned runs, and predictions of other programs, on the records of a task; or pretrained encoders
// on masked tokens, whose segments are sequences.

// Numbers of answers with this gold label and this prediction.
struct Confusion {
  std::string gold, predicted;
  std::vector<std::int64_t> counts = {};  // parallel to systems
  JSON_MEMBERS(gold, predicted, counts);
};

// The answer of a system to a record, with the attention of what it is computed from (the learnt query, [CLS], the last
// token, or all tokens) to the tokens.
struct SystemAnswer {
  std::string answer;
  double score = 0;                           // ComparedAnswers::score
  std::optional<double> probability = {};     // of the answer
  std::optional<AttentionMaps> weights = {};  // of the pooling, or of the encoder's layers
  std::optional<AttentionMaps> rollout = {};  // Abnar and Zuidema 2020, over all layers
  JSON_MEMBERS(answer, score, probability, weights, rollout);
};

struct AnsweredText {
  std::int64_t line = 0;  // of the file, or the number of the question
  std::string text;
  std::string gold;
  std::vector<SystemAnswer> systems = {};
  JSON_MEMBERS(line, text, gold, systems);
};

struct TaskTest {
  std::string files;
  std::string task;  // "classification", or "masked tokens"
  std::int64_t records = 0;
  std::int64_t words = 0;  // of tokens, if masked
  JSON_MEMBERS(files, task, records, words);
};

struct TaskComparison : ComparedSystems {
  TaskTest test;
  std::vector<Confusion> confusions;                    // that occur; empty without labels or tags
  std::vector<std::optional<Calibration>> calibration;  // parallel to systems; missing without probabilities
  std::string score = {};                               // of an answer: "accuracy"
  bool lower_is_better = false;                         // that score
  std::int64_t disagreements = 0;                       // records with different answers
  std::vector<AnsweredText> texts;                      // the first of these
  JSON_MEMBERS(attend, command, made, processor, test, notes, metrics, systems, equal_vocabularies, differences, tests,
               levels, where, confusions, calibration, score, disagreements, texts);
};

}  // namespace attend
