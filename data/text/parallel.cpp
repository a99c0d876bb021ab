#include "data/text/parallel.hpp"

#include "core/error.hpp"

namespace attend {
namespace {

std::uint64_t count_to_end(LineReader& reader) {
  std::string line;
  while (reader.next(line)) {
  }
  return reader.counts().lines;
}

}  // namespace

std::string ParallelCounts::report() const {
  const std::string text = std::to_string(src.lines - skipped()) + " pairs";
  if (skipped() == 0) return text;
  return text + ", " + std::to_string(skipped()) + " skipped: " +
         nonzero_counts({{empty, "empty"}, {too_long, "too long"}, {invalid_utf8, "with invalid UTF-8"}});
}

ParallelReader::ParallelReader(std::vector<std::string> src_files, std::vector<std::string> tgt_files,
                               const std::vector<std::string>& factor_files)
    : src_files_(std::move(src_files)), tgt_files_(std::move(tgt_files)), factors_(factor_files) {
  if (src_files_.size() != tgt_files_.size() || src_files_.empty()) {
    throw UserError(
        std::to_string(src_files_.size()) + " source files but " + std::to_string(tgt_files_.size()) + " target files",
        "give one target file for each source file");
  }
  for (const auto& file : src_files_) check_text_file(file);
  for (const auto& file : tgt_files_) check_text_file(file);
  for (const auto& file : factor_files) check_text_file(file);
  open_next();
}

void ParallelReader::open_next() {
  if (opened_ == src_files_.size()) {
    src_.reset();
    return;
  }
  src_ = std::make_unique<LineReader>(src_files_[opened_]);
  tgt_ = std::make_unique<LineReader>(tgt_files_[opened_]);
  ++opened_;
}

bool ParallelReader::next(TextPair& pair) {
  while (src_) {
    const bool more_src = src_->next(pair.src);
    const bool more_tgt = tgt_->next(pair.tgt);
    if (more_src != more_tgt) {
      const std::uint64_t src_lines = count_to_end(*src_);
      const std::uint64_t tgt_lines = count_to_end(*tgt_);
      throw UserError(src_files_[opened_ - 1] + " has " + std::to_string(src_lines) + " lines, but " +
                          tgt_files_[opened_ - 1] + " has " + std::to_string(tgt_lines),
                      "align them: line n of one file must be the translation of line n of the other");
    }
    if (!more_src) {
      counts_.src += src_->counts();
      counts_.tgt += tgt_->counts();
      open_next();
      if (!src_) factors_.finish();
      continue;
    }
    pair.line = ++line_;
    const std::string labels = factors_.next(pair.src);
    if (src_->invalid() || tgt_->invalid()) {
      ++counts_.invalid_utf8;
    } else if (is_blank(pair.src) || is_blank(pair.tgt)) {
      ++counts_.empty;
    } else {
      pair.src += labels;
      return true;
    }
  }
  return false;
}

}  // namespace attend
