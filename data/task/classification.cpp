// One label per text or pair of texts.
#include "core/error.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

class ClassificationFormat : public TextFormat {
 public:
  void validate(const LabelledTask& task, const std::string& source) const override {
    TextFormat::validate(task, source);
    if (task.labels.size() == 1) {
      throw UserError(source + ": labels has only one name",
                      "name at least two labels, or none to use those of the training file");
    }
  }

  std::vector<std::string_view> metrics(const LabelledTask& /*task*/) const override {
    return {"accuracy", "f1", "matthews"};
  }

 protected:
  Gold gold_of(const std::string& value, const LabelledTask& task, const std::string& place) const override {
    return {.label = number_of_label(trimmed(value), task, place)};
  }
};

}  // namespace

std::unique_ptr<RecordFormat> classification_format() { return std::make_unique<ClassificationFormat>(); }

}  // namespace attend
