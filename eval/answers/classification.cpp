// The most probable label of each text.
#include <algorithm>

#include "eval/answers/label_probabilities.hpp"
#include "eval/metrics/labels.hpp"

namespace attend {
namespace {

class ClassificationAnswers : public LabelProbabilities {
 public:
  using LabelProbabilities::LabelProbabilities;

  std::vector<NamedMeasure> measures() const override {
    std::vector<std::int64_t> predicted, gold;
    for (std::size_t i = 0; i < probabilities_.size(); ++i) {
      predicted.push_back(static_cast<std::int64_t>(best(i)));
      gold.push_back(static_cast<std::int64_t>(split_.texts[i].gold.label.value()));
    }
    const auto num_labels = std::ssize(task_.labels);
    const auto positive = std::ranges::find(task_.labels, task_.positive) - task_.labels.begin();
    const auto f1 = [positive, num_labels](const auto& p, const auto& g) {
      if (positive < num_labels) return metrics::f1(p, g, positive);
      double sum = 0;
      for (std::int64_t label = 0; label < num_labels; ++label) sum += metrics::f1(p, g, label);
      return sum / static_cast<double>(num_labels);
    };
    return {{"accuracy", [=](Subset s) { return metrics::accuracy(chosen(predicted, s), chosen(gold, s)); }},
            {"f1", [=](Subset s) { return f1(chosen(predicted, s), chosen(gold, s)); }},
            {"matthews", [=](Subset s) { return metrics::matthews(chosen(predicted, s), chosen(gold, s)); }}};
  }

  std::string text(std::size_t i) const override { return task_.labels[best(i)]; }
  std::optional<double> probability(std::size_t i) const override { return probabilities_[i][best(i)]; }
  nlohmann::ordered_json json(std::size_t i) const override { return with_probabilities({{"label", text(i)}}, i); }

 private:
  std::size_t best(std::size_t i) const {
    return static_cast<std::size_t>(std::ranges::max_element(probabilities_[i]) - probabilities_[i].begin());
  }
};

}  // namespace

std::unique_ptr<TaskAnswers> classification_answers(const TaskSplit& split, const LabelledTask& task) {
  return std::make_unique<ClassificationAnswers>(split, task);
}

}  // namespace attend
