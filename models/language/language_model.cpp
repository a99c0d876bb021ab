#include "models/language/language_model.hpp"

#include "core/conditions.hpp"
#include "core/error.hpp"

namespace attend {
namespace {

// Throws UserError if a memory is combined with positions that are counted from the beginning of a segment.
void check_memory(const LanguageOptions& options) {
  if (options.memory == 0) return;
  const BlockOptions& block = options.stack.block;
  const std::string memory = "memory is " + std::to_string(options.memory) + ", but ";
  if (recipe_of(block.positions).is_added()) {
    throw UserError(memory + "positions is " + std::string(name_of(block.positions)) +
                        ", which counts from the beginning of each segment",
                    "choose --positions transformer-xl or others of distances, or drop --memory");
  }
  if (block.norm == NormPlace::pre && block.norm_kind == NormKind::batch) {
    throw UserError(memory + "norm-kind is batch, and with norm pre its statistics would count remembered tokens again",
                    "choose --norm-kind layer or rms, or --norm post, or drop --memory");
  }
  // A score that maps queries and keys depends on the angles of both, not on their difference alone.
  const ScoreKind score = block.score;
  if (recipe_of(block.positions).turns && !recipe_of(score).needs_equal_widths) {
    throw UserError(
        memory + "score is " + std::string(name_of(score)) + ", with which rotary positions are not those of distances",
        "choose --score scaled-dot or --positions transformer-xl, or drop --memory");
  }
  if (recipe_of(block.self_attention).has_table) {
    throw UserError(memory + "self-attention is " + std::string(name_of(block.self_attention)) +
                        ", whose table counts from the beginning of each segment",
                    "choose --self-attention attention, or drop --memory");
  }
}

}  // namespace

void check_language_options(const LanguageOptions& options) {
  if (options.is_recurrent()) return;
  const StackOptions stack = resolve_stack(options.stack, StackUse::causal);
  if (stack.embedding_width != stack.width) {
    throw UserError("embedding-width is " + std::to_string(*stack.embedding_width) +
                        ", but the output table of a language model is that of the embeddings, of width " +
                        std::to_string(*stack.width),
                    "drop it");
  }
  check_memory(options);
}

torch::Tensor LanguageModelImpl::read_both_sides(const Sequences& /*tokens*/, Pass& /*pass*/,
                                                 const std::optional<Selection>& /*selected*/) const {
  ensure(false, "a hybrid reads both sides");
  return {};
}

torch::Tensor LanguageModelImpl::states_of_masked(const Sequences& tokens, std::vector<std::int64_t> masked,
                                                  Pass& pass) const {
  for (std::int64_t& row : masked) --row;
  return read_both_sides(tokens, pass, select(masked, tokens.layout, tokens.ids_M.device()));
}

}  // namespace attend
