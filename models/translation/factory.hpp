// Builds a translation model from its options: the only place that switches on ModelKind.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/translation/config.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

// The options that models of this family do not read.
std::vector<std::string_view> foreign_options(const ModelConfig& config);

// Names an option in a message: "--scope", or its file and line.
using OptionPlace = std::function<std::string(std::string_view)>;

// Throws UserError if options contradict each other, whatever the text. The width must not be auto.
void check_model(const ModelConfig& config, const OptionPlace& place);

struct VocabularySizes {
  std::int64_t src = 0;
  std::int64_t tgt = 0;
};

// Throws UserError if embeddings are tied, but the vocabularies have different sizes.
void check_vocabularies(const ModelConfig& config, const VocabularySizes& vocabulary);

// Builds the model that `config` describes, initialised from `seed`; without a seed its parameters are left
// uninitialised, for weights to be loaded. Throws UserError if options contradict each other, belong to another family,
// or tie vocabularies of different sizes.
Seq2Seq make_seq2seq(const ModelConfig& config, const VocabularySizes& vocabulary, std::optional<std::uint64_t> seed);

}  // namespace attend
