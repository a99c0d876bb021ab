#include "eval/encoder_output.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "core/process.hpp"
#include "eval/metrics/tokenizers.hpp"
#include "models/ops/ops.hpp"

namespace attend {
namespace {

// The mean of these rows, scaled to length 1 if `normalise`.
std::vector<float> mean_of(const at::Tensor& states_KH, bool normalise) {
  at::Tensor vector = states_KH.mean(0);
  if (normalise) vector = vector / vector.norm().clamp_min(1e-12);
  return {vector.const_data_ptr<float>(), vector.const_data_ptr<float>() + vector.numel()};
}

}  // namespace

SentenceEncoder SentenceEncoder::of(const Bert& bert) {
  return {.states = [bert](const SegmentedSequences& input, Pass& pass,
                           const std::optional<Selection>& selected) { return bert->forward(input, pass, selected); },
          .longest = bert->options().max_positions,
          .device = bert->parameters().front().device()};
}

SentenceEncoder SentenceEncoder::of(const LanguageRun& hybrid) {
  return {.states =
              [model = hybrid.model](const SegmentedSequences& input, Pass& pass,
                                     const std::optional<Selection>& selected) {
                return model->read_both_sides(input.tokens, pass, selected);
              },
          .longest = hybrid.options.stack.max_positions,
          .device = hybrid.model->device()};
}

TextVectors embed(const SentenceEncoder& encoder, const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                  const SentenceOptions& options, WorkProgress* progress) {
  const torch::NoGradGuard no_grad;
  const std::int64_t longest = encoder.longest, length = options.max_length.value_or(longest);
  if (length > longest) {
    throw UserError(
        "--max-length " + std::to_string(length) + ": the encoder reads at most " + std::to_string(longest) + " tokens",
        "lower it");
  }
  std::vector<Sample> samples(texts.size());
  const std::vector<std::int64_t> cut = in_parallel(texts.size(), [&](std::size_t begin, std::size_t end) {
    SampleMaker maker(tokenizer, {.length = length});
    for (std::size_t i = begin; i < end; ++i) {
      samples[i] = maker.of_text({.first = texts[i]}, i);
    }
    return maker.num_cut();
  });
  TextVectors result{.vectors = std::vector<std::vector<float>>(texts.size()),
                     .num_cut = std::accumulate(cut.begin(), cut.end(), std::int64_t{0})};
  for (const std::vector<const Sample*>& batch : batches_by_length(samples)) {
    signals::throw_if_stopped("stopped before the end of the input");
    const SegmentedSequences input = on_device(make_labelled_batch(batch), encoder.device).input;
    Pass pass = Pass::inference();
    const Layout& layout = input.tokens.layout;
    std::optional<Selection> wanted;
    if (options.pooling == SentencePooling::cls) wanted = select(first_rows(layout), layout, encoder.device);
    const at::Tensor states_KH = encoder.states(input, pass, wanted).to(at::kFloat).cpu();
    const auto& offsets = (wanted ? wanted->layout : layout).offsets;
    for (std::size_t b = 0; b < batch.size(); ++b) {
      result.vectors[batch[b]->example] = mean_of(states_KH.slice(0, offsets[b], offsets[b + 1]), options.normalise);
    }
    return_freed_memory();
    if (progress != nullptr) progress->add(std::ssize(batch));
  }
  return result;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  const auto dot = [](const std::vector<float>& x, const std::vector<float>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0, std::plus(), std::multiplies<double>());
  };
  const double of_a = dot(a, a), of_b = dot(b, b);
  return of_a == 0 || of_b == 0 ? 0 : dot(a, b) / std::sqrt(of_a * of_b);
}

namespace {

constexpr std::string_view kMask = "[MASK]";

// A piece in readable form: a word, or ## and a piece that does not begin a word.
std::string shown(const Tokenizer& tokenizer, std::int32_t id) {
  constexpr std::string_view kInside = "##";
  const std::string& piece = tokenizer.piece(id);
  if (piece.starts_with(kSpaceMark) && piece.size() > kSpaceMark.size()) return piece.substr(kSpaceMark.size());
  if (tokenizer.begins_word(id) || piece.starts_with(kInside)) return piece;
  return std::string(kInside) + piece;
}

// Removes the space that a tokenizer puts before every text, if the text continues a word.
void remove_space(const Tokenizer& tokenizer, std::vector<std::int32_t>& ids) {
  if (ids.empty() || !tokenizer.piece(ids[0]).starts_with(kSpaceMark)) return;
  const std::string rest = tokenizer.piece(ids[0]).substr(kSpaceMark.size());
  if (rest.empty()) {
    ids.erase(ids.begin());
  } else if (const std::int32_t id = tokenizer.id_of(rest); id != tokenizer.special().unk) {
    ids[0] = id;
  }
}

}  // namespace

MaskFiller MaskFiller::of(const BertForPretraining& model) {
  const torch::Device device = model->parameters().front().device();
  return {.logits =
              [=](const SegmentedSequences& input, const std::vector<std::int64_t>& masked, Pass& pass) {
                const Selection selected = select(masked, input.tokens.layout, device);
                const at::Tensor read_KE =
                    model->predictions->transform(model->states_of_masked(input, selected, pass));
                return ops::logits(read_KE, model->bert->table(), model->predictions->bias);
              },
          .longest = model->bert->options().max_positions,
          .device = device};
}

MaskFiller MaskFiller::of(const LanguageRun& hybrid) {
  return {
      .logits =
          [model = hybrid.model](const SegmentedSequences& input, const std::vector<std::int64_t>& masked, Pass& pass) {
            return ops::logits(model->states_of_masked(input.tokens, masked, pass), model->output_table(), {});
          },
      .longest = hybrid.options.stack.max_positions,
      .device = hybrid.model->device()};
}

FilledText fill_masks(const MaskFiller& filler, const Tokenizer& tokenizer, std::string_view text, std::int64_t count) {
  const torch::NoGradGuard no_grad;
  const auto longest = static_cast<std::size_t>(filler.longest) - 1;  // before [SEP]
  FilledText filled;
  std::vector<std::int64_t> ids = {tokenizer.special().cls}, masked;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(kMask, begin), text.size());
    if (!filled.cut) {
      const std::string_view part = text.substr(begin, end - begin);
      const bool inside = begin > 0 && !part.empty() && part[0] != ' ';
      Beginning read = tokenizer.encode_beginning(part, longest - ids.size());
      if (inside) remove_space(tokenizer, read.ids);
      ids.insert(ids.end(), read.ids.begin(), read.ids.end());
      filled.cut = read.cut;
    }
    if (end == text.size()) break;
    filled.masks.emplace_back();
    filled.cut = filled.cut || ids.size() == longest;
    if (!filled.cut) {
      masked.push_back(std::ssize(ids));
      ids.push_back(tokenizer.special().mask);
    }
    begin = end + kMask.size();
  }
  if (masked.empty()) return filled;
  ids.push_back(tokenizer.special().sep);
  SegmentedSequences input;
  input.tokens.ids_M = at::tensor(ids, at::kLong).to(filler.device);
  input.tokens.layout = {.offsets = {0, std::ssize(ids)}, .max_length = std::ssize(ids)};
  input.segments_M = at::zeros_like(input.tokens.ids_M);
  Pass pass = Pass::inference();
  const at::Tensor logits_KV = filler.logits(input, masked, pass);
  const auto [probabilities, pieces] = at::softmax(logits_KV, 1).topk(std::min(count, logits_KV.size(1)), 1);
  const at::Tensor p = probabilities.cpu().to(at::kDouble), id = pieces.cpu();
  for (std::int64_t k = 0; k < std::ssize(masked); ++k) {
    for (std::int64_t i = 0; i < p.size(1); ++i) {
      filled.masks[k].push_back({.word = shown(tokenizer, static_cast<std::int32_t>(id[k][i].item<std::int64_t>())),
                                 .probability = p[k][i].item<double>()});
    }
  }
  return filled;
}

namespace {

struct CopyOfLine {
  std::size_t line = 0;
  MaskedCopy copy = {};
};

// The copies of a batch as one input, the rows of the pieces to predict, and these pieces.
struct CopyBatch {
  SegmentedSequences input = {};
  Selection predicted = {};
  torch::Tensor labels_K = {};
};

CopyBatch make_copy_batch(const std::vector<std::vector<std::int32_t>>& texts, const std::vector<CopyOfLine>& copies,
                          std::span<const std::size_t> chosen, const SpecialIds& special, torch::Device device) {
  CopyBatch batch;
  Sequences& tokens = batch.input.tokens;
  std::vector<std::int64_t> ids, rows, labels;
  for (const std::size_t c : chosen) {
    const std::vector<std::int32_t>& text = texts[copies[c].line];
    const MaskedCopy& copy = copies[c].copy;
    const std::size_t start = ids.size();
    ids.push_back(special.cls);
    for (std::int64_t i = copy.begin; i < copy.end; ++i) {
      const bool is_masked = i >= copy.first && i < copy.last;
      if (i == copy.first) rows.push_back(std::ssize(ids));
      ids.push_back(is_masked ? special.mask : text[i]);
    }
    ids.push_back(special.sep);
    labels.push_back(text[copy.first]);
    tokens.layout.append(ids.size() - start);
  }
  tokens.ids_M = at::tensor(ids, at::kLong).to(device);
  batch.input.segments_M = at::zeros_like(tokens.ids_M);
  batch.predicted = select(rows, tokens.layout, device);
  batch.labels_K = at::tensor(labels, at::kLong).to(device);
  return batch;
}

}  // namespace

MaskedCopy masked_copy(std::span<const std::int32_t> ids, std::int64_t piece, std::int64_t longest,
                       const Tokenizer& tokenizer, bool within_word) {
  const std::int64_t count = std::ssize(ids), width = std::min(count, longest - 2);
  const std::int64_t begin = std::clamp<std::int64_t>(piece - width / 2, 0, count - width);
  MaskedCopy copy{.begin = begin, .end = begin + width, .first = piece, .last = piece + 1};
  while (within_word && copy.last < copy.end && !tokenizer.begins_word(ids[copy.last])) {
    ++copy.last;
  }
  return copy;
}

std::vector<TextScore> pseudo_log_likelihood(const BertRun& run, std::span<const std::string> lines, bool within_word,
                                             const ScoreConfig& config, WorkProgress* progress) {
  ensure(run.fills_masks(), "the run has the head for masked tokens");
  const BertForPretrainingImpl& model = *run.model;
  const std::int64_t longest = model.bert->options().max_positions;
  std::vector<TextScore> scores(lines.size());
  std::vector<std::vector<std::int32_t>> texts(lines.size());
  std::vector<CopyOfLine> copies;
  std::vector<std::int64_t> lengths;  // of the copies
  for (std::size_t i = 0; i < lines.size(); ++i) {
    texts[i] = run.tokenizer.encode(lines[i]);
    scores[i] = {.pieces = std::vector<ForcedPiece>(texts[i].size()),
                 .words = std::ssize(metrics::split_words(lines[i])),
                 .bytes = std::ssize(lines[i])};
    for (std::int64_t piece = 0; piece < std::ssize(texts[i]); ++piece) {
      const MaskedCopy copy = masked_copy(texts[i], piece, longest, run.tokenizer, within_word);
      copies.push_back({.line = i, .copy = copy});
      lengths.push_back(copy.end - copy.begin + 2);
    }
    if (progress != nullptr && texts[i].empty()) progress->add();
  }
  const torch::Device device = model.parameters().front().device();
  score_in_batches(lengths, config, [&](std::span<const std::size_t> chosen) {
    const c10::InferenceMode inference;
    const CopyBatch batch = make_copy_batch(texts, copies, chosen, run.tokenizer.special(), device);
    Pass pass = config.pass();
    const torch::Tensor read_KE =
        model.predictions->transform(model.states_of_masked(batch.input, batch.predicted, pass));
    const std::vector<ForcedPiece> forced =
        forced_pieces(read_KE, model.bert->table(), model.predictions->bias, batch.labels_K);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const auto& [line, copy] = copies[chosen[k]];
      scores[line].pieces[copy.first] = forced[k];
      if (progress != nullptr) progress->add_share(1.0 / static_cast<double>(texts[line].size()));
    }
  });
  return scores;
}

}  // namespace attend
