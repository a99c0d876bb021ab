#include "analysis/cost.hpp"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <string_view>

#include "analysis/breakdowns.hpp"
#include "core/log.hpp"
#include "models/attention/recurrent_attention.hpp"
#include "models/attention/relative_positions.hpp"
#include "models/layers/layers.hpp"

namespace attend {
namespace {

// The number of positions of a sentence pair at which a matrix is applied.
double applications(std::string_view name, double S, double T) {
  if (name.starts_with("bridge")) return 1;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has(".energy")) return 0;  // counted with the pairs
  const bool of_source = name.starts_with("encoder.") || name.starts_with("attention.key") || has(".kv_proj.") ||
                         has(".multihead_attn.score.key.");
  if (has(".self_attn.scope.positions")) return of_source ? 2 * S - 1 : T;  // distances
  return of_source ? S : T;
}

// The layers of attention at a place, each counted by the share of its heads that there are.
double whole_layers(const ModelConfig& config, AttentionPlace place) {
  const BlockOptions block = sized(config.block, config.width.value_or(0));
  const auto layers = place == AttentionPlace::encoder ? config.encoder_layers : config.decoder_layers;
  const auto pruned = std::ranges::count(block.pruned(), place, &HeadPlace::place);
  return static_cast<double>(layers.value_or(0)) - static_cast<double>(pruned) / static_cast<double>(*block.heads);
}

// The self-attention of a stack of a Transformer, over `pairs` of its n tokens in every layer. Sizes of `block` are
// set.
double self_attention_flops(const BlockOptions& block, bool is_decoder, double width, double layers, double pairs,
                            double n) {
  const SelfAttentionKind kind = block.self_attention;
  const SelfAttentionRecipe recipe = recipe_of(kind);
  const auto heads = static_cast<double>(*block.heads);
  if (!recipe.has_weights()) return layers * 4 * (n * width * width + pairs * width);  // cosines and sines
  double columns = width;  // of products of each pair, first those with values
  if (recipe.reads_keys && recipe_of(block.score).compares_pairs) {
    columns += width * (heads - static_cast<double>(recipe.fixed(*block.heads))) / heads;
  }
  if (kind == SelfAttentionKind::dense || kind == SelfAttentionKind::dense_attention) columns += width;
  if (block.positions == PositionKind::transformer_xl) columns += width;
  double distances = 0;  // whose keys each query is multiplied with, and values each sum of weights
  if (block.positions == PositionKind::relative) {
    distances = static_cast<double>(RelativeScope::num_distances(is_decoder));
  }
  return layers * 2 * (pairs * columns + 2 * n * distances * width);
}

// Products of queries with keys and of weights with values, in a sentence pair.
double attention_flops(const ModelConfig& config, double S, double T) {
  const auto width = static_cast<double>(config.width.value_or(0));
  const ScoreRecipe score = recipe_of(score_of(config));
  switch (config.model) {
    case ModelKind::fixed: return 0;
    case ModelKind::transformer: {
      const auto layers = [&](AttentionPlace place) { return whole_layers(config, place); };
      const auto block = [&](StackChoice stack) {
        BlockOptions options = sized(block_of(config, stack), config.width.value_or(0));
        options.score = score_of(config);
        return options;
      };
      return self_attention_flops(block(StackChoice::encoder), /*is_decoder=*/false, width,
                                  layers(AttentionPlace::encoder), S * S, S) +
             self_attention_flops(block(StackChoice::decoder), /*is_decoder=*/true, width,
                                  layers(AttentionPlace::decoder), T * (T + 1) / 2, T) +
             2 * layers(AttentionPlace::cross) * S * T * ((score.compares_pairs ? width : 0) + width);
    }
    case ModelKind::luong:
    case ModelKind::bahdanau: {
      const bool wide = config.encoder == Direction::both && !score.needs_equal_widths;
      return 2 * S * T * ((score.compares_pairs ? width : 0) + (wide ? 2 * width : width));
    }
  }
  return 0;
}

}  // namespace

double flops_per_target_piece(const TranslationRun& run, double S, double T) {
  double flops = attention_flops(run.options, S, T);
  for (const auto& [name, tensor, traits] : described_parameters(*run.model)) {
    if (traits.role == ParameterRole::table || traits.role == ParameterRole::bias) continue;
    flops += 2 * static_cast<double>(tensor.numel()) * applications(name, S, T);
  }
  const auto vocabulary = static_cast<double>(run.tokenizers.tgt.size());
  flops += 2 * vocabulary * static_cast<double>(run.options.width.value_or(0)) * T;  // the output layer
  return flops / T;
}

double flops_per_text(const TextRun& run, double T) {
  const StackOptions stack = sized(run.options.encoder);
  const bool reads_all = !is_of_sequences(run.task.kind), is_causal = run.options.model == TextEncoderKind::language;
  const Pooling pooling = run.options.pooling_of_run();
  const auto width = static_cast<double>(*stack.width), layers = static_cast<double>(*stack.layers);
  double flops = 0;
  if (run.options.model != TextEncoderKind::lstm && !run.options.language().is_recurrent()) {
    flops = self_attention_flops(stack.block, is_causal, width, layers, is_causal ? T * (T + 1) / 2 : T * T, T);
  }
  for (const auto& [name, tensor, traits] : described_parameters(*run.model)) {
    if (traits.role == ParameterRole::table || traits.role == ParameterRole::bias) continue;
    const bool of_encoder = run.model->encoder().owns(name);
    const bool of_pooler = name.find("classifier") == std::string::npos;
    const bool by_token = of_encoder || reads_all || (of_pooler && pooling == Pooling::attention);
    const double times = of_encoder && stack.share_layers ? layers : 1;
    // Alignment compares every token, and then makes one vector of the text.
    const bool compares = of_pooler && name.find("compare") != std::string::npos;
    flops += 2 * static_cast<double>(tensor.numel()) * times * (by_token || compares ? T : 1);
  }
  if (!reads_all && pooling == Pooling::alignment) flops += 1.5 * T * T * width;  // energies, two sums; T / 2 each
  return flops;
}

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The time to translate one sentence alone, by the words of its source: the mean over the first sentences of each
// length.
std::vector<LengthTime> times_by_length(const TrainedRun& trained, const std::vector<std::string>& sources,
                                        const TranslatorConfig& config) {
  constexpr std::size_t kSentences = 12;
  TranslatorConfig alone = config;
  alone.batch_size = 1;
  alone.workers = 1;
  Translator translator(*trained.run.model, trained.run.tokenizers, alone);
  std::vector<LengthTime> times;
  for (const LengthGroup& group : length_groups(sources)) {
    std::vector<std::string> lines;
    for (const std::size_t i : group.sentences | std::views::take(kSentences)) lines.push_back(sources[i]);
    const auto start = std::chrono::steady_clock::now();
    translator.translate(lines);
    times.push_back(
        {.length = group.name, .milliseconds = 1e3 * seconds_since(start) / static_cast<double>(lines.size())});
  }
  return times;
}

}  // namespace

std::vector<std::string> SystemOutputs::texts() const {
  std::vector<std::string> lines;
  for (const Translation& translation : translations) lines.push_back(translation.text);
  return lines;
}

SystemOutputs translate_test_set(const TrainedRun& trained, const std::vector<std::string>& sources,
                                 const std::vector<std::string>& references, const TranslatorConfig& config,
                                 const ScoreConfig& scoring) {
  SystemOutputs outputs;
  WorkProgress progress({.unit = "sentences", .total = std::ssize(sources)});
  Translator translator(*trained.run.model, trained.run.tokenizers, config, &progress);
  const auto start = std::chrono::steady_clock::now();
  auto translations = translator.translate(sources);
  outputs.seconds = seconds_since(start);
  progress.clear();
  for (std::vector<Translation>& best : translations) {
    outputs.pieces += std::ssize(best.front().hypothesis.ids) + 1;
    outputs.translations.push_back(std::move(best.front()));
  }
  const std::int32_t unknown = trained.run.tokenizers.tgt.special().unk;
  for (const TextScore& one : score(trained.run, sources, references, scoring)) {
    outputs.references.add(one);
    for (const ForcedPiece& piece : one.pieces) outputs.unknown_pieces += piece.id == unknown;
  }
  return outputs;
}

void add_cost_of_translation(Cost& cost, const TrainedRun& trained, const SystemOutputs& outputs,
                             const std::vector<std::string>& sources, const TranslatorConfig& config) {
  const auto sentences = static_cast<double>(sources.size());
  const auto target_pieces = static_cast<double>(outputs.references.pieces);
  double source_pieces = 0;
  for (const std::string& line : sources) {
    source_pieces += static_cast<double>(trained.run.tokenizers.src.encode(line).size()) + 1;
  }
  const double flops = flops_per_target_piece(trained.run, source_pieces / sentences, target_pieces / sentences);
  cost.flops_per_token = flops;
  cost.flops_per_sentence = flops * target_pieces / sentences;
  cost.translation_tokens_per_second = static_cast<double>(outputs.pieces) / outputs.seconds;
  cost.translation_sentences_per_second = sentences / outputs.seconds;
  cost.by_length = times_by_length(trained, sources, config);
}

}  // namespace attend
