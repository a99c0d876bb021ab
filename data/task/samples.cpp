#include "data/task/samples.hpp"

#include "core/error.hpp"
#include "core/files.hpp"
#include "data/task/record_format.hpp"

namespace attend {
namespace {

void append(std::vector<std::int32_t>& ids, const std::vector<std::int32_t>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

// The tokens of a context that contain an answer; none if `last` is before `first`.
struct TokenSpan {
  std::size_t first = 1, last = 0;
};
TokenSpan find_answer(const Question& question, const std::vector<Piece>& context) {
  if (question.answers.empty() || !question.answers[0].begin) return {};
  const std::size_t begin = *question.answers[0].begin, end = begin + question.answers[0].text.size();
  const auto first = std::ranges::find_if(context, [&](const Piece& piece) { return piece.end > begin; });
  const auto after = std::find_if(first, context.end(), [&](const Piece& piece) { return piece.begin >= end; });
  if (first == after) return {};
  return {.first = static_cast<std::size_t>(first - context.begin()),
          .last = static_cast<std::size_t>(after - context.begin()) - 1};
}

}  // namespace

std::vector<std::vector<const Sample*>> batches_by_length(std::span<const Sample> samples) {
  constexpr std::size_t kTokens = 8192;
  std::vector<const Sample*> order;
  order.reserve(samples.size());
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
    : tokenizer_(std::move(tokenizer)), length_(config.length.value()), config_(config) {
  ensure(tokenizer_.special().cls >= 0 && tokenizer_.special().sep >= 0, "the tokenizer has [CLS] and [SEP]");
}

Sample SampleMaker::of_text(const LabelledText& text, std::int64_t example) {
  const bool pair = text.second.has_value();
  const std::size_t room = length_ - (pair ? 3 : 2);
  auto [first, first_is_cut] = tokenizer_.encode_beginning(text.first, room);
  auto [second, second_is_cut] = tokenizer_.encode_beginning(text.second.value_or(""), room);
  if (first_is_cut || second_is_cut || first.size() + second.size() > room) {
    ++num_cut_;
    const std::size_t longest = std::max(room - std::min({first.size(), second.size(), room / 2}), std::size_t{1});
    first.resize(std::min(first.size(), longest));
    second.resize(std::min(second.size(), room - first.size()));
  }
  Sample sample{.ids = {tokenizer_.special().cls}, .example = example, .gold = text.gold};
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
  auto [begin, is_cut] = tokenizer_.encode_beginning(question.text, config_.longest_question());
  if (is_cut) ++num_cut_;
  begin.insert(begin.begin(), tokenizer_.special().cls);
  begin.push_back(tokenizer_.special().sep);
  const std::size_t room = length_ - begin.size() - 1;
  const TokenSpan answer = find_answer(question, context);
  std::vector<Sample> windows;
  for (std::size_t from = 0;; from += std::min<std::size_t>(config_.stride, room)) {
    const std::size_t to = std::min(from + room, context.size());
    Sample window{.ids = begin,
                  .first = static_cast<std::uint32_t>(begin.size()),
                  .example = example,
                  .answer = Sample::Answer(),
                  .skipped = static_cast<std::uint32_t>(from)};
    for (std::size_t i = from; i < to; ++i) window.ids.push_back(context[i].id);
    window.ids.push_back(tokenizer_.special().sep);
    if (answer.first <= answer.last && answer.first >= from && answer.last < to) {
      window.answer = {.begin = static_cast<std::uint32_t>(begin.size() + answer.first - from),
                       .end = static_cast<std::uint32_t>(begin.size() + answer.last - from)};
    }
    windows.push_back(std::move(window));
    if (to == context.size()) return windows;
  }
}

SampleMaker::Words SampleMaker::words_of(const TaggedSentence& sentence) {
  Words words;
  for (const std::string& token : sentence.tokens) {
    auto [pieces, is_cut] = tokenizer_.encode_beginning(token, length_ - 2);
    if (pieces.empty()) pieces = {tokenizer_.special().unk};
    if (is_cut) ++num_cut_;
    words.push_back(std::move(pieces));
  }
  return words;
}

void SampleMaker::surround(Sample& sample, const std::vector<std::int32_t>& before,
                           const std::vector<std::int32_t>& after) const {
  const std::size_t room = std::min<std::size_t>(config_.document_context, length_ - 1 - sample.ids.size());
  const std::size_t right = std::min(after.size(), room - std::min(before.size(), room / 2));
  const std::size_t left = std::min(before.size(), room - right);
  sample.ids.insert(sample.ids.begin() + 1, before.end() - left, before.end());
  sample.ids.insert(sample.ids.end(), after.begin(), after.begin() + right);
  for (std::uint32_t& place : sample.words) place += static_cast<std::uint32_t>(left);
}

std::vector<Sample> SampleMaker::of_sentences(std::span<const TaggedSentence> sentences,
                                              const std::vector<std::string>& tags) {
  std::vector<Words> words;
  for (const TaggedSentence& sentence : sentences) words.push_back(words_of(sentence));
  // The nearest pieces of the same document before (step -1) or after (step 1) sentence `s`, in order.
  const auto beside = [&](std::size_t s, std::ptrdiff_t step) {
    std::vector<std::int32_t> pieces;
    for (std::size_t i = s + step; i < sentences.size() && sentences[i].document == sentences[s].document; i += step) {
      if (std::ssize(pieces) >= config_.document_context) break;
      std::vector<std::int32_t> more;
      for (const std::vector<std::int32_t>& word : words[i]) append(more, word);
      pieces.insert(step > 0 ? pieces.end() : pieces.begin(), more.begin(), more.end());
    }
    return pieces;
  };
  std::vector<Sample> samples;
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    const std::size_t begin = samples.size();
    for (std::size_t word = 0; word < words[s].size(); ++word) {
      const std::vector<std::int32_t>& pieces = words[s][word];
      if (samples.size() == begin || samples.back().ids.size() + pieces.size() + 1 > length_) {
        samples.push_back({.ids = {tokenizer_.special().cls},
                           .example = static_cast<std::int64_t>(s),
                           .skipped = static_cast<std::uint32_t>(word)});
      }
      Sample& sample = samples.back();
      sample.words.push_back(static_cast<std::uint32_t>(sample.ids.size()));
      std::int64_t tag = 0;
      if (!sentences[s].tags.empty()) {
        tag = std::ranges::find(tags, sentences[s].tags[word]) - tags.begin();
        ensure(tag < std::ssize(tags), "the tags were checked when they were read");
      }
      sample.tags.push_back(tag);
      append(sample.ids, pieces);
    }
    if (samples.size() == begin + 1) surround(samples.back(), beside(s, -1), beside(s, 1));
  }
  for (Sample& sample : samples) {
    sample.ids.push_back(tokenizer_.special().sep);
    sample.first = static_cast<std::uint32_t>(sample.ids.size());
  }
  return samples;
}

std::int64_t TaskSplit::size() const {
  return std::ssize(texts) + std::ssize(questions.questions) + std::ssize(sentences);
}

std::int64_t TaskSplit::line(std::int64_t example) const {
  if (!texts.empty()) return texts[example].line;
  if (!sentences.empty()) return sentences[example].line;
  return example + 1;
}

std::string TaskSplit::report() const {
  const auto counted = [](std::int64_t n, const char* what) { return std::to_string(n) + " " + what; };
  std::string text = counted(size(), !texts.empty() ? "texts" : !sentences.empty() ? "sentences" : "questions");
  if (!questions.questions.empty()) text += " in " + counted(std::ssize(samples), "windows");
  if (num_cut > 0) text += ", " + counted(num_cut, "cut to ") + counted(length, "tokens");
  if (questions.moved > 0) text += ", " + counted(questions.moved, "answers with wrong offsets corrected");
  if (questions.lost > 0) text += ", " + counted(questions.lost, "answers not found in their context");
  return text;
}

TaskSplit read_split(const std::string& file, const LabelledTask& task, const Tokenizer& tokenizer,
                     const SampleConfig& config, Labelled labelled) {
  TaskSplit split = read_texts(file, task, labelled);
  SampleMaker maker(tokenizer, config);
  format_of(task.kind).make_samples(split, task, maker);
  split.num_cut = maker.num_cut();
  split.length = format_of(task.kind).longest(config);
  return split;
}

TaskSplit read_texts(const std::string& file, const LabelledTask& task, Labelled labelled) {
  TaskSplit split{.file = file};
  format_of(task.kind).read_texts(split, task, labelled);
  split.hash = hash_hex_of_file(file);  // not endless: the readers have checked it
  return split;
}

std::vector<std::string> labels_of_task(const LabelledTask& task, const std::string& file) {
  return task.labels.empty() ? format_of(task.kind).labels_in(file, task) : task.labels;
}

}  // namespace attend
