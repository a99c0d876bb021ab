#include "analysis/linear_probe.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <unordered_map>

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/random.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/ops.hpp"
#include "train/optimiser.hpp"

namespace attend {

void train_with_early_stopping(const torch::nn::Module& module, const EarlyStopping& how) {
  ensure(how.items > 0 && how.batch > 0, "there is something to learn from");
  Optimiser optimiser(module, {.beta2 = 0.999, .epsilon = {}, .clip_norm = 0});
  const std::vector<torch::Tensor> weights = module.parameters();
  std::vector<torch::Tensor> best;
  std::vector<std::int64_t> order(how.items);
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(how.seed);
  double rate = how.learning_rate, least = std::numeric_limits<double>::infinity();
  for (int epoch = 0, without_gain = 0; epoch < EarlyStopping::kMostEpochs; ++epoch) {
    signals::throw_if_stopped("the probes were interrupted");
    shuffle(order, random);
    for (std::size_t begin = 0; begin < order.size(); begin += how.batch) {
      const std::size_t count = std::min(order.size() - begin, static_cast<std::size_t>(how.batch));
      how.loss(std::span(order).subspan(begin, count)).backward();
      optimiser.step(rate, /*norm=*/0);  // nothing is clipped
    }
    const torch::NoGradGuard no_grad;
    const double loss = how.held_out_loss();
    if (best.empty() || loss < least) {
      least = loss;
      without_gain = 0;
      best.clear();
      for (const torch::Tensor& weight : weights) best.push_back(weight.clone());
    } else {
      rate /= 2;
      if (++without_gain == EarlyStopping::kPatience) break;
    }
  }
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i].copy_(best[i]);
}

using torch::Tensor;

namespace {

constexpr std::uint64_t kControlStream = 0x636f6e74, kCodeStream = 0x636f6465, kOrderStream = 0x6f726472;

// The vectors and labels of the words of a task, as tensors.
struct LabelledVectors {
  Tensor x_KH;
  Tensor labels_K;  // int64
  std::int64_t held_out = 0, test = 0;
  std::int64_t num_labels = 0;
};

LabelledVectors labelled_vectors(const Tensor& x_WH, const WordLabels& words) {
  ensure(words.suffice(), "every part has words");
  const std::int64_t held_out = words.held_out;
  const Tensor x_KH = x_WH.index_select(0, ops::to_tensor(words.words, x_WH));
  const Tensor fitted_KH = x_KH.narrow(0, 0, held_out);
  const Tensor deviation_H = fitted_KH.std(0, /*unbiased=*/false).clamp_min(1e-6);
  return {.x_KH = (x_KH - fitted_KH.mean(0)) / deviation_H,
          .labels_K = ops::to_tensor(words.labels, x_WH),
          .held_out = held_out,
          .test = static_cast<std::int64_t>(words.test),
          .num_labels = std::ssize(words.names)};
}

Linear trained_probe(const LabelledVectors& words, const std::vector<std::int64_t>& fitted, std::uint64_t seed) {
  const std::int64_t width = words.x_KH.size(1), count = std::ssize(fitted);
  Linear probe(LinearConfig{.in = width, .out = words.num_labels});
  for (const Tensor& parameter : probe->parameters()) parameter.detach().zero_();
  const auto loss_of = [&](const Tensor& x_KH, const Tensor& labels_K) {
    return at::cross_entropy_loss(probe->forward(x_KH), labels_K);
  };
  const auto held_out = [&](const Tensor& all) { return all.slice(0, words.held_out, words.test); };
  // A step of Adam changes a logit of H columns of variance 1 by at most about H times the rate.
  train_with_early_stopping(
      *probe,
      {.items = count,
       .batch = std::clamp<std::int64_t>(count / 16, 16, 512),
       .learning_rate = std::min(0.02, 1 / static_cast<double>(width)),
       .seed = combine_keys(seed, kOrderStream),
       .loss =
           [&](std::span<const std::int64_t> items) {
             std::vector<std::int64_t> rows;
             for (const std::int64_t item : items) rows.push_back(fitted[item]);
             const Tensor index = ops::to_tensor(rows, words.x_KH);
             return loss_of(words.x_KH.index_select(0, index), words.labels_K.index_select(0, index));
           },
       .held_out_loss = [&] { return loss_of(held_out(words.x_KH), held_out(words.labels_K)).item<double>(); }});
  return probe;
}

std::vector<std::int64_t> rows_up_to(std::int64_t count) {
  std::vector<std::int64_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

}  // namespace

ProbeSplit ProbeSplit::of(std::size_t sentences) {
  const std::size_t test = sentences * 4 / 5;
  return {.held_out = test - (test + 9) / 10, .test = test, .end = sentences};
}

WordLabels label_words(std::span<const TreeSentence> sentences, const ProbeSplit& split,
                       const std::function<std::string(const TreeWord&)>& label) {
  WordLabels result;
  std::unordered_map<std::string, std::int64_t> label_numbers, type_numbers;
  std::int64_t row = 0;
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    if (s == split.held_out) result.held_out = result.words.size();
    if (s == split.test) result.test = result.words.size();
    for (const TreeWord& word : sentences[s].words) {
      const std::int64_t its_row = row++;
      const std::string name = label(word);
      if (name.empty()) continue;
      if (s < split.test && label_numbers.try_emplace(name, std::ssize(result.names)).second) {
        result.names.push_back(name);
      }
      const auto known = label_numbers.find(name);
      result.words.push_back(its_row);
      result.labels.push_back(known == label_numbers.end() ? -1 : known->second);
      result.types.push_back(type_numbers.try_emplace(word.form, std::ssize(type_numbers)).first->second);
    }
  }
  return result;
}

WordLabels control_labels(const WordLabels& words, std::uint64_t seed) {
  ensure(words.test > 0, "there are labels to draw from");
  WordLabels control = words;
  for (std::size_t i = 0; i < words.labels.size(); ++i) {
    RandomStream random(combine_keys(seed, kControlStream, words.types[i]));
    control.labels[i] = words.labels[random.below(words.test)];
  }
  return control;
}

FrequentLabel most_frequent_label(const WordLabels& words) {
  ensure(words.suffice(), "every part has words");
  std::vector<std::int64_t> counts(words.names.size());
  for (std::size_t i = 0; i < words.test; ++i) ++counts[words.labels[i]];
  const auto most = std::ranges::max_element(counts) - counts.begin();
  const auto right =
      std::ranges::count(words.labels.begin() + words.test, words.labels.end(), static_cast<std::int64_t>(most));
  return {.name = words.names[most],
          .accuracy = static_cast<double>(right) / static_cast<double>(words.labels.size() - words.test)};
}

double linear_probe_accuracy(const Tensor& x_WH, const WordLabels& words, std::uint64_t seed) {
  const LabelledVectors vectors = labelled_vectors(x_WH, words);
  const Linear probe = trained_probe(vectors, rows_up_to(vectors.held_out), seed);
  const torch::NoGradGuard no_grad;
  const Tensor found_K = probe->forward(vectors.x_KH.slice(0, vectors.test)).argmax(1);
  return found_K.eq(vectors.labels_K.slice(0, vectors.test)).to(at::kDouble).mean().item<double>();
}

std::vector<std::int64_t> online_code_blocks(std::int64_t n) {
  std::vector<std::int64_t> ends;
  for (const std::int64_t share : {10, 20, 40, 80, 160, 320, 625, 1250, 2500, 5000, 10000}) {
    const std::int64_t end = (n * share + 9999) / 10000;
    if (ends.empty() || end > ends.back()) ends.push_back(end);
  }
  return ends;
}

DescriptionLength online_code(const Tensor& x_WH, const WordLabels& words, std::uint64_t seed) {
  const LabelledVectors vectors = labelled_vectors(x_WH, words);
  std::vector<std::int64_t> order = rows_up_to(vectors.held_out);
  RandomStream random(combine_keys(seed, kCodeStream));
  shuffle(order, random);
  const std::vector<std::int64_t> ends = online_code_blocks(vectors.held_out);
  const double bits_of_word = std::log2(static_cast<double>(vectors.num_labels));
  DescriptionLength length{.bits = static_cast<double>(ends.front()) * bits_of_word,
                           .uniform_bits = static_cast<double>(vectors.held_out) * bits_of_word};
  for (std::size_t block = 0; block + 1 < ends.size(); ++block) {
    const std::vector<std::int64_t> sent(order.begin(), order.begin() + ends[block]);
    const Linear probe = trained_probe(vectors, sent, seed);
    const torch::NoGradGuard no_grad;
    const Tensor next_K = ops::to_tensor(
        std::vector<std::int64_t>(order.begin() + ends[block], order.begin() + ends[block + 1]), vectors.x_KH);
    const Tensor nats = at::cross_entropy_loss(probe->forward(vectors.x_KH.index_select(0, next_K)),
                                               vectors.labels_K.index_select(0, next_K), {}, at::Reduction::Sum);
    length.bits += nats.item<double>() / std::numbers::ln2;
  }
  return length;
}

}  // namespace attend
