// Reranking: the hypotheses of search, rescored by another run. It may write the target from right to left (attend
// train --reverse-target; Liu et al. 2016, N16-1046) or translate in the reverse direction (the noisy channel of Yee et
// al. 2019, arXiv 1908.05731).
//
//   score(y) = log p(y | x) / |y|^alpha + W · log q / n
//
// The first term is the score of search. q is q(y | x), or q(x | y) in the reverse direction, by forced decoding
// (score.hpp), and n counts the pieces of y, or of x, and the end of sentence. Texts, not ids, pass between the two
// runs, so their tokenizers may differ.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "eval/score.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

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
// a blank line keeps its score. The labels of source factors that follow a line are not read.
void rerank(const Run& run, const RerankConfig& config, const ScoreConfig& scoring,
            const std::vector<std::string>& lines, std::vector<std::vector<Translation>>& translations);

}  // namespace attend
