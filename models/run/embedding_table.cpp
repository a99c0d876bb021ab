#include "models/run/embedding_table.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/language_run.hpp"
#include "models/run/run.hpp"
#include "models/run/text_run.hpp"

namespace attend {
namespace {

// The default one first.
std::vector<EmbeddingTable> tables_of(RunKind kind) {
  using enum EmbeddingTable;
  switch (kind) {
    case RunKind::train: return {source, target, output};
    case RunKind::pretrain:
    case RunKind::language: return {input, output};
    case RunKind::finetune: return {input};
  }
  return {};
}

PieceVectors vectors_of(const Tokenizer& tokenizer, const ops::Weight& table) {
  return {.tokenizer = tokenizer, .table_VE = table.master().detach()};
}

}  // namespace

PieceVectors load_embedding_table(const std::filesystem::path& path, const std::string& checkpoint,
                                  std::optional<EmbeddingTable> table) {
  const RunKind kind = kind_of_run(path);
  const std::vector<EmbeddingTable> tables = tables_of(kind);
  if (table && std::ranges::find(tables, *table) == tables.end()) {
    std::string names;
    for (const EmbeddingTable one : tables) names += (names.empty() ? "" : ", ") + std::string(name_of(one));
    throw UserError("--table " + std::string(name_of(*table)) + ": the tables of " + path.string() + " are: " + names,
                    "choose one of them");
  }
  switch (kind) {
    case RunKind::train: {
      const Run run = Run::load(path, checkpoint);
      return table.value_or(EmbeddingTable::source) == EmbeddingTable::source
                 ? vectors_of(run.tokenizers.src, run.model->source_table())
                 : vectors_of(run.tokenizers.tgt, run.model->output_table());
    }
    case RunKind::pretrain: {
      const BertRun run = BertRun::load(path, checkpoint);
      return vectors_of(run.tokenizer, run.model->bert->table());
    }
    case RunKind::language: {
      const LanguageRun run = LanguageRun::load(path, checkpoint);
      return vectors_of(run.tokenizer, run.model->output_table());
    }
    case RunKind::finetune: break;
  }
  const TextRun run = TextRun::load(path, checkpoint);
  return vectors_of(run.tokenizer, run.model->encoder().table());
}

}  // namespace attend
