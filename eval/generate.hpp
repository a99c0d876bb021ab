// Continues texts with a language model, piece by piece: samples, greedy search or a beam (eval/search).
//
//   prompt "The old farmer"     " drove to the market."   log p -14.2   ended by the end of the document
//
// A continuation is the text that follows the prompt, with the space between them. log p is the model's, before any
// processor: that of its pieces given the prompt, and of the end of the document if it ends there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.hpp"
#include "core/options.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/search/search.hpp"
#include "models/language/language_model.hpp"

namespace attend {

struct GenerateConfig {
  std::optional<std::int64_t> max_new_tokens = {};
  std::vector<std::string> stop = {};
  std::int64_t beam = 0;
  std::int64_t samples = 1;
  double epsilon = 0;
  SearchConfig options = {};  // those of any search
  std::int64_t batch_size = 32;
  std::optional<std::int64_t> workers = {};
  std::int64_t threads = 1;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Length");
    visit("max-new-tokens", self.max_new_tokens,
          {.help = "maximum number of pieces of a continuation; auto: 100, or as many as the model has positions for",
           .min = 1,
           .max = 1e6,
           .common = true});
    visit("stop", self.stop,
          {.help =
               "end a continuation before the first of these texts, in which \\n is a line break and \\\\ a backslash",
           .placeholder = "TEXT"});
    visit.group("Search");
    visit("beam", self.beam,
          {.help = "beam size of a search for the best continuation; 1: greedy search; 0: draw samples instead",
           .min = 0,
           .max = 1000,
           .common = true});
    visit("length-penalty", self.options.length_penalty,
          {.help = "alpha in the ranking of a beam by log p / length^alpha",
           .min = 0,
           .max = 10,
           .only = above("beam", 1)});
    visit("repetition-penalty", self.options.repetition_penalty,
          {.help = "factor on log p of pieces that the prompt or the continuation already contains; above 1, they "
                   "become less likely",
           .min = 0.01,
           .max = 100});
    visit("no-repeat-ngram", self.options.no_repeat_ngram,
          {.help = "never generate a sequence of this many pieces that the prompt or the continuation already "
                   "contains; 0: no restriction",
           .min = 0,
           .max = 1000});
    visit.group("Sampling");
    visit("temperature", self.options.temperature,
          {.help = "divisor of log p; below 1, likely pieces become more likely; 0: greedy search",
           .min = 0,
           .max = 100,
           .only = without("beam")});
    constexpr Condition kSamples = {"temperature"};
    visit(
        "samples", self.samples,
        {.help = "samples per prompt, on consecutive lines", .min = 1, .max = 1000, .common = true, .only = kSamples});
    visit_draws(self.options, visit, kSamples);
    visit("epsilon", self.epsilon,
          {.help = "draw from pieces with at least this probability, or else from the likeliest",
           .min = 0,
           .max = 1,
           .only = kSamples});
    visit.group("Speed");
    visit("batch-size", self.batch_size, {.help = "prompts per batch of a worker", .min = 1, .max = 10000});
    visit("workers", self.workers, {.help = "parallel workers; auto: one per processor", .min = 1, .max = 1024});
    visit("threads", self.threads, {.help = "threads per worker", .min = 1, .max = 1024});
  }

  // UserError for contradictory numbers.
  void validate(const OptionOrigins& origins) const;

  // The texts of --stop, unescaped.
  std::vector<std::string> stops() const;

  // The options of the search; each prompt sets its maximum length (Wanted::longest).
  SearchConfig search() const;
};

// The end of a continuation: by the model, a text of --stop, or --max-new-tokens.
enum class ContinuationEnd { document, stop, limit };
template <>
inline constexpr auto kEnumNames<ContinuationEnd> = std::to_array<EnumName<ContinuationEnd>>(
    {{ContinuationEnd::document, "document"}, {ContinuationEnd::stop, "stop"}, {ContinuationEnd::limit, "limit"}});

struct Continuation {
  std::string text = {};               // a single line, up to the text at which it stopped
  std::vector<std::int32_t> ids = {};  // all that were generated, without the end of the document
  double log_prob = 0;
  ContinuationEnd ended = ContinuationEnd::limit;
};

struct GenerationPrompt {
  std::string text = {};   // none: the continuation begins a document
  std::string place = {};  // in messages: "prompts.txt:3"
};

// The model is not modified; it and `progress`, which counts prompts, must outlive the generator. UserError for a line
// break in --stop that no piece of the tokenizer has.
class Generator {
 public:
  Generator(const LanguageModelImpl& model, Tokenizer tokenizer, const GenerateConfig& config,
            WorkProgress* progress = nullptr);

  // The continuations of each prompt, at least one: samples in their order. A draw is a function of the seed, the
  // number of the prompt among all that were given, the sample and the step. UserError, before any of them is
  // continued, for a prompt that leaves the model no position for --max-new-tokens. Interrupted after SIGINT or
  // SIGTERM.
  std::vector<std::vector<Continuation>> generate(std::span<const GenerationPrompt> prompts);

  // The continuation of one prompt, whose text is also passed to `on_text` in parts, as soon as they are certain: only
  // for one sample or greedy search.
  using OnText = std::function<void(std::string_view part)>;
  Continuation stream(const GenerationPrompt& prompt, const OnText& on_text);

 private:
  using OnStep = decltype(SearchRequest::on_step);
  Wanted wanted_after(const GenerationPrompt& prompt);
  std::vector<std::vector<Continuation>> continue_together(std::span<const Wanted> wanted,
                                                           const OnStep& on_step = {}) const;
  // What `ids` add to the text of the prompt, with line breaks.
  std::string text_after(std::span<const std::int32_t> prompt, std::span<const std::int32_t> ids) const;
  Continuation continuation_of(const Wanted& wanted, Hypothesis found) const;

  const LanguageModelImpl& model_;
  Tokenizer tokenizer_;
  GenerateConfig config_;
  std::vector<std::string> stops_;
  SearchConfig search_;
  WorkProgress* progress_;
  std::int64_t num_prompts_ = 0;
};

}  // namespace attend
