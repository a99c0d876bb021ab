// The losses of translation.
#pragma once

#include <torch/types.h>

#include <optional>
#include <span>
#include <vector>

#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "models/attention/edits.hpp"
#include "models/layers/pass.hpp"
#include "models/layers/weights_io.hpp"
#include "models/translation/seq2seq.hpp"
#include "train/task.hpp"
#include "train/translation/guided_attention.hpp"

namespace attend {

// The gradient of hard attention's samples (Williams 1992, REINFORCE; Xu et al. 2015, arXiv 1502.03044, eq. 11 and 12).
// For target positions t with sampled source positions s_t,
//   loss = -λ_r Σ_t (R_t - b n_t) log a_t(s_t) - λ_e Σ_t H[a_t]
// where R_t = Σ_{u≥t} log p(y_u | …) is the log-probability of the n_t words from t on (only these depend on s_t), and
// H the entropy. The baseline b lowers the variance: the moving average of the log-probability of a word over past
// updates, or before the first one its mean in the batch. R_t and b are constants to the gradient.
class Reinforce {
 public:
  Reinforce(double weight, double entropy_weight);

  // The loss, summed over a batch of sentences with this layout. nll_M [M]: the negative log-likelihood of each word.
  torch::Tensor loss(const SampledChoices& sampled, const torch::Tensor& nll_M, const Layout& layout) const;

  // Called after each update with the mean log-probability of its words.
  void move_baseline(double log_probability);

  // The baseline, stored in checkpoints.
  NamedTensors state() const { return {{"reinforce.baseline", baseline_}}; }

 private:
  double weight_, entropy_weight_;
  torch::Tensor baseline_;  // Σ_k 0.1 · 0.9^k mean_k and Σ_k 0.1 · 0.9^k over updates k, latest first; b is their ratio
};

// Label-smoothed cross-entropy of the target under teacher forcing (Szegedy et al. 2016, arXiv 1512.00567), optionally
// with scheduled sampling, guided attention, and REINFORCE for the samples of hard attention.
//
// With R-Drop (Liang et al. 2021, arXiv 2106.14448, eq. 2 to 4), a pass reads every sentence pair twice, with different
// dropout, and predicts each target token y by two distributions p and q:
//
//   loss = -log p(y) - log q(y) + α ½ (KL(p‖q) + KL(q‖p))
//
// Its sum is divided by the number of target tokens, each counted once, as in the authors' code (dropreg/R-Drop,
// reg_label_smooth_cross_entropy.py), so the cross-entropy is twice the usual one. The log reports the mean of both
// cross-entropies, and the divergence (without α) as r_drop.
//
// A model with gates on its heads (models/attention/edits.hpp) has the penalty λ Σ P(g ≠ 0) over all heads,
// added to the mean loss of a target token (Voita et al. 2019, arXiv 1905.09418, section 6.1), once per update whatever
// its batches and processes. The log has the sum (without λ), the expected number of open gates, as open_gates.

struct ObjectiveConfig {
  double label_smoothing = 0.1;
  double r_drop = 0;
  double scheduled_sampling = 0;
  double reinforce_weight = 0.01;
  double entropy_weight = 0.01;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("label-smoothing", self.label_smoothing,
          {.help = "label smoothing: probability mass spread uniformly over the vocabulary",
           .min = 0,
           .max = 0.9,
           .common = true});
    visit("r-drop", self.r_drop,
          {.help = "R-Drop: weight of the divergence between two predictions of each word with different dropout, such "
                   "as 5; takes twice the time and memory; 0: one prediction",
           .min = 0,
           .max = 1000});
    visit("scheduled-sampling", self.scheduled_sampling,
          {.help = "scheduled sampling: fraction of decoder inputs, at the end of training, that are the model's own "
                   "predictions instead of target words",
           .min = 0,
           .max = 1,
           .only = {"model", {"luong", "bahdanau", "fixed"}}});
    visit("reinforce-weight", self.reinforce_weight,
          {.help = "weight of the REINFORCE gradient; at 1 its noise exceeds the gradient of the words",
           .min = 0,
           .max = 1e6,
           .only = {"attention", {"hard"}}});
    visit("entropy-weight", self.entropy_weight,
          {.help = "weight of the entropy bonus, which prevents early convergence to one position",
           .min = 0,
           .max = 1e6,
           .only = {"attention", {"hard"}}});
  }
};

// The fraction of own predictions after the fraction u of the training is done: that of the options, at the end, times
// 1 / (1 + exp(12 (1/2 - u))) (Bengio et al. 2015, arXiv 1506.03099, section 2.4, mirrored: the paper gives the
// fraction of reference tokens).
double own_word_share(const ObjectiveConfig& config, double u);

class TranslationObjective : public Objective<Batch> {
 public:
  // `samples`: true for hard attention. `alignment` and `relations` must be resolved; batches then have the cells of
  // those that guide. `gate_penalty`: λ, if the model has gates.
  TranslationObjective(Seq2Seq model, const ObjectiveConfig& config, bool samples,
                       const GuidedAlignmentConfig& alignment = {}, const GuidedRelationsConfig& relations = {},
                       double gate_penalty = 0);

  std::vector<LossTerm> terms(const Batch& batch) const override;
  std::vector<LossSum> losses(const Batch& batch, Pass& pass) const override;
  void show(const Batch& batch, Watch& watch) const override;
  NamedTensors state() const override { return reinforce_ ? reinforce_->state() : NamedTensors{}; }
  void update_made(std::span<const double> means) override;

 private:
  Seq2Seq model_;
  ObjectiveConfig config_;
  std::optional<Reinforce> reinforce_;
  std::vector<GuidedHead> guided_;
  std::vector<LayerGates> gates_;
  double gate_penalty_;
};

}  // namespace attend
