#include "train/translation/embeddings.hpp"

#include <ATen/ATen.h>

#include <initializer_list>
#include <set>

#include "core/error.hpp"
#include "core/log.hpp"
#include "data/corpus/piece_vectors.hpp"
#include "models/layers/layers.hpp"

namespace attend {
namespace {

// The first of these children that the model has.
const EmbeddingImpl& table_named(const Seq2SeqImpl& model, std::initializer_list<const char*> names) {
  const auto children = model.named_children();
  const EmbeddingImpl* table = nullptr;
  for (const char* name : names) {
    const auto* found = children.find(name);
    if (table == nullptr && found != nullptr) table = dynamic_cast<const EmbeddingImpl*>(found->get());
  }
  ensure(table != nullptr, "a translation model has an embedding table of each side");
  return *table;
}

double deviation_of(const torch::Tensor& numbers) {
  return numbers.to(at::kDouble).std(/*unbiased=*/false).item<double>();
}

// A table whose rows are set once each.
class Table {
 public:
  explicit Table(const EmbeddingImpl& embedding)
      : rows_VE_(embedding.weight.master()), deviation_(deviation_of(rows_VE_)) {}

  const torch::Tensor& rows() const { return rows_VE_; }

  // Sets the rows of pieces that have none yet. UserError naming `file` where all its numbers are the same.
  void set(PieceVectors vectors, const std::string& file) {
    const at::NoGradGuard no_grad;
    const auto count = static_cast<std::int64_t>(vectors.pieces.size());
    torch::Tensor given_KE = torch::from_blob(vectors.numbers.data(), {count, rows_VE_.size(1)});
    const double theirs = deviation_of(given_KE);
    if (!(theirs > 0)) {
      throw UserError(file + ": all numbers of the words that occur are the same, expected vectors that differ",
                      "check that it is the right file");
    }
    given_KE = given_KE * (deviation_ / theirs);
    for (std::int64_t i = 0; i < count; ++i) {
      if (set_.insert(vectors.pieces[i]).second) rows_VE_[vectors.pieces[i]].copy_(given_KE[i]);
    }
  }

 private:
  torch::Tensor rows_VE_;
  double deviation_;
  std::set<std::int32_t> set_;
};

// One side of a translation.
struct Side {
  std::string name;
  std::string language;
  const std::string& file;  // of vectors; empty: none
  const std::string& text;
  const Tokenizer& tokenizer;
};

using CoveredShares = std::vector<std::pair<std::string, double>>;

void fill(Table& table, const Side& side, CoveredShares& coverage) {
  if (side.file.empty()) return;
  PieceVectors vectors = read_piece_vectors(side.file, table.rows().size(1), count_words(side.text), side.tokenizer);
  log::info("{}: vectors for {:.1f} % of the {}'s pieces, {:.1f} % of its training text", side.file,
            100 * vectors.share_of_pieces, side.language, 100 * vectors.share_of_tokens);
  coverage.emplace_back(side.name + "_pieces", vectors.share_of_pieces);
  coverage.emplace_back(side.name + "_tokens", vectors.share_of_tokens);
  table.set(std::move(vectors), side.file);
}

}  // namespace

CoveredShares initialise_embeddings(const Seq2SeqImpl& model, const TokenizerPair& tokenizers,
                                    const TranslationConfig& config) {
  const std::string &src_file = config.init_embeddings_src, &tgt_file = config.init_embeddings_tgt;
  if (src_file.empty() && tgt_file.empty()) return {};
  const EmbeddingImpl& tgt_table = table_named(model, {"tgt_embedding", "embedding"});
  const EmbeddingImpl& src_table = table_named(model, {"src_embedding", "tgt_embedding", "embedding"});
  const bool tied = &src_table == &tgt_table;
  if (tied && !src_file.empty() && !tgt_file.empty()) {
    log::info("source and target share one table: it takes the target's vectors, and the source's of other pieces");
  }
  CoveredShares coverage;
  Table tgt(tgt_table), src(src_table);
  fill(tgt, {"tgt", "target", tgt_file, config.train[1], tokenizers.tgt}, coverage);
  fill(tied ? tgt : src, {"src", "source", src_file, config.train[0], tokenizers.src}, coverage);
  refresh_weights(model);
  return coverage;
}

}  // namespace attend
