// Forced decoding: the probability of given translations, and of texts under a language model. The model reads the
// given pieces instead of its own predictions (teacher forcing), so that one forward pass gives log p(y_t | y_<t, x) of
// every target piece and of the end of sentence. Their sum, log p(y | x), equals the log_prob of the same pieces in
// search.
//
//   x = "a dog", y = "ein Hund"     ▁ein -0.11   ▁Hund -0.22   </s> -0.05     log p(y | x) = -0.38
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "eval/forced_decoding.hpp"
#include "eval/translate.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/pass.hpp"
#include "models/run/run.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

// The loss of a text, or of one window of it, as a function of the pass that reads it: the sum of -log p of its pieces,
// in the autograd graph.
using LossOfText = std::function<torch::Tensor(Pass& pass)>;

struct ScoreConfig {
  std::int64_t batch_size = 64;
  std::optional<std::int64_t> workers = {};
  std::int64_t threads = 1;
  // Not options. `edit` of the attention weights must outlive the scoring. `differentiate`, if set, is called by
  // several workers, in place of scoring, with the number and the loss of each text, or of each of its windows; the
  // model must not be frozen then.
  const AttentionEdit* edit = nullptr;
  std::function<void(std::size_t text, const LossOfText& loss)> differentiate = {};

  // An inference pass with the edit.
  Pass pass() const {
    Pass edited = Pass::inference();
    if (edit != nullptr) edited.edit_attention(*edit);
    return edited;
  }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit, const Condition& of_scores = {}) {
    visit.group("Speed");
    visit("batch-size", self.batch_size,
          {.help = "sequences per forward pass of a worker: sentence pairs, lines of text, or masked copies (BERT)",
           .min = 1,
           .max = 10000,
           .only = of_scores});
    visit("workers", self.workers,
          {.help = "parallel forward passes; auto: one per processor", .min = 1, .max = 1024, .only = of_scores});
    visit("threads", self.threads, {.help = "threads per worker", .min = 1, .max = 1024});
  }
};

// The score of a text: as a translation, under a language model, or under a BERT (encoder_output.hpp). All but the last
// also predict its end, which counts as a piece, a word and a byte.
struct TextScore {
  std::vector<ForcedPiece> pieces = {};
  std::int64_t words = 0;      // separated by white space
  std::int64_t bytes = 0;      // of UTF-8
  bool source_is_cut = false;  // of a translation
  bool target_is_cut = false;

  double log_prob() const { return log_prob_of(pieces); }
};

// Sums over the lines of a text. Its perplexity is exp(-log p / n). By piece, n counts the predicted pieces, which
// depend on the tokenizer; by word, n counts the words between white space and the predicted ends of lines, which do
// not.
struct ScoreTally {
  std::int64_t lines = 0;
  std::int64_t pieces = 0;
  std::int64_t words = 0;
  std::int64_t bytes = 0;
  double log_prob = 0;
  CutLines cut_sources = {};
  CutLines cut_targets = {};

  void add(const TextScore& score);
  // NaN without pieces, words or bytes.
  double perplexity_by_piece() const;
  double perplexity_by_word() const;
  double bits_per_byte() const;  // -log p / (ln 2 · bytes)
};

// Calls score_batch(indices) for batches of sequences of these lengths (workers.hpp), on the workers of `config`; of
// one sequence each, if they are differentiated. Interrupted after SIGINT or SIGTERM, which are polled before every
// batch.
void score_in_batches(std::span<const std::int64_t> lengths, const ScoreConfig& config,
                      const std::function<void(std::span<const std::size_t>)>& score_batch);

// One forward pass: every position of every sentence of the batch, in order.
std::vector<std::vector<ForcedPiece>> force(const Seq2SeqImpl& model, const Batch& batch,
                                            const AttentionEdit* edit = nullptr);

// The score of every target line as the translation of the source line of the same number, in order. A line without
// pieces is the end of sentence alone, on either side; one of more than most_source_pieces() or kMostPieces is cut. The
// sums depend on batches only by rounding. `progress` counts scored lines. Interrupted after SIGINT or SIGTERM, which
// are polled before every batch.
std::vector<TextScore> score(const TranslationRun& run, std::span<const std::string> sources,
                             std::span<const std::string> targets, const ScoreConfig& config,
                             WorkProgress* progress = nullptr);

// log p of given tokens under a language model: one forward pass over a text gives that of every token.

// log p of the label that follows the last token of each sequence, [B]; no sequence may be empty.
torch::Tensor next_log_probs(const LanguageModelImpl& model, const Sequences& tokens, const torch::Tensor& labels_B);

// log p of every token of each text, which follow the end token: log p(t_1 | end), log p(t_2 | end t_1), and so on. A
// text is read in overlapping windows of `window` tokens (forced_decoding.hpp); nullopt: of a model that carries its
// state, in consecutive segments, which give the same as the whole. Interrupted after SIGINT or SIGTERM.
std::vector<std::vector<double>> text_log_probs(const LanguageModelImpl& model,
                                                std::span<const std::vector<std::int32_t>> texts, std::int32_t end,
                                                std::optional<std::int64_t> window);

// The probability of texts under a language model. A text is read after the end token of the one before it, and ends
// with one:
//
//   log p(x) = Σ_t log p(x_t | </s> x_1 … x_{t-1}),  x_{n+1} = </s>
//
//   x = "a dog"     ▁a -1.20   ▁dog -4.31   </s> -2.05     log p(x) = -7.56
//
// A line longer than a Transformer reads at once (LanguageRun::window) is read in overlapping windows
// (forced_decoding.hpp). Nothing is cut; for shorter lines, and recurrent models, the sum is exact.

// The score of every line, in order. An empty line is </s> alone. The sums depend on batches only by rounding.
// `progress` counts lines. Interrupted after SIGINT or SIGTERM.
std::vector<TextScore> score_language(const LanguageRun& run, std::span<const std::string> lines,
                                      const ScoreConfig& config, WorkProgress* progress = nullptr);

}  // namespace attend
