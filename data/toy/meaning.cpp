#include "data/toy/meaning.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"

namespace attend::toy {
namespace {

// A word of a fixed phrase, and the number of its unit.
struct UnitWord {
  std::string_view text;
  std::size_t unit;
};

std::vector<UnitWord> words_of_units(std::string_view units) {
  std::vector<UnitWord> words;
  std::size_t unit = 0;
  while (true) {
    const std::size_t end = std::min(units.find_first_of(" +"), units.size());
    words.push_back({units.substr(0, end), unit});
    if (end == units.size()) return words;
    if (units[end] == ' ') ++unit;
    units.remove_prefix(end + 1);
  }
}

// How a word of a time depends on the time's main word.
struct TimeWord {
  std::string_view part_of_speech, relation;
};

TimeWord time_word(std::string_view text, std::string_view capitalised) {
  static constexpr TimeWord kAdposition{"ADP", "case"}, kDeterminer{"DET", "det"}, kAdjective{"ADJ", "amod"},
      kNumeral{"NUM", "nummod"}, kAdverb{"ADV", "advmod"};
  static constexpr std::pair<std::string_view, TimeWord> kWords[] = {
      {"in", kAdposition},     {"on", kAdposition},      {"at", kAdposition},     {"ago", kAdposition},
      {"um", kAdposition},     {"am", kAdposition},      {"im", kAdposition},     {"vor", kAdposition},
      {"the", kDeterminer},    {"every", kDeterminer},   {"jeden", kDeterminer},  {"last", kAdjective},
      {"next", kAdjective},    {"letzte", kAdjective},   {"letztes", kAdjective}, {"letzten", kAdjective},
      {"nächste", kAdjective}, {"nächstes", kAdjective}, {"two", kNumeral},       {"zwei", kNumeral},
      {"yesterday", kAdverb},  {"today", kAdverb},       {"now", kAdverb},        {"tomorrow", kAdverb},
      {"gestern", kAdverb},    {"heute", kAdverb},       {"jetzt", kAdverb},      {"morgen", kAdverb}};
  if (text[0] >= '0' && text[0] <= '9') return kNumeral;
  const auto* const found = std::ranges::find(kWords, text, &std::pair<std::string_view, TimeWord>::first);
  if (found != std::end(kWords)) return found->second;
  return {text[0] >= 'A' && text[0] <= 'Z' ? capitalised : "NOUN", "obl"};
}

void capitalise(std::string& word) {
  if (word[0] >= 'a' && word[0] <= 'z') {
    word[0] = static_cast<char>(word[0] - 'a' + 'A');
  } else if (word.size() > 1 && word[0] == '\xc3' && static_cast<unsigned char>(word[1]) >= 0xa0) {
    word[1] = static_cast<char>(word[1] - 0x20);  // ä ö ü in UTF-8
  }
}

// The index of the word that dependents of the concept depend on; without a node, of the root.
std::size_t head_word(const std::vector<Word>& words, const Concept& head) {
  const auto found = std::ranges::find_if(words, [&](const Word& word) {
    if (word.syntax.dependency.head == head) return head.node == nullptr;
    return std::ranges::find(word.concepts, head) != word.concepts.end();
  });
  ensure(found != words.end(), "a sentence has a word for what others depend on");
  return found - words.begin();
}

}  // namespace

Sentence of_clause(Clause clause) {
  Sentence sentence;
  sentence.clauses.push_back(std::move(clause));
  return sentence;
}

Concept head_of(const NounPhrase& phrase) { return {&phrase, Part::noun}; }

Concept head_of(const Clause& clause) {
  if (clause.verb != nullptr) return {&clause, Part::verb};
  return clause.object ? head_of(*clause.object) : Concept{&clause, Part::predicate};
}

std::string_view number_of(const NounPhrase& phrase) { return phrase.number == Number::plural ? "Plur" : "Sing"; }

WordFeatures finite_features(const NounPhrase& subject, std::string_view tense) {
  return {{"Mood", "Ind"},
          {"Number", is_plural(subject) ? "Plur" : "Sing"},
          {"Person", subject.first_person ? "1" : "3"},
          {"Tense", tense},
          {"VerbForm", "Fin"}};
}

bool is_plural(const NounPhrase& phrase) { return phrase.number == Number::plural || phrase.other != nullptr; }

bool is_fronted(const NounPhrase& phrase) {
  return phrase.kind == NounPhraseKind::relative || phrase.kind == NounPhraseKind::interrogative;
}

void Writer::word(std::string_view text, std::vector<Concept> concepts, Syntax syntax) {
  if (comma_) {
    words_.back().text += ',';
    words_.back().mark = std::exchange(comma_, {});
  }
  words_.push_back({std::string(text), std::move(concepts), std::move(syntax)});
  if (std::exchange(opens_, false)) capitalise(words_.back().text);
}

void Writer::phrase(std::string_view units, const void* node, Part part, Syntax syntax) {
  for (const UnitWord& each : words_of_units(units)) {
    word(each.text, {{node, part, each.unit}}, syntax);
    syntax = {syntax.part_of_speech, {"fixed", {node, part}}};
  }
}

void Writer::time(std::string_view units, const Clause& clause, Concept head, std::string_view capitalised) {
  const std::vector<UnitWord> words = words_of_units(units);
  std::size_t main = words.size() - 1;  // "in 1998", "yesterday", or the noun of "the morning", "im Jahr 1998"
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (time_word(words[i].text, capitalised).relation == "obl") main = i;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto [part_of_speech, relation] = time_word(words[i].text, capitalised);
    if (i == main && relation != "advmod") relation = "obl";
    word(words[i].text, {{&clause, Part::time, words[i].unit}},
         {part_of_speech, {relation, i == main ? head : Concept{&clause, Part::time, words[main].unit}}});
  }
}

void Writer::comma(Concept head) {
  if (!words_.empty()) comma_ = head;
}

void Writer::full_stop(Concept head) {
  words_.back().text += '.';
  words_.back().mark = head;
  comma_.reset();
  opens_ = true;
}

std::vector<Word> Writer::finish(char mark) {
  ensure(!words_.empty(), "a sentence has words");
  words_.back().text += mark;
  words_.back().mark = Concept{};
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

std::vector<Link> antecedents_of(const Sentence& sentence, const std::vector<Word>& words) {
  std::map<int, std::vector<std::int64_t>> nouns, pronouns;  // positions, by entity
  const auto add = [&](const NounPhrase& phrase, int entity) {
    const bool is_pronoun = phrase.kind == NounPhraseKind::pronoun;
    if (!is_pronoun && phrase.kind != NounPhraseKind::noun && phrase.kind != NounPhraseKind::person_name) return;
    // The last word: "kitchen table". The subject of a purpose has none.
    const auto said = std::ranges::find_if(words.rbegin(), words.rend(),
                                           [&](const Word& word) { return expresses(word, &phrase, Part::noun); });
    if (said != words.rend()) (is_pronoun ? pronouns : nouns)[entity].push_back(words.rend() - said - 1);
  };
  for (const Clause& clause : sentence.clauses) {
    for_each_phrase(clause, [&](const NounPhrase& phrase) {
      if (phrase.entity == 0) return;
      add(phrase, phrase.entity);
      if (phrase.other) add(*phrase.other, phrase.entity);
    });
  }
  std::vector<Link> links;
  for (const auto& [entity, positions] : pronouns) {
    for (const std::int64_t pronoun : positions) {
      for (const std::int64_t noun : nouns[entity]) links.push_back({pronoun, noun});
    }
  }
  std::ranges::sort(links);
  return links;
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
  return found - words.begin();
}

std::string with_moved(const std::vector<Word>& words, std::size_t from, std::size_t to) {
  std::vector<std::string> texts, marks;
  for (const Word& word : words) {
    const std::size_t end = std::min(word.text.find_first_of(".,"), word.text.size());
    texts.push_back(word.text.substr(0, end));
    marks.push_back(word.text.substr(end));
  }
  std::string text = std::move(texts[from]);
  if (from == 0) text[0] = static_cast<char>(text[0] - 'A' + 'a');
  texts.erase(texts.begin() + from);
  texts.insert(texts.begin() + to, std::move(text));
  if (from == 0) texts[0][0] = static_cast<char>(texts[0][0] - 'a' + 'A');
  std::string moved;
  for (std::size_t i = 0; i < texts.size(); ++i) moved += (i > 0 ? " " : "") + texts[i] + marks[i];
  return moved;
}

std::string to_english_text(Clause clause) { return to_text(to_english(of_clause(std::move(clause)))); }

TreeSentence to_tree(const std::vector<Word>& words) {
  std::vector<std::size_t> numbers;  // of the words in the tree, from 1
  std::size_t count = 0;
  for (const Word& word : words) {
    numbers.push_back(++count);
    if (word.mark) ++count;
  }
  TreeSentence tree{.text = to_text(words)};
  std::size_t at = 0;  // in the text
  const auto add = [&](TreeWord word) {
    const std::size_t end = at + word.form.size();
    tree.places.emplace_back(at, end);
    tree.words.push_back(std::move(word));
    at = end;
  };
  for (const Word& word : words) {
    const auto& [part_of_speech, dependency, features] = word.syntax;
    const bool is_root = dependency.head.node == nullptr;
    TreeWord entry{.form = word.text.substr(0, word.text.size() - (word.mark ? 1 : 0)),
                   .part_of_speech = std::string(part_of_speech),
                   .head = is_root ? 0 : numbers[head_word(words, dependency.head)],
                   .relation = std::string(dependency.relation)};
    for (const auto& [name, value] : features) {
      if (!value.empty()) entry.features.emplace_back(name, value);
    }
    add(std::move(entry));
    if (word.mark) {
      add({.form = word.text.substr(word.text.size() - 1),
           .part_of_speech = "PUNCT",
           .head = numbers[head_word(words, *word.mark)],
           .relation = "punct"});
    }
    ++at;
  }
  return tree;
}

}  // namespace attend::toy
