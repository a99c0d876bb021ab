#include "eval/text_use.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "core/signals.hpp"
#include "data/batch/labelled_batch.hpp"
#include "models/layers/pass.hpp"
#include "models/ops/ops.hpp"

namespace attend {
namespace {

constexpr std::string_view kMask = "[MASK]", kSpace = "▁";

// Of all tokens of a text, the mean of its pieces, which stand between [CLS] and [SEP]; where there are none, of these
// two.
std::vector<float> mean_of(const at::Tensor& states_KH, std::int64_t begin, std::int64_t end) {
  if (end - begin > 2) ++begin, --end;
  const at::Tensor vector = states_KH.slice(0, begin, end).mean(0);
  return {vector.const_data_ptr<float>(), vector.const_data_ptr<float>() + vector.numel()};
}

// A piece as a reader sees it: a word, or ## before what does not begin one.
std::string shown(const Tokenizer& tokenizer, std::int32_t id) {
  constexpr std::string_view kInside = "##";
  const std::string& piece = tokenizer.piece(id);
  if (piece.starts_with(kSpace) && piece.size() > kSpace.size()) return piece.substr(kSpace.size());
  if (tokenizer.begins_word(id) || piece.starts_with(kInside)) return piece;
  return std::string(kInside) + piece;
}

// The pieces of a text that goes on with a word: without the space that a tokenizer sees before every text.
std::vector<std::int32_t> encode_inside(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> ids = tokenizer.encode(text);
  if (ids.empty() || !tokenizer.piece(ids[0]).starts_with(kSpace)) return ids;
  const std::string rest = tokenizer.piece(ids[0]).substr(kSpace.size());
  if (rest.empty()) {
    ids.erase(ids.begin());
  } else if (const std::int32_t id = tokenizer.id_of(rest); id != tokenizer.special().unk) {
    ids[0] = id;
  }
  return ids;
}

}  // namespace

TextVectors embed(const BertImpl& bert, const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                  SentencePooling pooling) {
  const torch::NoGradGuard no_grad;
  std::vector<Sample> samples(texts.size());
  const std::vector<std::int64_t> cut = in_parallel(texts.size(), [&](std::size_t begin, std::size_t end) {
    SampleMaker maker(tokenizer, {.length = bert.config().max_length});
    for (std::size_t i = begin; i < end; ++i) {
      samples[i] = maker.of_text({.first = texts[i]}, static_cast<std::int64_t>(i));
    }
    return maker.num_cut();
  });
  const torch::Device device = bert.parameters().front().device();
  TextVectors result{.vectors = std::vector<std::vector<float>>(texts.size()),
                     .num_cut = std::accumulate(cut.begin(), cut.end(), std::int64_t{0})};
  for (const std::vector<const Sample*>& batch : batches_by_length(samples)) {
    if (signals::stop_requested()) throw Interrupted("stopped before all was read");
    const SegmentedSequences input = on_device(make_labelled_batch(batch, TaskKind::classification), device).input;
    Pass pass = Pass::inference();
    const Layout& layout = input.tokens.layout;
    std::optional<Selection> wanted;
    if (pooling == SentencePooling::cls) wanted = select(first_rows(layout), layout, device);
    const at::Tensor states_KH = bert.forward(input, pass, wanted).to(at::kFloat).cpu();
    const auto& offsets = (wanted ? wanted->layout : layout).offsets;
    for (std::size_t b = 0; b < batch.size(); ++b) {
      result.vectors[batch[b]->example] = mean_of(states_KH, offsets[b], offsets[b + 1]);
    }
  }
  return result;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double product = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    of_a += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    of_b += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return of_a == 0 || of_b == 0 ? 0 : product / std::sqrt(of_a * of_b);
}

std::vector<std::vector<Filling>> fill_masks(const BertForPretrainingImpl& model, const Tokenizer& tokenizer,
                                             const std::string& text, const std::string& place, std::int64_t count) {
  const torch::NoGradGuard no_grad;
  std::vector<std::int64_t> ids = {tokenizer.special().cls}, masked;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(kMask, begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const bool inside = begin > 0 && !part.empty() && part[0] != ' ';
    for (const std::int32_t id : inside ? encode_inside(tokenizer, part) : tokenizer.encode(part)) ids.push_back(id);
    if (end == text.size()) break;
    masked.push_back(std::ssize(ids));
    ids.push_back(tokenizer.special().mask);
    begin = end + kMask.size();
  }
  ids.push_back(tokenizer.special().sep);
  if (masked.empty()) throw UserError(place + ": nothing to fill", "write [MASK] where a word is missing");
  if (std::ssize(ids) > model.bert->config().max_length) {
    throw UserError(place + ": " + std::to_string(ids.size()) + " pieces, the encoder reads " +
                        std::to_string(model.bert->config().max_length),
                    "shorten it");
  }
  const torch::Device device = model.parameters().front().device();
  SegmentedSequences input;
  input.tokens.ids_M = at::tensor(ids, at::kLong).to(device);
  input.tokens.layout = {.offsets = {0, std::ssize(ids)}, .max_length = std::ssize(ids)};
  input.segments_M = at::zeros_like(input.tokens.ids_M);
  Pass pass = Pass::inference();
  const at::Tensor hidden_KH = model.bert->forward(input, pass, select(masked, input.tokens.layout, device));
  const at::Tensor read_KE = model.predictions->transform(hidden_KH);
  const at::Tensor logits_KV = ops::linear(read_KE, model.bert->table(), model.predictions->bias).to(at::kFloat);
  const auto [probabilities, pieces] = at::softmax(logits_KV, 1).topk(std::min(count, logits_KV.size(1)), 1);
  const at::Tensor p = probabilities.cpu().to(at::kDouble), id = pieces.cpu();
  std::vector<std::vector<Filling>> fillings;
  for (std::int64_t k = 0; k < std::ssize(masked); ++k) {
    std::vector<Filling>& filling = fillings.emplace_back();
    for (std::int64_t i = 0; i < p.size(1); ++i) {
      filling.push_back({.word = shown(tokenizer, static_cast<std::int32_t>(id[k][i].item<std::int64_t>())),
                         .probability = p[k][i].item<double>()});
    }
  }
  return fillings;
}

}  // namespace attend
