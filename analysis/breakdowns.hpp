// Where systems differ: groups of sentences and of words, and words that depend on each other over a distance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "data/text/word_alignment.hpp"
#include "eval/metrics/metric.hpp"

namespace attend {

// Recall: the share of the words to be found that were found, with a 95 % interval.

class RecallByGroup {
 public:
  // At least one system; all have the same to find.
  RecallByGroup(const std::vector<std::string>& names, std::size_t systems, std::size_t sentences);

  // A word or pair of a sentence that is to be found.
  void add(std::size_t group, std::size_t system, std::size_t sentence, bool is_found);

  // The recall of each system in each group that has something to find, in percent. Words of one sentence depend on
  // each other, so the interval is a bootstrap over sentences; if all or none are found, resamples do not vary, and it
  // is Wilson's, with a trial for each sentence that has something to find. Fewer than metrics::kFewestSegments such
  // sentences have no interval.
  std::vector<BreakdownGroup> groups() const;

 private:
  struct Found {
    double all = 0, found = 0;
  };
  static Estimate recall_of(const std::vector<Found>& sentences);

  std::vector<std::string> names_;
  std::vector<std::vector<std::vector<Found>>> counts_;  // [group][system][sentence]
};

// Breakdowns of the differences between systems: scores by groups of sentences and of words, and the n-grams that one
// system produces and another misses (as in compare-mt; Neubig et al. 2019, N19-4007).
//
// Words are those of BLEU's tokenizer 13a. A reference word counts as found if its translation has it at least as often
// as the reference up to that word, so recall is clipped like BLEU's matches. Intervals are bootstraps over sentences.

// A test set and its translations; all vectors have one entry for each sentence.
struct TranslatedSet {
  std::vector<std::string> sources;
  std::vector<std::string> references;
  std::vector<std::vector<std::string>> outputs;  // of each system
};

// The number of occurrences of each word of a text, such as the target side of the training text.
using WordFrequencies = std::unordered_map<std::string, std::int64_t>;
// In all files together. UserError if one cannot be read.
WordFrequencies count_frequencies(const std::vector<std::string>& files);

// Groups of words by their frequency: "never", "1 to 9", …, and the number of a word's group.
const std::vector<std::string>& frequency_names();
std::size_t frequency_group(const WordFrequencies& frequencies, const std::string& word);

// Sentences by the number of words in the source, each word between white space.
struct LengthGroup {
  std::string name;  // "10 to 19"
  std::vector<std::size_t> sentences;
};
// The groups that have sentences, the shortest first.
std::vector<LengthGroup> length_groups(const std::vector<std::string>& sources);

// The score by these groups.
Breakdown by_length(const TranslatedSet& set, const metrics::Metric& metric);
// Recall of reference words by their frequency in the training text.
Breakdown by_frequency(const TranslatedSet& set, const WordFrequencies& frequencies);
// Recall of the words that source and reference share and that have a digit or an upper-case letter: numbers and names.
Breakdown by_copying(const TranslatedSet& set);
// Recall of reference words by their place in the reference, in fifths.
Breakdown by_position(const TranslatedSet& set);

// At most `most` n-grams of up to three words whose matches differ most between systems, the greatest ratio first.
std::vector<NgramDifference> ngram_differences(const TranslatedSet& set, std::size_t most = 30);

// Recall of words that depend on each other over a distance, from sure gold links: a source word with links to several
// target words stands for a verb in parts ("ruft … an", "hat … gerufen"), of which the last must agree with the first.
//
//   source "he calls her"   target "er ruft sie an"   gold 0-0 1-1 1-3 2-2     the pair ruft, an at distance 2
//
// A system translates a pair if its output has the first word and, anywhere after it, the last one; case and the
// punctuation around words are ignored.

// The share of pairs that each system translates, in percent, by distance in words: 1, 2 to 3, 4 to 6, 7 to 10, 11 and
// more; groups without pairs are left out. outputs[system][line]; intervals are those of RecallByGroup.
Breakdown recall_of_distant_pairs(const std::vector<std::string>& reference,
                                  const std::vector<std::vector<std::string>>& outputs,
                                  const std::vector<SentenceLinks>& gold);

}  // namespace attend
