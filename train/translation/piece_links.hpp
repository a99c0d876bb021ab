// Links between the words of a training text, converted to links between its pieces, from which guided attention
// learns.
//
//   source "a whole day" ▁a ▁wh ole ▁day    target "ganztags" ▁ganz tags    links "1-0"
//   both target pieces should attend to ▁wh and ole, with one half each
//
// Words are separated by spaces and tabs; punctuation attached to a word with letters is not linked (eval/alignment).
// In dependency trees, which have their own words, each word is linked with its head, and the root with itself:
//
//   source "a whole day"    a <-det- day, whole <-amod- day    ▁a, ▁wh, ole and ▁day should attend to ▁day
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/batch/batch.hpp"
#include "data/corpus/id_cache.hpp"
#include "data/corpus/parallel_corpus.hpp"
#include "data/text/conllu.hpp"
#include "data/text/word_alignment.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/alignment.hpp"

namespace attend {

// The links of every line of a text. Throws UserError naming `file`, and the line if there is one, for malformed links,
// words beyond the end of a sentence, a number of lines other than that of the text, or no link at all.
std::vector<SentenceLinks> read_word_links(const std::string& file, const std::string& src_file,
                                           const std::string& tgt_file);

// The tree of every line of a text; blank lines have an empty tree and are absent from `file`. Throws UserError as
// read_conllu does, and also for a sentence that differs from its line (spaces around the line do not count), or a
// number of sentences other than that of the lines with text.
std::vector<TreeSentence> read_line_trees(const std::string& file, const std::string& src_file);

// The pieces of each word of a text; none if it has more than `most` pieces, as training skips it.
PiecesOfWords pieces_by_word(const Tokenizer& tokenizer, const std::string& text, std::int64_t most);

// Links between words as links between pieces: from each piece of one word to each of the other.
std::vector<Link> links_of_pieces(const std::vector<Link>& links, const PiecesOfWords& src, const PiecesOfWords& tgt);

class PieceLinks {
 public:
  // The links between both sides, or the trees of the source, as read above from `file` for the text of `source`,
  // encoded with `config`. Linked pieces are kept in `cache`, the directory of encoded text.
  PieceLinks(const std::vector<SentenceLinks>& links, const std::string& file, const CorpusSource& source,
             const CorpusConfig& config, const std::filesystem::path& cache);
  PieceLinks(const std::vector<TreeSentence>& trees, const std::string& file, const CorpusSource& source,
             const CorpusConfig& config, const std::filesystem::path& cache);

  // Sets Batch::alignment, or for trees Batch::relations, of a batch on the CPU. Its examples are those of `corpus`, in
  // the pieces of the corpus or in sampled ones.
  void add_to(Batch& batch, const EncodedCorpus& corpus) const;

  // XXH3 of the links or trees and the text.
  const std::string& content_hash() const { return cache_.content_hash(); }

 private:
  struct Record;

  IdCache::Shape shape() const;
  // The attending and the attended piece of each link of a line, alternately.
  std::vector<std::int32_t> linked_pieces(std::uint64_t line) const;

  bool within_source_;
  Tokenizer src_tokenizer_, query_tokenizer_;
  std::int32_t max_length_;
  IdCache cache_;
};

}  // namespace attend
