// What a model loses without heads (Michel, Levy and Neubig 2019, arXiv 1905.10650): the loss of a text with each head
// silenced in turn (section 3.2; models/attention/edits.hpp), and with more and more heads silenced, the least
// important first (section 4).
//
// Legend: docs/architecture.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/pair_tests.hpp"
#include "analysis/report/head_report.hpp"
#include "data/corpus/masking.hpp"
#include "eval/score.hpp"
#include "models/attention/kinds.hpp"
#include "models/layers/pass.hpp"
#include "models/run/run.hpp"

namespace attend {

// The losses of all sentences with the model's attention edited.
using LossesOfSentences = std::function<std::vector<SentenceLoss>(const AttentionEdit& edit)>;

// How strongly the losses L of sentences depend on the gate ξ of a head: Σ |∂L / ∂ξ| over the sentences, at ξ = 1.
struct HeadGradient {
  HeadPlace head;
  double sum = 0;
};

// Those of all heads of a model that is not frozen, by place, layer and number (Michel et al., eq. 2 and 3, as sums,
// not means). `score` must score the sentences with the given config, which differentiates their losses.
std::vector<HeadGradient> head_gradients(const std::function<void(const ScoreConfig&)>& score, ScoreConfig config);

// The change of the mean loss of a piece without each of the heads, with 95 % bootstrap intervals and p-values of the
// paired bootstrap over sentences, corrected for all heads; and without the first of pruning_order(), in steps of about
// a tenth of all heads. A head's importance is its gradient divided by the pieces. `of` names the pieces; UserError if
// there are none.
Silencing silence_heads(const std::string& of, std::span<const HeadGradient> heads, const LossesOfSentences& losses);

// All heads but the most important one of each layer, the least important first.
std::vector<HeadPlace> pruning_order(std::span<const HeadSilence> heads);
// The first of them at the given places, as many as make up `share` of all heads, or all of them.
std::vector<HeadPlace> heads_to_prune(const Silencing& silencing, double share, std::span<const AttentionPlace> places);

// Texts as a BERT reads them in pretraining, each alone as [CLS] text [SEP], cut to its maximum length. The run's
// options determine which pieces are masked, the same in every call of losses(). With --objective permuted, a query
// predicts each masked piece and sees none of them.
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
