#include "eval/postprocess.hpp"

#include <algorithm>
#include <functional>
#include <span>

#include "core/error.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

// A blank line is not searched and has nothing to rescore.
bool is_of_blank(const Translation& translation) { return translation.hypothesis.token_log_probs.empty(); }

}  // namespace

void rerank(const TranslationRun& run, const RerankConfig& config, const ScoreConfig& scoring,
            const std::vector<std::string>& lines, std::vector<std::vector<Translation>>& translations) {
  std::vector<std::string> sources, targets;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const Translation& translation : translations[i]) {
      if (is_of_blank(translation)) continue;
      sources.push_back(lines[i]);
      targets.push_back(translation.text);
    }
  }
  if (config.rerank_direction == RerankDirection::reverse) std::swap(sources, targets);
  const std::vector<TextScore> scores = score(run, sources, targets, scoring);
  auto next = scores.begin();
  for (std::vector<Translation>& of_line : translations) {
    for (Translation& translation : of_line) {
      if (is_of_blank(translation)) continue;
      const double by_piece = next->log_prob() / static_cast<double>(next->pieces.size());
      translation.hypothesis.score += config.rerank_weight * by_piece;
      ++next;
    }
    std::ranges::stable_sort(of_line, std::greater(),
                             [](const Translation& translation) { return translation.hypothesis.score; });
  }
}

namespace {

// The text of a source word, given by its pieces, without attached punctuation.
std::string text_of_word(const PiecePair& pair, const std::vector<std::int64_t>& pieces) {
  const std::size_t begin = pair.source_pieces[pieces.front()].begin;
  return trimmed(pair.source.substr(begin, pair.source_pieces[pieces.back()].end - begin));
}

}  // namespace

UnknownWords::UnknownWords(const TranslationRun& trained, const std::string& run, const std::string& dictionary,
                           const PairAttentionOptions& options)
    : tokenizers_(trained.tokenizers),
      pairs_(trained, options, [this](const PiecePair& pair, const SentenceAttention& attention) {
        waiting_.front()->text = replaced(pair, attention);
        waiting_.pop_front();
      }) {
  if (num_cross_layers(trained) == 0) {
    throw UserError(run + ": its decoder has no attention to the source", "leave --replace-unknown out");
  }
  if (dictionary.empty()) return;
  LineReader reader(dictionary);
  for (std::string line; reader.next(line);) {
    auto [source, target] = two_texts(line, reader.place(), "write \"source<TAB>target\"");
    dictionary_.emplace(trimmed(source), trimmed(target));
  }
}

void UnknownWords::replace(const std::string& line, std::vector<Translation>& translations) {
  for (Translation& translation : translations) {
    const auto& ids = translation.hypothesis.ids;
    if (std::ranges::find(ids, tokenizers_.tgt.special().unk) == ids.end()) continue;
    waiting_.push_back(&translation);
    pairs_.add(pair_in_pieces(tokenizers_, line, translation));
  }
  if (!waiting_.empty()) pairs_.finish();
}

std::string UnknownWords::word_for(const PiecePair& pair, const torch::Tensor& weights_S) const {
  const auto weights = weights_S.accessor<float, 1>();
  std::string word;
  double most = 0;
  for (const std::vector<std::int64_t>& pieces : source_words(pair)) {
    double sum = 0;
    for (const std::int64_t s : pieces) sum += weights[s];
    if (pieces.empty() || sum <= most) continue;
    most = sum;
    word = text_of_word(pair, pieces);
  }
  const auto found = dictionary_.find(word);
  return found == dictionary_.end() ? word : found->second;
}

std::string UnknownWords::replaced(const PiecePair& pair, const SentenceAttention& attention) const {
  if (attention.layers.empty()) return pair.target;
  const torch::Tensor weights_TS = attention.layers.back().weights.mean(0);
  std::string text;
  const auto append = [&](const std::string& part) {
    if (!text.empty() && !part.empty()) text += ' ';
    text += part;
  };
  const std::span ids(pair.target_ids);
  std::size_t begin = 0;  // of the known pieces that are not in the text yet
  for (std::size_t t = 0; t <= ids.size(); ++t) {
    const bool is_unknown = t < ids.size() && ids[t] == tokenizers_.tgt.special().unk;
    if (t < ids.size() && !is_unknown) continue;
    append(tokenizers_.tgt.decode(ids.subspan(begin, t - begin)));
    begin = t + 1;
    if (!is_unknown) continue;
    const std::string word = word_for(pair, weights_TS[static_cast<std::int64_t>(t)]);
    append(word.empty() ? tokenizers_.tgt.decode(ids.subspan(t, 1)) : word);
  }
  return text;
}

}  // namespace attend
