// Sequences of syllables that only a memory of every position can answer, in place of a language:
//
//   copy     "ba ku ne"          -> "ba ku ne"   every word again, in order
//   recall   "ba NE ku FO ba"    -> "NE"         pairs of key and value, and one of the keys: its value
//
// The sequences of training and validation have 1 to 20 words, or 1 to 10 pairs; those of each test set have one
// length, up to 40 of either. Words to copy are drawn independently, so that a word may be there twice and a model
// has to know where it is; the keys of a sequence are distinct. Recall is the task of Graves et al. (2014), Neural
// Turing Machines, section 4.3, with one word for an item, and of Arora et al. (2023), Zoology, with one query.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "data/text/word_alignment.hpp"
#include "data/toy/sets.hpp"

namespace attend::toy {

enum class SequenceTask { copy, recall };

inline constexpr std::int64_t kTestLengths[] = {5, 10, 15, 20, 25, 30, 40};  // recall has a key for each

struct SequencePair {
  std::string source, target;
  std::vector<Link> alignment;  // of each target word, the source word that it repeats
};

// A sequence of `length` words, or pairs, from 1 to 40.
SequencePair draw_sequence(SequenceTask task, std::int64_t length, RandomStream& random);

// The files of a task, relative to the corpus: FOLDER/SET.source, .target and .align of train, valid and test.LENGTH.
std::vector<std::string> sequence_files(SequenceTask task);

struct SequenceSizes {
  std::uint64_t seed = 1;
  std::int64_t train = 0, valid = 0;
  std::int64_t test = 0;  // of each length
};

// Writes these files. A test set depends only on the seed and its own size; none of its sequences occurs in another
// set. Throws UserError if a file cannot be written.
ToyPart write_sequences(const std::filesystem::path& directory, SequenceTask task, const SequenceSizes& sizes);

}  // namespace attend::toy
