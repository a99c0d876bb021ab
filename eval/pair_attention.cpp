#include "eval/pair_attention.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "core/signals.hpp"
#include "data/batch/batch.hpp"
#include "data/text/factors.hpp"
#include "models/attention/cut_weights.hpp"

namespace attend {
namespace {

// Limit of source × target pieces of a padded batch: four bytes each for every head of every layer.
constexpr std::size_t kWeightsInBatch = std::size_t{1} << 17;

// The first kMostPieces pieces of a text, which a reversed tokenizer puts last.
std::vector<Piece> beginning(const Tokenizer& tokenizer, std::string_view line) {
  std::vector<Piece> pieces = tokenizer.encode_pieces(beginning_of(line, kMostPieces));
  if (tokenizer.is_reversed() && pieces.size() > kMostPieces) pieces.erase(pieces.begin(), pieces.end() - kMostPieces);
  pieces.resize(std::min(pieces.size(), kMostPieces));
  return pieces;
}

PiecePair source_in_pieces(const TokenizerPair& tokenizers, const std::string& line) {
  const std::string_view text = text_of_line(line);
  PiecePair pair;
  pair.source = text;
  pair.source_pieces = beginning(tokenizers.src, text);
  if (tokenizers.factors.count() > 0) pair.source_labels = tokenizers.factors.ids_of(line, pair.source_pieces);
  return pair;
}

// Also fills `batch` with the pairs.
AttentionRecorder observe(const Run& trained, const PairAttentionOptions& options, const std::vector<PiecePair>& pairs,
                          Batch& batch) {
  const c10::InferenceMode inference;
  std::vector<std::vector<std::int32_t>> sources;
  IdSpans tgt, labels;
  const std::size_t num_factors = trained.tokenizers.factors.count();
  for (const PiecePair& pair : pairs) {
    sources.push_back(ids_of(pair.source_pieces));
    labels.push_back(std::span(pair.source_labels).first(num_factors * pair.source_pieces.size()));
    tgt.emplace_back(pair.target_ids);
  }
  const IdSpans src(sources.begin(), sources.end());
  batch =
      on_device(batch_of_pairs(src, tgt, batch_ids(trained.tokenizers), labels, num_factors), trained.model->device());
  AttentionRecorder recorder(options.only, options.arithmetic);
  Pass pass = Pass::inference(&recorder);
  const CutWeights cut(options.threshold);
  pass.edit_attention(cut);
  trained.model->forward(batch, pass);
  return recorder;
}

}  // namespace

PiecePair pair_in_pieces(const TokenizerPair& tokenizers, const std::string& line, const Translation& translation) {
  PiecePair pair = source_in_pieces(tokenizers, line);
  pair.target = translation.text;
  pair.target_ids = translation.hypothesis.ids;
  pair.target_bytes = decoded_bytes(tokenizers.tgt, pair.target_ids);
  return pair;
}

PiecePair pair_in_pieces(const TokenizerPair& tokenizers, const std::string& line, const std::string& target) {
  const std::vector<Piece> pieces = beginning(tokenizers.tgt, target);
  PiecePair pair = source_in_pieces(tokenizers, line);
  pair.target = target;
  pair.target_ids = ids_of(pieces);
  pair.target_bytes = bytes_of(pieces);
  return pair;
}

PiecesOfWords source_words(const PiecePair& pair) { return pieces_of_words(pair.source, bytes_of(pair.source_pieces)); }

PiecesOfWords target_words(const PiecePair& pair) { return pieces_of_words(pair.target, pair.target_bytes); }

PairAttention::PairAttention(const Run& trained, const PairAttentionOptions& options, Take take)
    : trained_(trained), options_(options), take_(std::move(take)) {}

void PairAttention::add(PiecePair pair) {
  pair.source_pieces.resize(
      std::min({pair.source_pieces.size(), most_source_pieces(*trained_.model), options_.most_pieces}));
  const std::size_t source = std::max(longest_source_, pair.source_pieces.size() + 1);
  const std::size_t target = std::max(longest_target_, pair.target_ids.size() + 1);
  const bool fits = (waiting_.size() + 1) * source * target <= kWeightsInBatch;
  if (!fits) observe_waiting();
  longest_source_ = fits ? source : pair.source_pieces.size() + 1;
  longest_target_ = fits ? target : pair.target_ids.size() + 1;
  waiting_.push_back(std::move(pair));
}

void PairAttention::observe_waiting() {
  signals::throw_if_stopped("stopped before all lines were read");
  const Tokenizer &src = trained_.tokenizers.src, &tgt = trained_.tokenizers.tgt;
  Batch batch;
  std::vector<PiecePair> read;  // those with something to attend to
  std::ranges::copy_if(waiting_, std::back_inserter(read),
                       [](const PiecePair& pair) { return !pair.source_pieces.empty(); });
  const AttentionRecorder shown = read.empty() ? AttentionRecorder() : observe(trained_, options_, read, batch);
  std::int64_t number = 0;
  for (const PiecePair& pair : waiting_) {
    SentenceAttention attention{.source = {}, .target = std::vector<std::string>(), .layers = {}};
    if (!pair.source_pieces.empty()) {
      for (const Piece& piece : pair.source_pieces) attention.source.push_back(piece.text);
      for (const std::int32_t id : pair.target_ids) attention.target->push_back(tgt.piece(id));
      attention.source.push_back(src.piece(src.special().eos));
      attention.target->push_back(tgt.piece(tgt.special().eos));
      attention.layers = shown.of_sentence(number++, batch.src.layout, batch.tgt.layout);
    }
    take_(pair, attention);
  }
  waiting_.clear();
  longest_source_ = longest_target_ = 0;
}

std::int64_t num_cross_layers(const Run& trained) {
  Batch batch;
  return std::ssize(observe(trained, {.only = AttentionPlace::cross}, {PiecePair{}}, batch).layers);
}

AlignmentFile::AlignmentFile(const std::string& file, const Run& trained, const std::string& run,
                             std::optional<std::int64_t> layer, const std::string& layer_option)
    : file_(file) {
  const std::int64_t num_layers = num_cross_layers(trained);
  if (num_layers == 0) throw UserError(run + ": its decoder has no attention to the source", "leave --alignment out");
  layer_ = layer.value_or(num_layers - 1);
  if (layer_ < num_layers) return;
  throw UserError(fmt::format("{} {}: the last layer of {} that attends to the source is {}", layer_option, layer_, run,
                              num_layers - 1),
                  num_layers == 1 ? "choose layer 0" : fmt::format("choose one from 0 to {}", num_layers - 1));
}

void AlignmentFile::write(const PiecePair& pair, const SentenceAttention& attention) {
  if (!attention.layers.empty()) {
    const auto is_chosen = [&](const LayerAttention& seen) {
      return seen.place == AttentionPlace::cross && seen.layer == layer_;
    };
    const auto chosen = std::ranges::find_if(attention.layers, is_chosen);
    ensure(chosen != attention.layers.end(), "a layer that was there before");
    file_.write(to_text(align_words(chosen->weights.mean(0), source_words(pair), target_words(pair))));
  }
  file_.write("\n");
}

}  // namespace attend
