#include "eval/search/config.hpp"

#include <algorithm>
#include <string>

#include "core/conditions.hpp"
#include "core/error.hpp"

namespace attend {

void SearchConfig::validate(const OptionOrigins& origins) const {
  refuse_inapplicable(*this, given_place(origins));
  if (sample > 0) refuse_any_given({"beam", "nbest", "patience", "diverse-groups"}, origins, "with --sample");
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
  if (rows() == 1 && sample == 0) {
    refuse_given("coverage-penalty", origins, "with a beam of 1, which ranks nothing");
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
