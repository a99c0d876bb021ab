// The labels of each text with a probability above 0.5.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>

#include "eval/answers/label_probabilities.hpp"
#include "eval/metrics/labels.hpp"

namespace attend {
namespace {

class MultiLabelAnswers : public LabelProbabilities {
 public:
  using LabelProbabilities::LabelProbabilities;

  // Micro-averaged F1; accuracy counts the texts whose labels are all right.
  std::vector<NamedMeasure> measures() const override {
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
  nlohmann::ordered_json json(std::size_t i) const override { return with_probabilities({{"labels", given(i)}}, i); }

 private:
  static bool is_given(double probability) { return probability > 0.5; }

  std::vector<std::string> given(std::size_t i) const {
    std::vector<std::string> labels;
    for (std::size_t label = 0; label < task_.labels.size(); ++label) {
      if (is_given(probabilities_[i][label])) labels.push_back(task_.labels[label]);
    }
    return labels;
  }
};

}  // namespace

std::unique_ptr<TaskAnswers> multi_label_answers(const TaskSplit& split, const LabelledTask& task) {
  return std::make_unique<MultiLabelAnswers>(split, task);
}

}  // namespace attend
