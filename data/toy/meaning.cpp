#include "data/toy/meaning.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace attend::toy {

bool is_plural(const NounPhrase& phrase) { return phrase.number == Number::plural || phrase.other != nullptr; }

bool is_fronted(const NounPhrase& phrase) {
  return phrase.kind == NounPhraseKind::relative || phrase.kind == NounPhraseKind::interrogative;
}

void Writer::word(std::string text, std::vector<Concept> concepts) {
  if (comma_due_) words_.back().text += ',';
  comma_due_ = false;
  words_.push_back({std::move(text), std::move(concepts)});
}

void Writer::phrase(std::string_view units, const void* node, Part part) {
  std::size_t unit = 0;
  while (!units.empty()) {
    const std::size_t end = std::min(units.find_first_of(" +"), units.size());
    word(std::string(units.substr(0, end)), {{node, part, unit}});
    if (end == units.size()) return;
    if (units[end] == ' ') ++unit;
    units.remove_prefix(end + 1);
  }
}

std::vector<Word> Writer::finish(char mark) {
  ensure(!words_.empty(), "a sentence has words");
  std::string& first = words_.front().text;
  if (first[0] >= 'a' && first[0] <= 'z') {
    first[0] = static_cast<char>(first[0] - 'a' + 'A');
  } else if (first.size() > 1 && first[0] == '\xc3' && static_cast<unsigned char>(first[1]) >= 0xa0) {
    first[1] = static_cast<char>(first[1] - 0x20);  // ä ö ü in UTF-8
  }
  words_.back().text += mark;
  return std::move(words_);
}

SentencePair render(const Sentence& sentence) {
  SentencePair pair{to_english(sentence), to_german(sentence), {}};
  for (std::size_t i = 0; i < pair.english.size(); ++i) {
    for (std::size_t j = 0; j < pair.german.size(); ++j) {
      const std::vector<Concept>& expressed = pair.english[i].concepts;
      const bool share = std::ranges::find_first_of(expressed, pair.german[j].concepts) != expressed.end();
      if (share) pair.alignment.push_back({static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
    }
  }
  return pair;
}

std::string to_text(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) {
    if (!text.empty()) text += ' ';
    text += word.text;
  }
  return text;
}

bool expresses(const Word& word, const void* node, Part part) {
  return std::ranges::any_of(word.concepts,
                             [&](const Concept& concept_) { return concept_.node == node && concept_.part == part; });
}

std::size_t position_of(const std::vector<Word>& words, const void* node, Part part) {
  const auto found = std::ranges::find_if(words, [&](const Word& word) { return expresses(word, node, part); });
  ensure(found != words.end(), "the sentence expresses the part");
  return static_cast<std::size_t>(found - words.begin());
}

std::string to_english_text(Clause clause) {
  Sentence sentence;
  sentence.clauses.push_back(std::move(clause));
  return to_text(to_english(sentence));
}

}  // namespace attend::toy
