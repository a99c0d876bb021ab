#include "data/batch/loader.hpp"

#include <utility>

namespace attend {
namespace {

constexpr std::size_t kAhead = 8;  // batches that wait to be used

}  // namespace

Batch make_batch(const EncodedCorpus& corpus, std::span<const std::uint32_t> examples, const BatchIds& ids) {
  // All ids in two vectors first; sentences are spans of them.
  std::vector<std::int32_t> src;
  std::vector<std::int32_t> tgt;
  for (const auto example : examples) {
    corpus.append_src(example, src);
    corpus.append_tgt(example, tgt);
  }
  std::vector<std::span<const std::int32_t>> src_sentences;
  std::vector<std::span<const std::int32_t>> tgt_sentences;
  std::span<const std::int32_t> src_rest = src;
  std::span<const std::int32_t> tgt_rest = tgt;
  for (const auto example : examples) {
    const PairLength length = corpus.length(example);
    src_sentences.push_back(src_rest.first(length.src));
    tgt_sentences.push_back(tgt_rest.first(length.tgt));
    src_rest = src_rest.subspan(length.src);
    tgt_rest = tgt_rest.subspan(length.tgt);
  }
  return {.src = concatenate(src_sentences, -1, ids.src_eos),
          .tgt = concatenate(tgt_sentences, ids.tgt_bos, -1),
          .labels_M = concatenate(tgt_sentences, -1, ids.tgt_eos).ids_M,
          .examples = {examples.begin(), examples.end()}};
}

Loader::Loader(const EncodedCorpus& corpus, const BatchOrder& order, const BatchIds& ids, DataPosition start)
    : corpus_(corpus), order_(order), ids_(ids), thread_([this, start] { run(start); }) {}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

LoadedBatch Loader::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !ready_.empty() || failure_; });
  if (ready_.empty()) std::rethrow_exception(failure_);
  LoadedBatch batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

void Loader::run(DataPosition position) {
  try {
    while (true) {
      const auto epoch = order_.epoch(position.epoch);
      const DataPosition next_epoch{position.epoch + 1, 0};
      while (position.batch < epoch.size()) {
        LoadedBatch loaded{.batch = make_batch(corpus_, epoch.batch(position.batch), ids_),
                           .position = position,
                           .after = {position.epoch, position.batch + 1}};
        if (loaded.after.batch == epoch.size()) loaded.after = next_epoch;
        if (!put(std::move(loaded))) return;
        ++position.batch;
      }
      position = next_epoch;
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

// False when the loader is being destroyed.
bool Loader::put(LoadedBatch batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ready_.size() < kAhead || stopping_; });
  if (stopping_) return false;
  ready_.push_back(std::move(batch));
  lock.unlock();
  changed_.notify_all();
  return true;
}

}  // namespace attend
