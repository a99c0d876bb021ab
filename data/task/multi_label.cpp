// Any number of labels per text or pair of texts, in one column, joined by a separator.
#include <algorithm>

#include "core/error.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

class MultiLabelFormat : public TextFormat {
 public:
  void validate(const LabelledTask& task, const std::string& source) const override {
    TextFormat::validate(task, source);
    if (task.separator.empty() || task.separator.find_first_of("\t\r\n") != std::string::npos) {
      throw UserError(source + ": separator is empty or contains a tab or line break",
                      "choose a separator without them");
    }
    for (const std::string& name : task.labels) {
      if (name.find(task.separator) == std::string::npos) continue;
      throw UserError(source + ": the label \"" + name + "\" contains the separator \"" + task.separator + "\"",
                      "choose another separator");
    }
  }

  std::vector<std::string_view> metrics(const LabelledTask& /*task*/) const override { return {"f1", "accuracy"}; }

 protected:
  std::string separator(const LabelledTask& task) const override { return task.separator; }
  std::size_t fewest_labels() const override { return 1; }

  std::vector<std::string> split_labels(const std::string& value, const LabelledTask& task) const override {
    std::vector<std::string> labels;
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(task.separator, begin), value.size());
      std::string label = trimmed(std::string_view(value).substr(begin, end - begin));
      if (!label.empty()) labels.push_back(std::move(label));
      begin = end + task.separator.size();
    }
    return labels;
  }

  Gold gold_of(const std::string& value, const LabelledTask& task, const std::string& place) const override {
    Gold gold{.labels = std::vector<float>(task.labels.size())};
    for (const std::string& label : split_labels(value, task)) gold.labels[number_of_label(label, task, place)] = 1;
    return gold;
  }
};

}  // namespace

std::unique_ptr<RecordFormat> multi_label_format() { return std::make_unique<MultiLabelFormat>(); }

}  // namespace attend
