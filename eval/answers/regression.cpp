// A number for each text.
#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>

#include "eval/answers/answers.hpp"
#include "eval/metrics/labels.hpp"

namespace attend {
namespace {

class RegressionAnswers : public TaskAnswers {
 public:
  RegressionAnswers(const TaskSplit& split, const LabelledTask& task)
      : TaskAnswers(split, task), numbers_(split.texts.size()) {}

  void add(std::span<const Sample* const> samples, const torch::Tensor& predicted_B1) override {
    for_each_row(samples, predicted_B1,
                 [&](std::size_t i, std::span<const float> row) { numbers_[i] = static_cast<double>(row.front()); });
  }

  std::vector<NamedMeasure> measures() const override {
    std::vector<double> gold;
    for (const LabelledText& text : split_.texts) gold.push_back(text.gold.number.value());
    return {{"pearson", [=, p = numbers_](Subset s) { return metrics::pearson(chosen(p, s), chosen(gold, s)); }},
            {"spearman", [=, p = numbers_](Subset s) { return metrics::spearman(chosen(p, s), chosen(gold, s)); }}};
  }

  std::string text(std::size_t i) const override { return fmt::format("{:.3f}", numbers_[i]); }
  nlohmann::ordered_json json(std::size_t i) const override { return {{"number", numbers_[i]}}; }

 private:
  std::vector<double> numbers_;
};

}  // namespace

std::unique_ptr<TaskAnswers> regression_answers(const TaskSplit& split, const LabelledTask& task) {
  return std::make_unique<RegressionAnswers>(split, task);
}

}  // namespace attend
