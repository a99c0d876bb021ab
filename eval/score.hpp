// Forced decoding: the probability of given translations. The decoder reads the given pieces instead of its own
// predictions (teacher forcing), so that one forward pass gives log p(y_t | y_<t, x) of every target piece and of the
// end of sentence. Their sum, log p(y | x), equals the log_prob of the same pieces in search.
//
//   x = "a dog", y = "ein Hund"     ▁ein -0.11   ▁Hund -0.22   </s> -0.05     log p(y | x) = -0.38
//
// The perplexity of a text is exp(-log p / n). By piece, n counts its pieces and the ends of its sentences, and depends
// on the tokenizer; by word, n counts the words between white space and the ends of sentences, and does not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "core/progress.hpp"
#include "data/batch/batch.hpp"
#include "eval/metrics/significance.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

struct ScoreConfig {
  std::int64_t batch_size = 64;
  std::optional<std::int64_t> workers;
  std::int64_t threads = 1;
  double attention_threshold = 0;  // of a search whose model is asked; no option of its own

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Speed");
    visit("batch-size", self.batch_size,
          {.help = "sentence pairs per forward pass of a worker", .min = 1, .max = 10000});
    visit("workers", self.workers, {.help = "parallel forward passes; auto: one per processor", .min = 1, .max = 1024});
    visit("threads", self.threads, {.help = "threads per worker", .min = 1, .max = 1024});
  }
};

// Natural logarithms of probabilities in one target position, given the source and the pieces before it.
struct ForcedPiece {
  std::int32_t id = 0;
  double log_prob = 0;       // of the given piece
  double best_log_prob = 0;  // of the most likely piece
  bool is_best = false;      // no piece is more likely than the given one
};

// The score of a target text.
struct TargetScore {
  std::vector<ForcedPiece> pieces;  // the last is the end of sentence
  std::int64_t words = 0;           // separated by white space, and the end of sentence
  bool source_is_cut = false;
  bool target_is_cut = false;

  double log_prob() const;
};

// One forward pass: every position of every sentence of the batch, in order. Attention to the source is cut as in
// search (SearchConfig).
std::vector<std::vector<ForcedPiece>> force(const Seq2SeqImpl& model, const Batch& batch,
                                            double attention_threshold = 0);

// The score of every target line as the translation of the source line of the same number, in order. A source line is
// followed by the labels of the run's source factors (data/text/factors.hpp). A line without
// pieces is the end of sentence alone, on either side; one of more than most_source_pieces() or kMostPieces is cut. The
// sums depend on batches only by rounding. `progress` counts scored lines. Interrupted after SIGINT or SIGTERM, which
// are polled before every batch.
std::vector<TargetScore> score(const Run& run, std::span<const std::string> sources,
                               std::span<const std::string> targets, const ScoreConfig& config,
                               WorkProgress* progress = nullptr);

// Sums over a text.
struct ScoreTally {
  std::int64_t lines = 0;
  std::int64_t pieces = 0;  // with the ends of sentences
  std::int64_t words = 0;   // the same
  double log_prob = 0;
  CutLines cut_sources;
  CutLines cut_targets;

  void add(const TargetScore& score);
  double perplexity_by_piece() const;
  double perplexity_by_word() const;
};

// Contrastive pairs (Sennrich 2017, arXiv 1612.04629): of a translation and one with an error, a model should find the
// first more likely. Equal probabilities count as errors.
struct ContrastTally {
  std::int64_t pairs = 0;
  std::int64_t correct = 0;

  bool add(double log_prob, double contrast_log_prob);  // true if the pair is correct
  double accuracy() const;                              // 0 to 1
  metrics::Interval interval() const;                   // Wilson's, 95 %, of independent pairs
};

}  // namespace attend
