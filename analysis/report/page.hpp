// Pages for people: one HTML file each, which opens from a disk and loads nothing. Tables and charts need no script;
// only the sentences do.
//
// Text from users (sentences, names, options) is escaped in HTML and base64 in data. The page runs no script but its
// own, whose hash it names (Content-Security-Policy).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/report/language_comparison.hpp"
#include "analysis/report/sections.hpp"

namespace attend {

// index.html of a comparison.
std::string comparison_page(const Comparison& comparison);
std::string comparison_page(const LanguageComparison& comparison);

// A page of sections alone.
std::string section_page(const std::string& title, const std::vector<Section>& sections, const std::string& foot);

// The attention of one model, sentence by sentence.
struct AttentionPage {
  std::string title;  // the path of the run
  std::string description;
  std::string attend;              // the version that made this
  std::string command;             // the command line that made it
  std::string made;                // date
  std::vector<std::string> views;  // "decoder to source", "encoder"

  struct Sentence {
    std::string source;
    std::string target;                              // empty for an encoder
    std::vector<std::optional<AttentionMaps>> maps;  // parallel to views
  };
  std::vector<Sentence> sentences;
};

std::string sentence_page(const AttentionPage& page);

}  // namespace attend
