#include "eval/search/config.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace attend {

void SearchConfig::validate(const OptionOrigins& origins) const {
  if (num_results() > rows()) {
    throw UserError(origins("nbest") + ": " + std::to_string(nbest) + " is above the beam size " + std::to_string(beam),
                    "raise --beam or lower --nbest");
  }
  const std::int64_t groups = std::max<std::int64_t>(1, diverse_groups);
  if (beam % groups != 0) {
    throw UserError(origins("diverse-groups") + ": " + std::to_string(diverse_groups) +
                        " groups do not divide the beam size " + std::to_string(beam),
                    "choose a --beam that is a multiple of it");
  }
  if (const std::int64_t finished = groups * enough(beam / groups); nbest > finished) {
    throw UserError(origins("patience") + ": the search may end with " + std::to_string(finished) +
                        " hypotheses, but --nbest is " + std::to_string(nbest),
                    "raise --patience or lower --nbest");
  }
  if (max_length && min_length > *max_length) {
    throw UserError(origins("min-length") + ": " + std::to_string(min_length) + " is above --max-length " +
                        std::to_string(*max_length),
                    "lower --min-length or raise --max-length");
  }
}

}  // namespace attend
