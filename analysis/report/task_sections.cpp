// The sections of a comparison of encoders: fine-tuned runs on a task, or pretrained ones on masked tokens.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/report/characters.hpp"
#include "analysis/report/section_parts.hpp"

namespace attend {
namespace {

constexpr std::size_t kShownConfusions = 40;

class TaskSections : public SectionMaker {
 public:
  explicit TaskSections(const TaskComparison& comparison) : SectionMaker(comparison), all_(comparison) {}

  std::vector<Section> sections() const {
    const TaskTest& test = all_.test;
    return measured_sections(all_,
                             fmt::format("Test set: {}, {}: {} with {} {}s.", test.files, test.task,
                                         counted(test.records, it_.units.segment), fixed(test.words), it_.units.word),
                             is_masked() ? "5 and 6" : "5 to 7", cost(), {where(), why()});
  }

  SentenceSection texts() const {
    SentenceSection section{.title = "7. Texts on which systems disagree",
                            .shown = {.views = {"From the answer, last layer", "Rollout, all layers"},
                                      .metrics = {{.key = "score",
                                                   .name = capitalised(all_.score),
                                                   .lower_is_better = all_.lower_is_better,
                                                   .meaning = {}}}},
                            .first = {"The first texts", {{"Text"}, {"Line"}, {"Input", false}, {"Gold", false}}},
                            .left_out = 0,
                            .remedy = "attend attention RUN"};
    for (std::size_t s = 0; s < systems().size(); ++s) {
      section.first.columns.push_back({name(s), false});
      ShownSystem& shown = section.shown.systems.emplace_back(ShownSystem{.name = name(s)});
      for (const AnsweredText& text : all_.texts) {
        if (const auto& weights = text.systems[s].weights) shown.layer = std::max(shown.layer, weights->layers - 1);
      }
    }
    for (const AnsweredText& text : all_.texts) {
      ShownSentence& shown = section.shown.sentences.emplace_back(ShownSentence{text.text, text.gold});
      std::vector<TableCell> row{std::to_string(section.shown.sentences.size()), std::to_string(text.line), text.text,
                                 text.gold};
      for (std::size_t s = 0; s < text.systems.size(); ++s) {
        const SystemAnswer& answer = text.systems[s];
        row.emplace_back(answer.answer);
        const auto log_prob = answer.probability ? std::optional(std::log(*answer.probability)) : std::nullopt;
        shown.outputs.push_back({answer.answer, {answer.score}, log_prob});
        if (answer.weights) shown.maps.push_back({s, 0, &*answer.weights});
        if (answer.rollout) shown.maps.push_back({s, 1, &*answer.rollout});
      }
      if (section.first.rows.size() < kFirstSentences) section.first.rows.push_back(std::move(row));
    }
    return section;
  }

  bool is_masked() const { return all_.score.empty(); }

 private:
  Section cost() const {
    Section section{"cost", "3. Cost",
                    "Cost of the first run of each system. Times depend on the machine and on its other load; "
                    "parameters and operations do not."};
    Table table{"Cost of training and use", by_system({{"Quantity", false}})};
    add_cost(table, "Parameters", &Cost::parameters, 0);
    if (!is_masked()) {
      add_cost(table, "Operations of a forward pass per " + it_.units.segment, &Cost::flops_per_sentence);
      add_cost(table, capitalised(it_.units.segment) + "s answered per second", &Cost::texts_per_second, 0);
    }
    add_training_costs(table);
    section.add(std::move(table));
    section.add(Paragraph{
        "The training of a system that was initialised from another run does not include the training of that run."});
    add_only_texts(section, "Their cost is not measured");
    return section;
  }

  Section where() const {
    Section section{"where", "5. Breakdown",
                    is_masked() ? "The accuracy by groups of masked tokens."
                                : "The main metric by groups of the test set, and which labels are taken for which."};
    for (const Breakdown& breakdown : it_.where) section.add(figure_of(breakdown, 1));
    if (it_.where.empty()) section.add(Paragraph{"The test set was not divided into groups."});
    if (!is_masked()) add_confusions(section);
    return section;
  }

  // Each cell with its share of the gold label, by which it is shaded.
  void add_confusions(Section& section) const {
    std::map<std::string, double> of_gold;
    std::vector<Confusion> shown = all_.confusions;
    for (const Confusion& cell : shown) of_gold[cell.gold] += static_cast<double>(cell.counts[0]);
    const auto greatest = [](const Confusion& cell) { return std::ranges::max(cell.counts); };
    std::string left_out;
    if (shown.size() > kShownConfusions) {  // the most frequent, in their order
      std::vector<Confusion> sorted = shown;
      std::ranges::stable_sort(sorted, std::ranges::greater(), greatest);
      const std::int64_t least = greatest(sorted[kShownConfusions - 1]);
      std::erase_if(shown, [&](const Confusion& cell) { return greatest(cell) < least; });
      left_out = " Rare ones are left out; report.json has all.";
    }
    Table table{"Predicted labels by gold label: number, and percent of the gold label",
                by_system({{"Gold", false}, {"Predicted", false}})};
    for (const Confusion& cell : shown) {
      std::vector<TableCell> row{cell.gold, cell.predicted == cell.gold ? cell.predicted + " (right)" : cell.predicted};
      for (const std::int64_t count : cell.counts) {
        const double share = of_gold[cell.gold] > 0 ? static_cast<double>(count) / of_gold[cell.gold] : 0;
        row.emplace_back(fmt::format("{} ({} %)", fixed(count), fixed(100 * share, 1)), share);
      }
      table.rows.push_back(std::move(row));
    }
    section.add(Figure{"Confusion of labels",
                       "Of each gold label, how often each label was predicted." + left_out,
                       {},
                       std::move(table)},
                "The answers of this task are not labels, so none are confused.");
  }

  Section why() const {
    Section section{"why", "6. Possible causes",
                    "How each family was tuned, and what the probabilities are worth. Neither proves a cause."};
    add_only_texts(section, "Their probabilities and attention are not measured");
    add_learning_rates(section);
    const std::string thing = is_masked()                 ? "piece"
                              : all_.test.task == "tags"  ? "tag"
                              : all_.test.task == "spans" ? "answer"
                                                          : "label";
    add_calibration(section, all_.calibration, thing, fmt::format("the {}s of the test set", thing));
    return section;
  }

  const TaskComparison& all_;
};

}  // namespace

SectionReport section_report(const TaskComparison& comparison) {
  const TaskSections made(comparison);
  SectionReport report{comparison_title(comparison), made.sections(), made_by(comparison) + ".", {}};
  if (!made.is_masked()) report.sentences = made.texts();
  return report;
}

}  // namespace attend
