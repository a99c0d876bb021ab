#include "data/batch/samples.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace attend {
namespace {

void append(std::vector<std::int32_t>& ids, const std::vector<std::int32_t>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

// The tokens of a context that an answer falls into; none where `last` is before `first`.
struct TokenSpan {
  std::size_t first = 1, last = 0;
};
TokenSpan find_answer(const Answer& answer, const std::vector<Piece>& context) {
  const std::size_t end = answer.begin + answer.text.size();
  const auto first = std::ranges::find_if(context, [&](const Piece& piece) { return piece.end > answer.begin; });
  const auto after = std::find_if(first, context.end(), [&](const Piece& piece) { return piece.begin >= end; });
  if (first == after) return {};
  return {.first = static_cast<std::size_t>(first - context.begin()),
          .last = static_cast<std::size_t>(after - context.begin()) - 1};
}

}  // namespace

std::vector<std::vector<const Sample*>> batches_by_length(const std::vector<Sample>& samples) {
  constexpr std::size_t kTokens = 8192;
  std::vector<const Sample*> order;
  for (const Sample& sample : samples) order.push_back(&sample);
  std::ranges::stable_sort(order, {}, [](const Sample* sample) { return sample->ids.size(); });
  std::vector<std::vector<const Sample*>> batches;
  std::size_t tokens = kTokens;
  for (const Sample* sample : order) {
    if (tokens + sample->ids.size() > kTokens) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(sample);
    tokens += sample->ids.size();
  }
  return batches;
}

SampleMaker::SampleMaker(Tokenizer tokenizer, const SampleConfig& config)
    : tokenizer_(std::move(tokenizer)), length_(static_cast<std::size_t>(config.length.value())), config_(config) {
  if (tokenizer_.special().cls < 0 || tokenizer_.special().sep < 0) {
    throw UserError("the tokenizer has no piece for [CLS] or [SEP]",
                    "make one with attend vocab, which gives it all special pieces");
  }
}

Sample SampleMaker::of_text(const LabelledText& text, std::int64_t example) {
  std::vector<std::int32_t> first = tokenizer_.encode(text.first), second = tokenizer_.encode(text.second);
  const bool pair = !text.second.empty();
  const std::size_t room = length_ - (pair ? 3 : 2);
  if (first.size() + second.size() > room) {
    ++num_cut_;
    const std::size_t longest = std::max(room - std::min({first.size(), second.size(), room / 2}), std::size_t{1});
    first.resize(std::min(first.size(), longest));
    second.resize(std::min(second.size(), room - first.size()));
  }
  Sample sample{.ids = {tokenizer_.special().cls}, .example = example, .targets = text.targets};
  append(sample.ids, first);
  sample.ids.push_back(tokenizer_.special().sep);
  sample.first = static_cast<std::uint32_t>(sample.ids.size());
  if (pair) {
    append(sample.ids, second);
    sample.ids.push_back(tokenizer_.special().sep);
  }
  return sample;
}

std::vector<Sample> SampleMaker::of_question(const Question& question, const std::vector<Piece>& context,
                                             std::int64_t example) {
  std::vector<std::int32_t> begin = tokenizer_.encode(question.text);
  if (begin.size() > static_cast<std::size_t>(config_.question_length)) {
    begin.resize(static_cast<std::size_t>(config_.question_length));
    ++num_cut_;
  }
  begin.insert(begin.begin(), tokenizer_.special().cls);
  begin.push_back(tokenizer_.special().sep);
  if (begin.size() + 2 > length_) {
    throw UserError("--length " + std::to_string(length_) + " leaves no room for a context behind a question of " +
                        std::to_string(begin.size()) + " tokens",
                    "raise --length or lower --question-length");
  }
  const std::size_t room = length_ - begin.size() - 1;
  const TokenSpan answer = question.answers.empty() ? TokenSpan() : find_answer(question.answers[0], context);
  std::vector<Sample> windows;
  for (std::size_t from = 0;; from += std::min<std::size_t>(config_.stride, room)) {
    const std::size_t to = std::min(from + room, context.size());
    Sample window{.ids = begin,
                  .first = static_cast<std::uint32_t>(begin.size()),
                  .example = example,
                  .places = {0, 0},
                  .skipped = static_cast<std::uint32_t>(from)};
    for (std::size_t i = from; i < to; ++i) window.ids.push_back(context[i].id);
    window.ids.push_back(tokenizer_.special().sep);
    if (answer.first <= answer.last && answer.first >= from && answer.last < to) {
      window.places = {static_cast<std::uint32_t>(begin.size() + answer.first - from),
                       static_cast<std::uint32_t>(begin.size() + answer.last - from)};
    }
    windows.push_back(std::move(window));
    if (to == context.size()) return windows;
  }
}

std::vector<Sample> SampleMaker::of_sentence(const TaggedSentence& sentence, const std::vector<std::string>& tags,
                                             std::int64_t example) {
  std::vector<Sample> samples;
  for (std::size_t word = 0; word < sentence.tokens.size(); ++word) {
    std::vector<std::int32_t> pieces = tokenizer_.encode(sentence.tokens[word]);
    if (pieces.empty()) pieces = {tokenizer_.special().unk};
    if (pieces.size() + 2 > length_) {
      pieces.resize(length_ - 2);
      ++num_cut_;
    }
    if (samples.empty() || samples.back().ids.size() + pieces.size() + 1 > length_) {
      samples.push_back(
          {.ids = {tokenizer_.special().cls}, .example = example, .skipped = static_cast<std::uint32_t>(word)});
    }
    Sample& sample = samples.back();
    sample.places.push_back(static_cast<std::uint32_t>(sample.ids.size()));
    std::int64_t tag = 0;
    if (!sentence.tags.empty()) {
      tag = std::ranges::find(tags, sentence.tags[word]) - tags.begin();
      ensure(tag < std::ssize(tags), "tags were checked when they were read");
    }
    sample.tags.push_back(tag);
    append(sample.ids, pieces);
  }
  for (Sample& sample : samples) {
    sample.ids.push_back(tokenizer_.special().sep);
    sample.first = static_cast<std::uint32_t>(sample.ids.size());
  }
  return samples;
}

}  // namespace attend
