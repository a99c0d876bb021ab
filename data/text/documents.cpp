#include "data/text/documents.hpp"

#include <unicode/brkiter.h>
#include <unicode/unistr.h>

#include <utility>

#include "core/error.hpp"

namespace attend {

std::string name_of_files(const std::vector<std::string>& files) {
  return files.empty() ? "none" : files.size() == 1 ? files[0] : files[0] + " … " + files.back();
}

DocumentReader::DocumentReader(std::vector<std::string> files) : files_(std::move(files)) {
  if (files_.empty()) throw UserError("no text file given");
  for (const auto& file : files_) check_text_file(file);
}

bool DocumentReader::next(DocumentLine& line) {
  for (;;) {
    if (!reader_) {
      if (opened_ == files_.size()) return false;
      reader_ = std::make_unique<LineReader>(files_[opened_++]);
      first_ = true;
    }
    if (!reader_->next(line.text)) {
      counts_ += reader_->counts();
      reader_.reset();
      continue;
    }
    ++line_;
    if (is_blank(line.text)) {
      first_ = true;
      continue;
    }
    line.line = line_;
    line.first = std::exchange(first_, false);
    return true;
  }
}

SentenceSplitter make_sentence_splitter() {
  UErrorCode error = U_ZERO_ERROR;
  const std::shared_ptr<icu::BreakIterator> iterator(
      icu::BreakIterator::createSentenceInstance(icu::Locale("en@ss=standard"), error));
  ensure(U_SUCCESS(error), "ICU provides sentence rules");
  return [iterator](std::string_view text) {
    const icu::UnicodeString whole =
        icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())));
    iterator->setText(whole);
    std::vector<std::string> sentences;
    for (std::int32_t begin = iterator->first(), end = iterator->next(); end != icu::BreakIterator::DONE;
         begin = end, end = iterator->next()) {
      icu::UnicodeString sentence(whole, begin, end - begin);
      sentence.trim();
      if (sentence.isEmpty()) continue;
      sentence.toUTF8String(sentences.emplace_back());
    }
    return sentences;
  };
}

}  // namespace attend
