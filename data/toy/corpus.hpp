// The built-in corpus (docs/formats.md lists its files): English-German sentence pairs of a small generated world, with
// the gold word alignments of the test set, the gold antecedents of pronouns, parts of speech, trees (meaning.hpp) and
// minimal pairs (challenge.hpp), and the documents, summaries and labelled sets of sets.hpp; and sequences to copy and
// recall (sequences.hpp).
//
// Alignments count words separated by spaces; punctuation is attached to the preceding word ("gesehen."), as in raw
// text. Every word on both sides is aligned.
//
// The same seed writes the same bytes on every platform. A test set depends only on the seed and its own size, not on
// the number of training sentences. No English sentence occurs twice, within a set or across sets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/toy/sets.hpp"

namespace attend {

struct ToyConfig {
  std::string directory;
  std::int64_t seed = 1;
  std::int64_t train_sentences = 20000;
  std::int64_t valid_sentences = 500;
  std::int64_t test_sentences = 1000;
  bool challenge = false;
  bool copy = false, recall = false;
  bool overwrite = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("directory", self.directory,
          {.help = "directory of the corpus; created if it does not exist",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("seed", self.seed, {.help = "seed of the random choices; equal seeds give identical files", .min = 0});
    visit("train-sentences", self.train_sentences,
          {.help = "training sentence pairs; a tenth as many documents, half as many summaries and a fifth as many "
                   "examples per task (12 to 20000) are written too",
           .min = 1,
           .max = 1e7});
    visit("valid-sentences", self.valid_sentences,
          {.help = "validation sentence pairs, and number of examples per task (12 to 2000)", .min = 1, .max = 1e6});
    visit("test-sentences", self.test_sentences,
          {.help = "test sentence pairs, and number of examples per task (12 to 2000)", .min = 1, .max = 1e6});
    visit("challenge", self.challenge,
          {.help = "also write minimal pairs for attend score --contrast: challenge/english.tsv, german.tsv and, for "
                   "translation models, en-de.tsv"});
    visit("copy", self.copy,
          {.help = "also write sequences to copy, for attend train: copy/train.source and .target of 1 to 20 words, "
                   "and test.N.source and .target of N words, up to 40; as many of each set as sentence pairs"});
    visit("recall", self.recall,
          {.help = "also write pairs of keys and values, of which the value of one key is asked: recall/, the same "
                   "files, of 1 to 10 pairs and, in the tests, up to 40"});
    visit("overwrite", self.overwrite, {.help = "overwrite the files of an existing corpus"});
  }
};

// Statistics of one set of sentence pairs.
struct ToySet {
  std::string name;  // train, valid, test
  std::int64_t sentences = 0;
  std::int64_t english_words = 0, german_words = 0;
  std::int64_t longest = 0;  // English words
  std::int64_t trees = 0;    // the first sentences, in either language
};

// Statistics of the corpus.
struct ToyReport {
  std::vector<ToySet> translation;                  // train, valid, test
  std::vector<ToyPart> parts;                       // documents, summaries, the tasks, then sequences
  std::size_t english_pairs = 0, german_pairs = 0;  // minimal pairs
  std::size_t translation_pairs = 0;                // the same of translations into German
};

// Writes all files. Throws UserError if one exists (without overwrite) or cannot be written.
ToyReport write_toy_corpus(const ToyConfig& config);

}  // namespace attend
