#include "data/text/parallel.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

std::int64_t count_to_end(LineReader& reader) {
  std::string line;
  while (reader.next(line)) {
  }
  return static_cast<std::int64_t>(reader.counts().lines);
}

[[noreturn]] void refuse_lines(const std::string& src_file, std::int64_t src_lines, const std::string& tgt_file,
                               std::int64_t tgt_lines) {
  throw UserError(src_file + " has " + counted(src_lines, "line") + ", but " + tgt_file + " has " + fixed(tgt_lines),
                  "align them: line n of one file must be the translation of line n of the other");
}

}  // namespace

void check_parallel(const std::string& src_file, const std::string& tgt_file) {
  const auto src_lines = count_lines(check_text_file(src_file)), tgt_lines = count_lines(check_text_file(tgt_file));
  if (src_lines && tgt_lines && *src_lines != *tgt_lines) refuse_lines(src_file, *src_lines, tgt_file, *tgt_lines);
}

std::string ParallelCounts::report() const {
  const std::string text = counted(static_cast<std::int64_t>(src.lines - skipped()), "pair");
  if (skipped() == 0) return text;
  return text + ", " + std::to_string(skipped()) + " skipped: " +
         nonzero_counts({{empty, "empty"}, {too_long, "too long"}, {invalid_utf8, "with invalid UTF-8"}});
}

ParallelReader::ParallelReader(const std::string& src_file, const std::string& tgt_file,
                               const std::vector<std::string>& factor_files)
    : src_file_(src_file),
      tgt_file_(tgt_file),
      src_(check_text_file(src_file)),
      tgt_(check_text_file(tgt_file)),
      factors_(factor_files) {
  for (const auto& file : factor_files) check_text_file(file);
}

bool ParallelReader::next(TextPair& pair) {
  while (true) {
    const bool more_src = src_.next(pair.src);
    const bool more_tgt = tgt_.next(pair.tgt);
    if (more_src != more_tgt) {
      const std::int64_t src_lines = count_to_end(src_);
      const std::int64_t tgt_lines = count_to_end(tgt_);
      refuse_lines(src_file_, src_lines, tgt_file_, tgt_lines);
    }
    if (!more_src) {
      counts_.src = src_.counts();
      counts_.tgt = tgt_.counts();
      factors_.finish();
      return false;
    }
    pair.line = src_.counts().lines;
    const std::string labels = factors_.next(pair.src);
    if (src_.invalid() || tgt_.invalid()) {
      ++counts_.invalid_utf8;
    } else if (is_blank(pair.src) || is_blank(pair.tgt)) {
      ++counts_.empty;
    } else {
      pair.src += labels;
      return true;
    }
  }
}

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
