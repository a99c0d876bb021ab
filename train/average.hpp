// The mean of the weights of several checkpoints of a run, which often generalises better than the last one (Vaswani et
// al. 2017, section 6.1; Izmailov et al. 2018, arXiv 1803.05407). Running statistics are averaged like weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/options.hpp"

namespace attend {

struct AverageConfig {
  std::string run;
  std::optional<std::int64_t> last = {};
  std::optional<std::int64_t> best = {};
  std::string output;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run, {.help = "run directory", .placeholder = "RUN", .required = true, .positional = true});
    visit("last", self.last, {.help = "average the newest N checkpoints; auto: all, unless --best is given", .min = 1});
    visit("best", self.best, {.help = "average the N best checkpoints instead", .min = 1});
    visit("output", self.output,
          {.help = "new run with the average as its checkpoint", .placeholder = "DIR", .required = true});
  }

  void validate(const OptionOrigins& origins) const;
};

// Writes the run `config.output`, which can be used but not resumed. Throws UserError if that exists, or if the run has
// fewer checkpoints than requested, or a damaged one.
void average_checkpoints(const AverageConfig& config);

}  // namespace attend
