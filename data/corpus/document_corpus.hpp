// Documents as token ids, and the instances of pretraining that are made of them.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/corpus/id_cache.hpp"
#include "data/corpus/masking.hpp"
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

// Documents as token ids, sentence by sentence, in a memory-mapped cache (id_cache.hpp). Sentences and documents are
// stored in order, so that consecutive sentences have consecutive ids.
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

// Pretraining instances: segments of documents, regenerated for every epoch as a pure function of (seed, epoch).
//
// next (arXiv 1810.04805, section 3.1 and appendix A.2): gather sentences of a document until they reach the target
// length, and split them at a random sentence boundary. Half of the time keep the second part ("next"); otherwise
// replace it by sentences from a random position of another document and return the unused ones to the pool. A tenth of
// the instances (short_sequences) get a shorter, random target length. If a pair is too long, drop tokens from the
// start or end (at random) of its longer part.
// none (arXiv 1907.11692, DOC-SENTENCES): one segment of a document, up to the target length.
// order (arXiv 1909.11942): two consecutive parts, swapped half of the time.
//
// A document's last sentence, if it would be alone in an instance, has no continuation and is skipped, which keeps the
// classes balanced; it may still be drawn as a random second part.

enum class SequenceObjective { next, none, order };
template <>
inline constexpr auto kEnumNames<SequenceObjective> = std::to_array<EnumName<SequenceObjective>>(
    {{SequenceObjective::next, "next"}, {SequenceObjective::none, "none"}, {SequenceObjective::order, "order"}});

struct InstanceConfig {
  SequenceObjective sequence_objective = SequenceObjective::next;
  std::int64_t length = 128;
  double short_sequences = 0.1;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("sequence-objective", self.sequence_objective,
          {.help = "objective in addition to masked tokens: next sentence (BERT), sentence order (ALBERT), or none "
                   "(RoBERTa)",
           .only = kOfMasked});
    visit("length", self.length,
          {.help = "tokens per sequence, including [CLS] and [SEP]; with --objective causal or hybrid, per segment of "
                   "the text",
           .min = 8,
           .max = 65535,
           .common = true});
    visit(
        "short-sequences", self.short_sequences,
        {.help = "fraction of sequences with a shorter, random length", .min = 0, .max = 1, .only = kEncoderSequences});
  }
};

// Consecutive tokens of the corpus.
struct TokenRange {
  std::uint64_t begin = 0;
  std::uint32_t count = 0;
};

struct Instance {
  TokenRange first;
  TokenRange second;          // empty if there is only one part
  std::int32_t relation = 0;  // of the second part to the first: 0 next, or in order; 1 random, or swapped
};

// The instances of an epoch, in corpus order. Throws UserError if there are none, or if `next` finds only one document.
std::vector<Instance> make_instances(const DocumentCorpus& corpus, const InstanceConfig& config, std::uint64_t seed,
                                     std::int64_t epoch);

}  // namespace attend
