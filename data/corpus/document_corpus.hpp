// Documents as token ids, sentence by sentence, in a memory-mapped cache (id_cache.hpp). Sentences and documents are
// stored in order, so that consecutive sentences have consecutive ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/corpus/id_cache.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// Statistics of the text and its cleaning.
struct DocumentCounts {
  LineCounts lines;
  std::uint64_t documents = 0;
  std::uint64_t sentences = 0;
  std::uint64_t cut = 0;  // sentences that were too long and were split

  // "26500 documents, 812345 sentences (12 too long, cut), 24711032 tokens; …"
  std::string report(std::uint64_t tokens) const;
};

class DocumentCorpus {
 public:
  // Maximum length of a sentence in pieces; a longer one is split, between words if possible.
  static constexpr std::size_t kLongestSentence = 256;

  // Opens the corpus in the cache, encoding it first if necessary. Throws UserError as DocumentReader does, and if no
  // sentence is left.
  static DocumentCorpus open(const std::vector<std::string>& files, const Tokenizer& tokenizer,
                             const std::filesystem::path& cache = CacheConfig().resolved());

  // The names of its files, as name_of_files joins them.
  const std::string& name() const { return name_; }
  std::int64_t num_documents() const { return std::ssize(first_sentences_) - 1; }
  // Documents with a single sentence.
  std::int64_t num_single_sentences() const;
  // The sentences of document d are first_sentence(d) … first_sentence(d + 1) - 1.
  std::int64_t first_sentence(std::int64_t document) const { return first_sentences_[document]; }

  // Index of a sentence's first token; the last sentence ends at num_tokens().
  std::uint64_t begin(std::int64_t sentence) const;
  std::uint64_t num_tokens() const { return cache_.num_ids(); }
  void append(std::uint64_t begin, std::size_t count, std::vector<std::int32_t>& ids) const {
    cache_.append(begin, count, vocabulary_, ids);
  }
  // The line that contains a token, from 1, counted over all files.
  std::uint64_t line_of_token(std::uint64_t token) const;

  const DocumentCounts& counts() const;
  // Identifies the text and its splitting into sentences: a run must resume with the same sentences.
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
