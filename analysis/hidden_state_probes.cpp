#include "analysis/hidden_state_probes.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <ranges>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/linear_probe.hpp"
#include "analysis/structural_probe.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "eval/workers.hpp"
#include "models/ops/ops.hpp"
#include "models/run/checkpoint_reader.hpp"

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
        words.push_back(offsets_[s] + w);
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

namespace {

constexpr std::size_t kFewestSentences = 10;
constexpr std::int64_t kVectorBytes = std::int64_t{1} << 30;  // of the layers kept at a time

std::string feature_of(const TreeWord& word, std::string_view name) {
  const auto found = std::ranges::find(word.features, name, &std::pair<std::string, std::string>::first);
  return found == word.features.end() ? std::string() : found->second;
}

struct LabelKind {
  std::string_view id, title;
  std::string (*label)(const TreeWord&);
};

constexpr std::array<LabelKind, 4> kLabelKinds = {
    {{"part_of_speech", "Part of speech", [](const TreeWord& word) { return word.part_of_speech; }},
     {"relation", "Relation to the head", [](const TreeWord& word) { return word.relation; }},
     {"number", "Number", [](const TreeWord& word) { return feature_of(word, "Number"); }},
     {"tense", "Tense of verbs", [](const TreeWord& word) {
        const bool is_verb = word.part_of_speech == "VERB" || word.part_of_speech == "AUX";
        return is_verb ? feature_of(word, "Tense") : std::string();
      }}}};

StructuralProbeLayer spreads_of(const std::vector<StructuralScores>& of_seeds) {
  const auto spread = [&](double StructuralScores::*measure) {
    std::vector<double> values;
    for (const StructuralScores& scores : of_seeds) values.push_back(scores.*measure);
    return spread_of(values);
  };
  return {.attachment = spread(&StructuralScores::attachment),
          .distance_correlation = spread(&StructuralScores::distance_correlation),
          .root_accuracy = spread(&StructuralScores::root_accuracy),
          .depth_correlation = spread(&StructuralScores::depth_correlation)};
}

class HiddenStateProbes {
 public:
  HiddenStateProbes(const ProbingConfig& config, const SentenceModel& model)
      : config_(config),
        model_(model),
        words_(model_, beginning(read_conllu(config.data), config.sentences)),
        split_(ProbeSplit::of(words_.sentences().size())) {
    if (words_.sentences().size() < kFewestSentences) {
      throw UserError(fmt::format("{}: {} reads {} of its sentences, expected at least {}", config.data, config.run,
                                  words_.sentences().size(), kFewestSentences),
                      "give more sentences, or shorter ones");
    }
    freeze(*model_.module, config_.use.precision);
  }

  Probing measure() {
    describe();
    find_tasks();
    for (const TreeSentence& sentence : words_.sentences()) trees_.push_back(tree_of(sentence));
    const auto tested = std::span(trees_).subspan(split_.test);
    result_.left_neighbour_attachment = left_neighbour_attachment(tested);
    const std::vector<std::int64_t> widths = words_.widths(model_);
    WorkProgress progress({.unit = "probes", .total = (1 + config_.seeds) * std::ssize(widths)});
    for_each_layer(widths, [&](std::size_t /*layer*/, const Tensor& x_WH) {
      for (std::size_t t = 0; t < labels_.size(); ++t) result_.tasks[t].layers.push_back(linear_probes(x_WH, t));
      std::vector<StructuralScores> scores;
      for (const std::uint64_t seed : seeds()) scores.push_back(structural_scores(x_WH, seed));
      result_.structure.push_back(spreads_of(scores));
      progress.add();
    });
    // Of the models with random weights, by layer and seed.
    std::vector<std::vector<StructuralScores>> structure(widths.size());
    std::vector<std::vector<std::vector<double>>> accuracies(labels_.size(), {widths.size(), std::vector<double>()});
    for (const std::uint64_t seed : seeds()) {
      model_.randomise(seed);
      freeze(*model_.module, config_.use.precision);
      for_each_layer(widths, [&](std::size_t layer, const Tensor& x_WH) {
        for (std::size_t t = 0; t < labels_.size(); ++t) {
          accuracies[t][layer].push_back(linear_probe_accuracy(x_WH, labels_[t], seed));
        }
        structure[layer].push_back(structural_scores(x_WH, seed));
        progress.add();
      });
    }
    for (std::size_t layer = 0; layer < widths.size(); ++layer) {
      for (std::size_t t = 0; t < labels_.size(); ++t) {
        result_.tasks[t].layers[layer].random = spread_of(accuracies[t][layer]);
      }
      result_.random_structure.push_back(spreads_of(structure[layer]));
    }
    return std::move(result_);
  }

 private:
  static constexpr std::uint64_t kSeed = 1;  // the first

  static std::vector<TreeSentence> beginning(std::vector<TreeSentence> sentences, std::int64_t most) {
    sentences.resize(std::min(sentences.size(), static_cast<std::size_t>(most)));
    return sentences;
  }

  void describe() {
    record_making(result_);
    result_.run = config_.run;
    result_.model = model_.description;
    result_.data = config_.data;
    result_.sentences = std::ssize(words_.sentences());
    result_.left_out = words_.num_left_out();
    result_.words = words_.num_words();
    result_.fitted = split_.held_out;
    result_.held_out = split_.test - split_.held_out;
    result_.tested = split_.end - split_.test;
    result_.seeds = config_.seeds;
  }

  // The tasks whose labels the sentences have.
  void find_tasks() {
    for (const LabelKind& kind : kLabelKinds) {
      WordLabels labels = label_words(words_.sentences(), split_, kind.label);
      if (!labels.suffice()) {
        result_.not_measured.push_back(fmt::format(
            "{}: not measured, since the sentences to fit, to choose the stopping point and to test do not all have "
            "words with such a label, or there are not two labels.",
            kind.title));
        continue;
      }
      const FrequentLabel frequent = most_frequent_label(labels);
      result_.tasks.push_back({.id = std::string(kind.id),
                               .title = std::string(kind.title),
                               .labels = std::ssize(labels.names),
                               .fitted = static_cast<std::int64_t>(labels.held_out),
                               .held_out = static_cast<std::int64_t>(labels.test - labels.held_out),
                               .tested = static_cast<std::int64_t>(labels.words.size() - labels.test),
                               .most_frequent = frequent.name,
                               .most_frequent_accuracy = frequent.accuracy});
      labels_.push_back(std::move(labels));
    }
  }

  // Calls probe(layer, x_WH) for each layer of the model, the lowest first. One pass reads as many as fit into
  // kVectorBytes.
  void for_each_layer(const std::vector<std::int64_t>& widths,
                      const std::function<void(std::size_t, const Tensor&)>& probe) const {
    const std::int64_t bytes = words_.num_words() * std::ranges::max(widths) * 4;
    const std::int64_t at_once = std::max<std::int64_t>(1, kVectorBytes / bytes);
    for (std::int64_t first = 0; first < std::ssize(widths); first += at_once) {
      const std::int64_t count = std::min(at_once, std::ssize(widths) - first);
      std::size_t layer = first;
      for (const Tensor& x_WH : words_.vectors(model_, first, count)) probe(layer++, x_WH);
    }
  }

  std::ranges::iota_view<std::uint64_t, std::uint64_t> seeds() const {
    return std::views::iota(kSeed, kSeed + static_cast<std::uint64_t>(config_.seeds));
  }

  LinearProbeLayer linear_probes(const Tensor& x_WH, std::size_t task) const {
    const WordLabels& labels = labels_[task];
    std::vector<double> accuracies, controls, selectivities;
    for (const std::uint64_t seed : seeds()) {
      accuracies.push_back(linear_probe_accuracy(x_WH, labels, seed));
      controls.push_back(linear_probe_accuracy(x_WH, control_labels(labels, seed), seed));
      selectivities.push_back(accuracies.back() - controls.back());
    }
    const DescriptionLength code = online_code(x_WH, labels, kSeed);
    return {.accuracy = spread_of(accuracies),
            .control = spread_of(controls),
            .selectivity = spread_of(selectivities),
            .bits = code.bits,
            .compression = code.compression()};
  }

  StructuralScores structural_scores(const Tensor& x_WH, std::uint64_t seed) const {
    return structural_probe(x_WH, words_.offsets(), trees_, split_, seed);
  }

  const ProbingConfig& config_;
  SentenceModel model_;
  ProbedWords words_;
  ProbeSplit split_;
  Probing result_;
  std::vector<WordLabels> labels_;  // parallel to the result's tasks
  std::vector<WordTree> trees_;
};

}  // namespace

Probing probe_hidden_states(const ProbingConfig& config) {
  const SentenceModel model = SentenceModel::load(config.run, config.use.checkpoint, device_named(config.use.device));
  const std::string checkpoint = find_weights(run_of_best_seed(config.run), config.use.checkpoint).string();
  Probing probing = probe_hidden_states(config, model);
  probing.checkpoint = checkpoint;
  return probing;
}

Probing probe_hidden_states(const ProbingConfig& config, const SentenceModel& model) {
  return HiddenStateProbes(config, model).measure();
}

}  // namespace attend
