// The most probable tag of every word of each sentence.
#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "eval/answers/answers.hpp"
#include "eval/metrics/chunks.hpp"

namespace attend {
namespace {

using metrics::ChunkTally;

class TagAnswers : public TaskAnswers {
 public:
  TagAnswers(const TaskSplit& split, const LabelledTask& task) : TaskAnswers(split, task) {
    for (const TaggedSentence& sentence : split.sentences) {
      tags_.emplace_back(sentence.tokens.size());
      probabilities_.emplace_back(sentence.tokens.size());
    }
  }

  void add(std::span<const Sample* const> samples, const torch::Tensor& predicted_KL) override {
    const auto [probability_K, tag_K] = predicted_KL.max(1);
    const auto* tag = tag_K.const_data_ptr<std::int64_t>();
    const auto* probability = probability_K.const_data_ptr<float>();
    for (const Sample* sample : samples) {
      for (std::size_t word = 0; word < sample->words.size(); ++word) {
        tags_[sample->example][sample->skipped + word] = task_.labels[*tag++];
        probabilities_[sample->example][sample->skipped + word] = static_cast<double>(*probability++);
      }
    }
  }

  // F1, precision and recall of chunks as in conlleval; accuracy of tags.
  std::vector<NamedMeasure> measures() const override {
    const auto tally = tally_of();
    const NamedMeasure accuracy{"accuracy", [=](Subset s) { return tally(s).token_accuracy(); }};
    if (!task_.chunks) return {accuracy};
    return {{"f1", [=](Subset s) { return tally(s).total().f1(); }},
            {"precision", [=](Subset s) { return tally(s).total().precision(); }},
            {"recall", [=](Subset s) { return tally(s).total().recall(); }},
            accuracy};
  }

  std::string text(std::size_t i) const override { return fmt::format("{}", fmt::join(tags_[i], " ")); }
  nlohmann::ordered_json json(std::size_t i) const override {
    return {{"tokens", split_.sentences[i].tokens}, {"tags", tags_[i]}, {"probabilities", probabilities_[i]}};
  }

  // CoNLL's: a word and its tag per line.
  void write(std::ostream& out) const override {
    for (std::size_t i = 0; i < tags_.size(); ++i) {
      const TaggedSentence& sentence = split_.sentences[i];
      if (sentence.after_mark) out << "-DOCSTART- O\n\n";
      for (std::size_t word = 0; word < tags_[i].size(); ++word) {
        out << sentence.tokens[word] << ' ' << tags_[i][word] << '\n';
      }
      out << '\n';
    }
  }

 private:
  // Sums the tallies of the sentences of a subset.
  std::function<ChunkTally(Subset)> tally_of() const {
    std::vector<ChunkTally> tallies(tags_.size());
    for (std::size_t i = 0; i < tallies.size(); ++i) tallies[i].add(tags_[i], split_.sentences[i].tags);
    return [tallies = std::move(tallies)](Subset subset) {
      ChunkTally sum;
      for (const std::size_t i : subset) sum.add(tallies[i]);
      return sum;
    };
  }

  std::vector<std::vector<std::string>> tags_;      // of every sentence and word
  std::vector<std::vector<double>> probabilities_;  // of these
};

}  // namespace

std::unique_ptr<TaskAnswers> tag_answers(const TaskSplit& split, const LabelledTask& task) {
  return std::make_unique<TagAnswers>(split, task);
}

}  // namespace attend
