#include "eval/embed.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "core/error.hpp"
#include "core/freed_memory.hpp"
#include "core/parallel.hpp"
#include "core/signals.hpp"
#include "data/batch/labelled_batch.hpp"
#include "models/layers/pass.hpp"

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
          .longest = bert->config().max_length,
          .device = bert->parameters().front().device()};
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
      samples[i] = maker.of_text({.first = texts[i]}, static_cast<std::int64_t>(i));
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
  double product = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    of_a += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    of_b += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return of_a == 0 || of_b == 0 ? 0 : product / std::sqrt(of_a * of_b);
}

}  // namespace attend
