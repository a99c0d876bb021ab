// Builds a translation model from its options: the only place that switches on ModelKind.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/translation/config.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

// The options that models of this family do not read. Earlier versions wrote score general for every model.
std::vector<std::string_view> foreign_options(const ModelConfig& config);

struct VocabularySizes {
  std::int64_t src = 0;
  std::int64_t tgt = 0;
};

// Builds the model that `config` describes, initialised from `seed`; without a seed its parameters are left
// uninitialised, for weights to be loaded. Throws UserError if options contradict each other, belong to another family,
// or tie vocabularies of different sizes.
Seq2Seq make_seq2seq(const ModelConfig& config, const VocabularySizes& vocabulary, std::optional<std::uint64_t> seed);

}  // namespace attend
