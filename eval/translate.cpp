#include "eval/translate.hpp"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <exception>

#include "core/error.hpp"
#include "core/process.hpp"
#include "data/batch/batch.hpp"
#include "eval/workers.hpp"
#include "models/attention/edits.hpp"

namespace attend {
namespace {

// Batches per worker in a window: enough for similar lengths, few enough to answer soon.
constexpr std::int64_t kBatchesInWindow = 16;

// Bytes of text after which a window ends, since a few lines may fill the memory.
constexpr std::size_t kBytesInWindow = std::size_t{16} << 20;

// Limit of the source pieces of a batch and of all its hypotheses, as if all sentences were as long as the longest:
// keys and values of each are kept in every layer.
constexpr std::int64_t kPiecesInBatch = 32768;

// For samples to choose from, since those with unlikely tokens are mostly poor (Freitag et al. 2023, arXiv 2305.09860).
constexpr double kEpsilonOfCandidates = 0.02;

using Ids = std::vector<std::int32_t>;

// Replaces the hypotheses of a line by the distinct ones, the highest mean utility first, which becomes their score.
void choose_by_risk(std::vector<Translation>& translations, metrics::Utility utility) {
  std::vector<std::string> texts;
  for (const Translation& translation : translations) texts.push_back(translation.text);
  std::vector<Translation> chosen;
  for (const auto& [first, mean] : metrics::rank_by_utility(texts, utility)) {
    chosen.push_back(std::move(translations[first]));
    chosen.back().hypothesis.score = mean;
  }
  translations = std::move(chosen);
}

std::unique_ptr<const StepModel> make_step_model(const TranslationRequest& request, const Sequences& src,
                                                 std::span<const Sequences> companion_src, Pass& pass) {
  auto first = std::make_unique<EncodedSource>(request.model, src, pass);
  if (request.companions == nullptr) return first;
  const auto& [models, kind, weights] = *request.companions;
  std::vector<Ensemble::Member> members;
  members.push_back({.model = std::move(first), .weight = weights[0]});
  for (std::size_t i = 0; i < models.size(); ++i) {
    members.push_back(
        {.model = std::make_unique<EncodedSource>(*models[i].model, companion_src[i], pass), .weight = weights[i + 1]});
  }
  return std::make_unique<Ensemble>(std::move(members), kind);
}

}  // namespace

void TranslatorConfig::validate(const OptionOrigins& origins) const {
  if (mbr == 1) {
    throw UserError(origins("mbr") + ": 1 hypothesis has no others that it could be like", "give 0, or 2 or more");
  }
  const SearchConfig found = candidates();
  found.validate(origins);
  if (mbr == 0 || found.num_results() == mbr) return;
  const std::string option = found.sample > 0 ? "sample" : "nbest";
  throw UserError(origins("mbr") + ": " + std::to_string(mbr) + " hypotheses, but " + origins(option) + " is " +
                      std::to_string(found.num_results()),
                  "give --" + option + " " + std::to_string(mbr));
}

Facts TranslatorConfig::facts(bool is_reranked) const {
  const SearchConfig found = candidates();
  const bool draws = found.sample > 0;
  const std::string why = !draws              ? "without --sample"
                          : search.sample > 0 ? "--sample is given"
                                              : "--mbr draws samples unless --nbest is above 1";
  const auto results = [&]() -> FactValue {
    if (draws && mbr > 0) return {std::string(kAreAlike), "--mbr over samples"};
    if (draws && !is_reranked) return {std::string(kAreNotRanked), "they are samples"};
    if (found.rows() == 1) return {std::string(kAreNotRanked), "a beam of 1 finds one"};
    return {std::string(kAreRanked)};
  };
  return {{kDecodingBy, {std::string(draws ? kBySampling : kBySearch), why}}, {kResultsThat, results()}};
}

SearchConfig TranslatorConfig::candidates() const {
  SearchConfig found = search;
  if (mbr == 0 || found.sample > 0 || found.nbest > 1) return found;
  found.sample = mbr;
  const bool is_truncated = found.top_k > 0 || found.top_p < 1 || found.min_p > 0;
  if (!found.epsilon && !is_truncated) found.epsilon = kEpsilonOfCandidates;
  return found;
}

std::size_t most_source_pieces(const Seq2SeqImpl& model) {
  const std::optional<std::int64_t> longest = model.longest_source();
  return longest ? std::min(kMostPieces, static_cast<std::size_t>(*longest - 1)) : kMostPieces;
}

std::string CutLines::report(std::size_t pieces) const {
  return count == 1 ? fmt::format("line {} was cut to {} pieces", first, pieces)
                    : fmt::format("{} lines were cut to {} pieces, the first is line {}", count, pieces, first);
}

Translator::Translator(const Seq2SeqImpl& model, TokenizerPair tokenizers, const TranslatorConfig& config,
                       WorkProgress* progress)
    : model_(model),
      tokenizers_(std::move(tokenizers)),
      config_(config),
      num_results_(config.mbr > 0 ? 1 : config.search.num_results()),
      most_pieces_(most_source_pieces(model)),
      progress_(progress) {
  config_.search = config.candidates();
}

void Translator::add_models(Companions companions) {
  for (const Companions::Model& companion : companions.models) {
    most_pieces_ = std::min(most_pieces_, most_source_pieces(*companion.model));
  }
  companions_ = std::move(companions);
}

void Translator::rescore_with(Rescore rescore) {
  num_results_ = config_.search.nbest;
  config_.search.nbest = config_.search.beam;
  rescore_ = std::move(rescore);
}

Sequences Translator::encode_for(const Companions::Model& companion, const std::vector<std::string>& lines,
                                 const std::vector<std::size_t>& chosen) const {
  std::vector<Ids> encoded;
  for (const std::size_t i : chosen) {
    encoded.push_back(companion.src.encode_beginning(lines[i], most_pieces_).ids);
  }
  return on_device(concatenate({encoded.begin(), encoded.end()}, -1, companion.src.special().eos),
                   companion.model->device());
}

void Translator::warn_of_cut() const {
  if (cut_.count > 0) log::warn("{}", cut_.report(most_pieces_));
}

std::vector<std::vector<Hypothesis>> translate(const TranslationRequest& request, const Sequences& src,
                                               std::span<const std::int64_t> lines,
                                               std::span<const Sequences> companion_src) {
  if (src.layout.size() == 0) return {};
  const c10::InferenceMode inference;
  const CutWeights cut(request.config.attention_threshold);
  Pass pass = Pass::inference();
  pass.edit_attention(request.edit != nullptr ? *request.edit : cut);
  std::vector<Wanted> wanted;
  for (std::int64_t b = 0; b < src.layout.size(); ++b) {
    const std::int64_t length = src.layout.length(b);
    wanted.push_back(
        {.longest = request.config.longest(length), .line = lines.empty() ? b : lines[b], .src_length = length});
    if (request.asked != nullptr) request.asked->add_to(wanted.back());
  }
  const auto model = make_step_model(request, src, companion_src, pass);
  return search({.model = *model, .wanted = wanted, .ids = request.ids, .config = request.config}, pass);
}

std::vector<std::vector<Translation>> Translator::translate(const std::vector<std::string>& lines) {
  std::vector<Ids> encoded;
  const std::int64_t first_line = num_lines_;
  std::int64_t num_blank = 0;
  for (const std::string& line : lines) {
    auto [ids, is_cut] = tokenizers_.src.encode_beginning(line, most_pieces_);
    encoded.push_back(std::move(ids));
    ++num_lines_;
    if (is_cut) cut_.add(num_lines_);
    if (encoded.back().empty()) ++num_blank;
    if (asked_ != nullptr) {
      const std::int64_t length = std::ssize(encoded.back());
      asked_->check(num_lines_ - 1, length == 0 ? 0 : config_.search.longest(length + 1));
    }
  }
  if (progress_ != nullptr && num_blank > 0) progress_->add(num_blank);
  std::vector<std::vector<Translation>> results(lines.size(), std::vector<Translation>(1));
  const TranslationRequest request{.model = model_,
                                   .ids = TargetIds::of(tokenizers_.tgt.special()),
                                   .config = config_.search,
                                   .asked = asked_,
                                   .companions = companions_ ? &*companions_ : nullptr,
                                   .edit = config_.edit};
  std::vector<std::int64_t> lengths;
  for (const Ids& ids : encoded) lengths.push_back(std::ssize(ids));
  auto batches = batches_of_lengths(lengths, config_.batch_size, kPiecesInBatch, [&](std::size_t first) {
    return lengths[first] + config_.search.rows() * config_.search.longest(lengths[first]);
  });
  for (auto& batch : batches) std::erase_if(batch, [&](std::size_t i) { return encoded[i].empty(); });
  std::erase_if(batches, [](const auto& batch) { return batch.empty(); });
  run_workers(batches.size(), num_workers(config_.workers), config_.threads, [&](std::size_t b) {
    IdSpans sentences;
    std::vector<std::int64_t> numbers;
    for (const std::size_t i : batches[b]) {
      sentences.emplace_back(encoded[i]);
      numbers.push_back(first_line + i);
    }
    Sequences src = concatenate(sentences, -1, tokenizers_.src.special().eos);
    std::vector<Sequences> companion_src;
    if (companions_) {
      for (const auto& companion : companions_->models) {
        companion_src.push_back(encode_for(companion, lines, batches[b]));
      }
    }
    auto found = attend::translate(request, on_device(std::move(src), model_.device()), numbers, companion_src);
    for (std::size_t s = 0; s < sentences.size(); ++s) {
      std::vector<Translation>& result = results[batches[b][s]];
      result.clear();
      for (Hypothesis& hypothesis : found[s]) {
        std::string text = tokenizers_.tgt.decode(hypothesis.ids);
        result.push_back({.text = std::move(text), .hypothesis = std::move(hypothesis)});
      }
      if (config_.mbr > 0) choose_by_risk(result, config_.utility);
    }
    if (progress_ != nullptr) progress_->add(std::ssize(sentences));
  });
  if (rescore_) rescore_(lines, results);
  if (rescore_ || config_.mbr > 0) {
    for (std::vector<Translation>& result : results) {
      if (std::ssize(result) > num_results_) result.resize(num_results_);
    }
  }
  return results;
}

void Translator::translate_stream(const std::function<bool(std::string&)>& next,
                                  const std::function<void(std::vector<Translation>&)>& emit, bool at_once) {
  const std::int64_t window = at_once ? 1 : config_.batch_size * num_workers(config_.workers) * kBatchesInWindow;
  std::vector<std::string> lines;
  std::string line;
  bool more = true;
  while (more) {
    lines.clear();
    std::size_t bytes = 0;
    std::exception_ptr broken;  // the lines before the failure are translated first
    try {
      while (std::ssize(lines) < window && bytes < kBytesInWindow && (more = next(line))) {
        bytes += line.size();
        lines.push_back(line);
      }
    } catch (const UserError&) {
      broken = std::current_exception();
    }
    for (auto& translations : translate(lines)) emit(translations);
    if (broken) std::rethrow_exception(broken);
    if (more) signals::throw_if_stopped("translation was interrupted");
  }
}

}  // namespace attend
