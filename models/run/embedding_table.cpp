#include "models/run/embedding_table.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/language_run.hpp"
#include "models/run/run.hpp"
#include "models/run/text_run.hpp"

namespace attend {
namespace {

using NamedTables = std::vector<std::pair<EmbeddingTable, PieceVectors>>;

NamedTables tables_of_run(const std::filesystem::path& path, const std::string& checkpoint) {
  using enum EmbeddingTable;
  const auto with = [](const Tokenizer& tokenizer, const ops::Weight& table) {
    return PieceVectors{.tokenizer = tokenizer, .table_VE = table.master().detach()};
  };
  switch (kind_of_run(path)) {
    case RunKind::train: {
      const Run run = Run::load(path, checkpoint);
      const PieceVectors of_target = with(run.tokenizers.tgt, run.model->output_table());
      return {{source, with(run.tokenizers.src, run.model->source_table())}, {target, of_target}, {output, of_target}};
    }
    case RunKind::pretrain: {
      const BertRun run = BertRun::load(path, checkpoint);
      const PieceVectors only = with(run.tokenizer, run.model->bert->table());
      return {{input, only}, {output, only}};
    }
    case RunKind::language: {
      const LanguageRun run = LanguageRun::load(path, checkpoint);
      const PieceVectors only = with(run.tokenizer, run.model->output_table());
      return {{input, only}, {output, only}};
    }
    case RunKind::finetune: {
      const TextRun run = TextRun::load(path, checkpoint);
      return {{input, with(run.tokenizer, run.model->encoder().table())}};
    }
  }
  return {};
}

}  // namespace

PieceVectors load_embedding_table(const std::filesystem::path& path, const std::string& checkpoint,
                                  std::optional<EmbeddingTable> table) {
  const NamedTables tables = tables_of_run(path, checkpoint);
  ensure(!tables.empty(), "every run has a table of embeddings");
  if (!table) return tables.front().second;
  const auto found = std::ranges::find(tables, *table, &NamedTables::value_type::first);
  if (found != tables.end()) return found->second;
  std::string names;
  for (const auto& [name, vectors] : tables) names += (names.empty() ? "" : ", ") + std::string(name_of(name));
  throw UserError("--table " + std::string(name_of(*table)) + ": the tables of " + path.string() + " are: " + names,
                  "choose one of them");
}

}  // namespace attend
