// Hypotheses: the beginnings of an output, and those that are complete.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// The decoder's first token, end token, and tokens it must not produce; -1: none. The first token of a language model
// is its end token. Vocabularies made by attend contain the marks of an encoder's input, <cls>, <sep> and <mask>, to
// which label smoothing gives a probability; no output shows them.
struct TargetIds {
  std::int64_t bos = -1;
  std::int64_t eos = -1;
  std::int64_t pad = -1;
  std::array<std::int64_t, 3> marks = {-1, -1, -1};

  // Those of a translation model's tokenizer.
  static TargetIds of(const SpecialIds& ids) {
    return {.bos = ids.bos, .eos = ids.eos, .pad = ids.pad, .marks = {ids.cls, ids.sep, ids.mask}};
  }

  // False for tokens that no output contains: pad, bos, marks, and eos before the minimum length.
  bool may_follow(std::int64_t id, std::int64_t length, std::int64_t min_length) const {
    if (id == eos) return length >= min_length;
    return id != pad && id != bos && std::ranges::find(marks, id) == marks.end();
  }
};

using PhraseIds = std::vector<std::int32_t>;  // tokens, at least one

// True if `ids` end with the first `count` tokens of a phrase.
inline bool ends_with_beginning(const std::vector<std::int32_t>& ids, const PhraseIds& phrase, std::size_t count) {
  return ids.size() >= count && std::equal(ids.end() - count, ids.end(), phrase.begin());
}

// Phrases that must not occur (processors.hpp).
struct ForbiddenPhrases {
  std::vector<PhraseIds> spaced;    // as tokenized after a space or at the beginning
  std::vector<PhraseIds> unspaced;  // as tokenized after a bracket, if different: forbidden unless a word precedes
  std::vector<bool> is_of_words;    // of each token of the vocabulary: it has a letter or digit
};

// The requests for one sequence.
struct Wanted {
  std::int64_t longest = 0;                 // the maximum length
  std::int64_t line = 0;                    // its number in the input, from 0
  std::int64_t src_length = 0;              // positions to attend to
  std::vector<std::int32_t> prefix = {};    // the output begins with it
  std::vector<PhraseIds> constraints = {};  // must occur
  const ForbiddenPhrases* forbidden = nullptr;
  std::vector<std::int32_t> prompt = {};  // read after bos, before the output begins; not part of it
  // True if the output must stop after these tokens (processors.hpp).
  std::function<bool(std::span<const std::int32_t> ids)> stops = {};
};

struct Hypothesis {
  std::vector<std::int32_t> ids = {};  // without bos and eos
  // log p of the ids, and of eos if it was generated: the model's, whatever guided the search.
  std::vector<float> token_log_probs = {};
  double log_prob = 0;     // their sum
  double score = 0;        // ranking criterion
  bool ended = false;      // by eos, not by the maximum length
  std::int64_t group = 0;  // of a diverse beam
};

// An unfinished hypothesis; it is one row of the decoder.
struct Live {
  std::vector<std::int32_t> ids = {};
  std::vector<float> token_log_probs = {};
  double log_prob = 0;      // the sum of token_log_probs
  double score = 0;         // the sum of log p after the processors, which guides the search
  std::int64_t parent = 0;  // the row of the last step that it continues
  std::int64_t sample = 0;  // its number among those that the sentence began with
  double coverage = 0;      // the coverage penalty, if used
  std::int64_t group = 0;   // of a diverse beam
};

// A sequence whose search is not done.
struct OpenSentence {
  std::int64_t index = 0;  // in the request
  Wanted wanted = {};
  std::vector<Live> live = {};
  std::vector<Hypothesis> finished = {};
};

}  // namespace attend
