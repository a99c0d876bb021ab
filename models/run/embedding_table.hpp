// The tables of a run that have a row for each piece of a vocabulary.
//
//   attend train      source; target and output, which are one table; with tied embeddings, all three are one
//   attend pretrain   input and output, which are one table
//   attend finetune   input
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "core/options.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

enum class EmbeddingTable { source, target, input, output };
template <>
inline constexpr auto kEnumNames<EmbeddingTable> =
    std::to_array<EnumName<EmbeddingTable>>({{EmbeddingTable::source, "source"},
                                             {EmbeddingTable::target, "target"},
                                             {EmbeddingTable::input, "input"},
                                             {EmbeddingTable::output, "output"}});

// The rows of pieces, fp32.
struct PieceVectors {
  Tokenizer tokenizer;
  torch::Tensor table_VE = {};
};

// A table of the run at `path`; nullopt: source or input. Throws UserError naming the tables of the run if it has no
// such table, and as load_run.
PieceVectors load_embedding_table(const std::filesystem::path& path, const std::string& checkpoint,
                                  std::optional<EmbeddingTable> table);

}  // namespace attend
