#include "analysis/test_documents.hpp"

#include <algorithm>
#include <string_view>

#include "core/error.hpp"
#include "data/text/documents.hpp"
#include "eval/metrics/text.hpp"

namespace attend {

std::vector<TestDocument> read_test_documents(const std::vector<std::string>& files) {
  DocumentReader reader(files);
  SentenceSplitter splitter;
  std::vector<TestDocument> documents;
  for (DocumentLine line; reader.next(line);) {
    if (line.first) documents.emplace_back();
    TestDocument& document = documents.back();
    document.bytes += std::ssize(line.text) + 1;
    for (std::string& sentence : splitter.split(line.text)) {
      for (const std::string_view word : metrics::split_words(sentence)) document.words.emplace_back(word);
      document.sentences.push_back(std::move(sentence));
    }
  }
  std::erase_if(documents, [](const TestDocument& document) { return document.words.empty(); });
  if (documents.empty()) throw UserError(name_of_files(files) + ": no sentences to test on", "check the text");
  return documents;
}

DocumentPieces pieces_of(const TestDocument& document, const Tokenizer& tokenizer) {
  DocumentPieces pieces;
  std::size_t words_before = 0;
  for (const std::string& plain : document.sentences) {
    const std::string sentence = tokenizer.in_document(plain, words_before == 0);
    std::vector<std::size_t> ends;  // of the words of the sentence
    for (const std::string_view word : metrics::split_words(sentence)) {
      ends.push_back(static_cast<std::size_t>(word.data() - sentence.data()) + word.size());
    }
    for (const Piece& piece : tokenizer.encode_pieces(sentence)) {
      // A piece may begin with the space before its word; one after the last word belongs to that.
      const auto word = static_cast<std::size_t>(std::ranges::lower_bound(ends, piece.end) - ends.begin());
      pieces.ids.push_back(piece.id);
      pieces.word.push_back(words_before + std::min(word, ends.size() - 1));
    }
    words_before += ends.size();
  }
  pieces.ids.push_back(tokenizer.special().eos);
  pieces.word.push_back(words_before);
  return pieces;
}

std::vector<double> by_word(const DocumentPieces& pieces, const std::vector<double>& numbers, std::size_t num_words) {
  ensure(numbers.size() == pieces.word.size(), "a number for every piece");
  std::vector<double> sums(num_words);
  for (std::size_t i = 0; i < numbers.size(); ++i) sums.at(pieces.word[i]) += numbers[i];
  return sums;
}

}  // namespace attend
