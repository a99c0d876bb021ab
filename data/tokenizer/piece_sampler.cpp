#include "data/tokenizer/piece_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/tokenizer/sentencepiece_model.hpp"
#include "data/tokenizer/tokenizer_json.hpp"

namespace attend {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  for (std::size_t at = 0; at < text.size();) {
    at += characters.emplace_back(character_at(text, at)).size();
  }
  return characters;
}

std::optional<TokenizerType> type_of(const Tokenizer& tokenizer) {
  if (is_tokenizer_json(tokenizer.bytes())) return std::nullopt;
  return read_sentencepiece_content(tokenizer.bytes()).kind;
}

class BpeDropout final : public PieceSampler {
 public:
  BpeDropout(const Tokenizer& tokenizer, double rate) : PieceSampler(tokenizer), rate_(rate) {}

 private:
  void sample_word(std::string_view word, RandomStream& random, std::vector<std::int32_t>& ids) const override {
    std::vector<std::string_view> symbols = characters_of(word);
    const auto joined = [&](std::size_t i) {  // symbols i and i + 1, neighbours in the word
      return std::string_view(symbols[i].data(), symbols[i].size() + symbols[i + 1].size());
    };
    const auto rank = [&](std::size_t i) {
      const std::int32_t id = find(joined(i));
      return id < 0 ? kNever : score(id);
    };
    std::vector<double> ranks;  // of merging symbol i with the next
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) ranks.push_back(rank(i));
    while (true) {
      std::size_t best = ranks.size();
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (ranks[i] == kNever || random.uniform() < rate_) continue;
        if (best == ranks.size() || ranks[i] > ranks[best]) best = i;
      }
      if (best == ranks.size()) break;
      symbols[best] = joined(best);
      symbols.erase(symbols.begin() + best + 1);
      ranks.erase(ranks.begin() + best);
      if (best < ranks.size()) ranks[best] = rank(best);
      if (best > 0) ranks[best - 1] = rank(best - 1);
    }
    for (const std::string_view symbol : symbols) ids.push_back(find(symbol));
  }

  double rate_;
};

class UnigramSampler final : public PieceSampler {
 public:
  UnigramSampler(const Tokenizer& tokenizer, double alpha) : PieceSampler(tokenizer), alpha_(alpha) {}

 private:
  // A piece that ends a segmentation of a beginning of the word.
  struct Last {
    std::size_t begin;
    std::int32_t id;
    double weight;  // log of the sum over these segmentations
  };

  void sample_word(std::string_view word, RandomStream& random, std::vector<std::int32_t>& ids) const override {
    std::vector<std::vector<Last>> last(word.size() + 1);  // by their end
    std::vector<double> total(word.size() + 1, 0);         // log of the sum over all segmentations up to there
    const std::vector<std::string_view> characters = characters_of(word);
    for (auto first = characters.begin(); first != characters.end(); ++first) {
      const std::size_t begin = first->data() - word.data();
      if (begin > 0) total[begin] = log_sum(last[begin]);
      std::size_t end = begin;
      for (auto character = first; character != characters.end(); ++character) {
        end += character->size();
        if (end - begin > longest_piece()) break;
        const std::int32_t id = find(word.substr(begin, end - begin));
        if (id >= 0) last[end].push_back({begin, id, total[begin] + alpha_ * score(id)});
      }
    }
    total[word.size()] = log_sum(last[word.size()]);
    const std::size_t before = ids.size();
    for (std::size_t end = word.size(); end > 0;) {
      double draw = random.uniform();
      const auto drawn = std::ranges::find_if(last[end], [&](const Last& piece) {
        draw -= std::exp(piece.weight - total[end]);
        return draw < 0;
      });
      const Last& piece = drawn == last[end].end() ? last[end].back() : *drawn;  // sums may be rounded
      ids.push_back(piece.id);
      end = piece.begin;
    }
    std::reverse(ids.begin() + before, ids.end());
  }

  static double log_sum(const std::vector<Last>& pieces) {
    const double most = std::ranges::max_element(pieces, {}, &Last::weight)->weight;
    double sum = 0;
    for (const Last& piece : pieces) sum += std::exp(piece.weight - most);
    return most + std::log(sum);
  }

  double alpha_;
};

}  // namespace

PieceSampler::PieceSampler(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  const SentencePieceContent content = read_sentencepiece_content(tokenizer_.bytes());
  space_is_suffix_ = content.space_is_suffix;
  for (std::size_t id = 0; id < content.pieces.size(); ++id) {
    const auto& [text, score, type] = content.pieces[id];
    scores_.push_back(score);
    if (type != PieceType::normal) continue;
    normal_.emplace(text, static_cast<std::int32_t>(id));
    longest_piece_ = std::max(longest_piece_, text.size());
  }
  may_be_split_.resize(content.pieces.size());
  for (const auto& [text, id] : normal_) {
    const std::vector<std::string_view> characters = characters_of(text);
    may_be_split_[id] =
        std::ranges::all_of(characters, [&](std::string_view character) { return find(character) >= 0; });
    for (const std::string_view character : characters) {
      const auto before = text.substr(0, character.data() - text.data());
      if (!before.empty() && ends_word(before, character)) words_are_apart_ = false;
    }
  }
}

std::int32_t PieceSampler::find(std::string_view text) const {
  const auto found = normal_.find(text);
  return found == normal_.end() ? -1 : found->second;
}

// True if a word ends between a text and the character that follows it.
bool PieceSampler::ends_word(std::string_view before, std::string_view character) const {
  return before.ends_with(kSpaceMark) == space_is_suffix_ && (character == kSpaceMark) != space_is_suffix_;
}

std::vector<std::int32_t> PieceSampler::sample(std::span<const std::int32_t> ids, RandomStream& random) const {
  std::vector<std::int32_t> sampled;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) sample_word(word, random, sampled);
    word.clear();
  };
  std::vector<std::int32_t> in_order(ids.begin(), ids.end());
  if (tokenizer_.is_reversed()) std::ranges::reverse(in_order);
  for (const std::int32_t id : in_order) {
    if (!may_be_split_[id]) {
      end_word();
      sampled.push_back(id);
      continue;
    }
    for (const std::string_view character : characters_of(tokenizer_.piece(id))) {
      if (words_are_apart_ && ends_word(word, character)) end_word();
      word += character;
    }
  }
  end_word();
  if (tokenizer_.is_reversed()) std::ranges::reverse(sampled);
  return sampled;
}

std::vector<std::vector<std::int64_t>> overlaps(const Tokenizer& tokenizer, std::span<const std::int32_t> pieces,
                                                std::span<const std::int32_t> others) {
  std::vector<std::vector<std::int64_t>> result(pieces.size());
  if (std::ranges::equal(pieces, others)) {
    for (std::size_t i = 0; i < pieces.size(); ++i) result[i] = {static_cast<std::int64_t>(i)};
    return result;
  }
  std::size_t end = 0, other = 0, other_begin = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    end += tokenizer.piece(pieces[i]).size();
    while (other < others.size() && other_begin < end) {
      result[i].push_back(other);
      const std::size_t other_end = other_begin + tokenizer.piece(others[other]).size();
      if (other_end > end) break;  // it overlaps the next piece, too
      other_begin = other_end;
      ++other;
    }
  }
  return result;
}

void check_sampling(const SamplingConfig& config, std::optional<TokenizerType> type, const std::string& whose) {
  const auto refuse_unless = [&](double value, const std::string& option, TokenizerType expected) {
    if (value == 0 || type == expected) return;
    throw UserError(option + ": the tokenizer of " + whose + " is " +
                        (type ? "of kind " + std::string(name_of(*type)) : "a tokenizer.json") + ", not " +
                        std::string(name_of(expected)),
                    type == TokenizerType::bpe ? "give --bpe-dropout instead"
                    : type == TokenizerType::unigram
                        ? "give --subword-alpha instead, or another tokenizer (--vocab-type bpe)"
                        : "drop " + option + ", or give another tokenizer");
  };
  refuse_unless(config.bpe_dropout, "--bpe-dropout", TokenizerType::bpe);
  refuse_unless(config.subword_alpha, "--subword-alpha", TokenizerType::unigram);
}

void check_sampling(const SamplingConfig& config, const Tokenizer& tokenizer, const std::string& whose) {
  if (config.samples()) check_sampling(config, type_of(tokenizer), whose);
}

std::unique_ptr<const PieceSampler> make_piece_sampler(const SamplingConfig& config, const Tokenizer& tokenizer) {
  if (config.bpe_dropout > 0) return std::make_unique<BpeDropout>(tokenizer, config.bpe_dropout);
  return std::make_unique<UnigramSampler>(tokenizer, config.subword_alpha);
}

}  // namespace attend
