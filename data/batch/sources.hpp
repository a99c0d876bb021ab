// The sources of training batches: pairs of a parallel corpus, segments of a language model, and instances of
// pretraining.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "data/corpus/batch_order.hpp"
#include "data/corpus/document_corpus.hpp"
#include "data/corpus/masking.hpp"
#include "data/corpus/parallel_corpus.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// Batches of a parallel corpus.

// Makes a batch of these examples on the CPU, with the pieces of the corpus or those that `sampled` draws in `epoch`.
Batch make_batch(const EncodedCorpus& corpus, std::span<const std::uint32_t> examples, const BatchIds& ids,
                 const SampledPairs* sampled = nullptr, std::int64_t epoch = 0);

// The batches of a parallel corpus in order, for a BatchStream; its arguments must outlive it.
class ParallelBatches {
 public:
  // `sampled` may be null: the pieces of the corpus.
  ParallelBatches(const EncodedCorpus& corpus, const BatchOrder& order, const BatchIds& ids,
                  const SampledPairs* sampled = nullptr)
      : corpus_(&corpus), order_(&order), ids_(ids), sampled_(sampled) {}

  std::int64_t begin_epoch(std::int64_t epoch) {
    number_ = epoch;
    epoch_.emplace(order_->epoch(epoch, sampled_ != nullptr ? sampled_->lengths(epoch) : std::vector<PairLength>()));
    return epoch_->size();
  }
  std::int64_t num_batches() const { return epoch_->size(); }
  Batch batch(std::int64_t number) const {
    return make_batch(*corpus_, epoch_->batch(number), ids_, sampled_, number_);
  }
  // The batch of the epoch with the most padded tokens.
  Batch largest() const { return batch(order_->largest(*epoch_)); }

 private:
  const EncodedCorpus* corpus_;
  const BatchOrder* order_;
  BatchIds ids_;
  const SampledPairs* sampled_;
  std::int64_t number_ = 0;
  std::optional<BatchOrder::Epoch> epoch_;
};

// The stream of batches of a language model: a pure function of (seed, epoch, batch number).
//
// All documents, in an order shuffled by (seed, epoch), or in their own, are one stream of tokens:
//
//   </s> document </s> document … </s> document
//
// It is cut into consecutive segments of `length` tokens. The label of a token is the next token of the stream, that of
// the last one `</s>`. A batch has R = max_tokens / length segments, in one of two ways:
//
// Independent segments (lanes 0), for models that carry no state: the segments, too, are shuffled by (seed, epoch). The
// last segment of the stream may be shorter, and the last batch may have fewer segments.
//
// Continued segments (lanes 1, 2, …), for models that carry their state from one to the next: each of the lanes * R
// rows reads its own share of the stream from beginning to end. Batch n belongs to lane n % lanes; its rows continue
// those of batch n - lanes. If an update has `lanes` batches, they read different shares. The tokens after the last
// share, fewer than those of `lanes` batches, are left out, also in validation.
//
//   two lanes, R = 2, 13 segments:   batch      0      1      2      3      4      5
//                                    segments   0 3    6 9    1 4    7 10   2 5    8 11     12 is left out
//
// A hybrid model (arXiv 2410.24159, section 2.2) reads the fraction `causal_share` of independent segments in this way.
// In the others, it predicts masked tokens of the first length - 2, between [CLS] and [SEP]; [SEP] takes the place of
// `</s>`. Each batch has its share, rounded so that the error does not grow: with R = 8 and 1/16, every
// second batch has one segment of the first kind. Masks are a function of (seed, epoch, segment).

struct HybridConfig {
  double causal_share = 0;
  MaskingConfig masking = {};
  MaskVocabulary vocabulary;
};

struct CausalDataConfig {
  std::int64_t length = 0;                 // tokens of a segment
  std::int64_t max_tokens = 0;             // of a batch
  std::int64_t lanes = 0;                  // of continued segments; 0: independent segments
  std::optional<std::uint64_t> seed = {};  // none: nothing is shuffled
  std::optional<HybridConfig> hybrid = {};
};

class CausalData {
 public:
  // `corpus` must outlive the object; `end` is the id of `</s>`. Throws UserError if a segment exceeds a batch, or the
  // text is too short for a batch of each lane.
  CausalData(const DocumentCorpus& corpus, std::int32_t end, const CausalDataConfig& config);

  // Makes the stream of an epoch, which batch() uses, and returns the number of its batches, the same in every epoch.
  std::int64_t begin_epoch(std::int64_t epoch);
  std::int64_t num_batches() const;
  LanguageBatch batch(std::int64_t number) const;

 private:
  std::int64_t stream_length() const { return begins_.back(); }
  std::int64_t segments_of_stream() const { return (stream_length() + config_.length - 1) / config_.length; }
  std::int64_t segments_of_share() const { return stream_length() / (config_.length * rows_ * config_.lanes); }

  // The place in the stream of each segment of a batch.
  std::vector<std::int64_t> places(std::int64_t number) const;
  // The index in documents_ of the document at a place; the number of documents at the end of the stream.
  std::int64_t document_at(std::int64_t place) const;
  // The index in the corpus of a document's first token.
  std::int64_t first_token(std::int64_t document) const;
  // Appends `count` tokens from a place on. An `</s>` follows the last document.
  void append(std::int64_t place, std::int64_t count, std::vector<std::int32_t>& ids) const;
  // The number of segments of a batch, from the first, that are read from left to right.
  std::int64_t num_causal(std::int64_t number) const;
  PretrainingBatch masked(std::span<const std::int64_t> places) const;

  const DocumentCorpus& corpus_;
  std::int32_t end_;
  CausalDataConfig config_;
  std::int64_t rows_;
  std::int64_t epoch_ = -1;
  std::vector<std::uint32_t> documents_;  // in the order of the epoch
  std::vector<std::int64_t> begins_;      // the place of the `</s>` before each, and the length of the stream
  std::vector<std::uint32_t> segments_;   // independent segments, in the order of the epoch
};

// The stream of pretraining batches: a pure function of (seed, epoch, batch number).
//
// The instances of an epoch are shuffled, then cut into batches of at most `max_tokens` tokens; they are not grouped by
// length, since nothing is padded.
class PretrainingData {
 public:
  // `corpus` must outlive the object. Throws UserError as make_instances does, and if a sequence may exceed a batch.
  // `objective`: masked or permuted.
  PretrainingData(const DocumentCorpus& corpus, const Tokenizer& tokenizer, const InstanceConfig& instances,
                  const MaskingConfig& masking, std::int64_t max_tokens, std::uint64_t seed,
                  PretrainingKind objective = PretrainingKind::masked);

  // Makes the instances of an epoch, which batch() uses, and returns the number of its batches.
  std::int64_t begin_epoch(std::int64_t epoch);
  std::int64_t num_batches() const { return std::ssize(begins_) - 1; }
  PretrainingBatch batch(std::int64_t number) const;

 private:
  std::int64_t tokens_of(const Instance& instance) const;
  // The tokens of a sequence to predict: masks them in `ids`, or appends the ranks of all tokens.
  std::vector<MaskedToken> predicted(std::span<std::int32_t> ids, RandomStream random,
                                     std::vector<std::int64_t>& ranks) const;

  const DocumentCorpus& corpus_;
  MaskVocabulary vocabulary_;
  InstanceConfig instance_config_;
  MaskingConfig masking_;
  std::int64_t max_tokens_;
  std::uint64_t seed_;
  PretrainingKind objective_;
  std::int64_t epoch_ = -1;
  std::vector<Instance> instances_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> begins_;  // batch b is order_[begins_[b]] … order_[begins_[b + 1] - 1]
};

}  // namespace attend
