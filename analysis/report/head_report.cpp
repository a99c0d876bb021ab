#include "analysis/report/head_report.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/report/section_parts.hpp"

namespace attend {
namespace {

// One cell for each head.
using HeadGrid = std::map<std::pair<std::int64_t, std::int64_t>, TableCell>;  // by layer and head

std::string in_percent(double share) { return fixed(100 * share, 0); }

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

// A last column for the gates of the heads, if any has one.
template <class Heads>
bool add_gates(Table& numbers, const Heads& heads) {
  const bool gated = std::ranges::any_of(heads, [](const auto& head) { return head.gate.has_value(); });
  if (gated) numbers.columns.push_back({"Gate"});
  return gated;
}

std::string gate_of(const auto& head) { return head.gate ? fixed(*head.gate, 2) : "–"; }

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
                  in_percent(kPositionalShare), in_percent(kRarestShare))};
  HeadGrid grid;
  Table numbers{"Heads",
                {{"Layer"},
                 {"Head"},
                 {"Previous word, %"},
                 {"Itself, %"},
                 {"Next word, %"},
                 {"Rarest word, %"},
                 {"Entropy"},
                 {"Distance"},
                 {"Outside words, %"}}};
  const bool gated = add_gates(numbers, it.heads);
  for (const HeadHabits& head : it.heads) {
    const std::string role = head.roles.empty() ? "–" : fmt::format("{}", fmt::join(head.roles, ", "));
    grid.insert({{head.layer, head.head}, head.roles.empty() ? TableCell(role) : TableCell(role, 1.0)});
    numbers.rows.push_back({std::to_string(head.layer), std::to_string(head.head), in_percent(head.previous),
                            in_percent(head.self), in_percent(head.next), head.rarest ? in_percent(*head.rarest) : "–",
                            fixed(head.entropy, 2), fixed(head.distance, 2), in_percent(head.outside)});
    if (gated) numbers.rows.back().emplace_back(gate_of(head));
  }
  section.add(grid_table("Heads by role; those with a role are coloured", grid, /*of_numbers=*/false));
  section.add(
      Figure{"Where the weights go",
             "Shares of the words whose largest weight is there; entropy of the weights of a piece in nats; mean "
             "distance in words; share of the weights at special pieces and at words that are left out.",
             {},
             std::move(numbers)});
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
  Table table{"Relations",
              {{"Relation", false},
               {"From", false},
               {"Instances"},
               {"Layer"},
               {"Head"},
               {"Accuracy, %"},
               {"Offset"},
               {"Baseline, %"},
               {"p"}}};
  for (const HeadRelation& relation : it.relations) {
    const HeadHabits& head = it.heads[relation.chosen];
    const Estimate& found = relation.accuracy;
    table.rows.push_back(
        {relation.relation, relation.direction(), fixed(relation.instances), std::to_string(head.layer),
         std::to_string(head.head), interval(Estimate{100 * found.value, 100 * found.low, 100 * found.high}, 1),
         fmt::format("{:+}", relation.offset), fixed(100 * relation.baseline, 1), p_value(relation.p_holm)});
    table.rows.back()[5].is_best = relation.p_holm < kSignificant;
  }
  section.add(std::move(table), "No relation is frequent enough; give more sentences.");
  return section;
}

// The score of the unchanged model.
std::string bleu_note(double bleu, const std::string& signature) {
  return fmt::format(" BLEU of the whole model: {}, of greedy translations (beam 1), {}.", fixed(bleu, 1), signature);
}

void add_tested(std::vector<TableCell>& row, const TestedChange& tested, int decimals) {
  row.emplace_back(interval(tested.change, decimals));
  row.emplace_back(p_value(tested.p_holm, tested.p_is_least));
}

Figure pruning_curve(const Silencing& silenced) {
  LineChart chart{"Loss without the least important heads", "Heads removed, percent", "Loss in nats by piece"};
  Series& series = chart.series.emplace_back(Series{.name = "loss", .points = {{0, silenced.loss}}});
  Table numbers{"Heads removed", {{"Heads"}, {"Percent"}, {"Loss"}, {"Change of the loss"}}};
  for (const PruningStep& step : silenced.pruning) {
    series.points.push_back({100 * step.share, step.loss});
    numbers.rows.push_back(
        {std::to_string(step.removed), in_percent(step.share), fixed(step.loss, 4), interval(step.change, 4)});
  }
  return {
      "Several heads at once",
      "The loss with heads silenced in the order of their importance, the least important first; the most important "
      "head of each layer stays. 95 % intervals by the paired bootstrap over sentences.",
      {std::move(chart)},
      std::move(numbers)};
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
  Table numbers{"Silenced heads",
                {{"Attention", false}, {"Layer"}, {"Head"}, {"Importance"}, {"Change of the loss"}, {"p"}}};
  const bool gated = add_gates(numbers, silenced.heads);
  std::string units =
      "Loss and importance in nats by piece. The importance of a head is the mean absolute gradient of a sentence's "
      "loss by a factor of the head's output.";
  if (silenced.bleu) {
    units += bleu_note(*silenced.bleu, silenced.bleu_signature);
    numbers.columns.push_back({"Change of BLEU"});
    numbers.columns.push_back({"p"});
  }
  for (const HeadSilence& head : silenced.heads) {
    grids[head.place].insert({{head.layer, head.head}, TableCell(fixed(head.change.value, 3), head.change.value)});
    numbers.rows.push_back(
        {head.place, std::to_string(head.layer), std::to_string(head.head), fixed(head.importance, 4)});
    add_tested(numbers.rows.back(), head, 4);
    if (gated) numbers.rows.back().emplace_back(gate_of(head));
    if (head.bleu) add_tested(numbers.rows.back(), *head.bleu, 1);
  }
  for (const auto& [place, grid] : grids) {
    section.add(grid_table("Change of the loss without a head: " + place, grid, /*of_numbers=*/true));
  }
  section.add(Figure{"All changes", units, {}, std::move(numbers)});
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
  Table table{"Other weights",
              {{"Weights", false}, {"Loss"}, {"Change of the loss"}, {"p"}, {"BLEU"}, {"Change of BLEU"}, {"p"}}};
  table.rows.push_back({"the model's own", fixed(replaced.loss, 4), "–", "–", fixed(replaced.bleu, 1), "–", "–"});
  for (const ReplacedAttention& row : replaced.weights) {
    std::vector<TableCell>& cells = table.rows.emplace_back();
    cells = {row.weights, fixed(row.loss, 4)};
    add_tested(cells, row.loss_change, 4);
    cells.emplace_back(fixed_or_dash(row.bleu, 1));
    if (row.bleu_change) {
      add_tested(cells, *row.bleu_change, 1);
    } else {
      cells.insert(cells.end(), 2, TableCell("–"));
    }
  }
  section.add(std::move(table));
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
