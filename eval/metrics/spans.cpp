#include "eval/metrics/spans.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <unicode/uchar.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/utf8.hpp"
#include "eval/metrics/overlap.hpp"
#include "eval/metrics/text.hpp"

namespace attend::metrics {
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

}  // namespace attend::metrics
