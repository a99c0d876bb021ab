// The labels of each text that are likelier than not.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "eval/answers/answers.hpp"
#include "eval/metrics/labels.hpp"

namespace attend {
namespace {

class MultiLabelAnswers : public TaskAnswers {
 public:
  MultiLabelAnswers(const TaskSplit& split, const LabelledTask& task)
      : TaskAnswers(split, task), probabilities_(split.texts.size()) {}

  void add(std::span<const Sample* const> samples, const torch::Tensor& predicted_BL) override {
    for_each_row(samples, predicted_BL,
                 [&](std::size_t i, std::span<const float> row) { probabilities_[i].assign(row.begin(), row.end()); });
  }

  // F1 of all labels together; accuracy of all labels of a text.
  std::vector<NamedMeasure> measures() const override {
    using Subset = NamedMeasure::Subset;
    std::vector<std::vector<std::int64_t>> predicted, gold;
    for (std::size_t i = 0; i < probabilities_.size(); ++i) {
      std::vector<std::int64_t>& p = predicted.emplace_back();
      for (const double probability : probabilities_[i]) p.push_back(is_given(probability));
      gold.emplace_back(split_.texts[i].gold.labels.begin(), split_.texts[i].gold.labels.end());
    }
    const auto flat = [](const std::vector<std::vector<std::int64_t>>& rows, Subset subset) {
      std::vector<std::int64_t> result;
      for (const std::size_t i : subset) result.insert(result.end(), rows[i].begin(), rows[i].end());
      return result;
    };
    return {{"f1", [=](Subset s) { return metrics::f1(flat(predicted, s), flat(gold, s), 1); }},
            {"accuracy", [=](Subset s) {
               const auto equal = std::ranges::count_if(s, [&](std::size_t i) { return predicted[i] == gold[i]; });
               return static_cast<double>(equal) / static_cast<double>(s.size());
             }}};
  }

  std::string text(std::size_t i) const override { return fmt::format("{}", fmt::join(given(i), task_.separator)); }
  nlohmann::ordered_json json(std::size_t i) const override {
    nlohmann::ordered_json object = {{"labels", given(i)}};
    for (std::size_t label = 0; label < task_.labels.size(); ++label) {
      object["probabilities"][task_.labels[label]] = probabilities_[i][label];
    }
    return object;
  }

 private:
  static bool is_given(double probability) { return probability > 0.5; }

  std::vector<std::string> given(std::size_t i) const {
    std::vector<std::string> labels;
    for (std::size_t label = 0; label < task_.labels.size(); ++label) {
      if (is_given(probabilities_[i][label])) labels.push_back(task_.labels[label]);
    }
    return labels;
  }

  std::vector<std::vector<double>> probabilities_;  // of every text and label
};

}  // namespace

std::unique_ptr<TaskAnswers> multi_label_answers(const TaskSplit& split, const LabelledTask& task) {
  return std::make_unique<MultiLabelAnswers>(split, task);
}

}  // namespace attend
