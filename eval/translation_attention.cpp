#include "eval/translation_attention.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.hpp"

namespace attend {
namespace {

// Writes to `file`, which `option` named.
void open_file(std::optional<AtomicFile>& opened, const std::string& file, const std::string& option) {
  if (file.empty()) return;
  refuse_existing(file, option);
  opened.emplace(file);
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
    : tokenizers_(trained.tokenizers),
      pairs_(trained,
             {.only = config.attention.empty() ? std::optional(AttentionPlace::cross) : std::nullopt,
              .threshold = attention_threshold},
             [this](const PiecePair& pair, const SentenceAttention& attention) { write(pair, attention); }) {
  open_file(attention_, config.attention, "--attention");
  open_file(alignment_, config.alignment, "--alignment");
  const std::int64_t num_layers = num_cross_layers(trained);
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

void TranslationAttention::finish() {
  pairs_.finish();
  if (attention_) attention_->commit();
  if (alignment_) alignment_->commit();
}

void TranslationAttention::write(const PiecePair& pair, const SentenceAttention& attention) {
  if (attention_) write_record(*attention_, 1, [&](std::size_t) { return attention; });
  if (!alignment_) return;
  if (!attention.layers.empty()) {
    const auto is_chosen = [&](const LayerAttention& seen) {
      return seen.place == AttentionPlace::cross && seen.layer == alignment_layer_;
    };
    const auto chosen = std::ranges::find_if(attention.layers, is_chosen);
    ensure(chosen != attention.layers.end(), "a layer that was there before");
    alignment_->write(to_text(align_words(chosen->weights.mean(0), source_words(pair), target_words(pair))));
  }
  alignment_->write("\n");
}

}  // namespace attend
