#include "train/translation/piece_links.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "data/corpus/encode_in_order.hpp"
#include "data/text/factors.hpp"
#include "data/text/lines.hpp"
#include "data/text/parallel.hpp"
#include "data/tokenizer/piece_sampler.hpp"
#include "eval/alignment.hpp"

namespace attend {

// The linked pieces of a line: the index of the first number, and how many there are.
struct PieceLinks::Record {
  std::uint64_t begin;
  std::uint32_t line;
  std::uint32_t count;
};

namespace {

struct LinkSummary {
  std::uint64_t num_numbers = 0;
};

// Empty for a text of more pieces, which is not trained on.
PiecesOfWords words_in_pieces(const Tokenizer& tokenizer, const std::string& text, std::int64_t max_length) {
  std::vector<PieceBytes> pieces;
  for (const Piece& piece : tokenizer.encode_pieces(text)) pieces.push_back({piece.begin, piece.end});
  if (std::ssize(pieces) > max_length) return {};
  return pieces_of_words(text, spaced_words(text), pieces);
}

std::vector<std::int32_t> spread(const std::vector<Link>& links, const PiecesOfWords& src, const PiecesOfWords& tgt) {
  std::vector<std::int32_t> numbers;
  if (src.empty() || tgt.empty()) return numbers;
  for (const Link& link : links) {
    for (const std::int64_t t : tgt[static_cast<std::size_t>(link.tgt)]) {
      for (const std::int64_t s : src[static_cast<std::size_t>(link.src)]) {
        numbers.push_back(static_cast<std::int32_t>(t));
        numbers.push_back(static_cast<std::int32_t>(s));
      }
    }
  }
  return numbers;
}

template <class Record>
void encode_links(IdCache::Writer& cache, const std::vector<SentenceLinks>& links, const CorpusSource& source,
                  std::int64_t max_length) {
  ParallelReader reader(source.src_files, source.tgt_files);
  LinkSummary summary;
  const auto make_encoder = [&] {
    return [&](const TextPair& pair) {
      return spread(links[pair.line - 1].sure, words_in_pieces(source.src_tokenizer, pair.src, max_length),
                    words_in_pieces(source.tgt_tokenizer, pair.tgt, max_length));
    };
  };
  encode_in_order<TextPair>(reader, source.src_files.front(), make_encoder,
                            [&](const TextPair& pair, const std::vector<std::int32_t>& numbers) {
                              cache.add_record(Record{.begin = summary.num_numbers,
                                                      .line = static_cast<std::uint32_t>(pair.line),
                                                      .count = static_cast<std::uint32_t>(numbers.size())});
                              cache.add_ids(numbers);
                              summary.num_numbers += numbers.size();
                            });
  cache.set_summary(summary);
}

// The pieces of a sentence, without eos.
std::vector<std::int32_t> pieces_of(const torch::Tensor& ids_M, const Layout& layout, std::int64_t b) {
  const auto* ids = ids_M.const_data_ptr<std::int64_t>();
  return {ids + layout.offsets[b], ids + layout.offsets[b + 1] - 1};
}

}  // namespace

std::vector<SentenceLinks> read_word_links(const std::string& file, const std::string& src_file,
                                           const std::string& tgt_file) {
  check_text_file(file);
  ParallelReader reader({src_file}, {tgt_file});
  constexpr auto kAny = std::numeric_limits<std::int64_t>::max();  // of pairs that are not trained on
  LinkFormat format{.may_be_possible = false,
                    .remedy = "give the links of " + src_file + " and " + tgt_file + ", source-target from word 0"};
  for (TextPair pair; reader.next(pair);) {
    for (auto* words : {&format.source_words, &format.target_words}) words->resize(pair.line, kAny);
    format.source_words.back() = std::ssize(spaced_words(pair.src));
    format.target_words.back() = std::ssize(spaced_words(pair.tgt));
  }
  const std::uint64_t lines = reader.counts().src.lines;
  for (auto* words : {&format.source_words, &format.target_words}) words->resize(lines, kAny);
  std::vector<SentenceLinks> links = read_links(file, format);
  if (links.size() != lines) {
    throw UserError(fmt::format("{}: {} lines, but {} has {}", file, links.size(), src_file, lines),
                    "give one line of links for each pair of the training text, empty if it has none");
  }
  if (std::ranges::all_of(links, [](const SentenceLinks& sentence) { return sentence.sure.empty(); })) {
    throw UserError(file + ": no links", "give links between words, such as 0-0 1-2");
  }
  return links;
}

PieceLinks::PieceLinks(const std::vector<SentenceLinks>& links, const std::string& file, const CorpusSource& source,
                       const CorpusConfig& config, const std::filesystem::path& cache)
    : src_tokenizer_(source.src_tokenizer),
      tgt_tokenizer_(source.tgt_tokenizer),
      max_length_(static_cast<std::int32_t>(config.max_length)),
      cache_(IdCache::open(
          {file, source.src_files.front(), source.tgt_files.front()},
          "links " + src_tokenizer_.hash() + tgt_tokenizer_.hash() + std::to_string(max_length_) +
              (tgt_tokenizer_.is_reversed() ? " reversed" : ""),
          {.vocabulary = max_length_, .record_bytes = sizeof(Record), .summary_bytes = sizeof(LinkSummary)}, cache,
          [&](IdCache::Writer& writer) { encode_links<Record>(writer, links, source, max_length_); })) {}

std::vector<std::int32_t> PieceLinks::linked_pieces(std::uint64_t line) const {
  const auto records = cache_.records<Record>();
  const auto found = std::ranges::lower_bound(records, line, {}, &Record::line);
  ensure(found != records.end() && found->line == line, "every pair has a record of links");
  std::vector<std::int32_t> numbers;
  cache_.append(found->begin, found->count, max_length_, numbers);
  return numbers;
}

void PieceLinks::add_to(Batch& batch, const EncodedCorpus& corpus) const {
  std::vector<std::int64_t> cells;
  std::vector<float> shares;
  for (std::int64_t b = 0; b < batch.src.layout.size(); ++b) {
    const std::int64_t example = batch.examples[static_cast<std::size_t>(b)];
    std::vector<std::int32_t> src, tgt;
    corpus.append_src(example, src);
    corpus.append_tgt(example, tgt);
    const auto of_src = overlaps(src_tokenizer_, src, pieces_of(batch.src.ids_M, batch.src.layout, b));
    const auto of_tgt = overlaps(tgt_tokenizer_, tgt, pieces_of(batch.labels_M, batch.tgt.layout, b));
    const std::vector<std::int32_t> linked = linked_pieces(corpus.line(example));
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;  // target and source piece of the batch
    for (std::size_t i = 0; i < linked.size(); i += 2) {
      for (const std::int64_t t : of_tgt[static_cast<std::size_t>(linked[i])]) {
        for (const std::int64_t s : of_src[static_cast<std::size_t>(linked[i + 1])]) pairs.emplace_back(t, s);
      }
    }
    std::ranges::sort(pairs);
    pairs.erase(std::ranges::unique(pairs).begin(), pairs.end());
    for (const auto& [t, s] : pairs) {
      cells.push_back((b * batch.tgt.layout.max_length + t) * batch.src.layout.max_length + s);
      const auto of_piece = std::ranges::equal_range(pairs, t, {}, &std::pair<std::int64_t, std::int64_t>::first);
      shares.push_back(1.0F / static_cast<float>(std::ranges::size(of_piece)));
    }
  }
  batch.guided_cells_K = at::tensor(cells, at::kLong);
  batch.guided_K = at::tensor(shares, at::kFloat);
}

}  // namespace attend
