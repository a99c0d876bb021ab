#include "models/run/embedding_table.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

// The names of a run's tables, the default one first.
std::vector<EmbeddingTable> tables_of(const AnyOptions& run) {
  using enum EmbeddingTable;
  return std::visit(overloaded{[](const ModelConfig&) {
                                 return std::vector{source, target, output};
                               },
                               [](const TextModelOptions&) { return std::vector{input}; },
                               [](const auto& /*pretrained*/) {
                                 return std::vector{input, output};
                               }},
                    run);
}

PieceVectors vectors_of(const Tokenizer& tokenizer, const ops::Weight& table) {
  return {.tokenizer = tokenizer, .table_VE = table.master().detach()};
}

}  // namespace

PieceVectors load_embedding_table(const std::filesystem::path& path, const std::string& checkpoint,
                                  std::optional<EmbeddingTable> table) {
  const std::vector<EmbeddingTable> tables = tables_of(options_of_run(path));
  if (table && std::ranges::find(tables, *table) == tables.end()) {
    std::string names;
    for (const EmbeddingTable one : tables) names += (names.empty() ? "" : ", ") + std::string(name_of(one));
    throw UserError("--table " + std::string(name_of(*table)) + ": the tables of " + path.string() + " are: " + names,
                    "choose one of them");
  }
  return std::visit(
      overloaded{[&](const TranslationRun& run) {
                   const bool of_source = table.value_or(EmbeddingTable::source) == EmbeddingTable::source;
                   return of_source ? vectors_of(run.tokenizers.src, run.model->source_table())
                                    : vectors_of(run.tokenizers.tgt, run.model->output_table());
                 },
                 [](const BertRun& run) { return vectors_of(run.tokenizer, run.model->bert->table()); },
                 [](const LanguageRun& run) { return vectors_of(run.tokenizer, run.model->output_table()); },
                 [](const TextRun& run) { return vectors_of(run.tokenizer, run.model->encoder().table()); }},
      load_run(path, checkpoint));
}

}  // namespace attend
