#include "train/translation/guided_attention.hpp"

#include <fmt/format.h>

#include <limits>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/text/parallel.hpp"
#include "data/tokenizer/piece_sampler.hpp"

namespace attend {

// The links of a line: the index of its first number, and the count of its numbers.
struct PieceLinks::Record {
  std::uint64_t begin;
  std::uint32_t line;
  std::uint32_t count;
};

namespace {

// Target and source piece of each link, alternately.
std::vector<std::int32_t> numbers_of(const std::vector<Link>& links) {
  std::vector<std::int32_t> numbers;
  for (const Link& link : links) {
    numbers.push_back(static_cast<std::int32_t>(link.tgt));
    numbers.push_back(static_cast<std::int32_t>(link.src));
  }
  return numbers;
}

// The links from each word of a tree to its head, in the same form; none for a text of more than `max_length` pieces.
std::vector<std::int32_t> linked_words(const TreeSentence& tree, const Tokenizer& tokenizer, std::int64_t max_length) {
  const std::vector<Piece> pieces = tokenizer.encode_pieces(tree.text);
  if (std::ssize(pieces) > max_length) return {};
  std::vector<Link> links;
  for (std::size_t w = 0; w < tree.words.size(); ++w) {
    const std::size_t head = tree.words[w].head;
    links.push_back({.src = static_cast<std::int64_t>(head == 0 ? w : head - 1), .tgt = static_cast<std::int64_t>(w)});
  }
  const PiecesOfWords words = pieces_of_words(tree, pieces);
  return numbers_of(links_of_pieces(links, words, words));
}

// Writes a record for each pair of lines; `encode` returns its linked pieces.
template <class Record, class Encode>
void encode_links(IdCache::Writer& cache, const std::string& src_file, const std::string& other_file,
                  const Encode& encode) {
  ParallelReader reader(src_file, other_file);
  std::uint64_t num_numbers = 0;
  const auto make_encoder = [&] { return [&](const TextPair& pair) { return encode(pair); }; };
  encode_in_order<TextPair>(reader, src_file, make_encoder,
                            [&](const TextPair& pair, const std::vector<std::int32_t>& numbers) {
                              cache.add_record(Record{.begin = num_numbers,
                                                      .line = static_cast<std::uint32_t>(pair.line),
                                                      .count = static_cast<std::uint32_t>(numbers.size())});
                              cache.add_ids(numbers);
                              num_numbers += numbers.size();
                            });
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
  ParallelReader reader(src_file, tgt_file);
  constexpr auto kAny = std::numeric_limits<std::int64_t>::max();  // for pairs that are not trained on
  LinkFormat format{.may_be_possible = false,
                    .remedy = "give the links of " + src_file + " and " + tgt_file + ", source-target from word 0"};
  for (TextPair pair; reader.next(pair);) {
    for (auto* words : {&format.source_words, &format.target_words}) words->resize(pair.line, kAny);
    format.source_words.back() = std::ssize(aligned_words(pair.src));
    format.target_words.back() = std::ssize(aligned_words(pair.tgt));
  }
  const std::uint64_t lines = reader.counts().src.lines;
  for (auto* words : {&format.source_words, &format.target_words}) words->resize(lines, kAny);
  std::vector<SentenceLinks> links = read_links(file, format);
  check_aligned(file, std::ssize(links), src_file, static_cast<std::int64_t>(lines));
  if (std::ranges::all_of(links, [](const SentenceLinks& sentence) { return sentence.sure.empty(); })) {
    throw UserError(file + ": no links", "give links between words, such as 0-0 1-2");
  }
  return links;
}

std::vector<TreeSentence> read_line_trees(const std::string& file, const std::string& src_file) {
  std::vector<TreeSentence> trees = read_conllu(file), of_lines;
  const std::string remedy =
      "give the tree of each line of " + src_file + " that is not blank, in order, with the line as \"# text = \"";
  LineReader lines(src_file);
  std::size_t count = 0;
  for (std::string line; lines.next(line);) {
    TreeSentence& tree = of_lines.emplace_back();
    if (is_blank(line) || ++count > trees.size()) continue;
    tree = std::move(trees[count - 1]);
    if (tree.text != trimmed(line)) {
      throw UserError(fmt::format("{}:{}: the sentence is \"{}\", but {} is \"{}\"", file, tree.line, tree.text,
                                  lines.place(), line),
                      remedy);
    }
    const std::size_t before = line.find(tree.text);
    for (auto& [begin, end] : tree.places) begin += before, end += before;
    tree.text = line;
  }
  if (count == trees.size()) return of_lines;
  throw UserError(fmt::format("{}: {}, but {} has {} with text", file, counted(std::ssize(trees), "sentence"), src_file,
                              counted(count, "line")),
                  remedy);
}

PiecesOfWords pieces_by_word(const Tokenizer& tokenizer, const std::string& text, std::int64_t most) {
  const std::vector<Piece> pieces = tokenizer.encode_pieces(text);
  if (std::ssize(pieces) > most) return {};
  return pieces_of_words(text, bytes_of(pieces));
}

std::vector<Link> links_of_pieces(const std::vector<Link>& links, const PiecesOfWords& src, const PiecesOfWords& tgt) {
  std::vector<Link> result;
  if (src.empty() || tgt.empty()) return result;
  for (const Link& link : links) {
    for (const std::int64_t t : tgt[link.tgt]) {
      for (const std::int64_t s : src[link.src]) result.push_back({.src = s, .tgt = t});
    }
  }
  return result;
}

PieceLinks::PieceLinks(const std::vector<SentenceLinks>& links, const std::string& file, const CorpusSource& source,
                       const CorpusConfig& config, const std::filesystem::path& cache)
    : within_source_(false),
      src_tokenizer_(source.src_tokenizer),
      query_tokenizer_(source.tgt_tokenizer),
      max_length_(static_cast<std::int32_t>(config.max_length)),
      cache_(IdCache::open({file, source.src_file, source.tgt_file},
                           "links " + src_tokenizer_.hash() + query_tokenizer_.hash() + std::to_string(max_length_) +
                               (query_tokenizer_.is_reversed() ? " reversed" : ""),
                           shape(), cache, [&](IdCache::Writer& writer) {
                             encode_links<Record>(writer, source.src_file, source.tgt_file, [&](const TextPair& pair) {
                               return numbers_of(links_of_pieces(
                                   links[pair.line - 1].sure, pieces_by_word(src_tokenizer_, pair.src, max_length_),
                                   pieces_by_word(query_tokenizer_, pair.tgt, max_length_)));
                             });
                           })) {}

// The source paired with itself has every line of the corpus.
PieceLinks::PieceLinks(const std::vector<TreeSentence>& trees, const std::string& file, const CorpusSource& source,
                       const CorpusConfig& config, const std::filesystem::path& cache)
    : within_source_(true),
      src_tokenizer_(source.src_tokenizer),
      query_tokenizer_(source.src_tokenizer),
      max_length_(static_cast<std::int32_t>(config.max_length)),
      cache_(IdCache::open({file, source.src_file}, "trees " + src_tokenizer_.hash() + std::to_string(max_length_),
                           shape(), cache, [&](IdCache::Writer& writer) {
                             encode_links<Record>(writer, source.src_file, source.src_file, [&](const TextPair& pair) {
                               return linked_words(trees[pair.line - 1], src_tokenizer_, max_length_);
                             });
                           })) {}

IdCache::Shape PieceLinks::shape() const { return {.vocabulary = max_length_, .record_bytes = sizeof(Record)}; }

std::vector<std::int32_t> PieceLinks::linked_pieces(std::uint64_t line) const {
  const auto records = cache_.records<Record>();
  const auto found = std::ranges::lower_bound(records, line, {}, &Record::line);
  ensure(found != records.end() && found->line == line, "every pair has a record of links");
  std::vector<std::int32_t> numbers;
  cache_.append(found->begin, found->count, max_length_, numbers);
  return numbers;
}

void PieceLinks::add_to(Batch& batch, const EncodedCorpus& corpus) const {
  const Layout &keys = batch.src.layout, &queries = within_source_ ? keys : batch.tgt.layout;
  const torch::Tensor& query_ids_M = within_source_ ? batch.src.ids_M : batch.labels_M;
  std::vector<std::int64_t> cells;
  std::vector<float> shares;
  for (std::int64_t b = 0; b < keys.size(); ++b) {
    const std::int64_t example = batch.examples[b];
    const PairIds own = corpus.pair(example);
    const auto of_src = overlaps(src_tokenizer_, own.src, pieces_of(batch.src.ids_M, keys, b));
    const auto of_query =
        overlaps(query_tokenizer_, within_source_ ? own.src : own.tgt, pieces_of(query_ids_M, queries, b));
    const std::vector<std::int32_t> linked = linked_pieces(corpus.line(example));
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;  // of pieces of the batch
    for (std::size_t i = 0; i < linked.size(); i += 2) {
      for (const std::int64_t t : of_query[linked[i]]) {
        for (const std::int64_t s : of_src[linked[i + 1]]) pairs.emplace_back(t, s);
      }
    }
    std::ranges::sort(pairs);
    pairs.erase(std::ranges::unique(pairs).begin(), pairs.end());
    for (const auto& [t, s] : pairs) {
      cells.push_back((b * queries.max_length + t) * keys.max_length + s);
      const auto of_piece = std::ranges::equal_range(pairs, t, {}, &std::pair<std::int64_t, std::int64_t>::first);
      shares.push_back(1.0F / static_cast<float>(std::ranges::size(of_piece)));
    }
  }
  GuidedCells& guided = within_source_ ? batch.relations : batch.alignment;
  guided = {.cells_K = at::tensor(cells, at::kLong), .shares_K = at::tensor(shares, at::kFloat)};
}

}  // namespace attend
