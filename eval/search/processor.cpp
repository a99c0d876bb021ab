#include "eval/search/processor.hpp"

#include <algorithm>
#include <utility>

#include "eval/search/repetition.hpp"
#include "eval/search/truncation.hpp"
#include "eval/search/wanted.hpp"

namespace attend {
namespace {

void add_truncations(const SearchConfig& config, const TargetIds& ids, LogitsProcessors& processors) {
  processors.push_back(drop_unproduced(ids, config.min_length));
  if (config.temperature != 1) processors.push_back(divide_by_temperature(config.temperature));
  if (config.top_k > 0) processors.push_back(keep_top_k(config.top_k));
  if (config.top_p < 1) processors.push_back(keep_top_p(config.top_p));
  if (config.min_p > 0) processors.push_back(keep_min_p(config.min_p));
  if (config.epsilon.value_or(0) > 0) processors.push_back(keep_epsilon(*config.epsilon));
}

}  // namespace

LogitsProcessors make_processors(const SearchConfig& config, const TargetIds& ids, std::span<const Wanted> wanted) {
  LogitsProcessors processors;
  if (config.repetition_penalty != 1) processors.push_back(penalise_repetition(config.repetition_penalty));
  if (config.no_repeat_ngram > 0) processors.push_back(forbid_repeated_ngrams(config.no_repeat_ngram));
  if (std::ranges::any_of(wanted, [](const Wanted& one) { return one.forbidden != nullptr; })) {
    processors.push_back(forbid_phrases());
  }
  if (std::ranges::any_of(wanted, [](const Wanted& one) { return one.stops != nullptr; })) {
    processors.push_back(stop_at_text(ids.eos));
  }
  if (config.sample > 0) add_truncations(config, ids, processors);
  if (std::ranges::all_of(wanted, [](const Wanted& one) { return one.prefix.empty(); })) return processors;
  return {force_prefix(std::move(processors))};
}

}  // namespace attend
