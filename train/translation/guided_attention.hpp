// Guided attention: links between words, as links between pieces, and what heads learn from them.
#pragma once

#include <ATen/ATen.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "data/corpus/id_cache.hpp"
#include "data/corpus/parallel_corpus.hpp"
#include "data/text/conll.hpp"
#include "data/text/word_alignment.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/pair_attention.hpp"
#include "models/layers/pass.hpp"

namespace attend {

// Links between the words of a training text, converted to links between its pieces, from which guided attention
// learns.
//
//   source "a whole day" ▁a ▁wh ole ▁day    target "ganztags" ▁ganz tags    links "1-0"
//   both target pieces should attend to ▁wh and ole, with one half each
//
// Words are separated by spaces and tabs; punctuation attached to a word with letters is not linked
// (eval/pair_attention). In dependency trees, which have their own words, each word is linked with its head, and the
// root with itself:
//
//   source "a whole day"    a <-det- day, whole <-amod- day    ▁a, ▁wh, ole and ▁day should attend to ▁day

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

// Guided attention: besides the translation, the weights of a head learn given links between words.
//
//   loss = -Σ_t Σ_s g_ts log a_ts
//
// a_ts is the weight that query t gives to piece s; g_t is uniform over the pieces linked with t. A piece without
// links, and the end of a sentence, have no loss. There are two guides:
//
//   alignment   from each target piece to the source pieces that it translates, while it is predicted: of the first
//               head of a layer of the decoder, or of the attention of a recurrent decoder (Chen et al. 2016, arXiv
//               1607.01628, eq. 9; Garg et al. 2019, arXiv 1909.02074, section 4.2)
//   relations   from each source word to the word that it depends on, and from the root to itself: of a head of the
//               encoder's self-attention (Strubell et al. 2018, arXiv 1804.08199, whose head has a bilinear score)
//
// The trainer divides the loss of alignment by the number of target tokens, as Garg et al. do, and that of relations by
// the number of source tokens.

struct GuidedAlignmentConfig {
  std::string links;
  double weight = 0.1;
  std::optional<std::int64_t> layer;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("guided-alignment", self.links,
          {.help = "links between the words of each training pair, such as 0-0 1-2, that attention learns; empty: none",
           .file = FileUse::read,
           .may_change = true,
           .is_input = true,
           .only = {"model", {"transformer", "luong", "bahdanau"}}});
    visit("guided-weight", self.weight,
          {.help = "weight of that loss beside the cross-entropy of words",
           .min = 1e-6,
           .max = 1e6,
           .only = {"guided-alignment"}});
    visit("guided-layer", self.layer,
          {.help = "decoder layer of a transformer, from 0, whose first head learns the links; auto: the last",
           .min = 0,
           .max = 95,
           .only = {"guided-alignment"}});
  }

  bool guides() const { return !links.empty(); }
};

struct GuidedRelationsConfig {
  std::string trees = {};
  double weight = 0.1;
  std::optional<std::int64_t> layer = {};
  std::int64_t head = 0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("guided-relations", self.trees,
          {.help = "dependency trees in CoNLL-U of the source lines of --train, in order, from which a head of the "
                   "encoder learns to attend from each word to the one it depends on; empty: none",
           .file = FileUse::read,
           .may_change = true,
           .is_input = true,
           .only = {"model", {"transformer"}}});
    visit("guided-relations-weight", self.weight,
          {.help = "weight of that loss beside the cross-entropy of words",
           .min = 1e-6,
           .max = 1e6,
           .only = {"guided-relations"}});
    visit("guided-relations-layer", self.layer,
          {.help = "encoder layer of that head, from 0; auto: the middle one",
           .min = 0,
           .max = 95,
           .only = {"guided-relations"}});
    visit("guided-relations-head", self.head,
          {.help = "number of that head in its layer, from 0", .min = 0, .max = 255, .only = {"guided-relations"}});
  }

  bool guides() const { return !trees.empty(); }
};

// A guided head, the cells of a batch that it learns, and the name and weight of its loss.
struct GuidedHead {
  AttentionPlace place;
  std::int64_t layer;
  std::int64_t head;
  GuidedCells Batch::*cells;
  const char* name = "";
  double weight = 1;
};

// Observes the weights of guided heads in one forward pass.
class GuidedAttention : public Observer {
 public:
  explicit GuidedAttention(std::vector<GuidedHead> heads) : heads_(std::move(heads)), weights_BTS_(heads_.size()) {}

  bool wants_attention(AttentionPlace place, std::int64_t layer) const override {
    return std::ranges::any_of(heads_, [&](const GuidedHead& head) { return is_in(head, place, layer); });
  }
  bool wants_hidden() const override { return false; }
  void on_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) override {
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      if (is_in(heads_[i], place, layer)) weights_BTS_[i] = weights_BNTS.select(1, heads_[i].head);
    }
  }

  // The loss of the head at `index`, summed over a batch whose cells index the padded weights [B, T, S]; 0 if the layer
  // was dropped.
  torch::Tensor loss(std::size_t index, const Batch& batch) const {
    const auto& [cells_K, shares_K] = batch.*heads_[index].cells;
    if (!weights_BTS_[index].defined()) return at::zeros({}, shares_K.options());
    const torch::Tensor weights_K = weights_BTS_[index].flatten().index_select(0, cells_K);
    return -(shares_K * weights_K.clamp_min(1e-30).log()).sum();  // a local scope gives 0 outside its window
  }

 private:
  static bool is_in(const GuidedHead& head, AttentionPlace place, std::int64_t layer) {
    return head.place == place && head.layer == layer;
  }

  std::vector<GuidedHead> heads_;
  std::vector<torch::Tensor> weights_BTS_;  // of each
};

}  // namespace attend
