// After search: reranking by another run, and words in place of unknown ones.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/options.hpp"
#include "eval/pair_attention.hpp"
#include "eval/score.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

// Reranking: the hypotheses of search, rescored by another run. It may write the target from right to left (attend
// train --reverse-target; Liu et al. 2016, N16-1046) or translate in the reverse direction (the noisy channel of Yee et
// al. 2019, arXiv 1908.05731).
//
//   score(y) = log p(y | x) / |y|^alpha + W · log q / n
//
// The first term is the score of search. q is q(y | x), or q(x | y) in the reverse direction, by forced decoding
// (score.hpp), and n counts the pieces of y, or of x, and the end of sentence. Texts, not ids, pass between the two
// runs, so their tokenizers may differ.

enum class RerankDirection { same, reverse };
template <>
inline constexpr auto kEnumNames<RerankDirection> =
    std::to_array<EnumName<RerankDirection>>({{RerankDirection::same, "same"}, {RerankDirection::reverse, "reverse"}});

struct RerankConfig {
  std::string rerank = {};
  double rerank_weight = 1;
  RerankDirection rerank_direction = RerankDirection::same;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Reranking");
    visit("rerank", self.rerank,
          {.help = "run that rescores all hypotheses of the beam, or samples: their score + W x log q / length; "
                   "--checkpoint best or last also chooses its checkpoint",
           .placeholder = "RUN"});
    visit("rerank-weight", self.rerank_weight,
          {.help = "W, the weight of log q / length, the run's log-probability per piece",
           .min = 0,
           .max = 1000,
           .only = {"rerank"}});
    visit(
        "rerank-direction", self.rerank_direction,
        {.help =
             "q is the probability of the translation given the source (same; the run may be one of --reverse-target), "
             "or of the source given the translation (reverse; by a run that translates the other way)",
         .only = {"rerank"}});
  }
};

// Adds to the scores of each line's translations and sorts them, the highest first; of equal ones the earlier. That of
// a blank line keeps its score.
void rerank(const TranslationRun& run, const RerankConfig& config, const ScoreConfig& scoring,
            const std::vector<std::string>& lines, std::vector<std::vector<Translation>>& translations);

// Replaces unknown words of translations (Luong et al. 2015, arXiv 1410.8206, section 3.3; Jean et al. 2015, arXiv
// 1412.2007): by the dictionary's entry for the source word that was attended to most when the unknown word was
// predicted, or else by that source word.
//
//   "Tom sees Ouagadougou"    "Tom sieht ⁇"    "Tom sieht Ouagadougou"
class UnknownWords {
 public:
  // `dictionary`: a file of lines "source<TAB>target", of which the first for a source word counts; empty: none.
  // `options` observe cross-attention as in search. UserError if the model has no attention to the source, or for a
  // malformed line. `trained` must outlive this.
  UnknownWords(const TranslationRun& trained, const std::string& run, const std::string& dictionary,
               const PairAttentionOptions& options);

  // Replaces the unknown words in the texts of the translations of a line. The attention is that of the decoder's last
  // layer, averaged over heads, summed over the pieces of a word.
  void replace(const std::string& line, std::vector<Translation>& translations);

 private:
  std::string replaced(const PiecePair& pair, const SentenceAttention& attention) const;
  // The word for an unknown piece that was predicted with these weights.
  std::string word_for(const PiecePair& pair, const torch::Tensor& weights_S) const;

  TokenizerPair tokenizers_;
  std::unordered_map<std::string, std::string> dictionary_;
  std::deque<Translation*> waiting_;
  PairAttention pairs_;
};

}  // namespace attend
