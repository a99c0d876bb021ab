#include "eval/alignment.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "data/text/lines.hpp"
#include "eval/metrics/text.hpp"

namespace attend {
namespace {

std::size_t begin_of(std::string_view text, std::string_view word) {
  return static_cast<std::size_t>(word.data() - text.data());
}

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
      result[w].push_back(static_cast<std::int64_t>(piece));
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
  const std::vector<std::string_view> words = spaced_words(text);
  PiecesOfWords result = overlapping_pieces(text, words, pieces);
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (!metrics::has_word_character(words[w])) continue;
    std::erase_if(result[w], [&](std::int64_t piece) {
      const auto [begin, end] = pieces[static_cast<std::size_t>(piece)];
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

}  // namespace attend
