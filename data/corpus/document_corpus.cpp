#include "data/corpus/document_corpus.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/corpus/id_cache.hpp"
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
    return [&, splitter = SentenceSplitter()](const DocumentLine& line) mutable {
      EncodedLine encoded;
      bool is_first = line.first;  // of its document
      for (const std::string& sentence : splitter.split(line.text)) {
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
  const auto count = [](std::uint64_t number, std::string_view noun) {
    return counted(static_cast<std::int64_t>(number), noun);
  };
  std::string text = count(documents, "document") + ", " + count(sentences, "sentence");
  if (cut > 0) text += " (" + std::to_string(cut) + " too long, cut)";
  text += ", " + count(tokens, "token");
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

}  // namespace attend
