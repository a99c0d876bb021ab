// Questions whose answers are spans of their context, in SQuAD's JSON.
#include <algorithm>
#include <iterator>

#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

class SpanFormat : public RecordFormat {
 public:
  std::vector<std::string_view> metrics(const LabelledTask& /*task*/) const override { return {"f1", "exact"}; }
  std::int64_t default_length() const override { return 384; }
  std::int64_t longest(const SampleConfig& config) const override { return config.longest_question(); }

  void read_file(TaskSplit& split, const LabelledTask& /*task*/, Labelled labelled, SampleMaker& maker) const override {
    split.questions = read_squad(split.file, labelled);
    for (const std::string& context : split.questions.contexts) {
      split.contexts.push_back(maker.tokenizer().encode_pieces(context));
    }
    for (const Question& question : split.questions.questions) add_windows(split, question, maker);
  }

  void add_line(TaskSplit& split, const LabelledTask& /*task*/, const Line& line, SampleMaker& maker) const override {
    const auto [question, context] = two_texts(line.text, line.place, "the task reads two texts");
    split.questions.contexts.push_back(context);
    split.contexts.push_back(maker.tokenizer().encode_pieces(context));
    add_windows(
        split, split.questions.questions.emplace_back(Question{.text = question, .context = split.contexts.size() - 1}),
        maker);
  }

  void keep_learnable(TaskSplit& split) const override {
    const QuestionSet& set = split.questions;
    std::erase_if(split.samples,
                  [&](const Sample& sample) { return !set.can_be_learnt(set.questions[sample.example]); });
  }

 private:
  static void add_windows(TaskSplit& split, const Question& question, SampleMaker& maker) {
    const std::int64_t example = &question - split.questions.questions.data();
    std::ranges::move(maker.of_question(question, split.contexts[question.context], example),
                      std::back_inserter(split.samples));
  }
};

}  // namespace

std::unique_ptr<RecordFormat> span_format() { return std::make_unique<SpanFormat>(); }

}  // namespace attend
