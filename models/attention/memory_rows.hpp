// What the rows of a decoding step attend to: the memory, and the keys and values of earlier steps.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/ops/attention.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

using ops::Keys;

// The memory as seen by the rows of a decoding step: row r attends to sentence sentences[r]. Several rows may share a
// sentence (a beam). Keys and values are padded to the longest sentence of the batch, on demand: the fused ops use the
// ragged memory.
class MemoryRows {
 public:
  MemoryRows() = default;
  // `keys` must outlive the rows.
  MemoryRows(const Keys& keys, std::vector<std::int64_t> sentences);

  const Keys& keys() const { return *keys_; }
  const std::vector<std::int64_t>& sentences() const { return sentences_; }

  const torch::Tensor& keys_RSA() const { return rows().keys; }       // fp32
  const torch::Tensor& values_RSW() const { return rows().values; }   // fp32
  const torch::Tensor& padding_RS() const { return rows().padding; }  // true after the end of a sentence

  // Selects the given rows, in the given order.
  MemoryRows select(std::span<const std::int64_t> rows) const;
  // Keeps the first `count` rows.
  void keep_first(std::int64_t count);

 private:
  struct Padded {
    torch::Tensor keys, values, padding;
    template <class F>
    Padded map(const F& f) const {
      return {f(keys), f(values), f(padding)};
    }
  };

  const Padded& rows() const;

  const Keys* keys_ = nullptr;
  std::vector<std::int64_t> sentences_;
  std::shared_ptr<Padded> all_;  // of every sentence, shared by all rows of a batch
  mutable Padded rows_;
};

// The keys and values of a decoder's previous steps, in every layer, for all hypotheses. It is a plain value, not state
// of a module. Splitting and dropping hypotheses copies nothing (ops::Ancestry) until half of a step's rows are unused.
struct KeyValueCache {
  std::vector<std::vector<torch::Tensor>> kv;  // [layer][step]: stored (heads.hpp), [R_t, C]
  ops::Ancestry ancestry;                      // [step][row]

  explicit KeyValueCache(std::int64_t layers = 0) : kv(layers) {}

  std::int64_t steps() const { return std::ssize(ancestry); }
  // Begins a step of `rows` hypotheses, as many as in the last step; each layer then adds its keys and values.
  void begin_step(std::int64_t rows);
  // Keeps the given rows, in the given order; a row may occur several times or not at all.
  void select(std::span<const std::int64_t> rows);

 private:
  void drop_unread(std::size_t step);
};

}  // namespace attend
