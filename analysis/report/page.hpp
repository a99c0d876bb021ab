// HTML pages: one file each, which opens from disk and loads nothing. Only the sentences need a script.
//
// Text from users (sentences, names, options) is escaped in HTML and base64 in data. The page runs only its own script,
// whose hash it names (Content-Security-Policy).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/report/sections.hpp"

namespace attend {

// index.html of a report.
std::string report_page(const SectionReport& report);

// The attention of one model, sentence by sentence.
struct AttentionPage {
  std::string title;  // the path of the run
  std::string description;
  Making making;
  std::vector<std::string> views = {};  // "decoder to source", "encoder"

  struct Sentence {
    std::string source;
    std::string target;                              // empty for an encoder
    std::vector<std::optional<AttentionMaps>> maps;  // parallel to views
  };
  std::vector<Sentence> sentences = {};
};

std::string sentence_page(const AttentionPage& page);

}  // namespace attend
