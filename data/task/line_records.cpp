#include "data/task/line_records.hpp"

#include "data/text/lines.hpp"

namespace attend {

void LineRecords::add(const std::string& line, const std::string& place) {
  if (is_blank(line)) {
    records_.emplace_back();
    ++document_;
    return;
  }
  records_.emplace_back(split_.size());
  format_.add_line(split_, task_, {.text = line, .place = place, .document = document_}, maker_);
}

}  // namespace attend
