// A synthetic comparison of fine-tuned runs: a BERT with two seeds, an LSTM with a hostile name, and the predictions of
// another program.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"

namespace attend {

inline TaskComparison synthetic_task_comparison() {
  const auto around = [](double value, double width) { return Estimate{value, value - width, value + width}; };
  const auto run_of = [&](double skill, std::int64_t seed) {
    MeasuredRun run;
    run.facts = {.path = "runs/bert/seed-" + std::to_string(seed),
                 .seed = seed,
                 .checkpoint = "best",
                 .started = "2026-11-24",
                 .attend = "0.1.0 (1a2b3c4)"};
    run.quality.scores = {around(80 + skill, 2.5), around(79 + skill, 2.6)};
    run.cost.parameters = 3'210'000;
    run.cost.flops_per_sentence = 1.2e8;
    run.cost.texts_per_second = 812;
    run.cost.updates = 1'000;
    for (int k = 1; k <= 6; ++k) {
      run.curve.push_back({.update = k * 200,
                           .tokens = k * 4e5,
                           .seconds = k * 120.0,
                           .loss = 0.4 - 0.01 * skill + std::exp(-k),
                           .scores = {{"accuracy", 80 + skill - 10 * std::exp(-k)}}});
    }
    return run;
  };
  TaskComparison it;
  it.units = {.segment = "text", .token = "token", .word = "word", .text = "test set", .predicts_pieces = false};
  it.attend = "0.1.0 (1a2b3c4)";
  it.command = "attend compare runs/bert runs/lstm --test dev.tsv --output report";
  it.made = "2026-11-28";
  it.processor = "Processor of a test, 2 threads";
  it.test = {.files = "dev.tsv", .task = "classification", .records = 872, .words = 17'046};
  it.notes = {"The systems give different answers to 123 of 872 texts; section 7 shows 3 of them."};
  it.metrics = {{.key = "accuracy", .name = "Accuracy", .meaning = "share of right answers"},
                {.key = "f1", .name = "F1", .meaning = "harmonic mean of precision and recall"}};
  it.systems = {{.name = "bert", .description = "bert: 4 layers of 256", .runs = {run_of(6, 1), run_of(5, 2)}},
                {.name = "lstm <b>&", .description = "lstm: 1 layer of 256", .runs = {run_of(0, 1)}},
                {.name = "other", .description = "predictions in other.txt", .only_text = true}};
  MeasuredRun& given = it.systems[2].runs.emplace_back();
  given.facts.path = "other.txt";
  given.quality.scores = {around(75, 2.9), around(74, 3)};
  it.differences = {{"model", OptionPart::architecture, {"bert", "lstm", "-"}}};
  it.tests = {
      {.a = 0, .b = 1, .metric = "Accuracy", .difference = around(-6, 2.2), .p_mcnemar = 0.0004, .p_holm = 0.0012},
      {.a = 0, .b = 1, .metric = "F1", .difference = around(-6, 2.4), .p_bootstrap = 0.002, .p_holm = 0.006}};
  it.where = {{.id = "label",
               .title = "Gold label",
               .measure = "Accuracy",
               .unit = "texts",
               .groups = {{"negative", 428, {around(85, 3), around(79, 4), std::nullopt}},
                          {"positive", 444, {around(87, 3), around(81, 4), around(76, 4)}}}}};
  it.confusions = {{"negative", "negative", {364, 338, 325}},
                   {"negative", "positive", {64, 90, 103}},
                   {"positive", "negative", {58, 84, 107}},
                   {"positive", "positive", {386, 360, 337}}};
  it.calibration = {Calibration{{{0.55, 0.5, 40}, {0.97, 0.91, 832}}, 0.06}, Calibration{{{0.95, 0.8, 872}}, 0.15}, {}};
  it.score = "accuracy";
  it.disagreements = 123;
  for (const std::int64_t line : {3, 17, 29}) {
    AnsweredText text{.line = line, .text = "a <i>fine film</i>", .gold = "positive"};
    const std::vector<std::string> pieces = {"[CLS]", "▁a", "▁fine", "▁film", "[SEP]"};
    text.systems = {{.answer = "positive", .score = 100, .probability = 0.93},
                    {.answer = "negative", .score = 0, .probability = 0.61},
                    {.answer = "negative", .score = 0}};
    text.systems[0].weights = AttentionMaps{.source = pieces,
                                            .target = {"[CLS]"},
                                            .layers = 2,
                                            .heads = 1,
                                            .weights = {51, 51, 51, 51, 51, 0, 55, 100, 100, 0}};
    text.systems[0].rollout =
        AttentionMaps{.source = pieces, .target = {"[CLS]"}, .layers = 1, .heads = 1, .weights = {155, 25, 25, 25, 25}};
    text.systems[1].weights = AttentionMaps{
        .source = pieces, .target = {"(query)"}, .layers = 1, .heads = 1, .weights = {0, 55, 100, 100, 0}};
    it.texts.push_back(std::move(text));
  }
  return it;
}

}  // namespace attend
