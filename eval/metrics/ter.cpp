#include "eval/metrics/ter.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "eval/metrics/ngram_metrics.hpp"

namespace attend::metrics {
namespace {

constexpr std::size_t kMaxShiftSize = 10;
constexpr std::size_t kMaxShiftDistance = 50;
constexpr int kMaxCandidates = 1000;  // over all shifts of a segment
constexpr std::size_t kBeam = 25;

using Words = std::vector<std::uint32_t>;

// The alignment of a hypothesis with the reference, as the choice of shifts needs it.
struct Alignment {
  std::vector<std::ptrdiff_t>
      hypothesis_of;  // for a reference word, the last hypothesis word consumed with it; -1: none
  std::vector<bool> reference_wrong;
  std::vector<bool> hypothesis_wrong;
};

// Edit distances of hypotheses of one length to a reference, within a band around the diagonal.
//
// The matrix has a row for each number of hypothesis words consumed and a column for each number of reference words.
// A shift changes only the rows after the first word that moved, so the matrix of a base hypothesis is kept and a
// variant recomputes the rest.
class BandedDistance {
 public:
  BandedDistance(std::size_t hypothesis_length, const Words& reference)
      : length_(hypothesis_length),
        reference_(reference),
        ratio_(static_cast<double>(reference.size()) / static_cast<double>(hypothesis_length)),
        // A band narrower than the slope would leave adjacent rows without a common column.
        beam_(static_cast<double>(kBeam) < ratio_ / 2 ? static_cast<std::size_t>(std::ceil(ratio_ / 2 + kBeam))
                                                      : kBeam),
        stride_(std::min(2 * beam_, reference.size() + 1)),
        cells_(length_ * stride_),
        scratch_(2 * stride_),
        first_row_(reference.size() + 1) {
    for (std::size_t column = 0; column <= reference.size(); ++column) first_row_[column] = static_cast<int>(column);
  }

  // Makes `words` the base and returns its distance.
  int rebase(const Words& words) {
    for (std::size_t row = 1; row <= length_; ++row) {
      fill(row, words[row - 1], base_row(row - 1), cells_.data() + (row - 1) * stride_);
    }
    return base_row(length_).at(reference_.size());
  }

  // The distance of `words`, whose first `same` words are those of the base.
  int distance(const Words& words, std::size_t same) {
    Row previous = base_row(same);
    for (std::size_t row = same + 1; row <= length_; ++row) {
      previous = fill(row, words[row - 1], previous, scratch_.data() + (row % 2) * stride_);
    }
    return previous.at(reference_.size());
  }

  // Reads the alignment of `words`, the base, from the matrix. Among operations of equal cost it prefers keeping or
  // substituting, then deleting a hypothesis word, then inserting a reference word.
  Alignment align(const Words& words) const {
    Alignment result{.hypothesis_of = std::vector<std::ptrdiff_t>(reference_.size()),
                     .reference_wrong = std::vector<bool>(reference_.size()),
                     .hypothesis_wrong = std::vector<bool>(length_)};
    std::size_t i = length_;
    std::size_t j = reference_.size();
    while (i > 0 || j > 0) {
      const int cost = base_row(i).at(j);
      const bool both = i > 0 && j > 0;
      const bool differ = both && words[i - 1] != reference_[j - 1];
      if (both && cost == base_row(i - 1).at(j - 1) + (differ ? 1 : 0)) {
        --i, --j;
        result.hypothesis_of[j] = i;
        result.reference_wrong[j] = result.hypothesis_wrong[i] = differ;
      } else if (i > 0 && (j == 0 || cost == base_row(i - 1).at(j) + 1)) {
        --i;
        result.hypothesis_wrong[i] = true;
      } else {
        --j;
        result.hypothesis_of[j] = static_cast<std::ptrdiff_t>(i) - 1;
        result.reference_wrong[j] = true;
      }
    }
    return result;
  }

 private:
  static constexpr int kFar = std::numeric_limits<int>::max() / 2;

  // The columns [begin, end) of a row that are inside the band.
  struct Row {
    const int* cells;
    std::size_t begin;
    std::size_t end;
    int at(std::size_t column) const { return column >= begin && column < end ? cells[column - begin] : kFar; }
  };

  Row place(std::size_t row, const int* cells) const {
    if (row == 0) return {first_row_.data(), 0, first_row_.size()};
    const auto diagonal = static_cast<std::size_t>(std::floor(static_cast<double>(row) * ratio_));
    return {cells, diagonal > beam_ ? diagonal - beam_ : 0, std::min(reference_.size() + 1, diagonal + beam_)};
  }

  Row base_row(std::size_t row) const { return place(row, row == 0 ? nullptr : cells_.data() + (row - 1) * stride_); }

  // Writes row `row`, which consumes `word`, into `cells`.
  Row fill(std::size_t row, std::uint32_t word, const Row& previous, int* cells) {
    const Row current = place(row, cells);
    int left = kFar;
    int above_left = current.begin > 0 ? previous.at(current.begin - 1) : kFar;
    for (std::size_t column = current.begin; column < current.end; ++column) {
      const int above = previous.at(column);
      int cost = std::min(above, left) + 1;
      if (column > 0) cost = std::min(cost, above_left + (word == reference_[column - 1] ? 0 : 1));
      cells[column - current.begin] = left = cost;
      above_left = above;
    }
    return current;
  }

  std::size_t length_;
  const Words& reference_;
  double ratio_;
  std::size_t beam_;
  std::size_t stride_;
  std::vector<int> cells_;    // rows 1 to length_ of the base
  std::vector<int> scratch_;  // two alternating rows of a variant
  std::vector<int> first_row_;
};

// A move of a block of words.
struct Shift {
  int gain;  // edits saved
  std::size_t length;
  std::size_t start;
  std::size_t target;  // inserted before the word at this index, which may be the end

  // Tercom's ranking: largest gain, then longest block, earliest start, furthest forward target.
  auto rank() const {
    return std::tuple(gain, length, -static_cast<std::ptrdiff_t>(start), -static_cast<std::ptrdiff_t>(target));
  }

  // The first word that moves.
  std::size_t first_changed() const { return std::min(start, target); }

  void apply(Words& words) const {
    const auto at = [&](std::size_t position) { return words.begin() + std::min(position, words.size()); };
    if (target < start) {
      std::rotate(at(target), at(start), at(start + length));
    } else if (target > start + length) {
      std::rotate(at(start), at(start + length), at(target));
    } else {  // within itself: the words after it move forward by as much
      std::rotate(at(start), at(start + length), at(target + length));
    }
  }
};

// Finds the shift of `words`, the base of `distances`, with the largest gain; `candidates` counts those tried.
std::optional<Shift> best_shift(const Words& words, const Words& reference, int base_distance,
                                BandedDistance& distances, int& candidates) {
  const Alignment alignment = distances.align(words);
  const auto any = [](const std::vector<bool>& wrong, std::size_t start, std::size_t length) {
    const auto from = wrong.begin() + start;
    return std::find(from, from + length, true) != from + length;
  };
  std::optional<Shift> best;
  Words shifted;
  for (std::size_t start = 0; start < words.size(); ++start) {
    const std::size_t first = start > kMaxShiftDistance ? start - kMaxShiftDistance : 0;
    const std::size_t last = std::min(reference.size(), start + kMaxShiftDistance + 1);
    for (std::size_t goal = first; goal < last; ++goal) {
      for (std::size_t length = 1;
           length <= kMaxShiftSize && start + length <= words.size() && goal + length <= reference.size() &&
           words[start + length - 1] == reference[goal + length - 1];
           ++length) {
        // Only misplaced words are moved, and only to where the reference is not matched yet.
        if (!any(alignment.hypothesis_wrong, start, length) || !any(alignment.reference_wrong, goal, length)) continue;
        const std::ptrdiff_t home = alignment.hypothesis_of[goal];
        if (home >= static_cast<std::ptrdiff_t>(start) && home < static_cast<std::ptrdiff_t>(start + length)) continue;

        // Before the word aligned with the goal, and after each of the goal's words.
        std::optional<std::size_t> tried;
        for (std::size_t step = 0; step <= length; ++step) {
          // goal + step - 1 is the reference word to move after.
          const std::size_t target =
              goal + step == 0 ? 0 : static_cast<std::size_t>(alignment.hypothesis_of[goal + step - 1] + 1);
          if (target == tried) continue;
          tried = target;
          Shift shift{.gain = 0, .length = length, .start = start, .target = target};
          shifted = words;
          shift.apply(shifted);
          shift.gain = base_distance - distances.distance(shifted, shift.first_changed());
          ++candidates;
          if (!best || shift.rank() > best->rank()) best = shift;
        }
        if (candidates >= kMaxCandidates) return best;
      }
    }
  }
  return best;
}

std::size_t count_edits(Words words, const Words& reference) {
  if (words.empty() || reference.empty()) return words.size() + reference.size();
  BandedDistance distances(words.size(), reference);
  int num_shifts = 0;
  int candidates = 0;
  for (;;) {
    const int distance = distances.rebase(words);
    const std::optional<Shift> shift =
        distance > 0 ? best_shift(words, reference, distance, distances, candidates) : std::nullopt;
    if (!shift || shift->gain <= 0 || candidates >= kMaxCandidates) {
      return num_shifts + distance;
    }
    shift->apply(words);
    ++num_shifts;
  }
}

}  // namespace

std::vector<double> Ter::statistics(std::string_view hypothesis, std::span<const std::string_view> references) const {
  // The texts stay alive beside `ids`, which points into them.
  std::vector<std::string> texts;
  texts.reserve(references.size() + 1);
  WordIds ids;
  const auto words_of = [&](std::string text) { return ids.of(split_words(texts.emplace_back(std::move(text)))); };
  // sacreBLEU normalises references twice, which makes a difference if the white space after 's is not a space.
  const auto reference_of = [&](std::string_view line) {
    const std::string once = tokenize_tercom(line, options_);
    return words_of(options_.normalized ? tokenize_tercom(once, options_) : once);
  };
  const Words words = words_of(tokenize_tercom(hypothesis, options_));
  double lengths = 0;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const std::string_view line : references) {
    const Words reference = reference_of(line);
    fewest = std::min(fewest, count_edits(words, reference));
    lengths += static_cast<double>(reference.size());
  }
  return {static_cast<double>(fewest), lengths / static_cast<double>(references.size())};
}

double Ter::value(std::span<const double> statistics) const {
  if (statistics[1] > 0) return 100 * (statistics[0] / statistics[1]);
  return statistics[0] > 0 ? 100 : 0;
}

nlohmann::ordered_json Ter::parts(std::span<const double> statistics) const {
  return {{"edits", static_cast<std::int64_t>(statistics[0])}, {"reference_length", statistics[1]}};
}

std::string Ter::settings() const {
  const auto yes = [](bool is_so) { return is_so ? "yes" : "no"; };
  return fmt::format("case:{}|tok:tercom|norm:{}|punct:{}|asian:{}", options_.case_sensitive ? "mixed" : "lc",
                     yes(options_.normalized), yes(!options_.no_punct), yes(options_.asian_support));
}

}  // namespace attend::metrics
