// attend neighbours: lists the nearest words of a word, by the embeddings of a run or by a file of word vectors,
// answers analogies, and scores files of analogies and rated pairs.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/text/word_vectors.hpp"
#include "eval/neighbours.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

// The default --limit for tests, as in gensim.
constexpr std::int64_t kFrequentWords = 300'000;

struct NeighboursConfig {
  // What a call does, on which options depend.
  static constexpr Fact kCalls{"calls that"};
  static constexpr std::string_view kListNeighbours = "list neighbours", kListAnswers = "list answers to an analogy",
                                    kScoreAnalogies = "score analogies", kScorePairs = "score rated pairs";

  std::string run;
  std::vector<std::string> words;
  std::string vectors;
  std::string analogy;
  std::string questions;
  std::string similarity;
  AnalogyMethod method = AnalogyMethod::add;
  std::int64_t count = 10;
  std::optional<std::int64_t> limit;
  bool ignore_case = false;
  std::optional<EmbeddingTable> table;
  std::string checkpoint = "auto";
  bool json = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Neighbours");
    visit("run", self.run,
          {.help = "run of attend train, pretrain or finetune, by whose embeddings words are compared",
           .placeholder = "DIR",
           .positional = true});
    visit("words", self.words,
          {.help = "words whose neighbours are listed", .placeholder = "WORD", .positional = true});
    visit("vectors", self.vectors,
          {.help = "text file of word vectors (GloVe, word2vec, fastText), in place of a run; -: standard input",
           .file = FileUse::read});
    constexpr Condition kOfLists = {kCalls, {kListNeighbours, kListAnswers}};
    visit("analogy", self.analogy,
          {.help = "list the answers to \"A is to B as WORD is to …\" instead of neighbours",
           .placeholder = "A:B",
           .only = kOfLists});
    visit("questions", self.questions,
          {.help = "print the accuracy on a file of analogies: lines \": section\" and \"a b c d\"",
           .file = FileUse::read});
    visit("similarity", self.similarity,
          {.help = "print Spearman's correlation of cosines with the scores in a file of lines \"word TAB word TAB "
                   "score\"",
           .file = FileUse::read,
           .only = without("questions")});
    visit("method", self.method,
          {.help = "answer analogies by a sum (3CosAdd) or a product (3CosMul) of cosines",
           .only = {kCalls, {kListAnswers, kScoreAnalogies}}});
    visit("count", self.count, {.help = "words in a list", .min = 1, .max = 1'000'000, .only = kOfLists});
    visit("limit", self.limit,
          {.help = "use only the first words of the file or vocabulary, usually the most frequent; auto: 300000 with "
                   "--questions and --similarity, else all",
           .min = 1});
    visit("ignore-case", self.ignore_case,
          {.help = "treat words that differ only in case as one word, the first of them"});
    visit.group("Neighbours", without("vectors"));
    visit("table", self.table, {.help = "table of the run; auto: source, or input if it does not translate"});
    ModelOptions::visit_checkpoint(self.checkpoint, visit);
    visit.group("Neighbours");
    visit("json", self.json, {.help = "print a JSON object for each list or file"});
  }

  // The words of the query. With --vectors, the first positional is one of them, not a run.
  std::vector<std::string> asked() const {
    std::vector<std::string> all = words;
    if (!vectors.empty() && !run.empty()) all.insert(all.begin(), run);
    return all;
  }

  Facts facts() const {
    if (!questions.empty()) return {{kCalls, {std::string(kScoreAnalogies), "--questions"}}};
    if (!similarity.empty()) return {{kCalls, {std::string(kScorePairs), "--similarity"}}};
    return {{kCalls, {std::string(analogy.empty() ? kListNeighbours : kListAnswers)}}};
  }

  void validate(const OptionOrigins& /*origins*/) const {
    if (run.empty() && vectors.empty())
      throw UserError("attend neighbours: no run", "name a run, or add --vectors FILE");
    if (!analogy.empty()) analogy_with("");
    if (questions.empty() && similarity.empty()) {
      if (asked().empty())
        throw UserError("attend neighbours: no word", "name words, or add --questions or --similarity");
      return;
    }
    const std::string test = questions.empty() ? "--similarity" : "--questions";
    if (!asked().empty()) {
      throw UserError("\"" + asked().front() + "\": the words are in the file of " + test, "leave it out");
    }
  }

  // The analogy of --analogy with `word`. Throws UserError unless that is A:B.
  Analogy analogy_with(const std::string& word) const {
    const std::size_t colon = std::min(analogy.find(':'), analogy.size());
    const std::string a = analogy.substr(0, colon), b = analogy.substr(std::min(colon + 1, analogy.size()));
    if (is_blank(a) || is_blank(b) || b.find(':') != std::string::npos) {
      throw UserError("--analogy: found \"" + analogy + "\", expected two words A:B", "write them as man:king");
    }
    return {.a = a, .b = b, .c = word};
  }

  WordSpace space() const {
    const bool is_test = !questions.empty() || !similarity.empty();
    const std::int64_t most = limit.value_or(is_test ? kFrequentWords : std::numeric_limits<std::int64_t>::max());
    if (!vectors.empty()) {
      return WordSpace(table_of(read_word_vectors(vectors, most), name_of_input(vectors)), ignore_case);
    }
    const auto [tokenizer, table_VE] = load_embedding_table(run, checkpoint, table);
    return WordSpace(table_of(tokenizer, table_VE, most, run), ignore_case);
  }
};

using WordJson = nlohmann::ordered_json;

void print_word_json(const WordJson& json) {
  std::cout << json.dump(-1, ' ', false, WordJson::error_handler_t::replace) << '\n';
}

void print_lists(const NeighboursConfig& config, const WordSpace& space) {
  const std::vector<std::string> asked = config.asked();
  for (const std::string& word : asked) {
    const std::vector<Neighbour> found = config.analogy.empty()
                                             ? space.nearest(word, config.count)
                                             : space.analogy(config.analogy_with(word), config.method, config.count);
    if (config.json) {
      WordJson list = WordJson::array();
      for (const Neighbour& one : found) list.push_back({{"word", one.word}, {"score", one.score}});
      print_word_json({{"word", word}, {"neighbours", list}});
      continue;
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (asked.size() > 1) std::cout << word << '\t';
      std::cout << fmt::format("{}\t{}\t{:.6f}\n", i + 1, found[i].word, found[i].score);
    }
  }
}

WordJson tally_json(const std::string& name, const AnalogyTally& tally) {
  return {{"section", name},
          {"accuracy", tally.accuracy()},
          {"correct", tally.correct},
          {"questions", tally.questions},
          {"left_out", tally.left_out}};
}

std::string tally_text(const std::string& name, const AnalogyTally& tally) {
  const std::string accuracy = tally.questions == 0 ? "no question"
                                                    : fmt::format("{:.1f} % ({} of {})", 100 * tally.accuracy(),
                                                                  tally.correct, counted(tally.questions, "question"));
  return fmt::format("{}\t{}, {} left out\n", name, accuracy, tally.left_out);
}

void answer_questions(const NeighboursConfig& config, const std::vector<AnalogySection>& sections,
                      const WordSpace& space) {
  AnalogyTally total;
  WordJson of_sections = WordJson::array();
  std::string text;
  for (const AnalogySection& section : sections) {
    const AnalogyTally tally = space.answer(section.questions, config.method);
    total += tally;
    of_sections.push_back(tally_json(section.name, tally));
    text += tally_text(section.name, tally);
  }
  if (total.questions == 0) {
    throw UserError(name_of_input(config.questions) + ": no question has four words with vectors",
                    "check that the words are written alike, or add --ignore-case");
  }
  if (!config.json) {
    std::cout << text << tally_text("total", total);
  } else {
    WordJson json = tally_json("total", total);
    json["sections"] = of_sections;
    print_word_json(json);
  }
}

void run(const NeighboursConfig& config, const OptionOrigins& /*origins*/) {
  signals::install();
  if (!config.questions.empty()) {
    const std::vector<AnalogySection> sections = read_analogies(config.questions);
    answer_questions(config, sections, config.space());
  } else if (!config.similarity.empty()) {
    const std::vector<RatedPair> pairs = read_rated_pairs(config.similarity);
    const SimilarityScore score = config.space().rate(pairs);
    if (config.json) {
      print_word_json({{"spearman", score.spearman}, {"pairs", score.pairs}, {"left_out", score.left_out}});
    } else {
      std::cout << fmt::format("Spearman's rho {:.4f} over {}, {} left out\n", score.spearman,
                               counted(score.pairs, "pair"), score.left_out);
    }
  } else {
    print_lists(config, config.space());
  }
}

}  // namespace

Command neighbours_command() {
  return make_command<NeighboursConfig>("neighbours", "list the nearest words of a word, and answer analogies", run,
                                        "runs/tiny dog bottle");
}

}  // namespace attend
