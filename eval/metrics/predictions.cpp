#include "eval/metrics/predictions.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "eval/metrics/ngram_metrics.hpp"
#include "eval/metrics/tokenizers.hpp"

namespace attend::metrics {
namespace {

void check_lengths(std::size_t predicted, std::size_t gold) {
  ensure(predicted == gold && gold > 0, "there is one prediction per gold label, and at least one");
}

// Ranks from 1; ties share their mean rank.
std::vector<double> ranks(Numbers numbers) {
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return numbers[a] < numbers[b]; });
  std::vector<double> ranks(numbers.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && numbers[order[end]] == numbers[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end + 1) / 2;
  }
  return ranks;
}

}  // namespace

double accuracy(Labels predicted, Labels gold) {
  check_lengths(predicted.size(), gold.size());
  std::size_t equal = 0;
  for (std::size_t i = 0; i < gold.size(); ++i) equal += predicted[i] == gold[i];
  return static_cast<double>(equal) / static_cast<double>(gold.size());
}

double f1(Labels predicted, Labels gold, std::int64_t positive) {
  check_lengths(predicted.size(), gold.size());
  std::size_t both = 0, either = 0;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    both += predicted[i] == positive && gold[i] == positive;
    either += (predicted[i] == positive) + (gold[i] == positive);
  }
  return either == 0 ? 0 : 2 * static_cast<double>(both) / static_cast<double>(either);
}

double matthews(Labels predicted, Labels gold) {
  check_lengths(predicted.size(), gold.size());
  struct Counts {
    double predicted = 0, gold = 0;
  };
  std::map<std::int64_t, Counts> counts;
  double correct = 0;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    ++counts[predicted[i]].predicted;
    ++counts[gold[i]].gold;
    correct += predicted[i] == gold[i];
  }
  const auto n = static_cast<double>(gold.size());
  double both = correct * n, of_predicted = n * n, of_gold = n * n;
  for (const auto& [label, count] : counts) {
    both -= count.predicted * count.gold;
    of_predicted -= count.predicted * count.predicted;
    of_gold -= count.gold * count.gold;
  }
  return of_predicted * of_gold == 0 ? 0 : both / std::sqrt(of_predicted * of_gold);
}

double pearson(Numbers predicted, Numbers gold) {
  check_lengths(predicted.size(), gold.size());
  const auto mean = [](Numbers x) { return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()); };
  const double mean_x = mean(predicted), mean_y = mean(gold);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    const double x = predicted[i] - mean_x, y = gold[i] - mean_y;
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  const auto [least, greatest] = std::ranges::minmax(gold);  // rounding may leave yy above 0 for equal numbers
  if (xx == 0 || least == greatest) return std::numeric_limits<double>::quiet_NaN();
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

double spearman(Numbers predicted, Numbers gold) {
  check_lengths(predicted.size(), gold.size());
  const auto is_nan = [](double number) { return std::isnan(number); };  // has no rank
  if (std::ranges::any_of(predicted, is_nan) || std::ranges::any_of(gold, is_nan)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return pearson(ranks(predicted), ranks(gold));
}

namespace {

// Python's \w: letters, characters with a numeric value, and the underscore.
bool is_word_character(UChar32 c) { return c == '_' || u_isalpha(c) || u_getNumericValue(c) != U_NO_NUMERIC_VALUE; }

// True if the character that ends before, or starts at, byte `at` is a word character.
bool word_ends_at(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && at - begin < 4) {
    --begin;
    if (utf8_length_at(text, begin) == at - begin)
      return is_word_character(code_point_of(text.substr(begin, at - begin)));
  }
  return false;
}
bool word_begins_at(std::string_view text, std::size_t at) {
  const std::size_t length = utf8_length_at(text, at);
  return length > 0 && is_word_character(code_point_of(text.substr(at, length)));
}

// re.sub(r"\b(a|an|the)\b", " ", text)
std::string without_articles(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 0;
    if (!word_ends_at(text, at)) {
      for (const std::string_view article : {"a", "an", "the"}) {
        if (text.substr(at).starts_with(article) && !word_begins_at(text, at + article.size())) length = article.size();
      }
    }
    if (length > 0) {
      result += ' ';
      at += length;
    } else {
      result += text[at++];
    }
  }
  return result;
}

// The F1 of two normalised answers.
double word_f1(const std::string& predicted, const std::string& gold) {
  const auto ours = split_words(predicted), theirs = split_words(gold);
  return f1_of(num_shared(ours, theirs), ours.size(), theirs.size());
}

}  // namespace

std::string normalise_answer(std::string_view answer) {
  constexpr std::string_view kPunctuation = R"(!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~)";
  std::string text = lower_case(answer);
  std::erase_if(text, [&](char c) { return kPunctuation.find(c) != std::string_view::npos; });
  text = without_articles(text);
  return fmt::format("{}", fmt::join(split_words(text), " "));
}

AnswerScore score_answer(std::string_view predicted, const std::vector<std::string>& gold) {
  ensure(!gold.empty(), "the question has an answer");
  const std::string ours = normalise_answer(predicted);
  AnswerScore best;
  for (const std::string& answer : gold) {
    const std::string theirs = normalise_answer(answer);
    best.exact = std::max(best.exact, ours == theirs ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, word_f1(ours, theirs));
  }
  return best;
}

AnswerScore score_answer_or_none(std::string_view predicted, const std::vector<std::string>& gold) {
  std::vector<std::string> answers = gold;
  std::erase_if(answers, [](const std::string& answer) { return normalise_answer(answer).empty(); });
  if (!answers.empty()) return score_answer(predicted, answers);
  const double is_right = normalise_answer(predicted).empty() ? 1 : 0;
  return {.exact = is_right, .f1 = is_right};
}

BestThreshold best_threshold(std::vector<NoAnswerQuestion> questions) {
  ensure(!questions.empty(), "there are questions");
  // Start with no question answered, then answer them one by one, the most confident first.
  double current = 0;
  for (const NoAnswerQuestion& question : questions) current += !question.has_answer;
  std::ranges::stable_sort(questions, {}, &NoAnswerQuestion::no_answer);
  const double least = questions.front().no_answer;  // the script starts from 0, the lowest probability
  BestThreshold best{.mean = current, .threshold = least > 0 ? 0 : least - 1};
  for (const NoAnswerQuestion& question : questions) {
    if (question.has_answer) {
      current += question.score;
    } else if (question.answered) {
      current -= 1;
    }
    if (current > best.mean) best = {.mean = current, .threshold = question.no_answer};
  }
  best.mean /= static_cast<double>(questions.size());
  return best;
}

namespace {

// B and PER of B-PER; of a tag without a type the type is _.
struct Tag {
  char prefix = 'O';
  std::string type;
};

Tag parse(const std::string& tag) {
  if (tag.empty()) return {};
  const std::size_t dash = tag.find('-', 1);
  std::string type = dash == std::string::npos ? tag.substr(1) : tag.substr(dash + 1);
  if (type.empty()) type = "_";
  return {.prefix = tag[0], .type = std::move(type)};
}

bool ends(const Tag& before, const Tag& now) {
  if (before.prefix == 'E' || before.prefix == 'S') return true;
  const bool open = before.prefix == 'B' || before.prefix == 'I';
  if (open && (now.prefix == 'B' || now.prefix == 'S' || now.prefix == 'O')) return true;
  return before.prefix != 'O' && before.prefix != '.' && before.type != now.type;
}

bool begins(const Tag& before, const Tag& now) {
  if (now.prefix == 'B' || now.prefix == 'S') return true;
  const bool closed = before.prefix == 'E' || before.prefix == 'S' || before.prefix == 'O';
  if (closed && (now.prefix == 'E' || now.prefix == 'I')) return true;
  return now.prefix != 'O' && now.prefix != '.' && before.type != now.type;
}

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

struct Chunk {
  std::string type;
  std::size_t begin = 0, end = 0;  // tags begin … end - 1 of the sentence
  auto operator<=>(const Chunk&) const = default;
};

// The chunks of one sentence from its tags, such as B-PER I-PER O; prefixes B, I, E, S and O are supported.
std::vector<Chunk> chunks_of(const std::vector<std::string>& tags) {
  std::vector<Chunk> chunks;
  Tag before;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= tags.size(); ++i) {
    Tag now = i < tags.size() ? parse(tags[i]) : Tag();
    if (ends(before, now)) chunks.push_back({.type = before.type, .begin = begin, .end = i});
    if (begins(before, now)) begin = i;
    before = std::move(now);
  }
  return chunks;
}

}  // namespace

double ChunkTally::Counts::precision() const { return share(both, predicted); }
double ChunkTally::Counts::recall() const { return share(both, gold); }
double ChunkTally::Counts::f1() const { return share(2 * both, predicted + gold); }

void ChunkTally::add(const std::vector<std::string>& predicted, const std::vector<std::string>& gold) {
  ensure(predicted.size() == gold.size(), "there is one predicted tag per gold tag");
  tokens_ += gold.size();
  for (std::size_t i = 0; i < gold.size(); ++i) equal_tokens_ += predicted[i] == gold[i];
  const std::vector<Chunk> ours = chunks_of(predicted), theirs = chunks_of(gold);
  total_.gold += theirs.size();
  total_.predicted += ours.size();
  total_.both += num_shared(ours, theirs);
}

void ChunkTally::add(const ChunkTally& other) {
  total_.predicted += other.total_.predicted;
  total_.gold += other.total_.gold;
  total_.both += other.total_.both;
  tokens_ += other.tokens_;
  equal_tokens_ += other.equal_tokens_;
}

double ChunkTally::token_accuracy() const { return share(equal_tokens_, tokens_); }

namespace {

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void AlignmentTally::add(const std::vector<Link>& links, const SentenceLinks& gold) {
  links_ += std::ssize(links);
  sure_ += std::ssize(gold.sure);
  possible_ += std::ssize(gold.possible);
  right_and_sure_ += num_shared(links, gold.sure);
  right_and_possible_ += num_shared(links, gold.possible);
}

double AlignmentTally::precision() const { return percent(right_and_possible_, links_); }

double AlignmentTally::recall() const { return percent(right_and_sure_, sure_); }

double AlignmentTally::error_rate() const {
  // The numerator is that of 1 - (...) / (...), so that no error gives exactly 0.
  return percent(links_ + sure_ - right_and_sure_ - right_and_possible_, links_ + sure_);
}

}  // namespace attend::metrics
