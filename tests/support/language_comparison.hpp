// A synthetic comparison of language models: a Transformer with two seeds, an LSTM with a hostile name, and a
// Transformer that cannot read the longest context.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/report/comparison.hpp"

namespace attend {

inline LanguageComparison synthetic_language_comparison() {
  const auto around = [](double value, double width) { return Estimate{value, value - width, value + width}; };
  const auto run_of = [&](double skill, std::int64_t seed) {
    MeasuredRun run;
    run.facts = {.path = "runs/lm/seed-" + std::to_string(seed),
                 .seed = seed,
                 .checkpoint = "best",
                 .started = "2026-11-24",
                 .attend = "0.1.0 (1a2b3c4)"};
    run.quality = {.scores = {around(41.25 - 3 * skill, 1.5), around(1.214 - 0.05 * skill, 0.021)},
                   .perplexity_piece = 18.5 - skill,
                   .perplexity_word = {}};
    run.cost.parameters = 3'210'000;
    run.cost.pieces_per_word = 1.31;
    run.cost.tokens = 2'000'000;
    run.cost.updates = 1'000;
    run.cost.train_seconds = 640;
    run.cost.train_tokens_per_second = 3'125;
    for (int k = 1; k <= 6; ++k) {
      run.curve.push_back({.update = k * 200,
                           .tokens = k * 4e5,
                           .seconds = k * 120.0,
                           .loss = 3 - 0.1 * skill + 4 * std::exp(-k),
                           .scores = {}});
    }
    return run;
  };
  LanguageComparison it;
  it.units = {.segment = "document", .token = "token", .word = "word", .text = "test text"};
  it.attend = "0.1.0 (1a2b3c4)";
  it.command = "attend compare runs/lm runs/lstm_lm --test documents.valid.txt --output report";
  it.made = "2026-11-26";
  it.processor = "Processor of a test, 2 threads";
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

}  // namespace attend
