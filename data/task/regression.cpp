// One number per text or pair of texts.
#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/number.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

constexpr double kLargest = 1e15;

class RegressionFormat : public TextFormat {
 public:
  std::vector<std::string_view> metrics(const LabelledTask& /*task*/) const override { return {"pearson", "spearman"}; }
  std::vector<std::string_view> default_metrics(const LabelledTask& task) const override { return metrics(task); }
  std::string_view label_name() const override { return "number"; }
  std::vector<std::string> labels_in(const std::string& /*file*/, const LabelledTask& /*task*/) const override {
    return {};
  }

 protected:
  Gold gold_of(const std::string& value, const LabelledTask& /*task*/, const std::string& place) const override {
    const std::optional<double> number = parse_number<double>(trimmed(value));
    if (!number)
      throw UserError(place + "\"" + value + "\" is not a number",
                      "write a number; the labels of a regression task are numbers");
    if (std::abs(*number) > kLargest) {
      throw UserError(place + "\"" + value + "\" exceeds 1e15, so its squared error would lose precision",
                      "use a larger unit for the labels");
    }
    return {.number = *number};
  }

  void refuse_hidden(const TaskSplit& split) const override {
    const auto hidden = [](const LabelledText& text) { return text.gold.number == -1.0; };
    if (split.texts.size() < 2 || !std::ranges::all_of(split.texts, hidden)) return;
    throw UserError(split.file + ":" + std::to_string(split.texts[0].line) + ": the labels are hidden (-1)",
                    "predict this file; it cannot be scored");
  }
};

}  // namespace

std::unique_ptr<RecordFormat> regression_format() { return std::make_unique<RegressionFormat>(); }

}  // namespace attend
