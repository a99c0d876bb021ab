#include "eval/search/config.hpp"

#include <string>

#include "core/error.hpp"

namespace attend {

void SearchConfig::validate(const OptionOrigins& origins) const {
  if (nbest > beam) {
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
