#include "data/task/record_format.hpp"

#include "core/error.hpp"

namespace attend {

const RecordFormat& format_of(TaskKind kind) {
  static const auto classification = classification_format(), multi_label = multi_label_format(),
                    regression = regression_format(), spans = span_format(), tags = tag_format();
  switch (kind) {
    case TaskKind::classification: return *classification;
    case TaskKind::multi_label: return *multi_label;
    case TaskKind::regression: return *regression;
    case TaskKind::spans: return *spans;
    case TaskKind::tags: return *tags;
  }
  ensure(false, "the kind of task is known");
  return *classification;
}

}  // namespace attend
