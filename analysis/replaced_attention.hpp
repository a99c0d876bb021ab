// What translation loses if attention is edited: the loss of given translations, and the BLEU of the model's own, which
// are greedy (beam 1) to save time and scored as in `attend evaluate`. docs/heads.md defines the numbers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/report/head_report.hpp"
#include "analysis/silencing.hpp"
#include "data/text/word_alignment.hpp"
#include "eval/score.hpp"
#include "models/run/run.hpp"

namespace attend {

// Sentences and their given translations, parallel.
struct GivenTranslations {
  std::vector<std::string> sources;
  std::vector<std::string> targets;
  std::vector<std::vector<Link>> links = {};  // between the words of each pair, or empty
};

// The loss with uniform and diagonal weights and, if there are links, those of the given alignment in place of the
// run's attention to the source (models/attention/replaced_weights.hpp), and the BLEU with uniform and diagonal ones.
// Changes are tested by the paired bootstrap over sentences, corrected for all weights. Names of files are left empty.
// Interrupted after SIGINT or SIGTERM.
Replacement replace_attention(const Run& run, const GivenTranslations& given, const ScoreConfig& scoring);

// Adds the BLEU of the run, and its change without each of `heads`, which are those of `silencing`.
void add_bleu(Silencing& silencing, std::span<const HeadPlace> heads, const Run& run, const GivenTranslations& given,
              const ScoreConfig& scoring);

}  // namespace attend
