// Replaces unknown words of translations (Luong et al. 2015, arXiv 1410.8206, section 3.3; Jean et al. 2015, arXiv
// 1412.2007): by the dictionary's entry for the source word that was attended to most when the unknown word was
// predicted, or else by that source word.
//
//   "Tom sees Ouagadougou"    "Tom sieht ⁇"    "Tom sieht Ouagadougou"
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "eval/pair_attention.hpp"

namespace attend {

class UnknownWords {
 public:
  // `dictionary`: a file of lines "source<TAB>target", of which the first for a source word counts; empty: none.
  // `options` observe cross-attention as in search. UserError if the model has no attention to the source, or for a
  // malformed line. `trained` must outlive this.
  UnknownWords(const Run& trained, const std::string& run, const std::string& dictionary,
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
