// The stream of training batches: an endless sequence of epochs, prepared ahead on a background thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "data/batch/prefetcher.hpp"
#include "data/corpus/data_position.hpp"

namespace attend {

// The share of one of `count` processes that split a stream: batch `index` of every `count`.
struct Shard {
  std::int64_t index = 0, count = 1;
};

template <class Batch>
struct StreamedBatch {
  Batch batch;
  DataPosition position;
  DataPosition after;  // past the `count` batches of all processes; checkpoints store it once these are consumed
};

// The source of an epoch's batches: a pure function of the epoch and the number of the batch.
template <class Source, class Batch>
concept BatchSource = requires(Source& source, std::int64_t n) {
  { source.begin_epoch(n) } -> std::convertible_to<std::int64_t>;  // returns the number of batches
  { source.batch(n) } -> std::convertible_to<Batch>;               // a batch of that epoch
};

template <class Batch>
class BatchStream {
 public:
  // Starts at `start`; a position past the last batch of an epoch is the first of the next epoch.
  template <BatchSource<Batch> Source>
  BatchStream(Source source, DataPosition start, Shard shard = {})
      : batches_([source = std::move(source), position = start, shard, epoch = std::int64_t{-1},
                  size = std::int64_t{0}]() mutable {
          const auto begin = [&](std::int64_t wanted) {
            if (epoch != wanted) size = source.begin_epoch(wanted), epoch = wanted;
          };
          StreamedBatch<Batch> own;
          for (std::int64_t i = 0; i < shard.count; ++i) {
            begin(position.epoch);
            const DataPosition here = position.within(size);
            begin(here.epoch);
            if (i == shard.index) own.batch = source.batch(here.batch), own.position = here;
            position = {here.epoch, here.batch + 1,
                        here.phase};  // may be past the end: the next epoch is made when needed
          }
          own.after = position.within(size);
          return own;
        }) {}

  // Waits for the next batch. Rethrows exceptions of the background thread.
  StreamedBatch<Batch> next() { return batches_.next(); }

 private:
  Prefetcher<StreamedBatch<Batch>> batches_;
};

}  // namespace attend
