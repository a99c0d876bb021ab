// Answers that are labels or numbers.
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <vector>

#include "eval/answers/answers.hpp"

namespace attend {

// The probability of every label for every text: common to classification and multi-label tasks.
class LabelProbabilities : public TaskAnswers {
 public:
  LabelProbabilities(const TaskSplit& split, const LabelledTask& task)
      : TaskAnswers(split, task), probabilities_(split.texts.size()) {}

  void add(std::span<const Sample* const> samples, const torch::Tensor& predicted_BL) override {
    for_each_row(samples, predicted_BL,
                 [&](std::size_t i, std::span<const float> row) { probabilities_[i].assign(row.begin(), row.end()); });
  }

 protected:
  // `object` with the probabilities of text `i` by label.
  nlohmann::ordered_json with_probabilities(nlohmann::ordered_json object, std::size_t i) const {
    for (std::size_t label = 0; label < task_.labels.size(); ++label) {
      object["probabilities"][task_.labels[label]] = probabilities_[i][label];
    }
    return object;
  }

  std::vector<std::vector<double>> probabilities_;  // of every text and label
};

}  // namespace attend
