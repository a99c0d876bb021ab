#include "analysis/report/faithfulness_sections.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "analysis/report/section_parts.hpp"

namespace attend {
namespace {

std::string three_digits(const Spread& spread) { return with_deviation(spread, 1, 3); }

Section explained_section(const Faithfulness& it) {
  const std::string read = it.weights
                               ? fmt::format("{}; {} left out, without tokens", counted(it.texts, "text"), it.left_out)
                               : fmt::format("{} with {}; {} left out, too long or without tokens",
                                             counted(it.texts, "pair"), counted(it.items, it.item), it.left_out);
  Section section{"explained", "What was explained", ""};
  section.add(Items{{fmt::format("Run: {}; weights: {}.", it.run, it.checkpoint),
                     fmt::format("Attention: {}.", it.attention), fmt::format("Data: {}, {}.", it.data, read)}});
  return section;
}

Section agreement_section(const Faithfulness& it) {
  Section section{
      "agreement", "1. Agreement with measures of importance",
      fmt::format("Kendall's τ-b by {}, mean (± standard deviation): 1, the same order of the tokens; 0, none. "
                  "Significant: percentage with p < 0.05. Undefined: one side gives all tokens the same number, or "
                  "there are fewer than two. The row of gradient × input says how well the two measures agree with "
                  "each other.",
                  it.item)};
  using Row = ExplanationAgreement;
  const auto tau = [](const Agreement& agreement) { return three_digits(agreement.tau); };
  const auto significant = [](const Agreement& agreement) { return fixed(100 * agreement.significant, 1); };
  const auto undefined = [](const Agreement& agreement) { return std::to_string(agreement.undefined); };
  section.add(table_of(it.explanations, "Agreement of explanations with gradient × input and with leave-one-out",
                       {{"Explanation", &Row::name},
                        {"τ, gradient × input", &Row::gradient, tau},
                        {"Significant, %", &Row::gradient, significant},
                        {"Undefined", &Row::gradient, undefined},
                        {"τ, leave-one-out", &Row::leave_one_out, tau},
                        {"Significant, %", &Row::leave_one_out, significant},
                        {"Undefined", &Row::leave_one_out, undefined}}));
  return section;
}

Section weights_section(const Faithfulness& it) {
  Section section{"weights", "2. Other weights", ""};
  if (!it.weights) {
    section.add(Paragraph{"Not measured: only the attention of texts is replaced."});
    return section;
  }
  const WeightPerturbation& weights = *it.weights;
  section.how_to_read =
      "Change: total variation distance of the class probabilities when the model's weights are replaced, 0 to 1. "
      "Where it is small although the largest weight is large, the prediction does not depend on where the model "
      "attends.";
  Table table{"Changes of the output, mean (± standard deviation)", {{"Weights", false}, {"Texts"}, {"Change"}}};
  table.rows.push_back({"uniform", std::to_string(weights.texts), three_digits(weights.uniform)});
  table.rows.push_back({fmt::format("permuted, median of {}", kPermutations), std::to_string(weights.texts),
                        three_digits(weights.permuted)});
  table.rows.push_back({"adversarial", std::to_string(weights.adversarial_texts), three_digits(weights.change)});
  section.add(std::move(table));
  section.add(Paragraph{fmt::format("Largest weight of a text: {}.", three_digits(weights.largest))});
  section.add(Paragraph{fmt::format(
      "Adversarial weights, which change the output by at most {}, differ from the model's by a Jensen-Shannon "
      "divergence of {} nats, of at most 0.693.",
      kAdversarialChange, three_digits(weights.divergence))});
  using Band = LargestWeightBand;
  const auto range = [](const Band& band) {
    return Digits{fmt::format("{} to {}", fixed(band.from, 2), fixed(band.to, 2))};
  };
  section.add(
      table_of(weights.bands, "Permuted weights by largest weight",
               {{"Largest weight", range}, {"Texts", &Band::texts}, {"Median change", &Band::permuted, three_digits}}));
  return section;
}

}  // namespace

SectionReport section_report(const Faithfulness& faithfulness) {
  return {"Faithfulness of the attention of " + faithfulness.run,
          {explained_section(faithfulness), agreement_section(faithfulness), weights_section(faithfulness)},
          made_by(faithfulness) + ": " + faithfulness.command};
}

}  // namespace attend
