// Hypotheses: the beginnings of an output, and those that are complete.
#pragma once

#include <cstdint>
#include <vector>

namespace attend {

// The decoder's first token, end token, and tokens it must not produce; -1: none.
struct TargetIds {
  std::int64_t bos = -1;
  std::int64_t eos = -1;
  std::int64_t pad = -1;
};

// What is asked for one sequence.
struct Wanted {
  std::int64_t longest = 0;  // the maximum length
  std::int64_t line = 0;     // its number in the input, from 0
};

struct Hypothesis {
  std::vector<std::int32_t> ids;       // without bos and eos
  std::vector<float> token_log_probs;  // of the ids, and eos if it was generated: the model's, whatever guided the search
  double log_prob = 0;                 // their sum
  double score = 0;                    // ranking criterion
  bool ended = false;                  // by eos, not by the maximum length
};

// An unfinished hypothesis; it is one row of the decoder.
struct Live {
  std::vector<std::int32_t> ids = {};
  std::vector<float> token_log_probs = {};
  double log_prob = 0;      // the sum of token_log_probs
  double score = 0;         // the sum of what the search went by: log p after the processors
  std::int64_t parent = 0;  // the row of the last step that it continues
  std::int64_t sample = 0;  // its number among those that the sentence began with
};

// A sequence whose search is under way.
struct OpenSentence {
  std::int64_t index = 0;  // in the request
  Wanted wanted = {};
  std::vector<Live> live = {};
  std::vector<Hypothesis> finished = {};
};

}  // namespace attend
