#include "analysis/probed_words.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "core/freed_memory.hpp"
#include "core/signals.hpp"
#include "eval/batches.hpp"
#include "models/ops/padded.hpp"

namespace attend {

using torch::Tensor;

namespace {

constexpr std::int64_t kTokensReadAtOnce = 8192;

class HiddenStateRecorder : public Observer {
 public:
  HiddenStateRecorder(std::int64_t first, std::int64_t count) : first_(first), count_(count) {}

  void on_attention(AttentionPlace /*place*/, std::int64_t /*layer*/, const Tensor& /*weights_BNTS*/) override {}
  bool wants_attention(AttentionPlace /*place*/, std::int64_t /*layer*/) const override { return false; }
  void on_hidden(AttentionPlace /*place*/, std::int64_t layer, const Tensor& x_MH) override {
    if (layer >= first_ && layer - first_ < count_) layers.push_back(x_MH);
  }

  std::vector<Tensor> layers;  // in ascending order

 private:
  std::int64_t first_, count_;
};

}  // namespace

ProbedWords::ProbedWords(const SentenceModel& model, std::vector<TreeSentence> sentences) {
  const std::int64_t longest = model.longest.value_or(std::numeric_limits<std::int64_t>::max());
  for (TreeSentence& sentence : sentences) {
    const std::vector<Piece> pieces = model.tokenizer.encode_pieces(sentence.text);
    PiecesOfWords words = pieces_of_words(sentence, pieces);
    std::vector<std::int32_t> ids;
    if (model.begin >= 0) ids.push_back(model.begin);
    for (auto& word : words) {
      for (std::int64_t& piece : word) piece += std::ssize(ids);
    }
    for (const Piece& piece : pieces) ids.push_back(piece.id);
    if (model.end >= 0) ids.push_back(model.end);
    if (std::ssize(ids) > longest || std::ranges::any_of(words, [](const auto& word) { return word.empty(); })) {
      ++num_left_out_;
      continue;
    }
    offsets_.push_back(num_words() + std::ssize(words));
    sentences_.push_back(std::move(sentence));
    ids_.push_back(std::move(ids));
    pieces_.push_back(std::move(words));
  }
}

std::vector<std::int64_t> ProbedWords::widths(const SentenceModel& model) const {
  ensure(!ids_.empty(), "a sentence is read");
  const torch::NoGradGuard no_grad;
  HiddenStateRecorder recorder(0, std::numeric_limits<std::int64_t>::max());
  Pass pass = Pass::inference(&recorder);
  model.read(on_device(concatenate({std::span(ids_.front())}, -1, -1), model.device()), pass);
  ensure(!recorder.layers.empty(), "every family reports its hidden states");
  std::vector<std::int64_t> widths;
  for (const Tensor& x_MH : recorder.layers) widths.push_back(x_MH.size(1));
  return widths;
}

std::vector<Tensor> ProbedWords::vectors(const SentenceModel& model, std::int64_t first, std::int64_t count) const {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> result;
  std::vector<std::int64_t> lengths;
  for (const auto& ids : ids_) lengths.push_back(std::ssize(ids));
  for (const std::vector<std::size_t>& batch : batches_of_lengths(lengths, std::ssize(ids_), kTokensReadAtOnce)) {
    signals::throw_if_stopped("the probes were interrupted");
    IdSpans read;
    std::vector<std::int64_t> rows, word_of_row, words;  // of pieces, the word of each in the batch; those among all
    std::int64_t before = 0;
    for (const std::size_t s : batch) {
      read.emplace_back(ids_[s]);
      for (std::size_t w = 0; w < pieces_[s].size(); ++w) {
        for (const std::int64_t piece : pieces_[s][w]) {
          rows.push_back(before + piece);
          word_of_row.push_back(std::ssize(words));
        }
        words.push_back(offsets_[s] + static_cast<std::int64_t>(w));
      }
      before += lengths[s];
    }
    HiddenStateRecorder recorder(first, count);
    Pass pass = Pass::inference(&recorder);
    model.read(on_device(concatenate(read, -1, -1), model.device()), pass);
    ensure(std::ssize(recorder.layers) == count, "the layers exist");
    for (std::size_t l = 0; l < recorder.layers.size(); ++l) {
      const Tensor x_MH = recorder.layers[l].to(at::kFloat).cpu();
      const Tensor index = ops::to_tensor(word_of_row, x_MH);
      const Tensor sum_WH = at::zeros({std::ssize(words), x_MH.size(1)}, x_MH.options())
                                .index_add(0, index, x_MH.index_select(0, ops::to_tensor(rows, x_MH)));
      const Tensor pieces_W = at::bincount(index, /*weights=*/{}, std::ssize(words)).to(at::kFloat);
      if (result.size() == l) result.push_back(at::empty({num_words(), x_MH.size(1)}, x_MH.options()));
      result[l].index_copy_(0, ops::to_tensor(words, x_MH), sum_WH / pieces_W.unsqueeze(1));
    }
    return_freed_memory();
  }
  return result;
}

}  // namespace attend
