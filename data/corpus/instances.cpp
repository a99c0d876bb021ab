#include "data/corpus/instances.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/random.hpp"

namespace attend {
namespace {

class Maker {
 public:
  Maker(const DocumentCorpus& corpus, const InstanceConfig& config, std::uint64_t key)
      : corpus_(corpus), config_(config), random_(key) {}

  std::vector<Instance> make() {
    for (std::int64_t d = 0; d < corpus_.num_documents(); ++d) {
      if (config_.sequence_objective == SequenceObjective::none) {
        make_stretches(d);
      } else {
        make_pairs(d);
      }
    }
    return std::move(instances_);
  }

 private:
  std::uint64_t tokens(std::int64_t from, std::int64_t to) const { return corpus_.begin(to) - corpus_.begin(from); }

  TokenRange range(std::int64_t from, std::int64_t to) const {
    return {.begin = corpus_.begin(from), .count = static_cast<std::uint32_t>(tokens(from, to))};
  }

  // Target length of an instance, without special tokens.
  std::uint64_t wanted(std::uint64_t most) {
    if (random_.uniform() >= config_.short_sequences) return most;
    return 2 + random_.below(most - 1);
  }

  // End (exclusive) of the sentences from `from` that reach `wanted` tokens, at most `end`; takes at least one.
  std::int64_t gather(std::int64_t from, std::int64_t end, std::uint64_t wanted) const {
    std::int64_t to = from + 1;
    while (to < end && tokens(from, to) < wanted) ++to;
    return to;
  }

  void make_stretches(std::int64_t document) {
    const std::int64_t end = corpus_.first_sentence(document + 1);
    const auto most = static_cast<std::uint64_t>(config_.length - 2);
    for (std::int64_t from = corpus_.first_sentence(document); from < end;) {
      const std::uint64_t count = wanted(most);
      // As many whole sentences as fit; a single sentence that does not fit is shortened.
      std::int64_t to = gather(from, end, count);
      if (to > from + 1 && tokens(from, to) > count) --to;
      Instance instance{.first = range(from, to), .second = {}, .relation = 0};
      shorten(instance, most);
      instances_.push_back(instance);
      from = to;
    }
  }

  void make_pairs(std::int64_t document) {
    const std::int64_t end = corpus_.first_sentence(document + 1);
    const auto most = static_cast<std::uint64_t>(config_.length - 3);
    for (std::int64_t from = corpus_.first_sentence(document); from < end;) {
      const std::uint64_t count = wanted(most);
      std::int64_t to = std::max(gather(from, end, count), from + 2);
      if (to > end) break;          // only one sentence is left
      if (end - to == 1) to = end;  // else the last sentence would be alone
      const bool other = random_.below(2) == 1;
      const std::int64_t split = from + 1 + static_cast<std::int64_t>(random_.below(to - from - 1));
      Instance instance{.first = range(from, split), .second = {}, .relation = other};
      if (config_.sequence_objective == SequenceObjective::order) {
        instance.second = range(split, to);
        if (other) std::swap(instance.first, instance.second);
      } else if (other) {
        instance.second = elsewhere(document, count > instance.first.count ? count - instance.first.count : 1);
        to = split;  // the unused sentences are used again
      } else {
        instance.second = range(split, to);
      }
      shorten(instance, most);
      instances_.push_back(instance);
      from = to;
    }
  }

  // Consecutive sentences of another document, starting at a random one.
  TokenRange elsewhere(std::int64_t document, std::uint64_t wanted) {
    std::int64_t other = random_.below(corpus_.num_documents() - 1);
    other += other >= document;
    const std::int64_t begin = corpus_.first_sentence(other), end = corpus_.first_sentence(other + 1);
    const std::int64_t from = begin + static_cast<std::int64_t>(random_.below(end - begin));
    return range(from, gather(from, end, wanted));
  }

  // Reduces a pair to `most` tokens: drops one token at a time from the start or end of the longer part.
  void shorten(Instance& instance, std::uint64_t most) {
    while (instance.first.count + instance.second.count > most) {
      TokenRange& longer = instance.first.count > instance.second.count ? instance.first : instance.second;
      if (random_.below(2) == 0) ++longer.begin;
      --longer.count;
    }
  }

  const DocumentCorpus& corpus_;
  const InstanceConfig& config_;
  RandomStream random_;
  std::vector<Instance> instances_;
};

}  // namespace

std::vector<Instance> make_instances(const DocumentCorpus& corpus, const InstanceConfig& config, std::uint64_t seed,
                                     std::int64_t epoch) {
  if (config.sequence_objective == SequenceObjective::next && corpus.num_documents() < 2) {
    throw UserError(
        corpus.name() +
            ": only one document, but --sequence-objective next needs others to draw random second parts from",
        "put a blank line between documents, or use --sequence-objective none");
  }
  std::vector<Instance> instances = Maker(corpus, config, combine_keys(seed, epoch, 0x1457)).make();
  if (instances.empty()) {
    throw UserError(corpus.name() + ": no document has two sentences, but --sequence-objective " +
                        std::string(name_of(config.sequence_objective)) + " needs pairs",
                    "use --sequence-objective none");
  }
  return instances;
}

}  // namespace attend
