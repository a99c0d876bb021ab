#include "analysis/heads.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "analysis/faithfulness.hpp"
#include "analysis/head_relations.hpp"
#include "analysis/sentence_model.hpp"
#include "analysis/silencing.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "data/text/conll.hpp"
#include "data/text/parallel.hpp"
#include "eval/attention.hpp"
#include "eval/pair_attention.hpp"
#include "models/attention/edits.hpp"
#include "models/run/new_run.hpp"
#include "models/run/run.hpp"
#include "train/translation/guided_attention.hpp"

namespace attend {
namespace {

bool has_recurrent_attention(const ModelConfig& model) {
  return model.model == ModelKind::luong || model.model == ModelKind::bahdanau;
}

[[noreturn]] void refuse_without_attention(const std::string& run, const std::string& what) {
  throw UserError(run + ": " + what + ", which has no self-attention",
                  "give a run of a Transformer or a BERT, or one that translates with recurrent attention");
}

// Every head of these layers.
std::vector<HeadPlace> heads_of_layers(const std::vector<LayerAttention>& layers) {
  std::vector<HeadPlace> heads;
  for (const LayerAttention& layer : layers) {
    for (std::int64_t head = 0; head < layer.weights.size(0); ++head) {
      heads.push_back({.place = layer.place, .layer = layer.layer, .head = head});
    }
  }
  return heads;
}

// The pieces of each word of a tree. Words that share a piece, as in a multiword token, are given none.
PiecesOfWords pieces_of_tree(const TreeSentence& tree, const std::vector<Piece>& pieces) {
  PiecesOfWords result = pieces_of_words(tree, pieces);
  std::vector<int> owners(pieces.size());
  for (const auto& word : result) {
    for (const std::int64_t piece : word) ++owners[piece];
  }
  const auto is_shared = [&](std::int64_t piece) { return owners[piece] > 1; };
  for (auto& word : result) {
    if (std::ranges::any_of(word, is_shared)) word.clear();
  }
  return result;
}

class HeadMeasurement {
 public:
  explicit HeadMeasurement(const HeadStudy& study) : study_(study), device_(device_named(study.use.device)) {
    record_making(report_);
    report_.run = study.run;
    if (study.data.empty()) return;
    trees_ = read_conllu(study.data);
    report_.data = study.data;
    report_.sentences = std::ssize(trees_);
    for (const TreeSentence& tree : trees_) {
      report_.words += std::ssize(tree.words);
      for (const TreeWord& word : tree.words) ++frequencies_[word.form];
    }
  }

  HeadReport run() {
    if (study_.prune > 0) prunable_places(study_.run);  // throws if there are none
    std::visit([&](const auto& run) { measure(run); }, load_run(study_.run, study_.use.checkpoint, device_));
    return std::move(report_);
  }

 private:
  void measure(const TranslationRun& run) {
    if (has_recurrent_attention(run.options)) {
      freeze(*run.model, study_.use.precision);
      replace(run);
      return;
    }
    if (study_.test.empty()) {
      read_trees(run);
      show_gates(*run.model);
      report_.notes.emplace_back("Heads were not silenced: no translations are given (--test).");
      return;
    }
    const GivenTranslations given = read_test();
    const std::vector<HeadGradient> heads =
        silence("the pieces of " + study_.test[1], run,
                [&](const ScoreConfig& config) { return losses_of(score(run, given.sources, given.targets, config)); });
    show_gates(*run.model);
    if (!study_.bleu) return;
    log::info("translating without each of {}", counted(std::ssize(heads), "head"));
    add_bleu(*report_.silencing, heads, run, given, study_.scoring);
  }

  void replace(const TranslationRun& run) {
    const GivenTranslations given = read_test();
    report_.place = name_of(AttentionPlace::cross);
    report_.sentences = std::ssize(given.sources);
    log::info("replacing the attention over {}", counted(report_.sentences, "sentence"));
    report_.replacement = replace_attention(run, given, study_.scoring);
    report_.replacement->source = study_.test[0];
    report_.replacement->target = study_.test[1];
    report_.replacement->alignment = study_.alignment;
  }

  // The pairs of --test whose lines have text, the first --sentences, with their links in --alignment.
  GivenTranslations read_test() const {
    const std::string &source = study_.test[0], &target = study_.test[1];
    std::vector<SentenceLinks> links;
    if (!study_.alignment.empty()) links = read_word_links(study_.alignment, source, target);
    GivenTranslations given;
    ParallelReader reader(source, target);
    for (TextPair pair; std::ssize(given.sources) < study_.sentences && reader.next(pair);) {
      given.sources.push_back(pair.src);
      given.targets.push_back(pair.tgt);
      if (!links.empty()) given.links.push_back(links[pair.line - 1].sure);
    }
    if (given.sources.empty()) {
      throw UserError(fmt::format("{} and {}: no pair of lines with text", source, target),
                      "give sentences and their translations");
    }
    return given;
  }

  void show_gates(const Seq2SeqImpl& model) {
    for (const auto& [place, layer, gates] : gates_of(model)) {
      const at::Tensor values_N = gates->values_N().cpu();
      const auto show = [&](auto& head, const std::string& its_place) {
        if (its_place == name_of(place) && head.layer == layer) head.gate = values_N[head.head].template item<double>();
      };
      for (HeadHabits& head : report_.heads) show(head, report_.place);
      if (!report_.silencing) continue;
      for (HeadSilence& head : report_.silencing->heads) show(head, head.place);
    }
  }

  void measure(const BertRun& run) {
    if (study_.prune > 0) run.check_fills_masks(study_.run);
    if (!run.fills_masks()) {
      read_trees(run);
      report_.notes.emplace_back("Heads were not silenced: the run has no head for masked pieces.");
      return;
    }
    const auto masking =
        read_config<MaskingConfig>(std::filesystem::path(study_.run) / "config.toml", UnknownKeys::ignore);
    const MaskedTexts masked(run, first_texts(), masking);
    silence("masked pieces of " + study_.data, run, [&](const ScoreConfig& config) { return masked.losses(config); });
  }

  void measure(const TextRun& run) {
    if (run.model->encoder().bert().is_empty()) {
      throw UserError(study_.run + ": its encoder is not a BERT", "give a run of --model bert, or of attend pretrain");
    }
    read_trees(run);
    report_.notes.emplace_back("Heads were not silenced: a fine-tuned model does not predict masked pieces.");
  }

  void measure(const LanguageRun& run) {
    const std::vector<std::string> texts = first_texts();
    silence("the pieces of " + study_.data, run,
            [&](const ScoreConfig& config) { return losses_of(score_language(run, texts, config)); });
  }

  // Freezes the model, and measures what its heads of self-attention attend to in all sentences.
  template <class SomeRun>
  void read_trees(const SomeRun& run) {
    freeze(*run.model, study_.use.precision);
    const bool is_decoder = std::is_same_v<SomeRun, LanguageRun>;
    read_by(SentenceModel::of(run), is_decoder ? AttentionPlace::decoder : AttentionPlace::encoder);
  }

  void read_by(const SentenceModel& model, AttentionPlace place) {
    report_.place = name_of(place);
    report_.causal = place == AttentionPlace::decoder && model.end < 0;  // a hybrid reads both sides
    log::info("reading {} of {}", counted(report_.sentences, "sentence"), study_.data);
    const std::int64_t first = model.begin < 0 ? 0 : 1, around = first + (model.end < 0 ? 0 : 1);
    std::size_t most = kMostPieces;
    if (model.longest) most = std::min(most, static_cast<std::size_t>(*model.longest - around));
    for (const TreeSentence& tree : trees_) {
      signals::throw_if_stopped("the measurement of heads was interrupted");
      const c10::InferenceMode inference;
      std::vector<Piece> pieces = model.tokenizer.encode_pieces(tree.text);
      pieces.resize(std::min(pieces.size(), most));
      const std::vector<std::int32_t> ids = ids_of(pieces);
      const Sequences read = on_device(concatenate({std::span(ids)}, model.begin, model.end), device_);
      AttentionRecorder recorder(place);
      Pass pass = Pass::inference(&recorder);
      model.read(read, pass);
      add(tree, pieces, first, recorder.of_sentence(0, read.layout, read.layout), model.tokenizer);
    }
    finish();
  }

  std::vector<std::string> first_texts() const {
    std::vector<std::string> texts;
    for (const TreeSentence& tree : trees_) {
      if (std::ssize(texts) == study_.sentences) break;
      texts.push_back(tree.text);
    }
    return texts;
  }

  // Adds the weights of a sentence; row `first` is that of the first of `pieces`.
  void add(const TreeSentence& tree, const std::vector<Piece>& pieces, std::int64_t first,
           const std::vector<LayerAttention>& layers, const Tokenizer& tokenizer) {
    PiecesOfWords words = pieces_of_tree(tree, pieces);
    SeenWords seen;
    for (std::size_t w = 0; w < words.size(); ++w) {
      const auto is_known = [&](std::int64_t piece) { return pieces[piece].id != tokenizer.special().unk; };
      seen.has_pieces.push_back(!words[w].empty());
      seen.frequencies.push_back(frequencies_.at(tree.words[w].form));
      unseen_words_ += words[w].empty() ? 1 : 0;
      known_words_ += std::ranges::any_of(words[w], is_known) ? 1 : 0;
      for (std::int64_t& piece : words[w]) piece += first;
    }
    if (self_attention_.empty()) {
      self_attention_ = heads_of_layers(layers);
      relations_.emplace(self_attention_.size(), report_.causal);
      habits_.resize(self_attention_.size());
      entropies_.resize(self_attention_.size());
    }
    std::vector<at::Tensor> merged;  // of each head
    for (const LayerAttention& layer : layers) {
      for (const at::Tensor& weights_TS : layer.weights.unbind(0)) {
        const at::Tensor rows_MS = weights_TS.narrow(0, first, std::ssize(pieces)).to(at::kDouble);
        entropies_[merged.size()] -= at::xlogy(rows_MS, rows_MS).sum().item<double>();
        merged.push_back(merge_words(weights_TS, words, words));
      }
    }
    num_pieces_ += std::ssize(pieces);
    std::vector<WordWeights> weights;
    for (const at::Tensor& of_head : merged) {
      weights.emplace_back(of_head.const_data_ptr<double>(), static_cast<std::size_t>(of_head.numel()));
    }
    relations_->add(tree, seen, weights);
    for (std::size_t h = 0; h < weights.size(); ++h) habits_[h].add(seen, weights[h], report_.causal);
  }

  void finish() {
    if (self_attention_.empty()) refuse_without_attention(study_.run, "an encoder that mixes tokens without weights");
    if (known_words_ == 0) {
      throw UserError(study_.data + ": the tokenizer of " + study_.run + " knows none of its words",
                      "give sentences in the language and script that the run was trained on");
    }
    if (relations_->instances() == 0) {
      throw UserError(study_.data + ": no relation between words that the model sees" +
                          (report_.causal ? ", of which the one to find comes first" : ""),
                      "give sentences of several words with their heads");
    }
    if (unseen_words_ > 0) {
      report_.notes.push_back(
          fmt::format("{} of {} words are left out: they share a piece with another word, or stand behind the last "
                      "piece that the model reads.",
                      unseen_words_, report_.words));
    }
    for (std::size_t h = 0; h < self_attention_.size(); ++h) {
      HeadHabits& habits =
          report_.heads.emplace_back(habits_[h].habits(self_attention_[h].layer, self_attention_[h].head));
      habits.entropy = entropies_[h] / static_cast<double>(num_pieces_);
    }
    relations_->write(report_);
    name_roles(report_);
  }

  // Reads the trees, and returns the heads. Gradients are taken before the model is frozen.
  template <class SomeRun, class Losses>
  std::vector<HeadGradient> silence(const std::string& of, const SomeRun& run, const Losses& losses) {
    log::info("differentiating the loss by the gates of heads");
    std::vector<HeadGradient> heads = head_gradients(losses, study_.scoring);
    read_trees(run);
    log::info("silencing {}", counted(std::ssize(heads), "head"));
    report_.silencing = silence_heads(of, heads, [&](const AttentionEdit& edit) {
      ScoreConfig config = study_.scoring;
      config.edit = &edit;
      return losses(config);
    });
    return heads;
  }

  const HeadStudy& study_;
  torch::Device device_;
  std::vector<TreeSentence> trees_;
  std::unordered_map<std::string, std::int64_t> frequencies_;
  HeadReport report_;
  std::vector<HeadPlace> self_attention_;
  std::optional<RelationTally> relations_;
  std::vector<HabitTally> habits_;  // parallel to self_attention_
  std::vector<double> entropies_;   // sums over the pieces
  std::int64_t num_pieces_ = 0, known_words_ = 0, unseen_words_ = 0;
};

}  // namespace

void check_attends(const std::string& run) {
  const AnyOptions options = options_of_run(run);
  const auto* translation = std::get_if<ModelConfig>(&options);
  if (translation != nullptr && translation->model == ModelKind::fixed) {
    refuse_without_attention(run, "a model of kind fixed");
  }
  const auto* language = std::get_if<LanguageOptions>(&options);
  if (language != nullptr && language->is_recurrent()) {
    refuse_without_attention(run, fmt::format("a language model of --cell {}", name_of(language->cell)));
  }
}

bool translates_recurrently(const std::filesystem::path& run) {
  const AnyOptions options = options_of_run(run);
  const auto* translation = std::get_if<ModelConfig>(&options);
  return translation != nullptr && has_recurrent_attention(*translation);
}

HeadReport study_heads(const HeadStudy& study) { return HeadMeasurement(study).run(); }

}  // namespace attend
