// A text or pair of texts with its gold label.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attend {

// The gold label of a text: the member of the task's kind is set, or none if the text is not labelled.
struct Gold {
  std::optional<std::size_t> label = {};  // classification: the number of the label
  std::vector<float> labels = {};         // multi-label: 1 for each label of the text, 0 for the others
  std::optional<double> number = {};      // regression

  bool operator==(const Gold&) const = default;
};

struct LabelledText {
  std::uint64_t line = 0;  // of the file, from 1
  std::string first = {};
  std::optional<std::string> second = {};  // if the task reads pairs
  Gold gold = {};
};

}  // namespace attend
