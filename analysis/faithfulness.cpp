#include "analysis/faithfulness.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "analysis/explanations.hpp"
#include "analysis/token_importance.hpp"
#include "core/error.hpp"
#include "core/progress.hpp"
#include "core/signals.hpp"
#include "data/task/task_split.hpp"
#include "data/text/parallel.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"
#include "models/run/text_run.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr double kSignificantTau = 0.05;
constexpr std::int64_t kAdversarialTexts = 100;
constexpr std::size_t kMostPiecesOfPair = 100;  // on each side

void stop_if_requested() { signals::throw_if_stopped("the measurement of faithfulness was interrupted"); }

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
  explicit FaithfulnessMeasurement(const FaithfulnessConfig& config)
      : config_(config), path_(run_of_best_seed(config.run)), device_(device_named(config.device)) {}

  Faithfulness measure() {
    const RunKind kind = kind_of_run(path_);
    if (kind != RunKind::train && kind != RunKind::finetune) {
      throw UserError(
          fmt::format("{}: a run of attend {}, which predicts neither the class of a text nor a translation",
                      config_.run, command_of(kind)),
          "give a run of attend finetune or attend train; attend heads and attend probe describe others");
    }
    record_making(result_);
    result_.run = config_.run;
    result_.checkpoint = find_weights(path_, config_.checkpoint).string();
    kind == RunKind::train ? measure_translations() : measure_texts();
    return std::move(result_);
  }

 private:
  void measure_texts() {
    const TextRun run = TextRun::load(path_, config_.checkpoint, device_);
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
      stop_if_requested();
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
        stop_if_requested();
        std::ranges::copy(classifier.perturb(together, seed, adversarial), std::back_inserter(perturbed));
        progress.add(std::ssize(together));
      }
    }
    progress.clear();
    result_.weights = summary_of(perturbed);
  }

  void measure_translations() {
    const Run run = Run::load(path_, config_.checkpoint, device_);
    if (config_.test.empty()) {
      throw UserError("--test is missing: " + config_.run + " translates",
                      "give sentences and their translations, --test SOURCE TARGET");
    }
    if (run.tokenizers.factors.count() > 0) {
      throw UserError(config_.run + ": it reads source factors", "give a run without --source-factors");
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
      stop_if_requested();
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
    progress.clear();
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
  std::filesystem::path path_;
  torch::Device device_;
  Faithfulness result_;
};

}  // namespace

Faithfulness measure_faithfulness(const FaithfulnessConfig& config) {
  return FaithfulnessMeasurement(config).measure();
}

}  // namespace attend
