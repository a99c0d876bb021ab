#include "data/batch/pretraining_data.hpp"

#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/random.hpp"
#include "data/corpus/permutation.hpp"

namespace attend {

PretrainingData::PretrainingData(const DocumentCorpus& corpus, const Tokenizer& tokenizer,
                                 const InstanceConfig& instances, const MaskingConfig& masking, std::int64_t max_tokens,
                                 std::uint64_t seed, PretrainingKind objective)
    : corpus_(corpus),
      vocabulary_(tokenizer),
      instance_config_(instances),
      masking_(masking),
      max_tokens_(max_tokens),
      seed_(seed),
      objective_(objective) {
  if (instances.length > max_tokens) {
    throw UserError("--max-tokens " + std::to_string(max_tokens) + " is too small for a sequence of --length " +
                        std::to_string(instances.length),
                    "raise --max-tokens or lower --length");
  }
  begin_epoch(0);
}

std::int64_t PretrainingData::tokens_of(const Instance& instance) const {
  return instance.first.count + 2 + (instance.second.count > 0 ? instance.second.count + 1 : 0);
}

std::int64_t PretrainingData::begin_epoch(std::int64_t epoch) {
  if (epoch == epoch_) return num_batches();
  epoch_ = epoch;
  // With a fixed number of maskings, those of the first epochs are repeated.
  const std::int64_t copy = masking_.duplicates ? epoch % *masking_.duplicates : epoch;
  instances_ = make_instances(corpus_, instance_config_, seed_, copy);
  ensure(instances_.size() < std::numeric_limits<std::uint32_t>::max(), "instances are numbered with 32 bits");
  order_.resize(instances_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  RandomStream random(combine_keys(seed_, epoch, 0x0a7c));
  shuffle(order_, random);
  begins_ = {0};
  std::int64_t tokens = 0;
  for (std::uint32_t i = 0; i < order_.size(); ++i) {
    tokens += tokens_of(instances_[order_[i]]);
    if (tokens <= max_tokens_) continue;
    begins_.push_back(i);
    tokens = tokens_of(instances_[order_[i]]);
  }
  begins_.push_back(static_cast<std::uint32_t>(order_.size()));
  return num_batches();
}

std::vector<MaskedToken> PretrainingData::predicted(std::span<std::int32_t> ids, RandomStream random,
                                                    std::vector<std::int64_t>& ranks) const {
  if (objective_ == PretrainingKind::masked) return mask_tokens(ids, vocabulary_, masking_, random);
  DrawnOrder drawn = draw_order(ids, vocabulary_, random);
  ranks.insert(ranks.end(), drawn.ranks.begin(), drawn.ranks.end());
  return std::move(drawn.predicted);
}

PretrainingBatch PretrainingData::batch(std::int64_t number) const {
  ensure(number >= 0 && number < num_batches(), "the batch is in the epoch");
  const std::int64_t copy = masking_.duplicates ? epoch_ % *masking_.duplicates : epoch_;
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> segments, labels, relations, ranks;
  PretrainingBatch batch;
  Layout& layout = batch.input.tokens.layout;
  for (std::uint32_t i = begins_[number]; i < begins_[number + 1]; ++i) {
    const Instance& instance = instances_[order_[i]];
    const std::size_t begin = ids.size();
    ids.push_back(vocabulary_.cls);
    corpus_.append(instance.first.begin, instance.first.count, ids);
    ids.push_back(vocabulary_.sep);
    segments.resize(ids.size(), 0);
    if (instance.second.count > 0) {
      corpus_.append(instance.second.begin, instance.second.count, ids);
      ids.push_back(vocabulary_.sep);
      segments.resize(ids.size(), 1);
    }
    const RandomStream random(combine_keys(seed_, copy, order_[i], 0x3a5c));
    for (const MaskedToken& token : predicted(std::span(ids).subspan(begin), random, ranks)) {
      batch.masked.push_back(static_cast<std::int64_t>(begin + token.place));
      labels.push_back(token.label);
    }
    relations.push_back(instance.relation);
    batch.lines.push_back(static_cast<std::int64_t>(corpus_.line_of_token(instance.first.begin)));
    layout.append(static_cast<std::int64_t>(ids.size() - begin));
  }
  batch.input.tokens.ids_M = torch::tensor(ids, torch::kLong);
  batch.input.segments_M = torch::tensor(segments, torch::kLong);
  batch.labels_K = torch::tensor(labels, torch::kLong);
  if (instance_config_.sequence_objective != SequenceObjective::none)
    batch.relations_B = torch::tensor(relations, torch::kLong);
  if (objective_ == PretrainingKind::permuted) batch.ranks_M = torch::tensor(ranks, torch::kLong);
  return batch;
}

}  // namespace attend
