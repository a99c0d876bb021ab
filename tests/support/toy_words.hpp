// Words of the built-in corpus, for its tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "data/toy/lexicon.hpp"

namespace attend {

inline std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::istringstream stream(read_file(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Words in lower case, without punctuation.
inline std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    std::erase_if(word, [](char c) { return c == '.' || c == ',' || c == '?'; });
    std::ranges::transform(word, word.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    words.push_back(std::move(word));
  }
  return words;
}

// The share of distinct words that two texts have in common.
inline double overlap(const std::string& a, const std::string& b) {
  const std::vector<std::string> words_a = words_of(a), words_b = words_of(b);
  const std::set<std::string> of_a(words_a.begin(), words_a.end()), of_b(words_b.begin(), words_b.end());
  const auto shared = std::ranges::count_if(of_a, [&](const std::string& word) { return of_b.contains(word); });
  return static_cast<double>(shared) /
         static_cast<double>(of_a.size() + of_b.size() - static_cast<std::size_t>(shared));
}

inline bool is_noun(const std::string& word) {
  return std::ranges::any_of(toy::nouns(),
                             [&](const toy::Noun& n) { return n.english == word || n.english_plural == word; });
}

// FNV-1a, so that an expected value depends on no other code of attend.
inline std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace attend
