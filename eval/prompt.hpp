// A classification task put to a language model in words, without training (Brown et al. 2020, arXiv 2005.14165,
// section 2). A template renders a text with its label; the prompt is some rendered examples, and the text in question
// up to the place of its label. Every label has words; the answer is the label whose words are likeliest there.
//
//   template = "Text: {text}\nSentiment: {label}"      Text: The soup was not bad.
//   [labels]                                           Sentiment: good
//   negative = "bad"                                   Text: The hat is ugly.
//   positive = "good"                                  Sentiment:          bad or good?
//
//   score(label) = Σ_t log p(w_t | prompt, w_<t)       over the pieces w of the words of the label
//
// It is divided by the number of pieces if labels differ in it, since otherwise fewer pieces win. Calibrated, the
// score of the label for an empty text is subtracted: the model's preference for words that no text has called for
// (contextual calibration, Zhao et al. 2021, 2102.09690, section 5, with their W and the one content-free text ""; they
// average over "N/A", "[MASK]" and ""). The probabilities of the labels are the softmax of their scores.
//
// Legend: docs/architecture.md; N texts.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/options.hpp"
#include "data/task/labelled_task.hpp"
#include "data/task/samples.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/answers/answers.hpp"
#include "models/language/language_model.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"

namespace attend {

struct PromptConfig {
  std::string prompt = {};
  std::int64_t shots = 0;
  std::int64_t shots_seed = 1;
  bool calibrate = false;

  bool is_given() const { return !prompt.empty(); }

  // `only`: the condition of --prompt.
  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit, Condition only = {}) {
    visit("prompt", self.prompt,
          {.help = "TOML file that puts a classification task into words, for a run of attend pretrain --objective "
                   "causal or hybrid",
           .file = FileUse::read,
           .only = only});
    visit("shots", self.shots,
          {.help = "examples in the prompt, equally many of each label, from the task's training file in --data",
           .min = 0,
           .max = 10000,
           .only = {"prompt"}});
    visit("shots-seed", self.shots_seed, {.help = "seed of the choice of examples", .min = 0, .only = {"shots"}});
    visit("calibrate", self.calibrate,
          {.help = "subtract the score of each label for an empty text (contextual calibration)", .only = {"prompt"}});
  }
};

// The file of a prompt.
class Prompt {
 public:
  // Reads the keys template, separator ("\n" between examples) and task (a name or file as of attend finetune; none:
  // one text in the column `sentence` and its label in `label`), and the table [labels] with the words of each label.
  // Throws UserError naming file and line for other keys; a template without {label}, without {text} (pairs: {first}
  // and {second}), or with a text after the label; labels that differ from the task's, have no words or the same ones;
  // and a task of another kind than classification.
  static Prompt load(const std::filesystem::path& file);

  // With the labels that it names, or else those of the prompt.
  const LabelledTask& task() const { return task_; }
  // Of every label of the task, in its order.
  const std::vector<std::string>& words() const { return words_; }

  // A text with the words of a label; and up to the place of its label.
  std::string example(const LabelledText& text, const std::string& words) const;
  std::string beginning(const LabelledText& text) const;
  const std::string& separator() const { return separator_; }

  // Throws UserError unless each of `labels`, which `source` has, is a label of the prompt.
  void check_labels(const std::vector<std::string>& labels, const std::string& source) const;

  const std::string& file() const { return file_; }
  // "FILE:LINE", where the words of a label are.
  const std::string& place(std::size_t label) const { return places_[label]; }

 private:
  // What the template consists of.
  enum class PartKind { literal, first, second, label };
  struct Part {
    PartKind kind = PartKind::literal;
    std::string text = {};
  };

  void read_template(const PlacedText& given);
  void read_task(const std::string& name, const std::string& place);
  void read_labels(const std::vector<PlacedText>& given);

  std::string file_ = {};
  std::vector<Part> parts_ = {};
  std::string separator_ = "\n";
  LabelledTask task_ = {};
  std::vector<std::string> words_ = {}, places_ = {};
};

// The numbers of `count` of the labelled texts, in random order: of each of the `num_labels` labels equally many,
// except for a remainder, or for labels that have fewer. `count` is at most the number of texts.
std::vector<std::size_t> draw_shots(std::span<const LabelledText> texts, std::size_t num_labels, std::size_t count,
                                    std::uint64_t seed);

class PromptedModel {
 public:
  // `shots`: the examples, labelled with numbers of the task's labels. Throws UserError if the prompt of an empty text
  // is longer than the model reads, or the vocabulary lacks words of a label. All arguments but `shots` must outlive
  // this.
  PromptedModel(const LanguageModelImpl& model, const Tokenizer& tokenizer, const Prompt& prompt,
                std::span<const LabelledText> shots, bool calibrate);

  // The scores of all labels for each text of a split, [N, L], fp64, and their softmax, fp32, both on the CPU.
  // `progress` counts texts. Throws UserError naming file and line of a text whose prompt is longer than the model
  // reads, and Interrupted when a signal requests a stop.
  torch::Tensor scores(const TaskSplit& split, WorkProgress* progress = nullptr) const;
  torch::Tensor probabilities(const TaskSplit& split, WorkProgress* progress = nullptr) const;

  // True if scores are divided by the number of pieces.
  bool divides() const { return divides_; }

 private:
  // The end token, the prompt of a text and the words of a label, which begin at token `first` with the space before
  // them. Sample::example is `text` times the number of labels, plus the label.
  Sample sample(const TaskSplit& split, std::size_t text, std::size_t label) const;
  // The scores before calibration.
  torch::Tensor raw_scores(const TaskSplit& split, WorkProgress* progress) const;

  const LanguageModelImpl& model_;
  const Tokenizer& tokenizer_;
  const Prompt& prompt_;
  std::string shots_ = {};  // the beginning of every prompt
  bool divides_ = false;
  torch::Tensor of_empty_L_ = {};  // scores for an empty text; undefined without calibration
};

// A run of attend pretrain --objective causal or hybrid with a prompt, which attend predict and evaluate use without
// fine-tuning.
class PromptedRun {
 public:
  // Loads the run and the prompt, with examples from the task's training file in the folder `data`.
  PromptedRun(const std::filesystem::path& run, const ModelOptions& use, const PromptConfig& config,
              const std::string& data);
  PromptedRun(const PromptedRun&) = delete;  // the model refers to other members
  PromptedRun& operator=(const PromptedRun&) = delete;

  const LabelledTask& task() const { return prompt_.task(); }
  // Answers to all texts of a split, which must outlive them.
  std::unique_ptr<TaskAnswers> answer(const TaskSplit& split, WorkProgress& progress) const;

 private:
  Prompt prompt_;
  LanguageRun run_;
  std::optional<PromptedModel> model_ = {};
};

}  // namespace attend
