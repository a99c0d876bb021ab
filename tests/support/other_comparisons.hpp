// Synthetic comparisons of language models and of fine-tuned runs; comparison.hpp has one of translation models.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"

namespace attend {

inline Estimate around(double value, double width) { return {value, value - width, value + width}; }

inline void describe_making(ComparedSystems& it, const std::string& command) {
  it.attend = "0.1.0 (1a2b3c4)";
  it.command = command;
  it.made = "2026-11-26";
  it.processor = "Processor of a test, 2 threads";
}

// With a curve of six points, whose losses are loss(1) … loss(6).
template <class Loss>
MeasuredRun synthetic_run(const std::string& system, std::int64_t seed, const Loss& loss) {
  MeasuredRun run;
  run.facts = {.path = system + "/seed-" + std::to_string(seed),
               .seed = seed,
               .checkpoint = "best",
               .started = "2026-11-24",
               .attend = "0.1.0 (1a2b3c4)"};
  for (int k = 1; k <= 6; ++k) {
    run.curve.push_back({.update = k * 200, .tokens = k * 4e5, .seconds = k * 120.0, .loss = loss(k), .scores = {}});
  }
  return run;
}

// A Transformer with two seeds, an LSTM with a hostile name, and a Transformer that cannot read the longest context.
inline LanguageComparison synthetic_language_comparison() {
  const auto run_of = [&](double skill, std::int64_t seed) {
    MeasuredRun run = synthetic_run("runs/lm", seed, [&](int k) { return 3 - 0.1 * skill + 4 * std::exp(-k); });
    run.quality = {.scores = {around(41.25 - 3 * skill, 1.5), around(1.214 - 0.05 * skill, 0.021)},
                   .perplexity_piece = 18.5 - skill,
                   .perplexity_word = {}};
    run.cost.parameters = 3'210'000;
    run.cost.pieces_per_word = 1.31;
    run.cost.tokens = 2'000'000;
    run.cost.updates = 1'000;
    run.cost.train_seconds = 640;
    run.cost.train_tokens_per_second = 3'125;
    return run;
  };
  LanguageComparison it;
  it.units = {.segment = "document", .token = "token", .word = "word", .text = "test text"};
  describe_making(it, "attend compare runs/lm runs/lstm_lm --test documents.valid.txt --output report");
  it.test = {.files = "documents.valid.txt", .documents = 120, .words = 9'876, .bytes = 54'321};
  it.notes = {"The numbers of updates differ: 1000 (lm), 900 (lstm)."};
  it.metrics = {{.key = "perplexity_word",
                 .name = "Perplexity by word",
                 .lower_is_better = true,
                 .meaning = "exp(-log p / words)",
                 .decimals = 2},
                {.key = "bits_per_byte",
                 .name = "Bits per byte",
                 .lower_is_better = true,
                 .meaning = "-log2 p / bytes",
                 .decimals = 3}};
  it.systems = {
      {.name = "lm", .description = "transformer: 4 layers of 256, 4 heads", .runs = {run_of(2, 1), run_of(2.2, 2)}},
      {.name = "lstm <b>&", .description = "lstm: 1 layer of 256", .runs = {run_of(0, 1)}},
      {.name = "short", .description = "transformer: 2 layers of 128, 2 heads", .runs = {run_of(1, 1)}}};
  it.differences = {{"cell", OptionPart::architecture, {"transformer", "lstm", "transformer"}},
                    {"learning-rate", OptionPart::conditions, {"0.001", "0.002", "0.001"}}};
  it.tests = {{.a = 0,
               .b = 1,
               .metric = "Bits per byte",
               .lower_is_better = true,
               .difference = around(0.104, 0.011),
               .p_bootstrap = 0.001,
               .p_randomisation = 0.0001,
               .p_holm = 0.003,
               .seeds = {},
               .decimals = 3}};
  it.where = {{.id = "frequency",
               .title = "Frequency of the word in the training text",
               .measure = "loss in nats per word",
               .unit = "words",
               .groups = {{"never", 321, {around(9.1, 0.4), around(9.9, 0.5), std::nullopt}},
                          {"1 to 9", 1'234, {around(7.1, 0.2), around(7.7, 0.2), around(7.4, 0.2)}}}}};
  it.contrasts = {{.file = "english.tsv",
                   .all = {600, {around(90, 2.4), around(80, 3.2), around(70, 3.7)}},
                   .tests = {{0, 1, 90, 30, 0.00001, 0.00001}}}};
  it.context_words = 1'000;
  it.contexts = {{8, {around(4.4, 0.1), around(4.45, 0.1), around(4.42, 0.1)}},
                 {16, {around(4.2, 0.1), around(4.4, 0.1), around(4.3, 0.1)}},
                 {32, {around(4.05, 0.1), around(4.39, 0.1), std::nullopt}}};
  it.distances = {"0", "1", "2 to 3", "4 to 7"};
  it.attention = {{{0, {0.5, 0.3, 0.15, 0.05}}, {1, {0.2, 0.2, 0.25, 0.35}}}, {}, {{0, {0.4, 0.3, 0.2, 0.1}}}};
  return it;
}

// A BERT with two seeds, an LSTM with a hostile name, and the predictions of another program.
inline TaskComparison synthetic_task_comparison() {
  const auto run_of = [&](double skill, std::int64_t seed) {
    MeasuredRun run = synthetic_run("runs/bert", seed, [&](int k) { return 0.4 - 0.01 * skill + std::exp(-k); });
    run.quality.scores = {around(80 + skill, 2.5), around(79 + skill, 2.6)};
    run.cost.parameters = 3'210'000;
    run.cost.flops_per_sentence = 1.2e8;
    run.cost.texts_per_second = 812;
    run.cost.updates = 1'000;
    for (int k = 1; k <= 6; ++k) run.curve[k - 1].scores = {{"accuracy", 80 + skill - 10 * std::exp(-k)}};
    return run;
  };
  TaskComparison it;
  it.units = {.segment = "text", .token = "token", .word = "word", .text = "test set", .predicts_pieces = false};
  describe_making(it, "attend compare runs/bert runs/lstm --test dev.tsv --output report");
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
