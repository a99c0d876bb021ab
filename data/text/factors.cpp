#include "data/text/factors.hpp"

#include "core/error.hpp"
#include "core/number.hpp"

namespace attend {
namespace {

constexpr char kBeforeLabels = '\x1e';  // U+001E, which LineReader replaces in every line

}  // namespace

std::string_view text_of_line(std::string_view line) { return line.substr(0, line.find(kBeforeLabels)); }

std::vector<std::vector<std::string_view>> labels_of_line(std::string_view line) {
  std::vector<std::vector<std::string_view>> labels;
  for (std::size_t at = line.find(kBeforeLabels); at != line.npos;) {
    const std::size_t next = line.find(kBeforeLabels, at + 1);
    labels.push_back(spaced_words(line.substr(at + 1, next == line.npos ? next : next - at - 1)));
    at = next;
  }
  return labels;
}

FactorReader::FactorReader(const std::vector<std::string>& files) : files_(files) {
  for (const std::string& file : files) {
    if (file == "-") throw UserError("source factors cannot be read from standard input (-)", "write them to a file");
    readers_.emplace_back(file);
  }
}

std::string FactorReader::next(std::string_view text) {
  std::string all;
  const std::int64_t words = readers_.empty() ? 0 : std::ssize(spaced_words(text));
  ++num_lines_;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    std::string labels;
    if (!readers_[i].next(labels)) {
      throw UserError(files_[i] + ": " + counted(num_lines_ - 1, "line") + ", but the source has more",
                      "give one line of labels for each source line");
    }
    const std::int64_t found = std::ssize(spaced_words(labels));
    if (found != words) {
      throw UserError(
          readers_[i].place() + ": " + counted(found, "label") + ", but the source line has " + counted(words, "word"),
          "give one label for each word between spaces");
    }
    all += kBeforeLabels + labels;
  }
  return all;
}

void FactorReader::finish() {
  std::string line;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (readers_[i].next(line)) {
      throw UserError(readers_[i].place() + ": the source has only " + counted(num_lines_, "line"),
                      "give one line of labels for each source line");
    }
    readers_[i].counts().log(files_[i]);
  }
}

}  // namespace attend
