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
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/batch/batch.hpp"
#include "data/corpus/document_corpus.hpp"

namespace attend {

struct CausalDataConfig {
  std::int64_t length = 0;                 // tokens of a segment
  std::int64_t max_tokens = 0;             // of a batch
  std::int64_t lanes = 0;                  // of continued segments; 0: independent segments
  std::optional<std::uint64_t> seed = {};  // none: nothing is shuffled
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

  const DocumentCorpus& corpus_;
  std::int32_t end_;
  CausalDataConfig config_;
  std::int64_t rows_;
  std::int64_t epoch_ = -1;
  std::vector<std::uint32_t> documents_;  // in the order of the epoch
  std::vector<std::int64_t> begins_;      // the place of the `</s>` before each, and the length of the stream
  std::vector<std::uint32_t> segments_;   // independent segments, in the order of the epoch
};

}  // namespace attend
