// The files of the built-in corpus besides the translation sets (docs/formats.md): documents, their headlines, and a
// folder for each labelled task.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/toy/event.hpp"

namespace attend::toy {

// Sentences of the built-in world with tagged names: persons (PER), towns (LOC) and companies (ORG). All names look
// alike, so only the context distinguishes them: in Tarvel, Mrs. Tarvel, worked for Tarvel.

struct Token {
  std::string text;
  std::string tag;  // IOB2
};

// The tagged tokens of a sentence: punctuation marks are separate tokens, a title is not part of the name.
std::vector<Token> to_tokens(const Sentence& sentence);

}  // namespace attend::toy

namespace attend {

struct ToySetSizes {
  std::uint64_t seed = 1;
  std::int64_t train_documents = 0, valid_documents = 0;
  std::int64_t train_summaries = 0;
  std::int64_t train = 0, dev = 0, test = 0;  // examples of each task; dev and test of summaries
};

// Statistics of the documents, the summaries or a task.
struct ToyPart {
  std::string name;  // documents, or a folder
  std::string unit;  // what is counted
  std::int64_t train = 0, dev = 0, test = 0;
};

// The names of all these files, relative to the corpus.
std::vector<std::string> toy_set_files();

// Writes these files. Test and dev depend only on the seed and their own sizes (dev also on the size of test, whose
// texts it does not repeat). Throws UserError if a file cannot be written.
std::vector<ToyPart> write_toy_sets(const std::filesystem::path& directory, const ToySetSizes& sizes);

}  // namespace attend
