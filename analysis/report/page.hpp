// Pages for people: one HTML file each, which opens from a disk and asks nothing of any network. Tables and charts are
// in the page as such; a script is needed for the sentences alone.
//
// Text from users (sentences, names, options) is escaped where it stands in HTML and base64 where it stands in a
// script.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"

namespace attend {

// index.html of a comparison.
std::string comparison_page(const Comparison& comparison);

// The attention of one model, sentence by sentence.
struct AttentionPage {
  std::string title;  // the run
  std::string description;
  std::string attend;  // the version that made this
  std::string command;
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
