#include "eval/answers/labels.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "data/task/record_format.hpp"
#include "eval/answers/answers.hpp"
#include "eval/metrics/predictions.hpp"

namespace attend {

// The most probable label of each text.

namespace {

class ClassificationAnswers : public LabelProbabilities {
 public:
  using LabelProbabilities::LabelProbabilities;

  std::vector<NamedMeasure> measures() const override {
    std::vector<std::int64_t> predicted, gold;
    for (std::size_t i = 0; i < probabilities_.size(); ++i) {
      predicted.push_back(best(i));
      gold.push_back(split_.texts[i].gold.label.value());
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
  std::vector<Decision> decisions(std::size_t i) const override {
    const std::size_t gold = split_.texts[i].gold.label.value(), predicted = best(i);
    return {{.gold = gold, .predicted = predicted, .probability = *probability(i), .right = predicted == gold}};
  }

  void read(const std::string& file) override {
    read_lines(file, [&](std::size_t i, const std::string& answer, const std::string& place) {
      probabilities_[i].assign(task_.labels.size(), 0);
      probabilities_[i][format_of(task_.kind).gold_of(answer, task_, place).label.value()] = 1;
    });
  }

 private:
  std::size_t best(std::size_t i) const {
    return std::ranges::max_element(probabilities_[i]) - probabilities_[i].begin();
  }
};

}  // namespace

std::unique_ptr<TaskAnswers> classification_answers(const TaskSplit& split, const LabelledTask& task) {
  return std::make_unique<ClassificationAnswers>(split, task);
}

// The labels of each text with a probability above 0.5.

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
  std::vector<Decision> decisions(std::size_t i) const override {
    std::vector<Decision> all;
    for (std::size_t label = 0; label < task_.labels.size(); ++label) {
      const double p = probabilities_[i][label];
      all.push_back(
          {.probability = std::max(p, 1 - p), .right = is_given(p) == (split_.texts[i].gold.labels[label] > 0)});
    }
    return all;
  }

  void read(const std::string& file) override {
    read_lines(file, [&](std::size_t i, const std::string& answer, const std::string& place) {
      const Gold given = format_of(task_.kind).gold_of(answer, task_, place);
      probabilities_[i].assign(given.labels.begin(), given.labels.end());
    });
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
};

}  // namespace

std::unique_ptr<TaskAnswers> multi_label_answers(const TaskSplit& split, const LabelledTask& task) {
  return std::make_unique<MultiLabelAnswers>(split, task);
}

// A number for each text.

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
  void read(const std::string& file) override {
    read_lines(file, [&](std::size_t i, const std::string& answer, const std::string& place) {
      numbers_[i] = format_of(task_.kind).gold_of(answer, task_, place).number.value();
    });
  }

 private:
  std::vector<double> numbers_;
};

}  // namespace

std::unique_ptr<TaskAnswers> regression_answers(const TaskSplit& split, const LabelledTask& task) {
  return std::make_unique<RegressionAnswers>(split, task);
}

}  // namespace attend
