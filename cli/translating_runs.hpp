// The runs that translate together.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/translate_options.hpp"
#include "core/options.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

// The runs of a call: those that translate, the first one alone or an ensemble, and perhaps one that reranks.
struct TranslatingRuns {
  std::vector<Run> together;
  std::vector<double> weights;
  std::optional<Run> rerank = {};

  // All but the first, which they accompany.
  Companions companions(EnsembleKind kind) const;

  // To which all that translate together cut a source.
  std::size_t most_pieces() const;
};

// Loads and freezes the runs that the options name. UserError for one that cannot do what is asked, or not with the
// others.
TranslatingRuns load_runs(const TranslateConfig& config, const OptionOrigins& origins);

}  // namespace attend
