// What an encoder is pretrained on: stretches of documents, made anew for every epoch as a pure function of (seed,
// epoch).
//
// With a second part (arXiv 1810.04805, section 3.1 and appendix A.2): sentences of a document are gathered up to the
// wanted length and split at random between two of them; half of the time the second part is kept, which is "next",
// half of the time it is what begins at a random sentence of another document, and the sentences not used are gathered
// again. A tenth of the instances (short_sequences) are wanted shorter, of a random length. What is too long loses
// tokens of its longer part, at random in front or behind. Without (arXiv 1907.11692, DOC-SENTENCES): one stretch of a
// document, as long as wanted. With order (arXiv 1909.11942): two parts that follow each other, half of the time
// exchanged.
//
// A last sentence that nothing follows has no next and is left out, so that halves stay halves; as a random second part
// it is met all the same.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/corpus/document_corpus.hpp"

namespace attend {

enum class SequenceObjective { next, none, order };
template <>
struct EnumNames<SequenceObjective> {
  static constexpr std::array names{std::pair{SequenceObjective::next, std::string_view("next")},
                                    std::pair{SequenceObjective::none, std::string_view("none")},
                                    std::pair{SequenceObjective::order, std::string_view("order")}};
};

struct InstanceConfig {
  SequenceObjective sequence_objective = SequenceObjective::next;
  std::int64_t length = 128;
  double short_sequences = 0.1;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("sequence-objective", self.sequence_objective,
          {.help =
               "what is learnt beside masked tokens: whether the second part is next (BERT), in which order two parts "
               "are (ALBERT), or none (RoBERTa)"});
    visit("length", self.length, {.help = "tokens of a sequence, [CLS] and [SEP] included", .min = 8, .max = 65535});
    visit("short-sequences", self.short_sequences,
          {.help = "share of the sequences that are made shorter, by a random length", .min = 0, .max = 1});
  }
};

// Tokens of the corpus, one after another.
struct TokenRange {
  std::uint64_t begin = 0;
  std::uint32_t count = 0;
};

struct Instance {
  TokenRange first;
  TokenRange second;          // empty without one
  std::int32_t relation = 0;  // of the second to the first: 0 next, or in order; 1 random, or exchanged
};

// The instances of an epoch in the order of the corpus. UserError where there are none, or `next` finds one document.
std::vector<Instance> make_instances(const DocumentCorpus& corpus, const InstanceConfig& config, std::uint64_t seed,
                                     std::int64_t epoch);

}  // namespace attend
