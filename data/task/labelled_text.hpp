// A text, or pair of texts, and what is known of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attend {

// What is known of a text: of these the one of its task's kind, or none where it is not labelled.
struct Gold {
  std::optional<std::size_t> label = {};  // classification: the number of the label
  std::vector<float> labels = {};         // multi-label: 1 for every label that it has, 0 for the others
  std::optional<double> number = {};      // regression

  bool operator==(const Gold&) const = default;
};

struct LabelledText {
  std::uint64_t line = 0;  // of the file, from 1
  std::string first = {};
  std::optional<std::string> second = {};  // where the task reads two
  Gold gold = {};
};

}  // namespace attend
