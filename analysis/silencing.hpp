// What a model loses without a head (Michel, Levy and Neubig 2019, arXiv 1905.10650, section 3.2): the loss of a text
// with each head silenced in turn (models/attention/silenced_head.hpp).
//
// Legend: docs/architecture.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/paired_changes.hpp"
#include "analysis/report/head_report.hpp"
#include "data/corpus/masking.hpp"
#include "eval/score.hpp"
#include "models/layers/pass.hpp"
#include "models/run/bert_run.hpp"

namespace attend {

// The losses of all sentences, if the model's attention is edited.
using LossesOfSentences = std::function<std::vector<SentenceLoss>(const AttentionEdit& edit)>;

// One of the heads of a model.
struct HeadPlace {
  AttentionPlace place = AttentionPlace::encoder;
  std::int64_t layer = 0;
  std::int64_t head = 0;
};

// The change of the mean loss of a piece without each of the heads: with 95 % bootstrap intervals and p-values of the
// paired bootstrap over sentences, corrected for all heads. `of` names the pieces; UserError if there are none.
Silencing silence_heads(const std::string& of, std::span<const HeadPlace> heads, const LossesOfSentences& losses);

// Texts as a BERT reads them in pretraining, each alone as [CLS] text [SEP], cut to its maximum length: some pieces are
// masked as the run's options say, the same ones in every call of losses(); with --objective permuted, a query asks for
// each, which sees no masked one.
class MaskedTexts {
 public:
  // The run must fill masks, and outlive this.
  MaskedTexts(const BertRun& run, std::span<const std::string> texts, MaskingConfig masking);

  // -log p of the masked pieces of each text. Interrupted after SIGINT or SIGTERM.
  std::vector<SentenceLoss> losses(const ScoreConfig& config) const;

 private:
  struct Text {
    std::vector<std::int32_t> ids;  // of which some are masked
    std::vector<MaskedToken> masked;
  };

  const BertRun& run_;
  std::vector<Text> texts_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace attend
