#include "eval/translation_attention.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <ranges>
#include <span>

#include "core/error.hpp"
#include "data/batch/batch.hpp"
#include "eval/alignment.hpp"
#include "eval/attention.hpp"

namespace attend {
namespace {

// Source times target pieces of a batch, padded: four bytes each for every head of every layer.
constexpr std::size_t kWeightsInBatch = std::size_t{1} << 17;

// Writes to `file`, which `option` named.
void open_file(std::optional<AtomicFile>& opened, const std::string& file, const std::string& option) {
  if (file.empty()) return;
  refuse_existing(file, option);
  opened.emplace(file);
}

std::vector<PieceBytes> bytes_of(const std::vector<Piece>& pieces) {
  std::vector<PieceBytes> result;
  for (const Piece& piece : pieces) result.push_back({piece.begin, piece.end});
  return result;
}

std::vector<std::int32_t> ids_of(const std::vector<Piece>& pieces) {
  std::vector<std::int32_t> ids;
  for (const Piece& piece : pieces) ids.push_back(piece.id);
  return ids;
}

// The pieces of a line, as far as the model reads or is shown it.
std::vector<Piece> beginning(const Tokenizer& tokenizer, const std::string& line) {
  std::vector<Piece> pieces = tokenizer.encode_pieces(beginning_of(line, Translator::kLongestSource));
  pieces.resize(std::min(pieces.size(), Translator::kLongestSource));
  return pieces;
}

}  // namespace

void TranslationAttentionConfig::validate(const OptionOrigins& origins) const {
  for (const auto& [file, option] : {std::pair(&attention, "attention"), std::pair(&alignment, "alignment")}) {
    if (*file != "-") continue;
    throw UserError(origins(option) + " is -, but standard output carries the translations", "name a file");
  }
  if (!attention.empty() && attention == alignment) {
    throw UserError(origins("alignment") + " is the file of " + origins("attention"), "name two files");
  }
  if (alignment.empty() && alignment_layer) {
    throw UserError(origins("alignment-layer") + " has no meaning without --alignment",
                    "leave it out, or add --alignment FILE");
  }
  if (!reference.empty()) validate_reference(origins);
}

void TranslationAttentionConfig::validate_reference(const OptionOrigins& origins) const {
  if (!asked()) {
    throw UserError(origins("reference") + " has no meaning without --attention or --alignment",
                    "leave it out, or add --alignment FILE");
  }
  if (reference == "-") {
    throw UserError(origins("reference") + " is -, but standard input carries the lines to translate", "name a file");
  }
  for (const std::string_view option :
       {"beam", "nbest", "length-penalty", "min-length", "max-length", "batch-size", "workers", "line-buffered"}) {
    if (!origins.given(option)) continue;
    throw UserError(origins(option) + " has no meaning with --reference: nothing is translated",
                    "leave one of them out");
  }
}

TranslationAttention::TranslationAttention(const TranslationAttentionConfig& config, const Run& trained,
                                           const std::string& run, double attention_threshold)
    : model_(*trained.model), tokenizers_(trained.tokenizers), attention_threshold_(attention_threshold) {
  open_file(attention_, config.attention, "--attention");
  open_file(alignment_, config.alignment, "--alignment");
  Batch batch;
  const AttentionRecorder shown = observe({Pair{}}, batch);
  const auto num_layers = std::ranges::count(shown.layers, AttentionPlace::cross, &LayerAttention::place);
  if (num_layers == 0)
    throw UserError(run + ": its decoder has no attention to the source",
                    attention_ ? "leave --attention out" : "leave --alignment out");
  if (!alignment_) return;
  alignment_layer_ = config.alignment_layer.value_or(num_layers - 1);
  if (alignment_layer_ >= num_layers) {
    const std::string last = std::to_string(num_layers - 1);
    throw UserError("--alignment-layer " + std::to_string(alignment_layer_) + ": the last layer of " + run +
                        " that attends to the source is " + last,
                    "choose one from 0 to " + last);
  }
}

void TranslationAttention::add(const std::string& line, const Translation& best) {
  const std::vector<std::int32_t>& ids = best.hypothesis.ids;
  add({.line = line,
       .source = beginning(tokenizers_.src, line),
       .translation = best.text,
       .target = ids,
       .target_bytes = alignment_ ? decoded_bytes(tokenizers_.tgt, ids) : std::vector<PieceBytes>()});
}

void TranslationAttention::add_reference(const std::string& line, const std::string& reference) {
  const std::vector<Piece> pieces = beginning(tokenizers_.tgt, reference);
  add({.line = line,
       .source = beginning(tokenizers_.src, line),
       .translation = reference,
       .target = ids_of(pieces),
       .target_bytes = bytes_of(pieces)});
}

void TranslationAttention::add(Pair pair) {
  const std::size_t source = std::max(longest_source_, pair.source.size() + 1);
  const std::size_t target = std::max(longest_target_, pair.target.size() + 1);
  const bool fits = (waiting_.size() + 1) * source * target <= kWeightsInBatch;
  if (!fits) write();
  longest_source_ = fits ? source : pair.source.size() + 1;
  longest_target_ = fits ? target : pair.target.size() + 1;
  waiting_.push_back(std::move(pair));
}

void TranslationAttention::finish() {
  write();
  if (attention_) attention_->commit();
  if (alignment_) alignment_->commit();
}

// Keeps the weights that are written, and leaves in `batch` what they are of.
AttentionRecorder TranslationAttention::observe(const std::vector<Pair>& pairs, Batch& batch) const {
  const c10::InferenceMode inference;
  std::vector<std::vector<std::int32_t>> sources;
  std::vector<std::span<const std::int32_t>> src, tgt;
  for (const Pair& pair : pairs) {
    sources.push_back(ids_of(pair.source));
    tgt.emplace_back(pair.target);
  }
  for (const auto& ids : sources) src.emplace_back(ids);
  batch.src = concatenate(src, -1, tokenizers_.src.special().eos);
  batch.tgt = concatenate(tgt, tokenizers_.tgt.special().bos, -1);
  for (Sequences* side : {&batch.src, &batch.tgt}) side->ids_M = side->ids_M.to(model_.device());
  AttentionRecorder recorder(attention_ ? std::nullopt : std::optional(AttentionPlace::cross));
  Pass pass = Pass::inference(&recorder);
  pass.set_attention_threshold(attention_threshold_);
  model_.forward(batch, pass);
  return recorder;
}

void TranslationAttention::write() {
  Batch batch;
  std::vector<Pair> read;  // the others have nothing to attend to
  std::ranges::copy_if(waiting_, std::back_inserter(read), [](const Pair& pair) { return !pair.source.empty(); });
  const AttentionRecorder shown = read.empty() ? AttentionRecorder() : observe(read, batch);
  std::int64_t number = 0;
  for (const Pair& pair : waiting_) {
    if (pair.source.empty()) {
      if (attention_) attention_->write("{\"source\":[],\"target\":[],\"attention\":[]}\n");
      if (alignment_) alignment_->write("\n");
      continue;
    }
    const auto layers = shown.of_sentence(number++, batch.src.layout, batch.tgt.layout);
    if (attention_) {
      AttendedPieces pieces;
      for (const Piece& piece : pair.source) pieces.source.push_back(piece.text);
      for (const std::int32_t id : pair.target) pieces.target.push_back(tokenizers_.tgt.piece(id));
      pieces.source.push_back(tokenizers_.src.piece(tokenizers_.src.special().eos));
      pieces.target.push_back(tokenizers_.tgt.piece(tokenizers_.tgt.special().eos));
      write_attention(*attention_, pieces, layers);
      attention_->write("\n");
    }
    if (alignment_) {
      const auto is_chosen = [&](const LayerAttention& seen) {
        return seen.place == AttentionPlace::cross && seen.layer == alignment_layer_;
      };
      const auto chosen = std::ranges::find_if(layers, is_chosen);
      ensure(chosen != layers.end(), "a layer that was there before");
      const auto links = align_words(chosen->weights.mean(0), pieces_of_words(pair.line, bytes_of(pair.source)),
                                     pieces_of_words(pair.translation, pair.target_bytes));
      alignment_->write(to_text(links) + "\n");
    }
  }
  waiting_.clear();
  longest_source_ = longest_target_ = 0;
}

}  // namespace attend
