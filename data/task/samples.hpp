// The records of a task as samples for an encoder: one by one, and all of a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/task/labelled_task.hpp"
#include "data/text/conll.hpp"
#include "data/text/table.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// The gold label of a text: the member of the task's kind is set, or none if the text is not labelled.
struct Gold {
  std::optional<std::size_t> label = {};  // classification: the number of the label
  std::vector<float> labels = {};         // multi-label: 1 for each label of the text, 0 for the others
  std::optional<double> number = {};      // regression

  bool operator==(const Gold&) const = default;
};

struct LabelledText {
  std::uint64_t line = 0;  // of the file, from 1
  std::string first = {};
  std::optional<std::string> second = {};  // if the task reads pairs
  Gold gold = {};
};

// Encoder inputs and labels of labelled texts: ids and numbers, no tensors.
//
//   one text           [CLS] a [SEP]
//   two texts          [CLS] a [SEP] b [SEP]; if too long, the longer part is cut at its end
//   a question         [CLS] question [SEP] window [SEP], for windows of the context in steps of `stride`
//   a tagged sentence  [CLS] pieces of all words [SEP]; the first piece of a word carries its tag (arXiv 1810.04805,
//                      section 5.3); a long sentence becomes several samples, a short one may be surrounded by the
//                      nearest pieces of its document

// The limit of --length, whatever the encoder.
inline constexpr std::int64_t kMostTokensOfSample = 65535;

struct SampleConfig {
  std::optional<std::int64_t> length = {};
  std::int64_t stride = 128;
  std::int64_t question_length = 64;
  std::int64_t document_context = 0;

  // Maximum tokens of a question: half of the sequence is reserved for the context. `length` must be set.
  std::int64_t longest_question() const { return std::min(question_length, *length / 2); }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("length", self.length,
          {.help = "maximum tokens per sequence, including [CLS] and [SEP]; auto: 384 for spans, else 128, and at most "
                   "the encoder's maximum",
           .min = 8,
           .max = kMostTokensOfSample,
           .common = true});
    visit("stride", self.stride,
          {.help = "stride between the windows of a context, in tokens; at most the length of a window",
           .min = 1,
           .only = kOfSpans});
    visit("question-length", self.question_length,
          {.help = "maximum tokens of a question, at most half of a sequence; the rest is cut",
           .min = 1,
           .only = kOfSpans});
    visit(
        "document-context", self.document_context,
        {.help = "tokens added around a sentence from its document; 0: none", .min = 0, .max = 65535, .only = kOfTags});
  }
};

struct Sample {
  // The first and last token of an answer.
  struct Answer {
    std::uint32_t begin = 0, end = 0;
  };

  std::vector<std::int32_t> ids = {};
  std::uint32_t first = 0;                // tokens of the first part, including [CLS] and its [SEP]
  std::int64_t example = 0;               // number of the text, question or sentence
  Gold gold = {};                         // of a text
  std::optional<Answer> answer = {};      // spans: both 0 ([CLS]) if the window does not contain it
  std::vector<std::uint32_t> words = {};  // tags: the first token of each word
  std::vector<std::int64_t> tags = {};    // one per word
  std::uint32_t skipped = 0;              // words of the sentence, or pieces of the context, before it
};

// Batches for inference: samples of similar length, and a similar number of tokens per batch.
std::vector<std::vector<const Sample*>> batches_by_length(std::span<const Sample> samples);

class SampleMaker {
 public:
  // `config.length` must be set, and the tokenizer must have cls and sep.
  SampleMaker(Tokenizer tokenizer, const SampleConfig& config);

  Sample of_text(const LabelledText& text, std::int64_t example);
  // `context` holds the pieces of the question's context. If there are answers, the windows that contain the whole
  // first answer are labelled with it.
  std::vector<Sample> of_question(const Question& question, const std::vector<Piece>& context, std::int64_t example);
  // `tags` holds the names of all tags; without gold tags (sentence.tags is empty) all are 0.
  std::vector<Sample> of_sentences(std::span<const TaggedSentence> sentences, const std::vector<std::string>& tags);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  std::int64_t num_cut() const { return num_cut_; }  // texts, questions and words that were cut

 private:
  using Words = std::vector<std::vector<std::int32_t>>;  // the pieces of each word

  Words words_of(const TaggedSentence& sentence);
  void surround(Sample& sample, const std::vector<std::int32_t>& before, const std::vector<std::int32_t>& after) const;

  Tokenizer tokenizer_;
  std::size_t length_;
  SampleConfig config_;
  std::int64_t num_cut_ = 0;
};

// One file of a task in memory: its records and their samples for the encoder.

struct TaskSplit {
  std::string file = {};
  std::string hash = {};  // XXH3 of the file
  std::vector<Sample> samples = {};
  std::vector<LabelledText> texts = {};           // classification, multi-label, regression
  QuestionSet questions = {};                     // spans
  std::vector<std::vector<Piece>> contexts = {};  // spans: the pieces of questions.contexts
  std::vector<TaggedSentence> sentences = {};     // tags

  // Number of records to answer.
  std::int64_t size() const;
  // The position of a record in the file: its line, or for a question its number from 1.
  std::int64_t line(std::int64_t example) const;
  // "8551 texts, 12 cut to 128 tokens".
  std::string report() const;

  std::int64_t num_cut = 0;
  std::int64_t length = 0;  // maximum tokens of a sample (spans: of a question)
};

// Throws UserError naming file and line as the readers do, and for a tag that is not in task.labels.
TaskSplit read_split(const std::string& file, const LabelledTask& task, const Tokenizer& tokenizer,
                     const SampleConfig& config, Labelled labelled);

// The same without samples.
TaskSplit read_texts(const std::string& file, const LabelledTask& task, Labelled labelled);

// The labels or tags: those named by the task, or else those in the file.
std::vector<std::string> labels_of_task(const LabelledTask& task, const std::string& file);

}  // namespace attend
