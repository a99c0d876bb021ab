#include "eval/neighbours.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "eval/metrics/predictions.hpp"
#include "eval/metrics/tokenizers.hpp"

namespace attend {

using torch::Tensor;

namespace {

constexpr double kCosMulEpsilon = 0.001;
constexpr float kNoAnswer = -std::numeric_limits<float>::infinity();

// Each row divided by its length.
Tensor unit_rows(const Tensor& x_RE) { return x_RE / x_RE.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12); }

// The pieces of a word within a text.
std::vector<std::int32_t> pieces_of_word(const Tokenizer& tokenizer, const std::string& word) {
  return tokenizer.encode(tokenizer.in_document(word, /*is_first=*/false));
}

}  // namespace

std::string whole_word(const Tokenizer& tokenizer, std::int32_t id) {
  if (id == tokenizer.special().unk || !tokenizer.begins_word(id)) return {};
  const std::string word = trimmed(tokenizer.decode({&id, 1}));
  return pieces_of_word(tokenizer, word) == std::vector{id} ? word : std::string();
}

WordTable table_of(WordVectors vectors, const std::string& name) {
  const auto values = std::make_shared<std::vector<float>>(std::move(vectors.values));  // large: not copied
  const std::int64_t num_words = std::ssize(vectors.words);
  return {.name = name,
          .words = std::move(vectors.words),
          .vectors_VE = at::from_blob(
              values->data(), {num_words, vectors.width}, [values](void*) {}, torch::kFloat32),
          .other = {}};
}

WordTable table_of(const Tokenizer& tokenizer, const Tensor& table_VE, std::int64_t most, const std::string& name) {
  const Tensor rows_VE = table_VE.detach().to(torch::kCPU, torch::kFloat32);
  WordTable table{.name = name};
  std::vector<std::int64_t> ids;
  for (std::int32_t id = 0; id < tokenizer.size() && std::ssize(ids) < most; ++id) {
    std::string word = whole_word(tokenizer, id);
    if (word.empty()) continue;
    table.words.push_back(std::move(word));
    ids.push_back(id);
  }
  if (ids.empty()) {
    throw UserError(name + ": no piece of its vocabulary is a word", "give a run with a vocabulary of words");
  }
  table.vectors_VE = rows_VE.index_select(0, torch::tensor(ids, torch::kLong));
  table.other = [tokenizer, rows_VE](const std::string& word) -> std::optional<SpelledWord> {
    if (is_blank(word)) return std::nullopt;
    const std::vector<std::int32_t> pieces = pieces_of_word(tokenizer, word);
    if (pieces.empty() || std::ranges::find(pieces, tokenizer.special().unk) != pieces.end()) return std::nullopt;
    const Tensor of_word = torch::tensor(pieces, torch::kInt32);
    return SpelledWord{.spelling = trimmed(tokenizer.decode(pieces)),
                       .vector_E = rows_VE.index_select(0, of_word).mean(0),
                       .pieces = std::ssize(pieces)};
  };
  return table;
}

AnalogyTally& AnalogyTally::operator+=(const AnalogyTally& other) {
  correct += other.correct;
  questions += other.questions;
  left_out += other.left_out;
  return *this;
}

WordSpace::WordSpace(WordTable table, bool ignore_case)
    : table_(std::move(table)), ignore_case_(ignore_case), unit_VE_(unit_rows(std::exchange(table_.vectors_VE, {}))) {
  for (std::size_t i = 0; i < table_.words.size(); ++i) {
    rows_[key_of(table_.words[i])].push_back(i);
  }
}

std::string WordSpace::key_of(const std::string& word) const { return ignore_case_ ? metrics::lower_case(word) : word; }

const WordSpace::Rows* WordSpace::rows_of(const std::string& word) const {
  const auto found = rows_.find(key_of(word));
  return found == rows_.end() ? nullptr : &found->second;
}

std::optional<SpelledWord> WordSpace::find(const std::string& word) const {
  if (const Rows* rows = rows_of(word)) {
    const std::int64_t row = rows->front();
    return SpelledWord{.spelling = table_.words[row], .vector_E = unit_VE_[row]};
  }
  std::optional<SpelledWord> other;
  if (table_.other) other = table_.other(word);
  if (other) other->vector_E = unit_rows(other->vector_E.unsqueeze(0))[0];
  return other;
}

SpelledWord WordSpace::require(const std::string& word) const {
  auto found = find(word);
  if (!found) {
    throw UserError(fmt::format("\"{}\" has no vector in {}", word, table_.name),
                    ignore_case_ ? "give another word" : "give another word, or add --ignore-case");
  }
  if (found->pieces > 1) {
    log::info("{}: its vector is the mean of those of its {}", word, counted(found->pieces, "piece"));
  }
  return std::move(*found);
}

std::vector<Neighbour> WordSpace::best(Tensor scores_V, const std::vector<std::string>& without,
                                       std::int64_t count) const {
  std::int64_t num_left = scores_V.size(0);
  for (const std::string& word : without) {
    const Rows* rows = rows_of(word);
    if (rows == nullptr) continue;
    for (const std::int64_t row : *rows) {
      if (scores_V[row].item<float>() == kNoAnswer) continue;
      scores_V[row] = kNoAnswer;
      --num_left;
    }
  }
  // Of words that differ only in case, all but the first are skipped.
  const auto [scores_K, rows_K] = scores_V.topk(ignore_case_ ? num_left : std::min(count, num_left));
  std::vector<Neighbour> neighbours;
  for (std::int64_t k = 0; k < scores_K.size(0) && std::ssize(neighbours) < count; ++k) {
    const std::int64_t row = rows_K[k].item<std::int64_t>();
    const std::string& word = table_.words[row];
    if (rows_of(word)->front() == row) neighbours.push_back({.word = word, .score = scores_K[k].item<double>()});
  }
  return neighbours;
}

std::vector<Neighbour> WordSpace::nearest(const std::string& word, std::int64_t count) const {
  const SpelledWord of = require(word);
  return best(unit_VE_.mv(of.vector_E), {word, of.spelling}, count);
}

Tensor WordSpace::answers(const Tensor& a_QE, const Tensor& b_QE, const Tensor& c_QE, AnalogyMethod method) const {
  const auto cosines = [&](const Tensor& x_QE) { return x_QE.mm(unit_VE_.t()); };
  if (method == AnalogyMethod::add) return cosines(unit_rows(b_QE - a_QE + c_QE));
  const auto shifted = [&](const Tensor& x_QE) { return (1 + cosines(x_QE)) / 2; };
  return shifted(b_QE) * shifted(c_QE) / (shifted(a_QE) + kCosMulEpsilon);
}

std::vector<Neighbour> WordSpace::analogy(const Analogy& analogy, AnalogyMethod method, std::int64_t count) const {
  const SpelledWord a = require(analogy.a), b = require(analogy.b), c = require(analogy.c);
  const Tensor scores_1V = answers(a.vector_E.unsqueeze(0), b.vector_E.unsqueeze(0), c.vector_E.unsqueeze(0), method);
  return best(scores_1V[0], {analogy.a, analogy.b, analogy.c, a.spelling, b.spelling, c.spelling}, count);
}

AnalogyTally WordSpace::answer(const std::vector<AnalogyQuestion>& questions, AnalogyMethod method) const {
  std::vector<std::array<const Rows*, 4>> known;
  for (const AnalogyQuestion& question : questions) {
    std::array<const Rows*, 4> rows = {};
    std::ranges::transform(question, rows.begin(), [&](const std::string& word) { return rows_of(word); });
    if (std::ranges::find(rows, nullptr) == rows.end()) known.push_back(rows);
  }
  AnalogyTally tally{.questions = std::ssize(known), .left_out = std::ssize(questions) - std::ssize(known)};
  constexpr std::int64_t kScoresAtOnce = std::int64_t{1} << 24;
  const std::int64_t at_once = std::max<std::int64_t>(kScoresAtOnce / unit_VE_.size(0), 1);
  for (std::int64_t first = 0; first < std::ssize(known); first += at_once) {
    signals::throw_if_stopped("stopped before the last question");
    const std::int64_t count = std::min(at_once, std::ssize(known) - first);
    const std::span asked(known.data() + first, static_cast<std::size_t>(count));
    const auto vectors_QE = [&](std::size_t place) {
      std::vector<std::int64_t> rows_Q;
      for (const auto& rows : asked) rows_Q.push_back(rows[place]->front());
      return unit_VE_.index_select(0, torch::tensor(rows_Q, torch::kLong));
    };
    const Tensor scores_QV = answers(vectors_QE(0), vectors_QE(1), vectors_QE(2), method);
    auto scores = scores_QV.accessor<float, 2>();
    for (std::int64_t q = 0; q < count; ++q) {
      for (std::size_t place = 0; place < 3; ++place) {
        for (const std::int64_t row : *asked[q][place]) scores[q][row] = kNoAnswer;
      }
    }
    const Tensor best_Q = scores_QV.argmax(1);
    for (std::int64_t q = 0; q < count; ++q) {
      const Rows& right = *asked[q][3];
      const std::int64_t row = best_Q[q].item<std::int64_t>();
      tally.correct += scores[q][row] != kNoAnswer && std::ranges::find(right, row) != right.end();
    }
  }
  return tally;
}

SimilarityScore WordSpace::rate(const std::vector<RatedPair>& pairs) const {
  std::vector<double> cosines, scores;
  for (const RatedPair& pair : pairs) {
    const auto first = find(pair.first), second = find(pair.second);
    if (!first || !second) continue;
    cosines.push_back(first->vector_E.dot(second->vector_E).item<double>());
    scores.push_back(pair.score);
  }
  if (scores.empty()) {
    throw UserError(
        fmt::format("{}: no pair of {} has two words with vectors", table_.name, counted(std::ssize(pairs), "pair")),
        "check that the words are written alike, or add --ignore-case");
  }
  return {.spearman = metrics::spearman(cosines, scores),
          .pairs = std::ssize(scores),
          .left_out = std::ssize(pairs) - std::ssize(scores)};
}

}  // namespace attend
