#include "data/corpus/parallel_corpus.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/random.hpp"

namespace attend {

// One pair: the index of its first id. The ids of src and of tgt follow each other.
struct EncodedCorpus::Record {
  std::uint64_t begin;
  std::uint32_t line;
  PairLength length;
};

struct EncodedCorpus::Summary {
  std::uint64_t num_tgt_tokens = 0;
  ParallelCounts counts = {};
};

namespace {

template <class Record, class Summary>
void encode_to(IdCache::Writer& cache, const CorpusSource& source, const CorpusConfig& config) {
  ParallelReader reader(source.src_file, source.tgt_file);
  Summary summary;
  std::uint64_t too_long = 0;
  std::uint64_t empty = 0;
  std::uint64_t num_ids = 0;
  const std::size_t max_length = config.max_length;
  const auto make_encoder = [&source] {
    return [&source](const TextPair& pair) {
      return PairIds{.src = source.src_tokenizer.encode(pair.src), .tgt = source.tgt_tokenizer.encode(pair.tgt)};
    };
  };
  encode_in_order<TextPair>(reader, source.src_file, make_encoder, [&](const TextPair& pair, const PairIds& encoded) {
    const std::vector<std::int32_t>&src = encoded.src, &tgt = encoded.tgt;
    if (src.empty() || tgt.empty()) {
      ++empty;
      return;
    }
    if (std::max(src.size(), tgt.size()) > max_length) {
      ++too_long;
      return;
    }
    cache.add_record(
        Record{.begin = num_ids, .line = static_cast<std::uint32_t>(pair.line), .length = encoded.length()});
    for (const auto* ids : {&src, &tgt}) {
      cache.add_ids(*ids);
      num_ids += ids->size();
    }
    summary.num_tgt_tokens += tgt.size();
  });
  summary.counts = reader.counts();
  summary.counts.empty += empty;
  summary.counts.too_long += too_long;
  if (num_ids == 0) {
    throw UserError(source.src_file + ": no pairs left to train on (" + summary.counts.report() + ")",
                    "check the text and --max-length");
  }
  cache.set_summary(summary);
}

}  // namespace

EncodedCorpus EncodedCorpus::open(const CorpusSource& source, const CorpusConfig& config,
                                  const std::filesystem::path& cache) {
  // Before anything is hashed.
  const ParallelReader refuses_what_cannot_be_read(source.src_file, source.tgt_file);
  return {IdCache::open({source.src_file, source.tgt_file},
                        "parallel " + source.src_tokenizer.hash() + source.tgt_tokenizer.hash() +
                            std::to_string(config.max_length) + (source.tgt_tokenizer.is_reversed() ? " reversed" : ""),
                        {.vocabulary = std::max(source.src_tokenizer.size(), source.tgt_tokenizer.size()),
                         .record_bytes = sizeof(Record),
                         .summary_bytes = sizeof(Summary)},
                        cache, [&](IdCache::Writer& writer) { encode_to<Record, Summary>(writer, source, config); }),
          source};
}

EncodedCorpus::EncodedCorpus(IdCache cache, const CorpusSource& source)
    : cache_(std::move(cache)),
      src_vocabulary_(source.src_tokenizer.size()),
      tgt_vocabulary_(source.tgt_tokenizer.size()) {}

const EncodedCorpus::Record& EncodedCorpus::record(std::int64_t example) const {
  ensure(example >= 0 && example < size(), "the example is in the corpus");
  return cache_.records<Record>()[example];
}

const EncodedCorpus::Summary& EncodedCorpus::summary() const { return cache_.summary<Summary>(); }

std::int64_t EncodedCorpus::size() const { return cache_.records<Record>().size(); }
PairLength EncodedCorpus::length(std::int64_t example) const { return record(example).length; }
std::uint64_t EncodedCorpus::line(std::int64_t example) const { return record(example).line; }

PairIds EncodedCorpus::pair(std::int64_t example) const {
  const auto& [begin, line, length] = record(example);
  PairIds ids;
  cache_.append(begin, length.src, src_vocabulary_, ids.src);
  cache_.append(begin + length.src, length.tgt, tgt_vocabulary_, ids.tgt);
  return ids;
}

const ParallelCounts& EncodedCorpus::counts() const { return summary().counts; }
std::uint64_t EncodedCorpus::num_tgt_tokens() const { return summary().num_tgt_tokens; }

SampledPairs::SampledPairs(const EncodedCorpus& corpus, const TokenizerPair& tokenizers, const SamplingConfig& config,
                           std::uint64_t seed, std::int64_t longest)
    : corpus_(&corpus),
      src_(make_piece_sampler(config, tokenizers.src)),
      tgt_(make_piece_sampler(config, tokenizers.tgt)),
      seed_(seed),
      longest_(longest) {}

PairIds SampledPairs::pair(std::int64_t example, std::int64_t epoch) const {
  const auto sample = [&](const PieceSampler& sampler, int side, const std::vector<std::int32_t>& ids) {
    RandomStream random(combine_keys(seed_, epoch, corpus_->line(example), side));
    std::vector<std::int32_t> sampled = sampler.sample(ids, random);
    if (sampled.size() > longest_) return ids;
    return sampled;
  };
  const PairIds own = corpus_->pair(example);
  return {.src = sample(*src_, 0, own.src), .tgt = sample(*tgt_, 1, own.tgt)};
}

double SampledPairs::growth() const {
  const auto longer = [](PairLength length) { return std::max(length.src, length.tgt) + 1; };
  const std::vector<PairLength> sampled = lengths(0, std::min<std::int64_t>(corpus_->size(), 10'000));
  double usual = 0, own = 0;
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    usual += longer(corpus_->length(i));
    own += longer(sampled[i]);
  }
  return own / usual;
}

std::vector<PairLength> SampledPairs::lengths(std::int64_t epoch, std::int64_t count) const {
  std::vector<PairLength> lengths(count);
  in_parallel(lengths.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (stopping_ || signals::stop_requested()) throw Interrupted("stopped while sampling pieces");
      lengths[i] = pair(i, epoch).length();
    }
  });
  return lengths;
}

}  // namespace attend
