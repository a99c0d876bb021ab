// The stream of training batches: epoch after epoch without end, made ahead of their use on a background thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "data/batch/prefetcher.hpp"
#include "data/corpus/data_position.hpp"

namespace attend {

template <class Batch>
struct StreamedBatch {
  Batch batch;
  DataPosition position;
  DataPosition after;  // of the batch that comes next: what a checkpoint keeps once this one is consumed
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
  BatchStream(Source source, DataPosition start)
      : batches_(
            [source = std::move(source), position = start, epoch = std::int64_t{-1}, size = std::int64_t{0}]() mutable {
              const auto begin = [&](std::int64_t wanted) {
                if (epoch != wanted) size = source.begin_epoch(wanted), epoch = wanted;
              };
              begin(position.epoch);
              const DataPosition here = position.within(size);
              begin(here.epoch);
              position = {here.epoch, here.batch + 1,
                          here.phase};  // perhaps behind the epoch: the next is made when needed
              return StreamedBatch<Batch>{
                  .batch = source.batch(here.batch), .position = here, .after = position.within(size)};
            }) {}

  // Waits for the next batch. Throws what the background thread threw.
  StreamedBatch<Batch> next() { return batches_.next(); }

 private:
  Prefetcher<StreamedBatch<Batch>> batches_;
};

}  // namespace attend
