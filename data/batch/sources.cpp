#include "data/batch/sources.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/random.hpp"

namespace attend {

Batch make_batch(const EncodedCorpus& corpus, std::span<const std::uint32_t> examples, const BatchIds& ids,
                 const SampledPairs* sampled, std::int64_t epoch) {
  std::vector<PairIds> pairs;
  for (const auto example : examples) {
    pairs.push_back(sampled != nullptr ? sampled->pair(example, epoch) : corpus.pair(example));
  }
  IdSpans src, tgt;
  for (const PairIds& pair : pairs) {
    src.emplace_back(pair.src);
    tgt.emplace_back(pair.tgt);
  }
  Batch batch = batch_of_pairs(src, tgt, ids);
  batch.examples.assign(examples.begin(), examples.end());
  return batch;
}

CausalData::CausalData(const DocumentCorpus& corpus, std::int32_t end, const CausalDataConfig& config)
    : corpus_(corpus), end_(end), config_(config), rows_(config.max_tokens / config.length) {
  ensure(end >= 0, "the tokenizer has an end token");
  if (rows_ == 0) {
    throw UserError("--max-tokens " + std::to_string(config.max_tokens) + " is too small for a segment of --length " +
                        std::to_string(config.length),
                    "raise --max-tokens or lower --length");
  }
  begin_epoch(0);
  if (config.lanes == 0 || segments_of_share() > 0) return;
  const std::string of_update = config.lanes > 1 ? ", --accumulate " + std::to_string(config.lanes) + " times" : "";
  throw UserError(corpus.name() + ": " + std::to_string(stream_length()) + " tokens, too few for a batch of " +
                      std::to_string(rows_) + " segments of " + std::to_string(config.length) + of_update,
                  config.lanes > 1 ? "lower --max-tokens, --accumulate or --length, or give more text"
                                   : "lower --max-tokens or --length, or give more text");
}

std::int64_t CausalData::begin_epoch(std::int64_t epoch) {
  if (epoch == epoch_) return num_batches();
  epoch_ = epoch;
  ensure(corpus_.num_documents() < std::numeric_limits<std::uint32_t>::max(), "documents are numbered with 32 bits");
  RandomStream random(combine_keys(config_.seed.value_or(0), epoch, 0xca05));
  documents_.resize(corpus_.num_documents());
  std::iota(documents_.begin(), documents_.end(), 0u);
  if (config_.seed) shuffle(documents_, random);
  begins_ = {0};
  for (const std::int64_t document : documents_) {
    begins_.push_back(begins_.back() + 1 + first_token(document + 1) - first_token(document));
  }
  if (config_.lanes > 0) return num_batches();
  ensure(segments_of_stream() < std::numeric_limits<std::uint32_t>::max(), "segments are numbered with 32 bits");
  segments_.resize(segments_of_stream());
  std::iota(segments_.begin(), segments_.end(), 0u);
  if (config_.seed) shuffle(segments_, random);
  return num_batches();
}

std::int64_t CausalData::num_batches() const {
  return config_.lanes > 0 ? config_.lanes * segments_of_share() : (segments_of_stream() + rows_ - 1) / rows_;
}

std::vector<std::int64_t> CausalData::places(std::int64_t number) const {
  std::vector<std::int64_t> places;
  if (config_.lanes > 0) {
    const std::int64_t lane = number % config_.lanes, position = number / config_.lanes;
    for (std::int64_t row = lane * rows_; row < (lane + 1) * rows_; ++row) {
      places.push_back((row * segments_of_share() + position) * config_.length);
    }
  } else {
    for (std::int64_t i = number * rows_; i < std::min((number + 1) * rows_, segments_of_stream()); ++i) {
      places.push_back(segments_[i] * config_.length);
    }
  }
  return places;
}

LanguageBatch CausalData::batch(std::int64_t number) const {
  ensure(number >= 0 && number < num_batches(), "the batch is in the epoch");
  LanguageBatch batch;
  if (config_.lanes > 0) {
    batch.lane = number % config_.lanes;
    batch.begins = number < config_.lanes;
  }
  std::vector<std::int32_t> ids, labels, segment;
  const std::vector<std::int64_t> all = places(number);
  const std::span causal = std::span(all).first(std::min(all.size(), static_cast<std::size_t>(num_causal(number))));
  for (const std::int64_t place : causal) {
    const std::int64_t count = std::min(config_.length, stream_length() - place);
    segment.clear();
    append(place, count + 1, segment);
    ids.insert(ids.end(), segment.begin(), segment.end() - 1);
    labels.insert(labels.end(), segment.begin() + 1, segment.end());
    batch.tokens.layout.append(count);
  }
  for (const std::int64_t place : all) {
    const std::int64_t d = document_at(place);
    const std::int64_t token = first_token(documents_[d]) + std::max<std::int64_t>(place - begins_[d], 1) - 1;
    batch.lines.push_back(corpus_.line_of_token(token));
  }
  batch.tokens.ids_M = torch::tensor(ids, torch::kLong);
  batch.labels_M = torch::tensor(labels, torch::kLong);
  if (config_.hybrid) batch.masked = masked(std::span(all).subspan(causal.size()));
  return batch;
}

std::int64_t CausalData::num_causal(std::int64_t number) const {
  if (!config_.hybrid) return rows_;
  const auto until = [&](std::int64_t batches) {
    return std::llround(config_.hybrid->causal_share * static_cast<double>(batches * rows_));
  };
  return until(number + 1) - until(number);
}

PretrainingBatch CausalData::masked(std::span<const std::int64_t> places) const {
  const MaskVocabulary& vocabulary = config_.hybrid->vocabulary;
  PretrainingBatch batch;
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> labels;
  for (const std::int64_t place : places) {
    const std::size_t begin = ids.size();
    ids.push_back(vocabulary.cls);
    append(place, std::min(config_.length - 2, stream_length() - place), ids);
    std::ranges::replace(std::span(ids).subspan(begin), end_, vocabulary.sep);
    ids.push_back(vocabulary.sep);
    const std::span sequence = std::span(ids).subspan(begin);
    const RandomStream random(
        combine_keys(config_.seed.value_or(0), epoch_, static_cast<std::uint64_t>(place / config_.length), 0x3a5c));
    for (const MaskedToken& token : mask_tokens(sequence, vocabulary, config_.hybrid->masking, random)) {
      batch.masked.push_back(static_cast<std::int64_t>(begin + token.place));
      labels.push_back(token.label);
    }
    batch.input.tokens.layout.append(std::ssize(sequence));
  }
  batch.input.tokens.ids_M = torch::tensor(ids, torch::kLong);
  batch.labels_K = torch::tensor(labels, torch::kLong);
  return batch;
}

std::int64_t CausalData::document_at(std::int64_t place) const {
  return std::ranges::upper_bound(begins_, place) - begins_.begin() - 1;
}

std::int64_t CausalData::first_token(std::int64_t document) const {
  return corpus_.begin(corpus_.first_sentence(document));
}

void CausalData::append(std::int64_t place, std::int64_t count, std::vector<std::int32_t>& ids) const {
  for (std::int64_t d = document_at(place); count > 0; ++d) {
    if (place == begins_[d]) {
      ids.push_back(end_);
      ++place, --count;
    }
    if (count == 0) break;
    const std::int64_t here = std::min(count, begins_[d + 1] - place);
    corpus_.append(first_token(documents_[d]) + place - begins_[d] - 1, here, ids);
    place += here, count -= here;
  }
}

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
  instances_ = make_instances(corpus_, instance_config_, seed_, epoch);
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
    const RandomStream random(combine_keys(seed_, epoch_, order_[i], 0x3a5c));
    for (const MaskedToken& token : predicted(std::span(ids).subspan(begin), random, ranks)) {
      batch.masked.push_back(begin + token.place);
      labels.push_back(token.label);
    }
    relations.push_back(instance.relation);
    batch.lines.push_back(corpus_.line_of_token(instance.first.begin));
    layout.append(ids.size() - begin);
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
