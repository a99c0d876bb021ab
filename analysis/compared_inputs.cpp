#include "analysis/compared_inputs.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "analysis/pair_tests.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "data/text/documents.hpp"
#include "data/text/lines.hpp"
#include "data/text/parallel.hpp"
#include "eval/metrics/tokenizers.hpp"

namespace attend {
namespace {

using Lines = std::vector<std::string>;

Lines read_compared_lines(const std::string& file) {
  Lines lines;
  LineReader reader(file);
  for (std::string line; reader.next(line);) lines.push_back(line);
  reader.counts().log(file);
  if (lines.empty()) throw UserError(name_of_input(file) + ": empty", "check the file");
  return lines;
}

}  // namespace

std::vector<GivenSystem> parse_named_files(std::string_view option, std::string_view example, const Lines& words) {
  std::vector<GivenSystem> systems;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
      throw UserError(fmt::format("{} {}: expected NAME=FILE, such as {}", option, word, example),
                      "give a name and a file");
    }
    GivenSystem system{.name = word.substr(0, equals), .file = word.substr(equals + 1)};
    if (std::ranges::find(systems, system.name, &GivenSystem::name) != systems.end()) {
      throw UserError(fmt::format("{} {}: the name {} is given twice", option, word, system.name),
                      "give each file a name of its own");
    }
    systems.push_back(std::move(system));
  }
  return systems;
}

ComparedInputs read_compared_inputs(const Lines& test, const GoldConfig& gold, const Lines& hypotheses) {
  ComparedInputs inputs{.sources = read_compared_lines(test[0]),
                        .references = read_compared_lines(test[1]),
                        .given = parse_named_files("--hypothesis", "marian=output.de", hypotheses)};
  const auto check = [&](const std::string& file, std::int64_t lines) {
    check_aligned(file, lines, name_of_input(test[0]), std::ssize(inputs.sources));
  };
  check(test[1], std::ssize(inputs.references));
  const std::vector<std::int64_t> source_words = count_words(inputs.sources);
  const std::vector<std::int64_t> target_words = count_words(inputs.references);
  inputs.source_words = std::accumulate(source_words.begin(), source_words.end(), std::int64_t{0});
  inputs.target_words = std::accumulate(target_words.begin(), target_words.end(), std::int64_t{0});
  if (!gold.gold.empty()) {
    inputs.gold = read_gold_links(gold, source_words, target_words);
    check(gold.gold, std::ssize(inputs.gold));
  }
  for (GivenSystem& system : inputs.given) {
    system.lines = read_compared_lines(system.file);
    check(system.file, std::ssize(system.lines));
  }
  return inputs;
}

GivenScores::GivenScores(const std::string& file, std::size_t outputs, std::size_t sentences) {
  const std::string expected = fmt::format(
      "give a line for each sentence of the test set, with a number for each run, then each --hypothesis, "
      "then each --search: {}",
      counted(static_cast<std::int64_t>(outputs), "number"));
  LineReader reader(file);
  for (std::string line; reader.next(line);) {
    std::vector<double>& scores = scores_.emplace_back();
    for (const std::string_view word : metrics::split_words(line)) {
      const std::optional<double> score = parse_number<double>(word);
      if (!score) reader.refuse(fmt::format("{} is not a finite number", word), expected);
      scores.push_back(*score);
    }
    if (scores.size() != outputs) {
      reader.refuse(fmt::format("{}, expected {}", counted(std::ssize(scores), "number"), outputs), expected);
    }
  }
  if (scores_.size() != sentences) {
    throw UserError(fmt::format("{}: {}, but the test set has {}", name_of_input(file),
                                counted(std::ssize(scores_), "line"), sentences),
                    expected);
  }
}

metrics::Rows GivenScores::rows(std::size_t output) const {
  metrics::Rows rows(kMean);
  for (const std::vector<double>& scores : scores_) rows.append(std::vector<double>{scores[output], 1});
  return rows;
}

int GivenScores::decimals() const {
  const auto is_large = [](const std::vector<double>& scores) {
    return std::ranges::any_of(scores, [](double score) { return std::abs(score) > 1; });
  };
  return std::ranges::any_of(scores_, is_large) ? 2 : 4;
}

std::vector<TestDocument> read_test_documents(const std::vector<std::string>& files) {
  DocumentReader reader(files);
  const SentenceSplitter splitter = make_sentence_splitter();
  std::vector<TestDocument> documents;
  for (DocumentLine line; reader.next(line);) {
    if (line.first) documents.emplace_back();
    TestDocument& document = documents.back();
    document.bytes += std::ssize(line.text) + 1;
    for (std::string& sentence : splitter(line.text)) {
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
