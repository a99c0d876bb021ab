#include "analysis/report/head_report.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "analysis/report/section_parts.hpp"

namespace attend {
namespace {

// One cell for each head.
using HeadGrid = std::map<std::pair<std::int64_t, std::int64_t>, TableCell>;  // by layer and head

// Layers down, heads across.
Table grid_table(const std::string& caption, const HeadGrid& grid, bool of_numbers) {
  Table table{caption, {{"Layer", false}}};
  std::int64_t heads = 0, layers = 0;
  for (const auto& [place, cell] : grid) {
    layers = std::max(layers, place.first + 1);
    heads = std::max(heads, place.second + 1);
  }
  for (std::int64_t head = 0; head < heads; ++head) {
    table.columns.push_back({fmt::format("Head {}", head), of_numbers});
  }
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    std::vector<TableCell>& row = table.rows.emplace_back();
    row.emplace_back(std::to_string(layer));
    for (std::int64_t head = 0; head < heads; ++head) {
      const auto found = grid.find({layer, head});
      row.push_back(found == grid.end() ? TableCell("") : found->second);
    }
  }
  return table;
}

bool have_gates(const auto& heads) {
  return std::ranges::any_of(heads, [](const auto& head) { return head.gate.has_value(); });
}

Section facts_of_heads(const HeadReport& it) {
  Section section{"measured", "The run and the data", ""};
  if (!it.notes.empty()) section.add(Items{it.notes});
  if (it.replacement) {
    section.add(Paragraph{fmt::format("Recurrent attention of {} over {} of {} and {}.", it.run,
                                      counted(it.sentences, "pair"), it.replacement->source, it.replacement->target)});
  } else {
    section.add(Paragraph{fmt::format(
        "Self-attention of the {} of {} over {} with {} of {}.{}", it.place, it.run, counted(it.sentences, "sentence"),
        counted(it.words, "word"), it.data,
        it.causal ? " A word sees itself and those before it: only relations to an earlier word count." : "")});
  }
  section.add(Paragraph{made_by(it) + ": " + it.command});
  return section;
}

Section roles_of_heads(const HeadReport& it) {
  Section section{
      "roles", "1. Roles",
      fmt::format("A head is positional if the largest weight of {} % of the words is at one place, attends "
                  "to rare words if that of {} % is at the least frequent word, and has a relation of "
                  "section 2 if it finds it significantly more often than the fixed offset.",
                  percent()(kPositionalShare), percent()(kRarestShare))};
  HeadGrid grid;
  using Head = HeadHabits;
  for (const Head& head : it.heads) {
    const std::string role = head.roles.empty() ? "–" : fmt::format("{}", fmt::join(head.roles, ", "));
    grid.insert({{head.layer, head.head}, head.roles.empty() ? TableCell(role) : TableCell(role, 1.0)});
  }
  section.add(grid_table("Heads by role; those with a role are coloured", grid, /*of_numbers=*/false));
  section.add(
      Figure{"Where the weights go",
             "Shares of the words whose largest weight is there; entropy of the weights of a piece in nats; mean "
             "distance in words; share of the weights at special pieces and at words that are left out.",
             {},
             table_of(it.heads, "Heads",
                      {{"Layer", &Head::layer},
                       {"Head", &Head::head},
                       {"Previous word, %", &Head::previous, percent()},
                       {"Itself, %", &Head::self, percent()},
                       {"Next word, %", &Head::next, percent()},
                       {"Rarest word, %", &Head::rarest, percent()},
                       {"Entropy", &Head::entropy, decimals(2)},
                       {"Distance", &Head::distance, decimals(2)},
                       {"Outside words, %", &Head::outside, percent()},
                       {"Gate", &Head::gate, decimals(2), {.when = have_gates(it.heads)}}})});
  return section;
}

Section relations_of_heads(const HeadReport& it) {
  Section section{
      "relations", "2. Relations",
      "Of each relation, the head whose largest weight finds it most often in the first half of the "
      "sentences, and its accuracy in the second half, in percent with 95 % intervals. The baseline is the "
      "fixed offset that is best in the first half. p is one-sided, of the instances that only one of the two "
      "finds, after Holm's correction for all rows."};
  if (it.rare_relations > 0) {
    section.add(Paragraph{fmt::format("Left out: {} of relation and direction with fewer than {} instances in a half.",
                                      counted(it.rare_relations, "pair"), kFewestInstances)});
  }
  using Relation = HeadRelation;
  const auto significant = [](const Relation& relation) { return relation.p_holm < kSignificant; };
  section.add(table_of(it.relations, "Relations",
                       {{"Relation", &Relation::relation},
                        {"From", &Relation::direction},
                        {"Instances", &Relation::instances, kGrouped},
                        {"Layer", [&](const Relation& relation) { return it.heads[relation.chosen].layer; }},
                        {"Head", [&](const Relation& relation) { return it.heads[relation.chosen].head; }},
                        {"Accuracy, %", &Relation::accuracy, with_interval(1, 100), {.best_if = significant}},
                        {"Offset", &Relation::offset, [](auto offset) { return fmt::format("{:+}", offset); }},
                        {"Baseline, %", &Relation::baseline, percent(1)},
                        {"p", &Relation::p_holm, kP}}),
              "No relation is frequent enough; give more sentences.");
  return section;
}

// The score of the unchanged model.
std::string bleu_note(double bleu, const std::string& signature) {
  return fmt::format(" BLEU of the whole model: {}, of greedy translations (beam 1), {}.", fixed(bleu, 1), signature);
}

auto change(int decimals) {
  return [=](const TestedChange& tested) { return interval(tested.change, decimals); };
}

constexpr auto p_of_change = [](const TestedChange& tested) { return p_value(tested.p_holm, tested.p_is_least); };

Figure pruning_curve(const Silencing& silenced) {
  LineChart chart{"Loss without the least important heads", "Heads removed, percent", "Loss in nats by piece"};
  Series& series = chart.series.emplace_back(Series{.name = "loss", .points = {{0, silenced.loss}}});
  using Step = PruningStep;
  for (const Step& step : silenced.pruning) series.points.push_back({100 * step.share, step.loss});
  return {
      "Several heads at once",
      "The loss with heads silenced in the order of their importance, the least important first; the most important "
      "head of each layer stays. 95 % intervals by the paired bootstrap over sentences.",
      {std::move(chart)},
      table_of(silenced.pruning, "Heads removed",
               {{"Heads", &Step::removed},
                {"Percent", &Step::share, percent()},
                {"Loss", &Step::loss, decimals(4)},
                {"Change of the loss", &Step::change, with_interval(4)}})};
}

Section silencing_of_heads(const HeadReport& it) {
  Section section{"silencing", "3. Silencing", ""};
  if (!it.silencing) {
    section.add(Paragraph{"No head was silenced."});
    return section;
  }
  const Silencing& silenced = *it.silencing;
  section.how_to_read =
      "The change of the loss if the output of one head is zero: above 0, the model predicts worse without it. 95 % "
      "intervals and p by the paired bootstrap over sentences, p after Holm's correction for all heads.";
  section.how_to_read += kLeastP;
  section.add(
      Paragraph{fmt::format("Loss of the whole model: {} nats by piece, of {}: {} in {}.", fixed(silenced.loss, 4),
                            silenced.of, counted(silenced.pieces, "piece"), counted(silenced.sentences, "sentence"))});
  std::map<std::string, HeadGrid> grids;
  std::string units =
      "Loss and importance in nats by piece. The importance of a head is the mean absolute gradient of a sentence's "
      "loss by a factor of the head's output.";
  const bool has_bleu = silenced.bleu.has_value();
  if (has_bleu) units += bleu_note(*silenced.bleu, silenced.bleu_signature);
  using Head = HeadSilence;
  for (const Head& head : silenced.heads) {
    grids[head.place].insert({{head.layer, head.head}, TableCell(fixed(head.change.value, 3), head.change.value)});
  }
  for (const auto& [place, grid] : grids) {
    section.add(grid_table("Change of the loss without a head: " + place, grid, /*of_numbers=*/true));
  }
  section.add(Figure{"All changes",
                     units,
                     {},
                     table_of(silenced.heads, "Silenced heads",
                              {{"Attention", &Head::place},
                               {"Layer", &Head::layer},
                               {"Head", &Head::head},
                               {"Importance", &Head::importance, decimals(4)},
                               {"Change of the loss", std::identity(), change(4)},
                               {"p", std::identity(), p_of_change},
                               {"Gate", &Head::gate, decimals(2), {.when = have_gates(silenced.heads)}},
                               {"Change of BLEU", &Head::bleu, change(1), {.when = has_bleu}},
                               {"p", &Head::bleu, p_of_change, {.when = has_bleu}}})});
  if (!silenced.pruning.empty()) section.add(pruning_curve(silenced));
  if (!it.pruned.empty()) {
    section.add(Paragraph{fmt::format("Left out of the pruned run: {}.", fmt::join(it.pruned, ", "))});
  }
  return section;
}

Section replaced_attention(const HeadReport& it) {
  const Replacement& replaced = *it.replacement;
  Section section{
      "replaced", "Attention replaced",
      "The loss of given translations, and the BLEU of the model's own, if other weights replace those of "
      "its attention: all source positions alike (uniform), target piece t at source piece t (diagonal), or "
      "the words that a given alignment links. Above 0, the change of the loss is for the worse. 95 % "
      "intervals and p by the paired bootstrap over sentences, p after Holm's correction for all weights." +
          std::string(kLeastP)};
  section.add(Paragraph{fmt::format("Loss in nats by piece, of {} in {}.", counted(replaced.pieces, "piece"),
                                    counted(replaced.sentences, "sentence")) +
                        bleu_note(replaced.bleu, replaced.bleu_signature)});
  if (!replaced.alignment.empty()) {
    section.add(
        Paragraph{fmt::format("{} links {} of the pieces of {}; the others keep the model's own weights. BLEU "
                              "is not measured with it, since it belongs to one translation.",
                              replaced.alignment, fixed(replaced.linked_pieces), replaced.target)});
  }
  using Weights = ReplacedAttention;
  const TestedChange none{.change = {kNotMeasured, kNotMeasured, kNotMeasured}, .p_holm = kNotMeasured};
  std::vector<Weights> rows = {{"the model's own", replaced.loss, none, replaced.bleu}};
  std::ranges::copy(replaced.weights, std::back_inserter(rows));
  section.add(table_of(rows, "Other weights",
                       {{"Weights", &Weights::weights},
                        {"Loss", &Weights::loss, decimals(4)},
                        {"Change of the loss", &Weights::loss_change, change(4)},
                        {"p", &Weights::loss_change, p_of_change},
                        {"BLEU", &Weights::bleu, decimals(1)},
                        {"Change of BLEU", &Weights::bleu_change, change(1)},
                        {"p", &Weights::bleu_change, p_of_change}}));
  return section;
}

}  // namespace

SectionReport section_report(const HeadReport& report) {
  const Section facts = facts_of_heads(report);
  const std::string foot = made_by(report) + ".";
  if (report.replacement) return {"Attention of " + report.run, {facts, replaced_attention(report)}, foot};
  return {"Attention heads of " + report.run,
          {facts, roles_of_heads(report), relations_of_heads(report), silencing_of_heads(report)},
          foot};
}

}  // namespace attend
