#include "eval/search/config.hpp"

#include <string>

#include "core/conditions.hpp"
#include "core/error.hpp"

namespace attend {

void SearchConfig::validate(const OptionOrigins& origins) const {
  refuse_inapplicable(*this, given_place(origins));
  if (sample > 0) {
    for (const char* option : {"beam", "nbest"}) refuse_given(option, origins, "with --sample");
  }
  if (num_results() > rows()) {
    throw UserError(origins("nbest") + ": " + std::to_string(nbest) + " is above the beam size " + std::to_string(beam),
                    "raise --beam or lower --nbest");
  }
  if (max_length && min_length > *max_length) {
    throw UserError(origins("min-length") + ": " + std::to_string(min_length) + " is above --max-length " +
                        std::to_string(*max_length),
                    "lower --min-length or raise --max-length");
  }
}

}  // namespace attend
