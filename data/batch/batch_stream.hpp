// The stream of training batches: epoch after epoch without end, made ahead of their use on a background thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "data/batch/prefetcher.hpp"
#include "data/corpus/data_position.hpp"

namespace attend {

// Of `count` processes that share a stream, which one: of every `count` batches it takes number `index`.
struct Shard {
  std::int64_t index = 0, count = 1;
};

template <class Batch>
struct StreamedBatch {
  Batch batch;
  DataPosition position;
  DataPosition after;  // of the next `count` batches: what a checkpoint keeps once these are consumed
};

// Where the batches of an epoch come from: pure functions of the epoch and the number of the batch.
template <class Source, class Batch>
concept BatchSource = requires(Source& source, std::int64_t n) {
  { source.begin_epoch(n) } -> std::convertible_to<std::int64_t>;  // how many batches it has
  { source.batch(n) } -> std::convertible_to<Batch>;               // of that epoch
};

template <class Batch>
class BatchStream {
 public:
  // Starts at `start`; a position behind the last batch of its epoch is the first of the next.
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
                        here.phase};  // perhaps behind the epoch: the next is made when needed
          }
          own.after = position.within(size);
          return own;
        }) {}

  // Waits for the next batch. Throws what the background thread threw.
  StreamedBatch<Batch> next() { return batches_.next(); }

 private:
  Prefetcher<StreamedBatch<Batch>> batches_;
};

}  // namespace attend
