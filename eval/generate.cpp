#include "eval/generate.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "eval/workers.hpp"

namespace attend {
namespace {

// Limit of the pieces of all hypotheses of the batches in progress, as if all prompts were as long as the longest: keys
// and values of each are kept in every layer.
constexpr std::int64_t kContinuedPieces = 32768;

constexpr std::int64_t kUsualNewTokens = 100;

// Lower temperatures are refused: 0 is meant.
constexpr double kLeastTemperature = 0.01;

constexpr std::string_view kIncomplete = "\uFFFD";

// Where the first of the texts begins; npos: nowhere.
std::size_t first_of(const std::vector<std::string>& stops, std::string_view text) {
  std::size_t first = std::string_view::npos;
  for (const std::string& stop : stops) first = std::min(first, text.find(stop));
  return first;
}

// The part of an unfinished text that the finished one will contain: without the bytes of an incomplete character,
// which are decoded as U+FFFD, and without what may be the beginning of a stop.
std::string_view certain_part(std::string_view text, const std::vector<std::string>& stops) {
  text = text.substr(0, first_of(stops, text));
  while (text.ends_with(kIncomplete)) text.remove_suffix(kIncomplete.size());
  std::size_t held = 0;
  for (const std::string& stop : stops) {
    std::size_t length = std::min(stop.size() - 1, text.size());
    while (!text.ends_with(std::string_view(stop).substr(0, length))) --length;
    held = std::max(held, length);
  }
  text.remove_suffix(held);
  return text;
}

bool writes_line_breaks(const Tokenizer& tokenizer) {
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    if (tokenizer.decode_lines({&id, 1}).find('\n') != std::string::npos) return true;
  }
  return false;
}

}  // namespace

void GenerateConfig::validate(const OptionOrigins& origins) const {
  if (options.temperature > 0 && options.temperature < kLeastTemperature) {
    throw UserError(fmt::format("{}: {} is below {}", origins("temperature"), options.temperature, kLeastTemperature),
                    "give 0 for greedy search");
  }
  for (const std::string& text : stop) {
    if (text.empty()) throw UserError(origins("stop") + ": an empty text, which every text contains", "leave it out");
  }
}

std::vector<std::string> GenerateConfig::stops() const {
  std::vector<std::string> texts;
  for (const std::string& given : stop) {
    std::string& text = texts.emplace_back();
    for (std::size_t at = 0; at < given.size(); ++at) {
      const char next = given[at] == '\\' && at + 1 < given.size() ? given[at + 1] : '\0';
      const bool is_escape = next == 'n' || next == '\\';
      at += is_escape ? 1 : 0;
      text += is_escape && next == 'n' ? '\n' : given[at];
    }
  }
  return texts;
}

SearchConfig GenerateConfig::search() const {
  SearchConfig found = options;
  found.beam = std::max<std::int64_t>(beam, 1);
  found.sample = beam == 0 && options.temperature > 0 ? samples : 0;
  found.epsilon = epsilon;
  return found;
}

Generator::Generator(const LanguageModelImpl& model, Tokenizer tokenizer, const GenerateConfig& config,
                     WorkProgress* progress)
    : model_(model),
      tokenizer_(std::move(tokenizer)),
      config_(config),
      stops_(config.stops()),
      search_(config.search()),
      progress_(progress) {
  const bool wants_line_breaks =
      std::ranges::any_of(stops_, [](const std::string& stop) { return stop.find('\n') != std::string::npos; });
  if (wants_line_breaks && !writes_line_breaks(tokenizer_)) {
    throw UserError("--stop: a line break, which no piece of the model's tokenizer has",
                    "give a text that stands in a line, such as a full stop");
  }
}

std::vector<std::vector<Continuation>> Generator::generate(std::span<const GenerationPrompt> prompts) {
  std::vector<Wanted> wanted;
  for (const GenerationPrompt& prompt : prompts) wanted.push_back(wanted_after(prompt));
  std::vector<std::vector<Continuation>> results(prompts.size());
  std::vector<std::int64_t> lengths;
  for (const Wanted& one : wanted) lengths.push_back(std::ssize(one.prompt));
  const auto batches =
      batches_of_lengths(lengths, config_.batch_size, kContinuedPieces / num_workers(config_.workers),
                         [&](std::size_t first) { return lengths[first] + search_.rows() * wanted[first].longest; });
  run_workers(batches.size(), num_workers(config_.workers), config_.threads, [&](std::size_t b) {
    std::vector<Wanted> together;
    for (const std::size_t i : batches[b]) together.push_back(wanted[i]);
    auto found = continue_together(together);
    for (std::size_t k = 0; k < found.size(); ++k) results[batches[b][k]] = std::move(found[k]);
    if (progress_ != nullptr) progress_->add(std::ssize(found));
  });
  return results;
}

Continuation Generator::stream(const GenerationPrompt& prompt, const OnText& on_text) {
  ensure(search_.rows() == 1, "one hypothesis, which is certain as it grows");
  const Wanted wanted = wanted_after(prompt);
  std::size_t passed = 0;  // bytes
  const auto pass_on = [&](std::string_view text) {
    if (text.size() <= passed) return;
    on_text(text.substr(passed));
    passed = text.size();
  };
  auto found = continue_together({&wanted, 1}, [&](std::span<const std::int32_t> ids) {
    pass_on(as_one_line(certain_part(text_after(wanted.prompt, ids), stops_)));
  });
  if (progress_ != nullptr) progress_->add();
  Continuation& first = found.front().front();
  pass_on(first.text);
  return std::move(first);
}

Wanted Generator::wanted_after(const GenerationPrompt& prompt) {
  Wanted wanted{.line = num_prompts_++, .prompt = tokenizer_.encode(prompt.text)};
  // The end token is read first, and the last piece of the continuation not at all.
  const std::int64_t pieces = std::ssize(wanted.prompt);
  const std::int64_t room = model_.longest().value_or(pieces + kUsualNewTokens) - pieces;
  wanted.longest = config_.max_new_tokens.value_or(std::clamp<std::int64_t>(room, 1, kUsualNewTokens));
  if (model_.longest() && wanted.longest > room) {
    throw UserError(
        fmt::format("{}: a prompt of {} and {} (--max-new-tokens), but the model has {} positions", prompt.place,
                    counted(pieces, "piece"), counted(wanted.longest, "new one"), *model_.longest()),
        room > 0 ? fmt::format("give a shorter prompt, or --max-new-tokens {}", room)
                 : std::string("give a shorter prompt"));
  }
  if (!stops_.empty()) {
    wanted.stops = [this, prompt_ids = wanted.prompt](std::span<const std::int32_t> ids) {
      return first_of(stops_, text_after(prompt_ids, ids)) != std::string::npos;
    };
  }
  return wanted;
}

std::vector<std::vector<Continuation>> Generator::continue_together(std::span<const Wanted> wanted,
                                                                    const OnStep& on_step) const {
  Pass pass = Pass::inference();
  const TextsToContinue texts(model_, std::ssize(wanted));
  TargetIds ids = TargetIds::of(tokenizer_.special());
  ids.bos = ids.eos;
  auto found =
      attend::search({.model = texts, .wanted = wanted, .ids = ids, .config = search_, .on_step = on_step}, pass);
  std::vector<std::vector<Continuation>> results(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (Hypothesis& one : found[i]) results[i].push_back(continuation_of(wanted[i], std::move(one)));
  }
  return results;
}

std::string Generator::text_after(std::span<const std::int32_t> prompt, std::span<const std::int32_t> ids) const {
  std::vector<std::int32_t> all(prompt.begin(), prompt.end());
  const std::string before = tokenizer_.decode_lines(all);
  all.insert(all.end(), ids.begin(), ids.end());
  const std::string text = tokenizer_.decode_lines(all);
  ensure(text.starts_with(before), "a text begins with the text of its first pieces");
  return text.substr(before.size());
}

Continuation Generator::continuation_of(const Wanted& wanted, Hypothesis found) const {
  const std::string text = text_after(wanted.prompt, found.ids);
  const std::size_t stop = first_of(stops_, text);
  Continuation result{.text = as_one_line(std::string_view(text).substr(0, stop))};
  std::int64_t num_counted = std::ssize(found.token_log_probs);
  if (stop != std::string::npos) {
    result.ended = ContinuationEnd::stop;
    num_counted = std::ssize(found.ids);
  } else if (found.ended) {
    result.ended = ContinuationEnd::document;
  }
  const auto first = found.token_log_probs.begin();
  result.log_prob = std::accumulate(first, first + num_counted, 0.0);
  result.ids = std::move(found.ids);
  return result;
}

}  // namespace attend
