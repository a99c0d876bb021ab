#include "analysis/faithfulness.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "analysis/explanations.hpp"
#include "analysis/pair_tests.hpp"
#include "analysis/token_importance.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "data/task/samples.hpp"
#include "data/text/parallel.hpp"
#include "eval/metrics/ngram_metrics.hpp"
#include "eval/translate.hpp"
#include "models/attention/edits.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "train/translation/guided_attention.hpp"

namespace attend {
namespace {

// A run whose attention is edited.
class EditedRun {
 public:
  EditedRun(const TranslationRun& run, const GivenTranslations& given, const ScoreConfig& scoring)
      : run_(run), given_(given), scoring_(scoring) {}

  metrics::Rows losses(const AttentionEdit& edit) const {
    ScoreConfig config = scoring_;
    config.edit = &edit;
    return rows_of(losses_of(score(run_, given_.sources, given_.targets, config)));
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
    const std::int64_t most_source = most_source_pieces(*run_.model);
    WorkProgress progress({.unit = "sentences", .total = std::ssize(given_.links)});
    std::vector<SentenceLoss> losses;
    for (std::size_t i = 0; i < given_.links.size(); ++i) {
      const std::string& source = given_.sources[i];
      const std::string& target = given_.targets[i];
      const GivenWeights weights(links_of_pieces(given_.links[i],
                                                 pieces_by_word(run_.tokenizers.src, source, most_source),
                                                 pieces_by_word(run_.tokenizers.tgt, target, kMostPieces)));
      linked_pieces += weights.linked();
      config.edit = &weights;
      losses.push_back(losses_of(score(run_, {&source, 1}, {&target, 1}, config)).front());
      progress.add();
    }
    return rows_of(losses);
  }

 private:
  const TranslationRun& run_;
  const GivenTranslations& given_;
  const ScoreConfig& scoring_;
  metrics::Bleu bleu_;
};

}  // namespace

Replacement replace_attention(const TranslationRun& run, const GivenTranslations& given, const ScoreConfig& scoring) {
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

void add_bleu(Silencing& silencing, std::span<const HeadGradient> heads, const TranslationRun& run,
              const GivenTranslations& given, const ScoreConfig& scoring) {
  ensure(silencing.heads.size() == heads.size(), "the heads that were silenced");
  const EditedRun edited(run, given, scoring);
  const metrics::Tally whole = edited.bleu(nullptr);
  PairedChanges changes(whole, heads.size());
  WorkProgress progress({.unit = "heads", .total = std::ssize(heads)});
  for (const auto& [head, gradient] : heads) {
    const SilencedHeads silenced({&head, 1});
    changes.add(edited.bleu(&silenced));
    progress.add();
  }
  const std::vector<TestedChange> tested = changes.tested();
  for (std::size_t h = 0; h < tested.size(); ++h) silencing.heads[h].bleu = tested[h];
  silencing.bleu = whole.value();
  silencing.bleu_signature = whole.signature();
}

namespace {

using torch::Tensor;

constexpr double kSignificantTau = 0.05;
constexpr std::int64_t kAdversarialTexts = 100;
constexpr std::size_t kMostPiecesOfPair = 100;  // on each side

class AgreementTally {
 public:
  void add(std::span<const double> a, std::span<const double> b) {
    const RankAgreement found = kendall_tau_b(a, b);
    if (std::isnan(found.tau)) {
      ++undefined_;
      return;
    }
    taus_.push_back(found.tau);
    significant_ += found.p < kSignificantTau ? 1 : 0;
  }
  Agreement agreement() const {
    return {.tau = spread_of(taus_),
            .significant = static_cast<double>(significant_) / static_cast<double>(taus_.size()),
            .measured = std::ssize(taus_),
            .undefined = undefined_};
  }

 private:
  std::vector<double> taus_;
  std::int64_t significant_ = 0, undefined_ = 0;
};

// The agreement of each explanation with both measures of importance, and of these with each other.
class ExplanationTallies {
 public:
  explicit ExplanationTallies(std::vector<std::string> names)
      : names_(std::move(names)), gradient_(names_.size()), leave_one_out_(names_.size()) {}

  void add(const TokenImportance& item) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      gradient_[i].add(item.explanations[i], item.gradient);
      leave_one_out_[i].add(item.explanations[i], item.leave_one_out);
    }
    measures_.add(item.gradient, item.leave_one_out);
    ++items_;
  }

  void write(Faithfulness& result) const {
    result.items = items_;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      result.explanations.push_back(
          {.name = names_[i], .gradient = gradient_[i].agreement(), .leave_one_out = leave_one_out_[i].agreement()});
    }
    result.explanations.push_back({.name = "gradient × input", .leave_one_out = measures_.agreement()});
  }

 private:
  std::vector<std::string> names_;
  std::vector<AgreementTally> gradient_, leave_one_out_;  // parallel to the names
  AgreementTally measures_;
  std::int64_t items_ = 0;
};

WeightPerturbation summary_of(const std::vector<PerturbedText>& texts) {
  const auto spread = [&](auto number) {
    std::vector<double> values;
    for (const PerturbedText& text : texts) {
      if (const std::optional<double> value = text.*number) values.push_back(*value);
    }
    return spread_of(values);
  };
  WeightPerturbation result{.texts = std::ssize(texts),
                            .largest = spread(&PerturbedText::largest),
                            .uniform = spread(&PerturbedText::uniform),
                            .permuted = spread(&PerturbedText::permuted),
                            .adversarial_texts = std::ranges::count_if(
                                texts, [](const PerturbedText& text) { return text.divergence.has_value(); }),
                            .divergence = spread(&PerturbedText::divergence),
                            .change = spread(&PerturbedText::change)};
  for (const double from : {0.0, 0.25, 0.5, 0.75}) {
    LargestWeightBand& band = result.bands.emplace_back(LargestWeightBand{.from = from, .to = from + 0.25});
    std::vector<double> values;
    for (const PerturbedText& text : texts) {
      if (std::min(3.0, std::floor(text.largest * 4)) == from * 4) values.push_back(text.permuted);
    }
    band.texts = std::ssize(values);
    band.permuted = spread_of(values);
  }
  return result;
}

class FaithfulnessMeasurement {
 public:
  explicit FaithfulnessMeasurement(const FaithfulnessConfig& config) : config_(config) {}

  Faithfulness measure() {
    record_making(result_);
    result_.run = config_.run;
    result_.checkpoint = find_weights(run_of_best_seed(config_.run), config_.checkpoint).string();
    std::visit(overloaded{[&](const TranslationRun& run) { measure_translations(run); },
                          [&](const TextRun& run) { measure_texts(run); },
                          [&](const auto& other) {
                            throw UserError(
                                fmt::format("{}: a run of attend {}, which predicts neither the class of a text nor a "
                                            "translation",
                                            config_.run, command_of(other.kKind)),
                                "give a run of attend finetune or attend train; attend heads and attend probe describe "
                                "others");
                          }},
               load_run(config_.run, config_.checkpoint, device_named(config_.device)));
    return std::move(result_);
  }

 private:
  void measure_texts(const TextRun& run) {
    if (run.task.kind != TaskKind::classification) {
      throw UserError(fmt::format("{}: its task is of kind {}, which has no single distribution of classes for a text",
                                  config_.run, name_of(run.task.kind)),
                      "give a run of a classification");
    }
    if (config_.data.empty()) {
      throw UserError("--data is missing: " + config_.run + " classifies texts",
                      "give a file of labelled texts, --data FILE");
    }
    const ExplainedClassifier classifier(*run.model, run.options, run.tokenizer.special(), config_.run);
    TaskSplit split = read_split(config_.data, run.task, run.tokenizer, run.samples, Labelled::yes);
    std::vector<Sample>& texts = split.samples;  // one for each text
    texts.resize(std::min(texts.size(), static_cast<std::size_t>(config_.sentences)));
    result_.left_out = std::erase_if(texts, [&](const Sample& text) { return !has_tokens(text, run.tokenizer); });
    if (texts.empty()) throw UserError(config_.data + ": no text with a token", "give labelled texts");
    result_.attention = classifier.attention();
    result_.data = config_.data;
    result_.item = "text";
    result_.texts = std::ssize(texts);

    WorkProgress progress({.unit = "texts", .total = 2 * result_.texts});
    ExplanationTallies tallies(classifier.names());
    for (const Sample& text : texts) {
      tallies.add(classifier.importance(text));
      progress.add();
    }
    tallies.write(result_);

    for (Tensor& parameter : run.model->parameters()) parameter.set_requires_grad(false);
    const auto seed = static_cast<std::uint64_t>(config_.seed);
    const std::size_t num_adversarial = std::min(texts.size(), static_cast<std::size_t>(kAdversarialTexts));
    std::vector<PerturbedText> perturbed;
    for (const bool adversarial : {true, false}) {
      const std::span all(texts);
      for (const std::vector<const Sample*>& together :
           batches_by_length(adversarial ? all.first(num_adversarial) : all.subspan(num_adversarial))) {
        std::ranges::copy(classifier.perturb(together, seed, adversarial), std::back_inserter(perturbed));
        progress.add(std::ssize(together));
      }
    }
    result_.weights = summary_of(perturbed);
  }

  void measure_translations(const TranslationRun& run) {
    if (config_.test.empty()) {
      throw UserError("--test is missing: " + config_.run + " translates",
                      "give sentences and their translations, --test SOURCE TARGET");
    }
    if (num_cross_layers(run) == 0) {
      throw UserError(config_.run + ": its decoder has no attention to the source", "give a run with attention");
    }
    std::optional<ExplanationTallies> tallies;
    WorkProgress progress({.unit = "pairs"});
    const std::size_t most = std::min(kMostPiecesOfPair, most_source_pieces(*run.model));
    std::int64_t read = 0;
    ParallelReader reader(config_.test[0], config_.test[1]);
    for (TextPair lines; read < config_.sentences && reader.next(lines); ++read) {
      signals::throw_if_stopped("the measurement of faithfulness was interrupted");
      const PiecePair pair = pair_in_pieces(run.tokenizers, lines.src, lines.tgt);
      progress.add();
      if (pair.source_pieces.empty() || pair.source_pieces.size() > most ||
          pair.target_ids.size() > kMostPiecesOfPair) {
        ++result_.left_out;
        continue;
      }
      for (const TokenImportance& position : importance_of_source(run, pair)) {
        if (!tallies) tallies.emplace(names_over_heads(position.explanations.size() > 1));
        tallies->add(position);
      }
    }
    result_.texts = read - result_.left_out;
    if (!tallies) {
      throw UserError(fmt::format("{} and {}: no pair of lines with text of at most {} pieces", config_.test[0],
                                  config_.test[1], most),
                      "give sentences and their translations");
    }
    tallies->write(result_);
    result_.attention = "cross-attention of the last layer";
    result_.data = config_.test[0] + " and " + config_.test[1];
    result_.item = "target position";
  }

  static bool has_tokens(const Sample& text, const Tokenizer& tokenizer) {
    return std::ranges::any_of(
        text.ids, [&](std::int32_t id) { return id != tokenizer.special().cls && id != tokenizer.special().sep; });
  }

  const FaithfulnessConfig& config_;
  Faithfulness result_;
};

}  // namespace

Faithfulness measure_faithfulness(const FaithfulnessConfig& config) {
  return FaithfulnessMeasurement(config).measure();
}

}  // namespace attend
