// A model that says something of texts: an encoder, what it pools, and one linear map to the answers of a task.
//
//   classification, multi-label, regression   a logit or number for every sequence and label, out of the pooled vector
//   spans      two logits for every token: the answer begins here, the answer ends here (arXiv 1810.04805, section 4.2)
//   tags       a logit for every tag, of the tokens that are to be tagged (section 5.3)
//
// Legend: B sequences, M tokens (ragged), K tagged tokens, H width, L labels.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/batch/labelled_batch.hpp"
#include "data/task/labelled_task.hpp"
#include "models/bert/bert.hpp"
#include "models/bert/bert_config.hpp"
#include "models/layers/pooling.hpp"
#include "models/layers/recurrent.hpp"

namespace attend {

enum class TextEncoderKind { bert, lstm };
template <>
struct EnumNames<TextEncoderKind> {
  static constexpr std::array names{std::pair{TextEncoderKind::bert, std::string_view("bert")},
                                    std::pair{TextEncoderKind::lstm, std::string_view("lstm")}};
};

struct TextModelOptions {
  TextEncoderKind model = TextEncoderKind::bert;
  std::optional<Pooling> pooling = {};
  std::optional<double> head_dropout = {};
  BertOptions encoder = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("model", self.model,
          {.help = "the encoder: BERT, or an LSTM that reads both ways, of which shape is the width alone"});
    visit("pooling", self.pooling,
          {.help = "what a label is told from: [CLS] (BERT), where the LSTM stopped, the mean, attention with a "
                   "learnt query, or an alignment of two texts; auto: last of an LSTM, cls of an imported BERT, else "
                   "alignment of two texts, and of one cls, or the mean where nothing has taught [CLS]"});
    visit("head-dropout", self.head_dropout,
          {.help = "dropout before the labels; auto: dropout", .min = 0, .max = 0.95});
    BertOptions::visit(self.encoder, visit);
  }

  // What a run pools by whose own pooling is auto, such as one that was imported.
  Pooling pooling_of_run() const {
    return pooling.value_or(model == TextEncoderKind::lstm ? Pooling::last : Pooling::cls);
  }
};

// The options that such a model does not read.
std::vector<std::string_view> foreign_options(const TextModelOptions& options, TaskKind task);

// Embeddings and LSTM layers, each reading both ways with half of the width.
struct LstmTextConfig {
  std::int64_t vocabulary = 0;
  std::int64_t width = 256;
  std::int64_t layers = 1;
  double dropout = 0.1;
};
class LstmTextEncoderImpl : public torch::nn::Module {
 public:
  explicit LstmTextEncoderImpl(const LstmTextConfig& config);
  Encoded forward(const SegmentedSequences& input, Pass& pass) const;

 private:
  LstmTextConfig config_;
  Embedding embedding_;
  Recurrence layers_;
};
TORCH_MODULE(LstmTextEncoder);

class TextModelImpl : public torch::nn::Module {
 public:
  // `outputs`: labels or tags; 1 for a regression, 2 for spans. UserError where the options do not go together.
  TextModelImpl(const TextModelOptions& options, TaskKind task, std::int64_t outputs, bool pairs,
                std::int64_t vocabulary);

  // fp32: [B, L], or [B] of a regression; spans [M, 2]; tags [K, L].
  torch::Tensor answers(const LabelledBatch& batch, Pass& pass) const;

  // The loss of these answers, a scalar summed over sequences, or tagged tokens: cross-entropy, weighted by label where
  // `label_weights_L` is defined; of multi-label the mean binary cross-entropy of the labels; of a regression the
  // squared error; of spans the mean of begin and end.
  torch::Tensor loss(const torch::Tensor& answers, const LabelledBatch& batch,
                     const torch::Tensor& label_weights_L) const;

  // The encoder; nothing where it is an LSTM.
  const Bert& bert() const { return bert_; }

  // What the loss is a sum of.
  std::int64_t count(const LabelledBatch& batch) const;

 private:
  // The rows whose hidden states are read; nothing: all of them.
  std::optional<Selection> read_of(const LabelledBatch& batch) const;

  TaskKind task_;
  double dropout_;
  Bert bert_ = nullptr;  // one of the two
  LstmTextEncoder lstm_ = nullptr;
  std::shared_ptr<PoolingImpl> pooler_;  // nothing for spans and tags
  Linear classifier_ = nullptr;
};
TORCH_MODULE(TextModel);

}  // namespace attend
