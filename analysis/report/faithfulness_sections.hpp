// The results of `attend faithfulness`, as one plain value, and the sections that show them. docs/faithfulness.md
// defines each number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/report/sections.hpp"

namespace attend {

// Kendall's τ-b of an explanation with a measure of importance, over the items in which both vary.
struct Agreement {
  Spread tau = {};
  double significant = 0;                    // share of the items with p < 0.05; NaN of none
  std::int64_t measured = 0, undefined = 0;  // items
  JSON_MEMBERS(tau, significant, measured, undefined);
};

struct ExplanationAgreement {
  std::string name = {};
  std::optional<Agreement> gradient = {};  // with gradient × input; none for gradient × input itself
  Agreement leave_one_out = {};
  JSON_MEMBERS(name, gradient, leave_one_out);
};

// The texts whose largest weight is at least `from` and less than `to`; 1 is in the last band.
struct LargestWeightBand {
  double from = 0, to = 0;
  std::int64_t texts = 0;
  Spread permuted = {};
  JSON_MEMBERS(from, to, texts, permuted);
};

// Changes of the output, as total variation distance, with other attention weights; over texts.
struct WeightPerturbation {
  std::int64_t texts = 0;
  Spread largest = {};   // weight of attention
  Spread uniform = {};   // change with equal weights
  Spread permuted = {};  // median change of the permutations
  std::vector<LargestWeightBand> bands = {};
  std::int64_t adversarial_texts = 0;
  Spread divergence = {};  // nats, of the adversarial weights from the model's
  Spread change = {};      // with the adversarial weights
  JSON_MEMBERS(texts, largest, uniform, permuted, bands, adversarial_texts, divergence, change);
};

struct Faithfulness : Making {
  std::string run = {};
  std::string checkpoint = {};
  std::string attention = {};  // "[CLS] in the last of 2 layers, 4 heads each"
  std::string data = {};
  std::string item = {};                            // what an output belongs to: "text", or "target position"
  std::int64_t texts = 0, items = 0, left_out = 0;  // texts or sentence pairs; items: outputs
  std::vector<ExplanationAgreement> explanations = {};
  std::optional<WeightPerturbation> weights = {};  // of texts
  JSON_MEMBERS(attend, command, made, run, checkpoint, attention, data, item, texts, items, left_out, explanations,
               weights);
};

// The limit on the change with adversarial weights, and the permutations of each text.
inline constexpr double kAdversarialChange = 0.01;
inline constexpr int kPermutations = 100;

SectionReport section_report(const Faithfulness& faithfulness);

}  // namespace attend
