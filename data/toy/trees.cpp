#include "data/toy/trees.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace attend::toy {
namespace {

// The index of the word that dependents of the concept depend on; without a node, of the root.
std::size_t head_word(const std::vector<Word>& words, const Concept& head) {
  const auto found = std::ranges::find_if(words, [&](const Word& word) {
    if (word.syntax.dependency.head == head) return head.node == nullptr;
    return std::ranges::find(word.concepts, head) != word.concepts.end();
  });
  ensure(found != words.end(), "a sentence has a word for what others depend on");
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace

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
