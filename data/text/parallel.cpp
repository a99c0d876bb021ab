#include "data/text/parallel.hpp"

#include <utility>

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

}  // namespace

void check_aligned(const std::string& file, std::int64_t lines, const std::string& text,
                   std::optional<std::int64_t> expected) {
  if (lines == expected) return;
  throw UserError(name_of_input(file) + ": " + counted(lines, "line") + ", but " + text + " has " +
                      (expected ? fixed(*expected) : "more"),
                  "give a line for each line of " + text);
}

AlignedLines::AlignedLines(const std::vector<std::string>& files, std::string text)
    : files_(files), text_(std::move(text)), readers_(files.begin(), files.end()), lines_(files.size()) {}

const std::vector<std::string>& AlignedLines::next() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!readers_[i].next(lines_[i])) check_aligned(files_[i], num_lines_, text_);
  }
  ++num_lines_;
  return lines_;
}

void AlignedLines::finish() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    check_aligned(files_[i], count_to_end(readers_[i]), text_, num_lines_);
    readers_[i].counts().log(files_[i]);
  }
}

void check_parallel(const std::string& src_file, const std::string& tgt_file) {
  const auto src_lines = count_lines(check_text_file(src_file)), tgt_lines = count_lines(check_text_file(tgt_file));
  if (src_lines && tgt_lines) check_aligned(tgt_file, *tgt_lines, src_file, *src_lines);
}

std::string ParallelCounts::report() const {
  const std::string text = counted(src.lines - skipped(), "pair");
  if (skipped() == 0) return text;
  return text + ", " + std::to_string(skipped()) + " skipped: " +
         nonzero_counts({{empty, "empty"}, {too_long, "too long"}, {invalid_utf8, "with invalid UTF-8"}});
}

ParallelReader::ParallelReader(const std::string& src_file, const std::string& tgt_file)
    : src_file_(src_file), tgt_file_(tgt_file), src_(check_text_file(src_file)), tgt_(check_text_file(tgt_file)) {}

bool ParallelReader::next(TextPair& pair) {
  while (true) {
    const bool more_src = src_.next(pair.src);
    const bool more_tgt = tgt_.next(pair.tgt);
    if (more_src != more_tgt) check_aligned(tgt_file_, count_to_end(tgt_), src_file_, count_to_end(src_));
    if (!more_src) {
      counts_.src = src_.counts();
      counts_.tgt = tgt_.counts();
      return false;
    }
    pair.line = src_.counts().lines;
    if (src_.invalid() || tgt_.invalid()) {
      ++counts_.invalid_utf8;
    } else if (is_blank(pair.src) || is_blank(pair.tgt)) {
      ++counts_.empty;
    } else {
      return true;
    }
  }
}

}  // namespace attend
