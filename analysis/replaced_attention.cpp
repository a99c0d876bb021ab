#include "analysis/replaced_attention.hpp"

#include <array>
#include <utility>

#include "analysis/paired_changes.hpp"
#include "core/error.hpp"
#include "core/progress.hpp"
#include "eval/metrics/bleu.hpp"
#include "eval/translate.hpp"
#include "models/attention/replaced_weights.hpp"
#include "models/attention/silenced_heads.hpp"
#include "train/translation/piece_links.hpp"

namespace attend {
namespace {

// A run whose attention is edited.
class EditedRun {
 public:
  EditedRun(const Run& run, const GivenTranslations& given, const ScoreConfig& scoring)
      : run_(run), given_(given), scoring_(scoring) {}

  metrics::Rows losses(const AttentionEdit& edit) const {
    ScoreConfig config = scoring_;
    config.edit = &edit;
    return rows_of(loss_, losses_of(score(run_, given_.sources, given_.targets, config)));
  }

  metrics::Tally bleu(const AttentionEdit* edit) const {
    const TranslatorConfig greedy{.search = {.beam = 1},
                                  .batch_size = scoring_.batch_size,
                                  .workers = scoring_.workers,
                                  .threads = scoring_.threads,
                                  .edit = edit};
    const auto found = Translator(*run_.model, run_.tokenizers, greedy).translate(given_.sources);
    metrics::Tally tally(bleu_);
    for (std::size_t i = 0; i < found.size(); ++i) tally.add(found[i].front().text, {given_.targets[i]});
    return tally;
  }

  // With the given alignment of each pair; each pair is a batch of its own.
  metrics::Rows aligned_losses(std::int64_t& linked_pieces) const {
    ScoreConfig config = scoring_;
    config.workers = 1;
    const auto most_source = static_cast<std::int64_t>(most_source_pieces(*run_.model));
    WorkProgress progress({.unit = "sentences", .total = std::ssize(given_.links)});
    std::vector<SentenceLoss> losses;
    for (std::size_t i = 0; i < given_.links.size(); ++i) {
      const std::string &source = given_.sources[i], &target = given_.targets[i];
      const GivenWeights weights(
          links_of_pieces(given_.links[i], pieces_by_word(run_.tokenizers.src, source, most_source),
                          pieces_by_word(run_.tokenizers.tgt, target, static_cast<std::int64_t>(kMostPieces))));
      linked_pieces += weights.linked();
      config.edit = &weights;
      losses.push_back(losses_of(score(run_, {&source, 1}, {&target, 1}, config)).front());
      progress.add();
    }
    progress.clear();
    return rows_of(loss_, losses);
  }

 private:
  const Run& run_;
  const GivenTranslations& given_;
  const ScoreConfig& scoring_;
  MeanLoss loss_;
  metrics::Bleu bleu_;
};

}  // namespace

Replacement replace_attention(const Run& run, const GivenTranslations& given, const ScoreConfig& scoring) {
  ensure(!given.sources.empty() && (given.links.empty() || given.links.size() == given.sources.size()),
         "sentences, and links of each or none");
  const EditedRun edited(run, given, scoring);
  const GivenWeights own({});  // an edit like the others, so that all run step by step and differ by weights alone
  const UniformWeights uniform;
  const DiagonalWeights diagonal;
  const std::array<std::pair<const char*, const AttentionEdit*>, 2> replaced = {
      {{"uniform", &uniform}, {"diagonal", &diagonal}}};
  const metrics::Rows own_losses = edited.losses(own);
  const metrics::Tally own_bleu = edited.bleu(&own);
  Replacement result{.sentences = static_cast<std::int64_t>(own_losses.size()),
                     .pieces = static_cast<std::int64_t>(own_losses.sum()[1]),
                     .loss = own_losses.value(),
                     .bleu = own_bleu.value(),
                     .bleu_signature = own_bleu.signature()};
  PairedChanges loss_changes(own_losses, given.links.empty() ? 2 : 3);
  PairedChanges bleu_changes(own_bleu, 2);
  const auto add = [&](const std::string& weights, const metrics::Rows& losses) -> ReplacedAttention& {
    loss_changes.add(losses);
    ReplacedAttention& row = result.weights.emplace_back();
    row.weights = weights;
    row.loss = losses.value();
    return row;
  };
  for (const auto& [name, edit] : replaced) {
    ReplacedAttention& row = add(name, edited.losses(*edit));
    const metrics::Tally bleu = edited.bleu(edit);
    bleu_changes.add(bleu);
    row.bleu = bleu.value();
  }
  if (!given.links.empty()) add("given alignment", edited.aligned_losses(result.linked_pieces));
  const std::vector<TestedChange> of_loss = loss_changes.tested(), of_bleu = bleu_changes.tested();
  for (std::size_t w = 0; w < of_loss.size(); ++w) {
    result.weights[w].loss_change = of_loss[w];
    if (w < of_bleu.size()) result.weights[w].bleu_change = of_bleu[w];
  }
  return result;
}

void add_bleu(Silencing& silencing, std::span<const HeadPlace> heads, const Run& run, const GivenTranslations& given,
              const ScoreConfig& scoring) {
  ensure(silencing.heads.size() == heads.size(), "the heads that were silenced");
  const EditedRun edited(run, given, scoring);
  const metrics::Tally whole = edited.bleu(nullptr);
  PairedChanges changes(whole, heads.size());
  WorkProgress progress({.unit = "heads", .total = std::ssize(heads)});
  for (const HeadPlace& head : heads) {
    const SilencedHeads silenced({&head, 1});
    changes.add(edited.bleu(&silenced));
    progress.add();
  }
  progress.clear();
  const std::vector<TestedChange> tested = changes.tested();
  for (std::size_t h = 0; h < tested.size(); ++h) silencing.heads[h].bleu = tested[h];
  silencing.bleu = whole.value();
  silencing.bleu_signature = whole.signature();
}

}  // namespace attend
