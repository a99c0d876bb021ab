#include "eval/search/processor.hpp"

#include <algorithm>

#include "eval/search/forbidden.hpp"
#include "eval/search/prefix.hpp"
#include "eval/search/repetition.hpp"
#include "eval/search/stop_text.hpp"
#include "eval/search/truncation.hpp"

namespace attend {
namespace {

void add_truncations(const SearchConfig& config, const TargetIds& ids, LogitsProcessors& processors) {
  processors.push_back(std::make_unique<NeverProduced>(ids, config.min_length));
  if (config.temperature != 1) processors.push_back(std::make_unique<Temperature>(config.temperature));
  if (config.top_k > 0) processors.push_back(std::make_unique<TopK>(config.top_k));
  if (config.top_p < 1) processors.push_back(std::make_unique<TopP>(config.top_p));
  if (config.min_p > 0) processors.push_back(std::make_unique<MinP>(config.min_p));
  if (config.epsilon.value_or(0) > 0) processors.push_back(std::make_unique<Epsilon>(*config.epsilon));
}

}  // namespace

LogitsProcessors make_processors(const SearchConfig& config, const TargetIds& ids, std::span<const Wanted> wanted) {
  LogitsProcessors processors;
  if (config.repetition_penalty != 1) {
    processors.push_back(std::make_unique<RepetitionPenalty>(config.repetition_penalty));
  }
  if (config.no_repeat_ngram > 0) processors.push_back(std::make_unique<NoRepeatNgram>(config.no_repeat_ngram));
  if (std::ranges::any_of(wanted, [](const Wanted& one) { return one.forbidden != nullptr; })) {
    processors.push_back(std::make_unique<ForbiddenWords>());
  }
  if (std::ranges::any_of(wanted, [](const Wanted& one) { return one.stops != nullptr; })) {
    processors.push_back(std::make_unique<StopText>(ids.eos));
  }
  if (config.sample > 0) add_truncations(config, ids, processors);
  if (std::ranges::all_of(wanted, [](const Wanted& one) { return one.prefix.empty(); })) return processors;
  LogitsProcessors within_prefix;
  within_prefix.push_back(std::make_unique<ForcedPrefix>(std::move(processors)));
  return within_prefix;
}

}  // namespace attend
