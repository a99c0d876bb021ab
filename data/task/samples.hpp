// What an encoder reads of a labelled text, and what it is to say of it: ids and targets, no tensors.
//
//   one text           [CLS] a [SEP]
//   two texts          [CLS] a [SEP] b [SEP]; what is too long loses tokens at the end of its longer part
//   a question         [CLS] question [SEP] window [SEP], for windows that go over the context in steps of `stride`
//   a tagged sentence  [CLS] pieces of all words [SEP]; the first piece of a word carries its tag (arXiv 1810.04805,
//                      section 5.3); a sentence that is too long becomes several samples, and one that is not may
//                      stand between the nearest pieces of its document
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/task/labelled_text.hpp"
#include "data/text/conll.hpp"
#include "data/text/squad.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

struct SampleConfig {
  std::optional<std::int64_t> length = {};
  std::int64_t stride = 128;
  std::int64_t question_length = 64;
  std::int64_t document_context = 0;

  // Most tokens of a question: the other half of a sequence is for its context. `length` is known.
  std::int64_t longest_question() const { return std::min(question_length, *length / 2); }

  // Tokens beyond which a sample is cut, of spans its question.
  std::int64_t longest(TaskKind kind) const { return kind == TaskKind::spans ? longest_question() : *length; }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("length", self.length,
          {.help =
               "tokens of a sequence, [CLS] and [SEP] included; auto: 128, 384 for spans, never more than the encoder "
               "reads",
           .min = 8,
           .max = 65535});
    visit("stride", self.stride,
          {.help = "spans: tokens from the beginning of one window of a context to that of the next, at most as many "
                   "as it holds",
           .min = 1});
    visit("question-length", self.question_length,
          {.help = "spans: tokens of a question, at most half of a sequence; the rest is cut", .min = 1});
    visit("document-context", self.document_context,
          {.help = "tags: tokens around a sentence, of its document, that are read with it; 0: none",
           .min = 0,
           .max = 65535});
  }
};

struct Sample {
  std::vector<std::int32_t> ids = {};
  std::uint32_t first = 0;                 // tokens of the first part, with [CLS] and its [SEP]
  std::int64_t example = 0;                // which text, question or sentence
  std::vector<double> targets = {};        // of the whole, as LabelledText's
  std::vector<std::uint32_t> places = {};  // tags: the token of each word; spans: of begin and end of the answer,
                                           // both 0, [CLS], where the window holds none
  std::vector<std::int64_t> tags = {};     // of each place
  std::uint32_t skipped = 0;               // what stands before it: words of the sentence, pieces of the context
};

// Samples in batches to be answered: of about equal length, so that no long one is waited for, and of about as many
// tokens.
std::vector<std::vector<const Sample*>> batches_by_length(const std::vector<Sample>& samples);

class SampleMaker {
 public:
  // `config.length` is known. UserError when the tokenizer lacks a piece for cls or sep.
  SampleMaker(Tokenizer tokenizer, const SampleConfig& config);

  Sample of_text(const LabelledText& text, std::int64_t example);
  // `context` are the pieces of its context. Answers that are given label the windows which hold the first of them
  // whole.
  std::vector<Sample> of_question(const Question& question, const std::vector<Piece>& context, std::int64_t example);
  // `tags` are the names of all tags; of tokens without a tag (sentence.tags is empty) all are 0. The first sentence is
  // `example`.
  std::vector<Sample> of_sentences(std::span<const TaggedSentence> sentences, const std::vector<std::string>& tags,
                                   std::int64_t example);

  std::int64_t num_cut() const { return num_cut_; }  // samples that lost tokens

 private:
  using Words = std::vector<std::vector<std::int32_t>>;  // the pieces of each

  Words words_of(const TaggedSentence& sentence);
  void surround(Sample& sample, const std::vector<std::int32_t>& before, const std::vector<std::int32_t>& after) const;

  Tokenizer tokenizer_;
  std::size_t length_;
  SampleConfig config_;
  std::int64_t num_cut_ = 0;
};

}  // namespace attend
