#include "data/toy/corpus.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/random.hpp"
#include "data/toy/challenge.hpp"
#include "data/toy/meaning.hpp"
#include "data/toy/sequences.hpp"
#include "data/toy/world.hpp"

namespace attend {
namespace {

constexpr std::size_t kShortest = 3, kLongest = 60;  // words, either side

bool fits(std::size_t words) { return words >= kShortest && words <= kLongest; }

// Of the parts, in their order.
constexpr std::string_view kTags[] = {"DET", "NUM", "ADJ", "NOUN", "CONJ", "PREP", "VERB", "AUX", "NOT",
                                      "ADJ", "ADV", "ASK", "ADV",  "TIME", "PREP", "PREP", "CONJ"};
static_assert(std::size(kTags) == static_cast<std::size_t>(toy::Part::conjunction) + 1);

// The parts of speech of words: those of the first concepts that they express.
std::string to_tags(const std::vector<toy::Word>& words) {
  std::string tags;
  for (const toy::Word& word : words) {
    ensure(!word.concepts.empty(), "a word expresses a concept");
    tags += (tags.empty() ? "" : " ") + std::string(kTags[static_cast<std::size_t>(word.concepts.front().part)]);
  }
  return tags;
}

enum class CorpusSet { test, valid, train };  // in the order of generation
constexpr std::string_view kCorpusSets[] = {"test", "valid", "train"};
constexpr std::int64_t kTrees[] = {0, 500, 2000};  // at most, of each set

std::string trees_file(std::string_view set, std::string_view language) {
  return fmt::format("trees.{}.{}.conllu", set, language);
}

std::string antecedents_file(std::string_view set, std::string_view language) {
  return fmt::format("{}.{}.antecedents", set, language);
}

class CorpusWriting {
 public:
  explicit CorpusWriting(const ToyConfig& config) : config_(config), directory_(config.directory) {}

  ToySet write(CorpusSet set, std::int64_t sentences) {
    ToySet written{.name = std::string(kCorpusSets[static_cast<std::size_t>(set)]), .sentences = sentences};
    written.trees = std::min(sentences, kTrees[static_cast<std::size_t>(set)]);
    std::deque<AtomicFile> files;
    const auto file = [&](const std::string& name) { return &files.emplace_back(directory_ / name); };
    AtomicFile* const english = file(written.name + ".en");
    AtomicFile* const german = file(written.name + ".de");
    AtomicFile* const tags = file(written.name + ".en.tags");
    AtomicFile* const alignment = set == CorpusSet::test ? file("test.align") : nullptr;
    AtomicFile* const english_antecedents = file(antecedents_file(written.name, "en"));
    AtomicFile* const german_antecedents = file(antecedents_file(written.name, "de"));
    AtomicFile* const english_trees = written.trees > 0 ? file(trees_file(written.name, "en")) : nullptr;
    AtomicFile* const german_trees = written.trees > 0 ? file(trees_file(written.name, "de")) : nullptr;
    for (std::int64_t i = 0; i < sentences; ++i) {
      const auto [meaning, pair] = new_pair(set, i);
      english->write(toy::to_text(pair.english) + '\n');
      german->write(toy::to_text(pair.german) + '\n');
      tags->write(to_tags(pair.english) + '\n');
      if (alignment) alignment->write(to_text(pair.alignment) + '\n');
      english_antecedents->write(to_text(toy::antecedents_of(meaning, pair.english)) + '\n');
      german_antecedents->write(to_text(toy::antecedents_of(meaning, pair.german)) + '\n');
      if (i < written.trees) {
        const std::string id = fmt::format("# sent_id = {}-{}\n", written.name, i + 1);
        english_trees->write(id + to_conllu(toy::to_tree(pair.english)));
        german_trees->write(id + to_conllu(toy::to_tree(pair.german)));
      }
      written.english_words += pair.english.size();
      written.german_words += pair.german.size();
      written.longest = std::max(written.longest, std::ssize(pair.english));
    }
    for (AtomicFile& one : files) one.commit();
    return written;
  }

 private:
  // A meaning, whose nodes the words of the pair point to.
  struct Drawn {
    toy::Sentence meaning;
    toy::SentencePair pair;
  };

  // The pair at a position of a set: the first candidate that has the right length and is new.
  Drawn new_pair(CorpusSet set, std::int64_t position) {
    RandomStream random(combine_keys(static_cast<std::uint64_t>(config_.seed), set, position));
    const std::size_t words = toy::invent_length(random);
    while (true) {
      toy::Sentence sentence = toy::invent_sentence(random, words);
      toy::SentencePair pair = toy::render(sentence);
      if (!fits(pair.english.size()) || !fits(pair.german.size())) continue;
      if (seen_.insert(toy::to_text(pair.english)).second) return {std::move(sentence), std::move(pair)};
    }
  }

  const ToyConfig& config_;
  std::filesystem::path directory_;
  std::unordered_set<std::string> seen_;  // English sentences of all sets
};

constexpr const char* kEnglishChallenge = "challenge/english.tsv";
constexpr const char* kGermanChallenge = "challenge/german.tsv";
constexpr const char* kTranslationChallenge = "challenge/en-de.tsv";

std::size_t write_challenge(const std::filesystem::path& path, const std::vector<MinimalPair>& pairs) {
  make_directories(path.parent_path());
  AtomicFile file(path);
  for (const MinimalPair& pair : pairs) {
    const std::string source = pair.source.empty() ? "" : pair.source + '\t';
    file.write(fmt::format("{}\t{}\t{}{}\t{}\n", pair.kind, pair.distance.value(), source, pair.better, pair.worse));
  }
  file.commit();
  return pairs.size();
}

}  // namespace

ToyReport write_toy_corpus(const ToyConfig& config) {
  const std::filesystem::path directory = config.directory;
  std::vector<std::string> files = toy_set_files();
  files.insert(files.begin(), {"train.en", "train.de", "train.en.tags", "valid.en", "valid.de", "valid.en.tags",
                               "test.en", "test.de", "test.en.tags", "test.align"});
  for (const std::string_view language : {"en", "de"}) {
    for (const std::string_view set : {"train", "valid"}) files.push_back(trees_file(set, language));
    for (const std::string_view set : kCorpusSets) files.push_back(antecedents_file(set, language));
  }
  if (config.challenge) files.insert(files.end(), {kEnglishChallenge, kGermanChallenge, kTranslationChallenge});
  std::vector<toy::SequenceTask> sequences;
  if (config.copy) sequences.push_back(toy::SequenceTask::copy);
  if (config.recall) sequences.push_back(toy::SequenceTask::recall);
  for (const toy::SequenceTask task : sequences)
    std::ranges::move(toy::sequence_files(task), std::back_inserter(files));
  for (const std::string& name : files) {
    if (!config.overwrite && std::filesystem::exists(directory / name)) {
      throw UserError((directory / name).string() + ": already exists",
                      "choose another directory, or pass --overwrite");
    }
  }
  make_directories(directory);
  CorpusWriting writing(config);
  const ToySet test = writing.write(CorpusSet::test, config.test_sentences);
  const ToySet valid = writing.write(CorpusSet::valid, config.valid_sentences);
  const ToySet train = writing.write(CorpusSet::train, config.train_sentences);
  // At least a few of each label, and at most as many as there are distinct texts.
  const auto examples = [](std::int64_t wanted, std::int64_t most) {
    return std::clamp(wanted, std::int64_t{12}, most);
  };
  const std::int64_t documents = std::max(config.train_sentences / 10, std::int64_t{2});
  ToyReport report;
  report.parts = write_toy_sets(directory, {.seed = static_cast<std::uint64_t>(config.seed),
                                            .train_documents = documents,
                                            .valid_documents = std::max(documents / 20, std::int64_t{2}),
                                            .train_summaries = std::max(config.train_sentences / 2, std::int64_t{12}),
                                            .train = examples(config.train_sentences / 5, 20000),
                                            .dev = examples(config.valid_sentences, 2000),
                                            .test = examples(config.test_sentences, 2000)});
  for (const toy::SequenceTask task : sequences) {
    report.parts.push_back(toy::write_sequences(directory, task,
                                                {.seed = static_cast<std::uint64_t>(config.seed),
                                                 .train = config.train_sentences,
                                                 .valid = config.valid_sentences,
                                                 .test = config.test_sentences}));
  }
  report.translation = {train, valid, test};
  if (config.challenge) {
    const auto seed = static_cast<std::uint64_t>(config.seed);
    report.english_pairs =
        write_challenge(directory / kEnglishChallenge, toy::draw_challenge(toy::Language::english, seed));
    report.german_pairs =
        write_challenge(directory / kGermanChallenge, toy::draw_challenge(toy::Language::german, seed));
    report.translation_pairs =
        write_challenge(directory / kTranslationChallenge, toy::draw_translation_challenge(seed));
  }
  return report;
}

}  // namespace attend
