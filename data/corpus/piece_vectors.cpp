#include "data/corpus/piece_vectors.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "core/error.hpp"
#include "data/text/lines.hpp"
#include "data/text/word_vectors.hpp"

namespace attend {
namespace {

using Words = std::set<std::string, std::less<>>;

// The bytes [begin, end) of a word.
struct Part {
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool is_punctuation(char c) { return static_cast<unsigned char>(c) < 0x80 && std::isalnum(c) == 0; }

// Runs of letters and digits, and punctuation marks one by one.
std::vector<Part> parts_of(std::string_view word) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool joins = i > 0 && !is_punctuation(word[i]) && !is_punctuation(word[i - 1]);
    if (joins) {
      parts.back().end = i + 1;
    } else {
      parts.push_back({.begin = i, .end = i + 1});
    }
  }
  return parts;
}

Words words_and_parts(const WordCounts& words) {
  Words all;
  for (const auto& [word, count] : words) {
    all.insert(word);
    for (const Part part : parts_of(word)) all.insert(word.substr(part.begin, part.end - part.begin));
  }
  return all;
}

// The part that contains most of the piece, the first of several; nullptr if none contains a byte of it.
const Part* part_of(const std::vector<Part>& parts, const Piece& piece) {
  const Part* most = nullptr;
  std::size_t bytes = 0;
  for (const Part& part : parts) {
    const std::size_t begin = std::max(part.begin, piece.begin), end = std::min(part.end, piece.end);
    if (end <= begin || end - begin <= bytes) continue;
    bytes = end - begin;
    most = &part;
  }
  return most;
}

// Accumulates the vectors of words for the pieces of a text.
class Means {
 public:
  Means(const WordVectors& vectors, std::int64_t width, const Tokenizer& tokenizer)
      : vectors_(vectors), width_(static_cast<std::size_t>(width)), tokenizer_(tokenizer) {}

  void add(const std::string& word, std::uint64_t count) {
    const bool known = vectors_.find(word) != nullptr;
    const std::vector<Part> parts = known ? std::vector<Part>{{.begin = 0, .end = word.size()}} : parts_of(word);
    for (const Piece& piece : tokenizer_.encode_pieces(word)) {
      Sum& sum = sums_[piece.id];
      sum.occurrences += count;
      const Part* part = part_of(parts, piece);
      if (part == nullptr) continue;
      const float* vector = vectors_.find(word.substr(part->begin, part->end - part->begin));
      if (vector != nullptr) sum.add(vector, width_, count);
    }
  }

  PieceVectors means() const {
    PieceVectors result;
    std::uint64_t tokens = 0, with_vector = 0;
    for (const auto& [piece, sum] : sums_) {
      tokens += sum.occurrences;
      if (sum.weight == 0) continue;
      with_vector += sum.occurrences;
      result.pieces.push_back(piece);
      for (const double x : sum.numbers)
        result.numbers.push_back(static_cast<float>(x / static_cast<double>(sum.weight)));
    }
    const auto share = [](auto part, auto whole) { return static_cast<double>(part) / static_cast<double>(whole); };
    result.share_of_pieces = share(result.pieces.size(), tokenizer_.size());
    result.share_of_tokens = share(with_vector, std::max<std::uint64_t>(tokens, 1));
    return result;
  }

 private:
  // The sum of the vectors of the words in which a piece occurs.
  struct Sum {
    std::vector<double> numbers = {};
    std::uint64_t weight = 0;       // the number of these words, with their frequency
    std::uint64_t occurrences = 0;  // in any word, with or without a vector

    void add(const float* vector, std::size_t width, std::uint64_t count) {
      numbers.resize(width);
      for (std::size_t i = 0; i < width; ++i) numbers[i] += static_cast<double>(count) * static_cast<double>(vector[i]);
      weight += count;
    }
  };

  const WordVectors& vectors_;
  std::size_t width_;
  const Tokenizer& tokenizer_;
  std::map<std::int32_t, Sum> sums_;
};

}  // namespace

WordCounts count_words(const std::string& file) {
  WordCounts counts;
  LineReader reader(file);
  for (std::string line; reader.next(line);) {
    for (std::size_t begin = 0, end = 0; (begin = line.find_first_not_of(" \t", end)) != line.npos;) {
      end = std::min(line.find_first_of(" \t", begin), line.size());
      ++counts.try_emplace(line.substr(begin, end - begin)).first->second;
    }
  }
  return counts;
}

PieceVectors read_piece_vectors(const std::string& file, std::int64_t width, const WordCounts& words,
                                const Tokenizer& tokenizer) {
  const Words wanted = words_and_parts(words);
  const WordVectors vectors =
      WordVectors::read(file, width, [&](std::string_view word) { return wanted.contains(word); });
  Means means(vectors, width, tokenizer);
  for (const auto& [word, count] : words) means.add(word, count);
  PieceVectors result = means.means();
  if (!result.pieces.empty()) return result;
  throw UserError(file + ": none of its words occurs in the training text",
                  "use vectors of the language of the text; if their words are lower-cased, lower-case the text");
}

}  // namespace attend
