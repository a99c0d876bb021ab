// How a language model uses its context: the loss of words by the number of tokens before them, and the distance of the
// tokens that it attends to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "models/language/language_model.hpp"

namespace attend {

// Documents one after the other, as training reads them: </s>, the tokens of the first document, </s>, and so on. A
// word is the tokens begin … end - 1.
struct TokenStream {
  struct Word {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::vector<std::int32_t> ids;
  std::vector<Word> words;  // of all documents; each end is a word, too
};

// 8, 16, 32, … 512, up to half of the shortest stream and to the largest of `longest`, the most that each model reads.
std::vector<std::int64_t> context_lengths(std::span<const TokenStream> streams,
                                          std::span<const std::optional<std::int64_t>> longest);

// The numbers of at most `most` words, ascending, drawn from those with at least `tokens` tokens before them in every
// stream. The streams have the same words.
std::vector<std::size_t> draw_words(std::span<const TokenStream> streams, std::int64_t tokens, std::size_t most);

// -log p of each of these words, in nats: the sum over its pieces, each read after exactly `context` tokens of the
// stream, which the model must be able to read. Interrupted after SIGINT or SIGTERM.
std::vector<double> losses_after(const LanguageModelImpl& model, const TokenStream& stream,
                                 std::span<const std::size_t> words, std::int64_t context);

// Each layer's shares of attention by distance (0, 1, 2 to 3, 4 to 7, and so on) over the first `most` tokens of
// texts, in which the end token stands first. Empty for a model without attention. Interrupted after SIGINT or SIGTERM.
std::vector<DistanceShares> attention_by_distance(const LanguageModelImpl& model,
                                                  std::span<const std::vector<std::int64_t>> texts, std::int64_t most);
// "0", "1", "2 to 3", "4 to 7", …
std::vector<std::string> distance_names(std::size_t count);

}  // namespace attend
