// The files of the built-in corpus beside the translation sets: documents, and a folder for each labelled task.
//
//   documents.train.txt documents.valid.txt        a sentence a line, a blank line between documents
//   sentiment/ inference/ paraphrase/ similarity/ acceptability/   train.tsv dev.tsv test.tsv, a header of column names
//   questions/                                     train.json dev.json test.json, as SQuAD 2.0
//   entities/                                      train.txt dev.txt test.txt, CoNLL columns: token and tag
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attend {

struct ToySetSizes {
  std::uint64_t seed = 1;
  std::int64_t train_documents = 0, valid_documents = 0;
  std::int64_t train = 0, dev = 0, test = 0;  // examples of each task
};

// What was written of one kind.
struct ToyPart {
  std::string name;  // documents, or the folder of a task
  std::string unit;  // of what there are so many
  std::int64_t train = 0, dev = 0, test = 0;
};

// The names of all these files, relative to the corpus.
std::vector<std::string> toy_set_files();

// Writes them. What test and dev hold depends on the seed and their own sizes alone (dev on that of test too, whose
// texts it does not repeat). Throws UserError where a file cannot be written.
std::vector<ToyPart> write_toy_sets(const std::filesystem::path& directory, const ToySetSizes& sizes);

}  // namespace attend
