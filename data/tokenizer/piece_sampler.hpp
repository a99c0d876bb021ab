// Other segmentations of an encoded text, sampled to regularise training on little data.
//
//   BPE models (BPE-dropout; Provilkov et al. 2020, arXiv 1910.13267, algorithm 1): a word is split into characters; in
//   each step every possible merge is left out with probability P, and the best of the others is made, until none is
//   left. P = 0 gives the segmentation of the tokenizer, P = 1 characters.
//   Unigram models (Kudo 2018, arXiv 1804.10959): segmentation x of a word is drawn with probability
//   p(x)^A / Σ_x' p(x')^A, by forward filtering and backward sampling, as SentencePiece does with nbest_size -1.
//   A small A draws all segmentations almost uniformly, a large A mostly the best one.
//
// SentencePiece samples with one generator for each thread, seeded once. Here, a sample is a pure function of the ids
// and the random stream. It is made from ids instead of text: pieces that are special, unknown, bytes or user-defined,
// or have a character that is not a piece, are kept, and the others always spell the same characters.
//
//   {▁lower} → {▁low er}, {▁l o wer}, …
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/options.hpp"
#include "core/random.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"

namespace attend {

struct SamplingConfig {
  double bpe_dropout = 0;
  double subword_alpha = 0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("bpe-dropout", self.bpe_dropout,
          {.help = "BPE-dropout: probability that a merge is left out when training sentences are split into pieces, "
                   "differently in each epoch; for BPE tokenizers (--vocab-type bpe); 0: none",
           .min = 0,
           .max = 1});
    visit("subword-alpha", self.subword_alpha,
          {.help = "subword regularisation: training sentences are split differently in each epoch, with the "
                   "probabilities of the tokenizer to this power, such as 0.2; for unigram tokenizers; 0: none",
           .min = 0,
           .max = 100});
  }

  bool samples() const { return bpe_dropout > 0 || subword_alpha > 0; }
};

// Throws UserError naming the option if it does not sample from tokenizers of this type; nullopt: those of a
// tokenizer.json. `whose`: "the source".
void check_sampling(const SamplingConfig& config, std::optional<TokenizerType> type, const std::string& whose);
void check_sampling(const SamplingConfig& config, const Tokenizer& tokenizer, const std::string& whose);

// Thread-safe.
class PieceSampler {
 public:
  virtual ~PieceSampler() = default;

  // A segmentation of the text with these ids, which must be in the vocabulary.
  std::vector<std::int32_t> sample(std::span<const std::int32_t> ids, RandomStream& random) const;

 protected:
  // `tokenizer` must be a SentencePiece model.
  explicit PieceSampler(const Tokenizer& tokenizer);

  // Appends the pieces of a word, which consists of characters that are pieces.
  virtual void sample_word(std::string_view word, RandomStream& random, std::vector<std::int32_t>& ids) const = 0;

  // The id of a normal piece, or -1.
  std::int32_t find(std::string_view text) const;
  double score(std::int32_t id) const { return scores_[id]; }
  std::size_t longest_piece() const { return longest_piece_; }  // in bytes

 private:
  bool ends_word(std::string_view before, std::string_view character) const;

  Tokenizer tokenizer_;  // owns the text of the pieces
  std::unordered_map<std::string_view, std::int32_t> normal_;
  std::vector<float> scores_;
  std::vector<bool> may_be_split_;
  bool space_is_suffix_ = false;
  bool words_are_apart_ = true;  // no piece spans two words
  std::size_t longest_piece_ = 0;
};

// For every piece of a text, the numbers of the pieces that overlap it in another segmentation of the same text. Both
// may be reversed.
std::vector<std::vector<std::int64_t>> overlaps(const Tokenizer& tokenizer, std::span<const std::int32_t> pieces,
                                                std::span<const std::int32_t> others);

// `config` must sample and pass check_sampling().
std::unique_ptr<const PieceSampler> make_piece_sampler(const SamplingConfig& config, const Tokenizer& tokenizer);

}  // namespace attend
