// The results of `attend compare` for language models, as one plain value: the parts of every comparison
// (comparison.hpp), and how the loss depends on the context. docs/compare.md defines each number.
//
// The metrics are perplexity by word and bits per byte of the test text, whose segments are documents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"

namespace attend {

struct TestText {
  std::string files;
  std::int64_t documents = 0;
  std::int64_t words = 0;  // between white space
  std::int64_t bytes = 0;  // of the lines, with their line breaks
};

// The loss of the same words, each piece of which is read with exactly `tokens` tokens before it.
struct ContextLoss {
  std::int64_t tokens = 0;
  std::vector<std::optional<Estimate>> loss = {};  // nats per word, parallel to systems; missing if a model reads fewer
};

// The share of a layer's attention by distance, the mean over heads and tokens.
struct DistanceShares {
  std::int64_t layer = 0;
  std::vector<double> shares = {};  // parallel to distances; their sum is 1
};

struct LanguageComparison : ComparedSystems {
  TestText test;
  std::int64_t context_words = 0;                      // words of each ContextLoss
  std::vector<ContextLoss> contexts;                   // the shortest first; empty if the text is too short
  std::vector<std::string> distances;                  // to the token that is attended to: "0", "1", "2 to 3"
  std::vector<std::vector<DistanceShares>> attention;  // parallel to systems; empty without attention
};

}  // namespace attend
