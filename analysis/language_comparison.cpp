// The measurements of `attend compare` for runs of `attend pretrain --objective causal`, on the documents of a test
// text.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/breakdowns.hpp"
#include "analysis/compared_inputs.hpp"
#include "analysis/compared_runs.hpp"
#include "analysis/context_loss.hpp"
#include "analysis/trained_run.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "data/text/documents.hpp"
#include "eval/metrics/tokenizers.hpp"
#include "eval/score.hpp"

namespace attend {
namespace {

constexpr std::size_t kContextWords = 1000;  // of the loss by length of context
constexpr std::size_t kAttendedTexts = 32;   // beginnings of documents whose attention is measured

// The test text as one run reads it.
struct ReadText {
  std::vector<DocumentPieces> pieces;            // of each document
  std::vector<std::vector<double>> losses;       // of each document: -log p of each word, its end the last one
  std::int64_t num_pieces = 0, num_unknown = 0;  // the ends of documents are pieces
  double loss = 0;
};

class LanguageMeasurement : ComparedRuns<TrainedLanguageRun, LanguageComparison> {
 public:
  explicit LanguageMeasurement(const CompareConfig& config) : ComparedRuns(config) {
    result_.units = {.segment = "document", .token = "token", .word = "word", .text = "test text"};
    result_.metrics = {{.key = "perplexity_word",
                        .name = kPerplexityByWord.name(),
                        .lower_is_better = true,
                        .meaning = "exp(-log p / words)",
                        .decimals = 2},
                       {.key = "bits_per_byte",
                        .name = kBitsPerByte.name(),
                        .lower_is_better = true,
                        .meaning = "-log2 p / bytes",
                        .decimals = 3}};
  }

  LanguageComparison run() {
    read_test_text();
    load_runs();
    for (TrainedLanguageRun& run : runs_) read(run);
    note_conditions();
    for (const SystemRuns& system : systems_) {
      note_unknown(system, text_of(system).num_unknown, text_of(system).num_pieces, "its numbers");
    }
    score_texts();
    measure_systems([&](MeasuredRun& run, std::size_t number) {
      run.quality.perplexity_piece = std::exp(texts_[number].loss / static_cast<double>(texts_[number].num_pieces));
    });
    break_down();
    measure_contrasts({.workers = 1});
    measure_contexts();
    measure_attention();
    return std::move(result_);
  }

 private:
  const ReadText& text_of(const SystemRuns& system) const { return texts_[system.runs[0]]; }

  void read_test_text() {
    documents_ = read_test_documents(config_.test);
    contrasts_ = read_pairs_files(config_.contrast, PairsOf::texts);
    TestText& test = result_.test;
    test = {.files = name_of_files(config_.test), .documents = std::ssize(documents_)};
    for (const TestDocument& document : documents_) {
      test.words += std::ssize(document.words);
      test.bytes += document.bytes;
    }
  }

  void read(TrainedLanguageRun& trained) {
    const Tokenizer& tokenizer = trained.run.tokenizer;
    log::info("{}: reading {}", trained.facts.path, counted(std::ssize(documents_), "document"));
    ReadText& text = texts_.emplace_back();
    std::vector<std::vector<std::int32_t>> ids;
    for (const TestDocument& document : documents_) {
      text.pieces.push_back(pieces_of(document, tokenizer));
      ids.push_back(text.pieces.back().ids);
    }
    const auto log_probs = text_log_probs(*trained.run.model, ids, tokenizer.special().eos, trained.run.window);
    for (std::size_t d = 0; d < documents_.size(); ++d) {
      std::vector<double>& losses =
          text.losses.emplace_back(by_word(text.pieces[d], log_probs[d], documents_[d].words.size() + 1));
      for (double& loss : losses) loss = -loss;
      text.loss += std::accumulate(losses.begin(), losses.end(), 0.0);
      text.num_pieces += std::ssize(ids[d]);
      text.num_unknown += std::ranges::count(ids[d], tokenizer.special().unk);
    }
    trained.cost.pieces_per_word = static_cast<double>(text.num_pieces) / static_cast<double>(num_words());
  }

  // The words of the text and the ends of its documents.
  std::int64_t num_words() const { return result_.test.words + result_.test.documents; }

  void score_texts() {
    const metrics::Resamples samples = resamples(documents_.size());
    for (const ReadText& text : texts_) {
      std::vector<ScoredOutput>& scored = scored_.emplace_back();
      metrics::Rows words(kPerplexityByWord), bytes(kBitsPerByte);
      for (std::size_t d = 0; d < documents_.size(); ++d) {
        const double loss = std::accumulate(text.losses[d].begin(), text.losses[d].end(), 0.0);
        words.append(std::array{loss, static_cast<double>(text.losses[d].size())});
        bytes.append(std::array{loss, static_cast<double>(documents_[d].bytes)});
      }
      for (const metrics::Rows& rows : {words, bytes}) scored.push_back(with_resamples(rows, samples));
    }
  }

  // The mean loss of the words of each group, without the ends of documents, with intervals over documents.
  using GroupOf = std::function<std::size_t(std::size_t document, std::size_t word)>;
  void add_breakdown(Breakdown breakdown, const std::vector<std::string>& names, const GroupOf& group_of) {
    breakdown.measure = "loss in nats per word";
    breakdown.unit = "words";
    struct Sum {
      double loss = 0, words = 0;
    };
    std::vector<std::vector<std::vector<Sum>>> sums(  // [group][system][document]
        names.size(), std::vector<std::vector<Sum>>(systems_.size(), std::vector<Sum>(documents_.size())));
    for (std::size_t d = 0; d < documents_.size(); ++d) {
      for (std::size_t word = 0; word < documents_[d].words.size(); ++word) {
        std::vector<std::vector<Sum>>& group = sums[group_of(d, word)];
        for (std::size_t s = 0; s < systems_.size(); ++s) {
          group[s][d].loss += text_of(systems_[s]).losses[d][word];
          ++group[s][d].words;
        }
      }
    }
    for (std::size_t group = 0; group < names.size(); ++group) {
      for (std::vector<Sum>& of_system : sums[group]) {  // keeps documents that have words of the group
        std::erase_if(of_system, [](const Sum& sum) { return sum.words == 0; });
      }
      const std::size_t documents = sums[group][0].size();
      if (documents == 0) continue;
      BreakdownGroup& shown = breakdown.groups.emplace_back(BreakdownGroup{.name = names[group]});
      for (const Sum& sum : sums[group][0]) shown.count += static_cast<std::int64_t>(sum.words);
      for (const std::vector<Sum>& of_system : sums[group]) {
        shown.values.push_back(estimate_over(documents, [&](std::span<const std::size_t> chosen) {
          Sum all;
          for (const std::size_t i : chosen) all.loss += of_system[i].loss, all.words += of_system[i].words;
          return all.loss / all.words;
        }));
      }
    }
    result_.where.push_back(std::move(breakdown));
  }

  void break_down() {
    if (const std::vector<std::string> files = training_text(); !files.empty()) {
      const WordFrequencies frequencies = count_frequencies(files);
      add_breakdown({.id = "frequency", .title = "Frequency of the word in the training text"}, frequency_names(),
                    [&](std::size_t d, std::size_t word) {
                      return frequency_group(frequencies, without_marks(documents_[d].words[word]));
                    });
    }
    add_breakdown({.id = "position", .title = "Place in the document"},
                  {"words 1 to 16", "17 to 32", "33 to 64", "65 to 128", "129 to 256", "257 to 512", "513 and later"},
                  [](std::size_t, std::size_t word) {
                    constexpr std::array<std::size_t, 6> kEnds = {16, 32, 64, 128, 256, 512};
                    return static_cast<std::size_t>(std::ranges::upper_bound(kEnds, word) - kEnds.begin());
                  });
  }

  // The longest part into which 13a divides the word: without its punctuation.
  static std::string without_marks(const std::string& word) {
    const std::string tokens = metrics::tokenize(word, metrics::Tokenization::mteval_13a);
    const std::vector<std::string_view> parts = metrics::split_words(tokens);
    const auto longest = std::ranges::max_element(parts, {}, &std::string_view::size);
    return longest == parts.end() ? word : std::string(*longest);
  }

  TokenStream stream_of(const SystemRuns& system) const {
    TokenStream stream{.ids = {first_run(system).run.tokenizer.special().eos}, .words = {}};
    for (std::size_t d = 0; d < documents_.size(); ++d) {
      const DocumentPieces& pieces = text_of(system).pieces[d];
      const std::size_t before = stream.ids.size(), words_before = stream.words.size();
      stream.words.resize(words_before + documents_[d].words.size() + 1, {.begin = before, .end = before});
      for (std::size_t i = 0; i < pieces.ids.size(); ++i) {
        TokenStream::Word& word = stream.words[words_before + pieces.word[i]];
        if (word.begin == word.end) word.begin = before + i;
        word.end = before + i + 1;
      }
      stream.ids.insert(stream.ids.end(), pieces.ids.begin(), pieces.ids.end());
    }
    return stream;
  }

  void measure_contexts() {
    std::vector<TokenStream> streams;
    std::vector<std::optional<std::int64_t>> longest;
    for (const SystemRuns& system : systems_) {
      streams.push_back(stream_of(system));
      longest.push_back(first_run(system).run.model->longest());
    }
    const std::vector<std::int64_t> lengths = context_lengths(streams, longest);
    if (lengths.empty()) return;
    const std::vector<std::size_t> words = draw_words(streams, lengths.back(), kContextWords);
    result_.context_words = std::ssize(words);
    for (const std::int64_t tokens : lengths) result_.contexts.push_back({.tokens = tokens});
    for (std::size_t s = 0; s < systems_.size(); ++s) {
      log::info("{}: {} words with contexts of up to {} tokens", systems_[s].name, words.size(), lengths.back());
      for (ContextLoss& context : result_.contexts) {
        if (context.tokens > longest[s].value_or(context.tokens)) {
          context.loss.emplace_back();
          continue;
        }
        const std::vector<double> losses =
            losses_after(*first_run(systems_[s]).run.model, streams[s], words, context.tokens);
        context.loss.emplace_back(estimate_over(losses.size(), [&](std::span<const std::size_t> chosen) {
          double sum = 0;
          for (const std::size_t i : chosen) sum += losses[i];
          return sum / static_cast<double>(chosen.size());
        }));
      }
    }
  }

  void measure_attention() {
    std::size_t distances = 0;
    for (const SystemRuns& system : systems_) {
      std::vector<DistanceShares>& layers = result_.attention.emplace_back();
      const LanguageRun& run = first_run(system).run;
      if (!run.window) continue;
      std::vector<std::vector<std::int64_t>> texts;
      for (const DocumentPieces& pieces : text_of(system).pieces) {
        if (texts.size() == kAttendedTexts) break;
        std::vector<std::int64_t>& text = texts.emplace_back();
        text.push_back(pieces.ids.back());  // the end token, which is read first
        text.insert(text.end(), pieces.ids.begin(), pieces.ids.end() - 1);
      }
      layers = attention_by_distance(*run.model, texts, *run.window);
      for (const DistanceShares& layer : layers) distances = std::max(distances, layer.shares.size());
    }
    for (std::vector<DistanceShares>& layers : result_.attention) {
      for (DistanceShares& layer : layers) layer.shares.resize(distances);
    }
    result_.distances = distance_names(distances);
  }

  std::vector<TestDocument> documents_;
  std::vector<ReadText> texts_;  // parallel to runs_
};

}  // namespace

LanguageComparison compare_language(const CompareConfig& config) { return LanguageMeasurement(config).run(); }

}  // namespace attend
