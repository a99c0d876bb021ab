#include "eval/line_requests.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/text/parallel.hpp"
#include "data/text/table.hpp"
#include "eval/metrics/tokenizers.hpp"
#include "eval/search/strategies.hpp"

namespace attend {
namespace {

void for_each_line(const std::string& file,
                   const std::function<void(const std::string& line, const std::string& place)>& take) {
  if (file.empty()) return;
  LineReader reader(file);
  for (std::string line; reader.next(line);) take(line, reader.place());
  reader.warn_of_invalid_utf8();
}

std::vector<std::int32_t> encode_known(const std::string& text, const Tokenizer& tokenizer, const std::string& place) {
  std::vector<std::int32_t> ids;
  for (const Piece& piece : tokenizer.encode_pieces(text)) {
    if (piece.id == tokenizer.special().unk) {
      throw UserError(fmt::format("{}: \"{}\": the target vocabulary lacks \"{}\"", place, text,
                                  trimmed(text.substr(piece.begin, piece.end - piece.begin))),
                      "choose other words");
    }
    ids.push_back(piece.id);
  }
  return ids;
}

// The phrases between tabs.
std::vector<PhraseIds> phrases_of(const std::string& line, const Tokenizer& tokenizer, const std::string& place) {
  std::vector<PhraseIds> phrases;
  for (const std::string& text : split_at(line, '\t')) {
    PhraseIds phrase = encode_known(text, tokenizer, place);
    if (!phrase.empty()) phrases.push_back(std::move(phrase));
  }
  return phrases;
}

// The pieces of a phrase after an opening bracket; none if a piece has both.
PhraseIds after_bracket(const std::string& phrase, const Tokenizer& tokenizer) {
  PhraseIds ids;
  for (const Piece& piece : tokenizer.encode_pieces("(" + phrase)) {
    if (piece.begin >= 1) ids.push_back(piece.id);
    if (piece.begin < 1 && piece.end > 1) return {};
  }
  return ids;
}

}  // namespace

void LineRequestConfig::validate(const OptionOrigins& origins, const SearchConfig& search) const {
  if (constraints.empty()) return;
  if (search.beam < 2) {
    throw UserError(origins("constraints") + ": constraints need a beam of at least 2", "choose --beam 2 or more");
  }
  if (search.diverse_groups > 0) {
    throw UserError(origins("diverse-groups") + ": a beam with --constraints has no groups", "leave one of them out");
  }
}

LineRequests::LineRequests(const LineRequestConfig& config, const Tokenizer& tokenizer) : config_(config) {
  for_each_line(config.prefix, [&](const std::string& line, const std::string& place) {
    prefixes_.push_back(encode_known(line, tokenizer, place));
  });
  for_each_line(config.constraints, [&](const std::string& line, const std::string& place) {
    constraints_.push_back(phrases_of(line, tokenizer, place));
  });
  for_each_line(config.forbid, [&](const std::string& line, const std::string& /*place*/) {
    const std::string text = trimmed(line);
    const PhraseIds spaced = tokenizer.encode(text), unspaced = after_bracket(text, tokenizer);
    const auto can_occur = [&](const PhraseIds& phrase) {
      return !phrase.empty() && std::ranges::find(phrase, tokenizer.special().unk) == phrase.end();
    };
    if (can_occur(spaced)) forbidden_.spaced.push_back(spaced);
    if (can_occur(unspaced) && unspaced != spaced) forbidden_.unspaced.push_back(unspaced);
  });
  if (config.forbid.empty()) return;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    forbidden_.is_of_words.push_back(metrics::has_word_character(tokenizer.piece(id)));
  }
}

void LineRequests::check_count(std::int64_t lines) const {
  if (!config_.prefix.empty()) check_aligned(config_.prefix, std::ssize(prefixes_), "the input", lines);
  if (!config_.constraints.empty()) check_aligned(config_.constraints, std::ssize(constraints_), "the input", lines);
}

void LineRequests::check(std::int64_t line, std::int64_t longest) const {
  const auto check_file = [&](const std::string& file, std::int64_t count) {
    if (!file.empty() && line >= count) check_aligned(file, count, "the input");
  };
  check_file(config_.prefix, std::ssize(prefixes_));
  check_file(config_.constraints, std::ssize(constraints_));
  Wanted wanted{.line = line};
  add_to(wanted);
  const std::int64_t of_prefix = std::ssize(wanted.prefix);
  const std::int64_t needed = of_prefix + missing_tokens(wanted.prefix, wanted.constraints);
  if (needed <= longest) return;
  const std::string& file = of_prefix > longest || config_.constraints.empty() ? config_.prefix : config_.constraints;
  throw UserError(fmt::format("{}:{}: needs {} pieces, but the translation of that line has at most {}",
                              name_of_input(file), line + 1, needed, longest),
                  longest == 0 ? "leave it blank, as the line of the input is" : "ask for less, or raise --max-length");
}

void LineRequests::add_to(Wanted& wanted) const {
  if (!prefixes_.empty()) wanted.prefix = prefixes_.at(wanted.line);
  if (!constraints_.empty()) wanted.constraints = constraints_.at(wanted.line);
  if (!config_.forbid.empty()) wanted.forbidden = &forbidden_;
}

}  // namespace attend
