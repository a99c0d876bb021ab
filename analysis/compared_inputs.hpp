// The texts that a comparison reads: the test set, gold links, and translations that were made elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/text/word_alignment.hpp"

namespace attend {

// A system of which only the translations are known: NAME=FILE.
struct GivenSystem {
  std::string name;
  std::string file;
  std::vector<std::string> lines = {};
};

// The systems that --hypothesis names; their lines are not read yet. UserError for a word that is not NAME=FILE, or a
// name that is given twice.
std::vector<GivenSystem> parse_hypotheses(const std::vector<std::string>& words);

struct ComparedInputs {
  std::vector<std::string> sources;
  std::vector<std::string> references;
  std::vector<SentenceLinks> gold = {};  // of every line, or empty
  std::int64_t source_words = 0;
  std::int64_t target_words = 0;
  std::vector<GivenSystem> given;
};

// UserError naming the file for texts that are empty or do not have one line for each source sentence.
ComparedInputs read_compared_inputs(const std::vector<std::string>& test, const GoldConfig& gold,
                                    const std::vector<std::string>& hypotheses);

}  // namespace attend
