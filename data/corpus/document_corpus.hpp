// Documents as token ids, sentence by sentence, in a cache that is mapped into memory (id_cache.hpp). The sentences of
// a document, and the documents, lie one after another: what follows a sentence in its document follows it in the ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/corpus/id_cache.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// What was read, and what was done to it.
struct DocumentCounts {
  LineCounts lines;
  std::uint64_t documents = 0;
  std::uint64_t sentences = 0;
  std::uint64_t cut = 0;  // sentences that were too long and became several

  // "26500 documents, 812345 sentences (12 too long, cut), 24711032 tokens; …"
  std::string report(std::uint64_t tokens) const;
};

class DocumentCorpus {
 public:
  // Pieces of the longest sentence; a longer one is cut, between words where it has any.
  static constexpr std::size_t kLongestSentence = 256;

  // Takes the corpus out of the cache, or encodes it into the cache first. UserError as DocumentReader, and when no
  // sentence is left.
  static DocumentCorpus open(const std::vector<std::string>& files, const Tokenizer& tokenizer,
                             const std::filesystem::path& cache = IdCache::default_directory());

  // Its files, see name_of_files.
  const std::string& name() const { return name_; }
  std::int64_t num_documents() const { return static_cast<std::int64_t>(first_sentences_.size()) - 1; }
  std::int64_t num_sentences() const { return first_sentences_.back(); }
  // Documents that have no second sentence.
  std::int64_t num_single_sentences() const;
  // Sentences of document d: first_sentence(d) … first_sentence(d + 1).
  std::int64_t first_sentence(std::int64_t document) const { return first_sentences_[document]; }

  // Where the ids of a sentence begin; those of the last one end at num_tokens().
  std::uint64_t begin(std::int64_t sentence) const;
  std::uint64_t num_tokens() const { return cache_.num_ids(); }
  void append(std::uint64_t begin, std::size_t count, std::vector<std::int32_t>& ids) const {
    cache_.append(begin, count, vocabulary_, ids);
  }
  // The line that a token stands in, from 1, counted over all files.
  std::uint64_t line_of_token(std::uint64_t token) const;

  const DocumentCounts& counts() const;
  // Of the text's bytes and the way it is split: tells whether a run goes on with the sentences it began with.
  std::string identity() const;
  bool from_cache() const { return cache_.found(); }

 private:
  struct Record;
  DocumentCorpus(std::string name, IdCache cache, std::int32_t vocabulary);

  std::string name_;
  IdCache cache_;
  std::int32_t vocabulary_;
  std::vector<std::int64_t> first_sentences_;
};

}  // namespace attend
