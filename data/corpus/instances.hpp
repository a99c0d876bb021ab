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
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/options.hpp"
#include "data/corpus/document_corpus.hpp"
#include "data/corpus/masking.hpp"

namespace attend {

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
           .only = kMaskedTokens});
    visit("length", self.length,
          {.help = "tokens per sequence, including [CLS] and [SEP]; with --objective causal, per segment of the text",
           .min = 8,
           .max = 65535});
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
