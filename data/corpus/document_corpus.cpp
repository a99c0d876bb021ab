#include "data/corpus/document_corpus.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "data/text/documents.hpp"

namespace attend {

// One sentence: the index of its first id.
struct DocumentCorpus::Record {
  std::uint64_t begin;
  std::uint32_t line;
  std::uint32_t first;  // 1: the first sentence of its document
};

namespace {

constexpr std::string_view kSplitting = "documents by ICU's standard ";  // change it whenever the splitting changes

using Ids = std::vector<std::int32_t>;

// Appends a sentence in parts of at most kLongestSentence pieces, cut before the last word that starts in the second
// half of a part, if there is one.
void add_parts(const Ids& ids, const std::vector<bool>& begins_word, std::vector<Ids>& parts) {
  constexpr std::size_t longest = DocumentCorpus::kLongestSentence;
  std::size_t begin = 0;
  while (ids.size() - begin > longest) {
    std::size_t end = begin + longest;
    while (end > begin + longest / 2 && !begins_word[ids[end]]) --end;
    if (!begins_word[ids[end]]) end = begin + longest;
    parts.emplace_back(ids.begin() + begin, ids.begin() + end);
    begin = end;
  }
  if (begin < ids.size()) parts.emplace_back(ids.begin() + begin, ids.end());
}

struct EncodedLine {
  std::vector<Ids> sentences;
  std::uint64_t cut = 0;
};

template <class Record>
void encode_to(IdCache::Writer& cache, const std::vector<std::string>& files, const Tokenizer& tokenizer) {
  std::vector<bool> begins_word(tokenizer.size());
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) begins_word[id] = tokenizer.begins_word(id);
  DocumentReader reader(files);
  DocumentCounts counts;
  std::uint64_t num_tokens = 0;
  const auto make_encoder = [&] {
    return [&, splitter = make_sentence_splitter()](const DocumentLine& line) {
      EncodedLine encoded;
      bool is_first = line.first;  // of its document
      for (const std::string& sentence : splitter(line.text)) {
        const Ids ids = tokenizer.encode(tokenizer.in_document(sentence, is_first));
        is_first = false;
        encoded.cut += ids.size() > DocumentCorpus::kLongestSentence;
        add_parts(ids, begins_word, encoded.sentences);
      }
      return encoded;
    };
  };
  bool first = false;  // the next sentence starts a document
  encode_in_order<DocumentLine>(
      reader, files.front(), make_encoder, [&](const DocumentLine& line, const EncodedLine& encoded) {
        first = first || line.first;
        counts.cut += encoded.cut;
        for (const Ids& sentence : encoded.sentences) {
          cache.add_record(
              Record{.begin = num_tokens, .line = static_cast<std::uint32_t>(line.line), .first = first ? 1u : 0u});
          cache.add_ids(sentence);
          num_tokens += sentence.size();
          ++counts.sentences;
          counts.documents += first;
          first = false;
        }
      });
  counts.lines = reader.counts();
  if (counts.sentences == 0) throw UserError(name_of_files(files) + ": no sentences to train on", "check the text");
  cache.set_summary(counts);
}

}  // namespace

std::string DocumentCounts::report(std::uint64_t tokens) const {
  std::string text = counted(documents, "document") + ", " + counted(sentences, "sentence");
  if (cut > 0) text += " (" + std::to_string(cut) + " too long, cut)";
  text += ", " + counted(tokens, "token");
  return lines.clean() ? text : text + "; " + lines.report();
}

DocumentCorpus DocumentCorpus::open(const std::vector<std::string>& files, const Tokenizer& tokenizer,
                                    const std::filesystem::path& cache) {
  const DocumentReader refuses_what_cannot_be_read(files);  // before anything is hashed
  return {name_of_files(files),
          IdCache::open(
              files, std::string(kSplitting) + tokenizer.hash(),
              {.vocabulary = tokenizer.size(), .record_bytes = sizeof(Record), .summary_bytes = sizeof(DocumentCounts)},
              cache, [&](IdCache::Writer& writer) { encode_to<Record>(writer, files, tokenizer); }),
          tokenizer.size()};
}

DocumentCorpus::DocumentCorpus(std::string name, IdCache cache, std::int32_t vocabulary)
    : name_(std::move(name)), cache_(std::move(cache)), vocabulary_(vocabulary) {
  const auto records = cache_.records<Record>();
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].first) first_sentences_.push_back(i);
  }
  first_sentences_.push_back(records.size());
}

std::int64_t DocumentCorpus::num_single_sentences() const {
  std::int64_t count = 0;
  for (std::int64_t d = 0; d < num_documents(); ++d) count += first_sentence(d + 1) - first_sentence(d) == 1;
  return count;
}

std::uint64_t DocumentCorpus::begin(std::int64_t sentence) const {
  const auto records = cache_.records<Record>();
  ensure(sentence >= 0 && sentence <= std::ssize(records), "the sentence is in the corpus");
  return sentence == std::ssize(records) ? num_tokens() : records[sentence].begin;
}

std::uint64_t DocumentCorpus::line_of_token(std::uint64_t token) const {
  ensure(token < num_tokens(), "the token is in the corpus");
  const auto records = cache_.records<Record>();
  return (std::ranges::upper_bound(records, token, {}, &Record::begin) - 1)->line;
}

std::string DocumentCorpus::identity() const { return std::string(kSplitting) + cache_.content_hash(); }

const DocumentCounts& DocumentCorpus::counts() const { return cache_.summary<DocumentCounts>(); }

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
