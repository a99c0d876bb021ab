// Links between the words of a training text, spread to the pieces that the text is split into: what guided attention
// learns from.
//
//   source "a whole day" ▁a ▁wh ole ▁day    target "ganztags" ▁ganz tags    links "1-0"
//   both target pieces should attend to ▁wh and ole, with one half each
//
// Words are separated by spaces and tabs; punctuation attached to a word that has letters is not linked
// (eval/alignment). In dependency trees, which have words of their own, each word is linked with the one it depends on,
// and the root with itself:
//
//   source "a whole day"    a <-det- day, whole <-amod- day    ▁wh, ole and ▁a should attend to ▁day, and so should
//   ▁day
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
// words that a sentence does not have, another number of lines than the text, and a file without links.
std::vector<SentenceLinks> read_word_links(const std::string& file, const std::string& src_file,
                                           const std::string& tgt_file);

// The tree of every line of a text; that of a blank line has no words and is not in `file`. Throws UserError as
// read_conllu, and naming `file` for a sentence that is not the text of its line, whose place there is named, too, and
// for another number of sentences than of lines with text.
std::vector<TreeSentence> read_line_trees(const std::string& file, const std::string& src_file);

// The pieces of each word of a text; none for a text of more than `most` pieces, which is not read as a whole.
PiecesOfWords pieces_by_word(const Tokenizer& tokenizer, const std::string& text, std::int64_t most);

// The links between the words of two such texts as links between their pieces: each piece of one word with each of the
// other.
std::vector<Link> links_of_pieces(const std::vector<Link>& links, const PiecesOfWords& src, const PiecesOfWords& tgt);

class PieceLinks {
 public:
  // Links between the two sides, or the trees of the source: read from `file` as above for the text of `source`, which
  // is encoded with `config`. Pieces are kept in the cache of encoded text.
  PieceLinks(const std::vector<SentenceLinks>& links, const std::string& file, const CorpusSource& source,
             const CorpusConfig& config, const std::filesystem::path& cache);
  PieceLinks(const std::vector<TreeSentence>& trees, const std::string& file, const CorpusSource& source,
             const CorpusConfig& config, const std::filesystem::path& cache);

  // Adds the cells of Batch::alignment, or of trees Batch::relations, to a batch on the CPU of examples of `corpus`,
  // whose pieces may be those of the corpus or a sample of them.
  void add_to(Batch& batch, const EncodedCorpus& corpus) const;

  // XXH3 of the bytes of links or trees, and text.
  const std::string& content_hash() const { return cache_.content_hash(); }

 private:
  struct Record;

  IdCache::Shape shape() const;
  // The piece that attends and the one attended to of each link of a line, alternately.
  std::vector<std::int32_t> linked_pieces(std::uint64_t line) const;

  bool within_source_;
  Tokenizer src_tokenizer_, query_tokenizer_;
  std::int32_t max_length_;
  IdCache cache_;
};

}  // namespace attend
