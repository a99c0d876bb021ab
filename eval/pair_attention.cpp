#include "eval/pair_attention.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.hpp"
#include "core/process.hpp"
#include "data/batch/batch.hpp"
#include "eval/metrics/tokenizers.hpp"
#include "models/attention/edits.hpp"

namespace attend {
namespace {

std::size_t begin_of(std::string_view text, std::string_view word) { return word.data() - text.data(); }

// For every word, all pieces that overlap it or lie between it and the word before.
PiecesOfWords overlapping_pieces(std::string_view text, const std::vector<std::string_view>& words,
                                 const std::vector<PieceBytes>& pieces) {
  PiecesOfWords result(words.size());
  const bool last_first = !pieces.empty() && pieces.front().begin > pieces.back().begin;  // of a reversed tokenizer
  std::size_t word = 0;  // the first that ends after the start of the piece
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    const std::size_t piece = last_first ? pieces.size() - 1 - n : n;
    while (word < words.size() && begin_of(text, words[word]) + words[word].size() <= pieces[piece].begin) ++word;
    for (std::size_t w = word; w < words.size() && (w == word || begin_of(text, words[w]) < pieces[piece].end); ++w) {
      result[w].push_back(piece);
    }
  }
  return result;
}

}  // namespace

std::vector<PieceBytes> bytes_of(const std::vector<Piece>& pieces) {
  std::vector<PieceBytes> bytes;
  for (const Piece& piece : pieces) bytes.push_back({piece.begin, piece.end});
  return bytes;
}

std::vector<std::int32_t> ids_of(const std::vector<Piece>& pieces) {
  std::vector<std::int32_t> ids;
  for (const Piece& piece : pieces) ids.push_back(piece.id);
  return ids;
}

PiecesOfWords pieces_of_words(std::string_view text, const std::vector<PieceBytes>& pieces) {
  const std::vector<std::string_view> words = aligned_words(text);
  PiecesOfWords result = overlapping_pieces(text, words, pieces);
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (!metrics::has_word_character(words[w])) continue;
    std::erase_if(result[w], [&](std::int64_t piece) {
      const auto [begin, end] = pieces[piece];
      const std::size_t word_begin = begin_of(text, words[w]);
      const std::size_t first = std::max(begin, word_begin), last = std::min(end, word_begin + words[w].size());
      return first < last && !metrics::has_word_character(text.substr(first, last - first));
    });
  }
  return result;
}

PiecesOfWords pieces_of_words(const TreeSentence& tree, const std::vector<Piece>& pieces) {
  const std::string_view text = tree.text;
  std::vector<std::string_view> words;
  for (const auto& [begin, end] : tree.places) words.push_back(text.substr(begin, end - begin));
  PiecesOfWords result = overlapping_pieces(text, words, bytes_of(pieces));
  for (std::size_t w = 1; w < words.size(); ++w) {
    if (tree.places[w] == tree.places[w - 1]) result[w] = result[w - 1];
  }
  return result;
}

std::vector<PieceBytes> decoded_bytes(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  if (tokenizer.is_reversed()) {
    const std::vector<std::int32_t> in_order(ids.rbegin(), ids.rend());
    std::vector<PieceBytes> result = decoded_bytes(tokenizer.reversed(), in_order);
    std::ranges::reverse(result);
    return result;
  }
  // The text of the first n pieces is a prefix of the whole text, unless they end within a character.
  std::vector<PieceBytes> result(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) result[i].end = tokenizer.decode(ids.first(i + 1)).size();
  for (std::size_t i = ids.size(); i-- > 1;)
    result[i].begin = result[i - 1].end = std::min(result[i - 1].end, result[i].end);
  return result;
}

torch::Tensor merge_words(const torch::Tensor& weights_TS, const PiecesOfWords& source, const PiecesOfWords& target) {
  torch::Tensor merged_TS = at::zeros({std::ssize(target), std::ssize(source)}, at::kDouble);
  const auto weights = weights_TS.accessor<float, 2>();
  auto merged = merged_TS.accessor<double, 2>();
  for (std::size_t j = 0; j < target.size(); ++j) {
    for (std::size_t i = 0; i < source.size(); ++i) {
      double sum = 0;
      for (const std::int64_t t : target[j]) {
        for (const std::int64_t s : source[i]) sum += weights[t][s];
      }
      if (sum > 0) merged[j][i] = sum / static_cast<double>(target[j].size());
    }
  }
  return merged_TS;
}

std::vector<Link> align_words(const torch::Tensor& weights_TS, const PiecesOfWords& source,
                              const PiecesOfWords& target) {
  const torch::Tensor merged_TS = merge_words(weights_TS, source, target);
  std::vector<Link> links;
  for (std::size_t j = 0; j < target.size(); ++j) {
    if (target[j].empty() || source.empty()) continue;
    const auto* begin = merged_TS.const_data_ptr<double>() + j * source.size();
    const auto* best = std::max_element(begin, begin + source.size());
    if (*best > 0) links.push_back({.src = best - begin, .tgt = static_cast<std::int64_t>(j)});
  }
  std::ranges::sort(links);
  return links;
}

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
  PiecePair pair;
  pair.source = line;
  pair.source_pieces = beginning(tokenizers.src, line);
  return pair;
}

// Also fills `batch` with the pairs.
AttentionRecorder observe(const TranslationRun& trained, const PairAttentionOptions& options,
                          const std::vector<PiecePair>& pairs, Batch& batch) {
  const c10::InferenceMode inference;
  std::vector<std::vector<std::int32_t>> sources;
  IdSpans tgt;
  for (const PiecePair& pair : pairs) {
    sources.push_back(ids_of(pair.source_pieces));
    tgt.emplace_back(pair.target_ids);
  }
  const IdSpans src(sources.begin(), sources.end());
  batch = on_device(batch_of_pairs(src, tgt, batch_ids(trained.tokenizers)), trained.model->device());
  AttentionRecorder recorder(options.only, options.operands);
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

PairAttention::PairAttention(const TranslationRun& trained, const PairAttentionOptions& options, Take take)
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

std::int64_t num_cross_layers(const TranslationRun& trained) {
  Batch batch;
  return std::ssize(observe(trained, {.only = AttentionPlace::cross}, {PiecePair{}}, batch).layers);
}

AlignmentFile::AlignmentFile(const std::string& file, const TranslationRun& trained, const std::string& run,
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
