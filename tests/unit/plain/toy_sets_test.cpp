// Documents and labelled sets of the built-in corpus: readable, balanced, without leaks and shortcuts.
#include "data/toy/sets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/random.hpp"
#include "data/text/conll.hpp"
#include "data/text/documents.hpp"
#include "data/text/table.hpp"
#include "data/toy/corpus.hpp"
#include "data/toy/lexicon.hpp"
#include "data/toy/story.hpp"
#include "data/toy/tasks.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/toy_words.hpp"

namespace attend::toy {
namespace {

using Strings = std::vector<std::string>;

struct Row {
  Strings texts;
  std::string label;
};

// Everything written once, for all tests.
class ToySets : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = temporary_.emplace() / "corpus";
    parts_ = write_toy_sets(directory_, kSizes);
  }
  static void TearDownTestSuite() { temporary_.reset(); }

  static const std::vector<Row>& rows(const TableTask& task, const std::string& set) {
    const std::filesystem::path file = directory_ / task.folder / (set + ".tsv");
    const auto [entry, is_new] = rows_.try_emplace(file);
    std::vector<Row>& rows = entry->second;
    if (!is_new) return rows;
    TableReader reader(file, {.columns = Strings(task.columns.begin(), task.columns.end())});
    for (Record record; reader.next(record);) {
      Row row{.texts = record.values, .label = record.values.back()};
      row.texts.pop_back();
      rows.push_back(std::move(row));
    }
    return rows;
  }

  static const TableTask& task(std::string_view folder) {
    return *std::ranges::find(table_tasks(), folder, &TableTask::folder);
  }

  static std::vector<Strings> documents(const std::string& set) {
    DocumentReader reader({(directory_ / ("documents." + set + ".txt")).string()});
    std::vector<Strings> documents;
    for (DocumentLine line; reader.next(line);) {
      if (line.first) documents.emplace_back();
      documents.back().push_back(line.text);
    }
    return documents;
  }

  static constexpr ToySetSizes kSizes{.seed = 1,
                                      .train_documents = 300,
                                      .valid_documents = 20,
                                      .train_summaries = 400,
                                      .train = 1800,
                                      .dev = 120,
                                      .test = 600};
  static inline std::optional<TemporaryDirectory> temporary_;
  static inline std::filesystem::path directory_;
  static inline std::vector<ToyPart> parts_;
  static inline std::map<std::filesystem::path, std::vector<Row>> rows_;  // as they are read
};

TEST_F(ToySets, SameSeedSameBytesOnEveryPlatformAndTestSetsOfTheirOwn) {
  const std::filesystem::path other = directory_ / "other";
  ToySetSizes sizes = kSizes;
  sizes.train = 60;
  sizes.train_documents = 10;
  sizes.train_summaries = 15;
  write_toy_sets(other, sizes);
  std::string all;
  for (const std::string& file : toy_set_files()) {
    const std::string text = read_file(directory_ / file);
    all += text;
    const bool small = file.find("train") == std::string::npos;
    EXPECT_EQ(read_file(other / file) == text, small) << file << " does not depend on how much there is to train on";
  }
  const ToySetSizes least = {
      .train_documents = 2, .valid_documents = 2, .train_summaries = 12, .train = 12, .dev = 12, .test = 12};
  sizes = least;
  sizes.seed = 2;
  write_toy_sets(other / "1", least);
  write_toy_sets(other / "2", sizes);
  for (const std::string& file : toy_set_files())
    EXPECT_NE(read_file(other / "1" / file), read_file(other / "2" / file)) << file;
  EXPECT_EQ(fnv1a(all), 11766077425334193178ULL)
      << "the sets have changed: say so in CHANGELOG.md and take over the new value";
}

TEST_F(ToySets, EveryFileHasWhatItSays) {
  EXPECT_EQ(parts_.size(), table_tasks().size() + 4);
  EXPECT_EQ(documents("train").size(), 300U);
  EXPECT_EQ(documents("valid").size(), 20U);
  for (const auto& [set, size] : {std::pair("train", 1800U), std::pair("dev", 120U), std::pair("test", 600U)}) {
    for (const TableTask& task : table_tasks()) EXPECT_EQ(rows(task, set).size(), size) << task.folder << " " << set;
    const QuestionSet questions = read_squad(directory_ / "questions" / (std::string(set) + ".json"), Labelled::yes);
    EXPECT_EQ(questions.questions.size(), size);
    EXPECT_EQ(questions.contexts.size(), size / 3);
    EXPECT_EQ(questions.moved, 0U) << "every answer stands where the file says";
    EXPECT_EQ(questions.lost, 0U);
    EXPECT_TRUE(questions.may_lack_answers);
    const auto sentences = read_conll(directory_ / "entities" / (std::string(set) + ".txt"), {}, Labelled::yes);
    EXPECT_EQ(sentences.size(), size);
    EXPECT_EQ(tag_set(sentences, true), (Strings{"O", "B-LOC", "B-ORG", "I-ORG", "B-PER", "I-PER"}));
  }
}

TEST_F(ToySets, LabelsAreBalanced) {
  for (const TableTask& task : table_tasks()) {
    std::map<std::string, std::size_t> counts;
    const std::vector<Row>& test = rows(task, "test");
    for (const Row& row : test) ++counts[task.labels.empty() ? row.label.substr(0, 1) : row.label];
    for (const std::string_view label : task.labels) {
      EXPECT_EQ(counts[std::string(label)], test.size() / task.labels.size()) << task.folder << " " << label;
    }
    if (!task.labels.empty()) continue;
    for (const char* point : {"0", "1", "2", "3", "4"}) EXPECT_GT(counts[point], test.size() / 20) << point;
    for (const Row& row : test) {
      EXPECT_GE(std::stod(row.label), 0.0);
      EXPECT_LE(std::stod(row.label), 5.0);
    }
  }
  const QuestionSet questions = read_squad(directory_ / "questions" / "test.json", Labelled::yes);
  EXPECT_EQ(std::ranges::count_if(questions.questions, [](const Question& q) { return q.answers.empty(); }), 200);
}

TEST_F(ToySets, NoTextOfTestIsInTrain) {
  const auto expect_apart = [](const std::string& name, const std::set<std::string>& train, const Strings& test) {
    for (const std::string& text : test) EXPECT_FALSE(train.contains(text)) << name << ": " << text;
    EXPECT_EQ(std::set(test.begin(), test.end()).size(), test.size()) << name;
  };
  for (const TableTask& task : table_tasks()) {
    // Not the other way round either.
    const auto joined = [](Row row) {
      std::ranges::sort(row.texts);
      std::string text;
      for (const std::string& part : row.texts) text += part + '\t';
      return text;
    };
    std::set<std::string> train;
    Strings test;
    for (const char* set : {"train", "dev"}) {
      for (const Row& row : rows(task, set)) train.insert(joined(row));
    }
    for (const Row& row : rows(task, "test")) test.push_back(joined(row));
    expect_apart(std::string(task.folder), train, test);
  }
  const auto contexts = [](const char* set) {
    return read_squad(directory_ / "questions" / (std::string(set) + ".json"), Labelled::yes).contexts;
  };
  const Strings trained = contexts("train");
  expect_apart("questions", {trained.begin(), trained.end()}, contexts("test"));
  const auto sentences = [](const char* set) {
    Strings texts;
    for (const TaggedSentence& sentence :
         read_conll(directory_ / "entities" / (std::string(set) + ".txt"), {}, Labelled::yes)) {
      texts.emplace_back();
      for (const std::string& token : sentence.tokens) texts.back() += token + ' ';
    }
    return texts;
  };
  const Strings tagged = sentences("train");
  expect_apart("entities", {tagged.begin(), tagged.end()}, sentences("test"));
}

// --- shortcuts

using Features = std::function<Strings(const Row&)>;

// The accuracy on `test` of naive Bayes over these features, learnt from `train`.
double naive_bayes(const std::vector<Row>& train, const std::vector<Row>& test, const Features& features) {
  std::map<std::string, std::map<std::string, double>> counts;
  std::map<std::string, double> totals, examples;
  std::set<std::string> known;
  for (const Row& row : train) {
    ++examples[row.label];
    for (const std::string& feature : features(row)) {
      ++counts[row.label][feature];
      ++totals[row.label];
      known.insert(feature);
    }
  }
  std::size_t right = 0;
  for (const Row& row : test) {
    std::string best;
    double best_score = -1e300;
    Strings known_features = features(row);
    std::erase_if(known_features, [&](const std::string& feature) { return !known.contains(feature); });
    for (const auto& [label, number] : examples) {
      double score = std::log(number);
      for (const std::string& feature : known_features) {
        const auto found = counts[label].find(feature);
        score += std::log(((found == counts[label].end() ? 0 : found->second) + 0.5) /
                          (totals[label] + 0.5 * static_cast<double>(known.size())));
      }
      if (score > best_score) std::tie(best, best_score) = std::pair(label, score);
    }
    right += best == row.label;
  }
  return static_cast<double>(right) / static_cast<double>(test.size());
}

Strings bag_of(const std::string& text) { return words_of(text); }
Strings bag_of_all(const Row& row) {
  Strings bag;
  for (std::size_t i = 0; i < row.texts.size(); ++i) {
    for (const std::string& word : words_of(row.texts[i])) bag.push_back(std::to_string(i) + word);
  }
  return bag;
}

Strings length_feature(const Row& row) {
  Strings lengths;
  for (const std::string& text : row.texts) lengths.push_back(std::to_string(words_of(text).size()));
  if (lengths.size() == 2) lengths.push_back(lengths[0] + '-' + lengths[1]);
  return lengths;
}

TEST_F(ToySets, NoShortcutTellsTheLabel) {
  struct Case {
    const char* folder;
    const char* name;
    Features features;
    double below;
  };
  const Features first = [](const Row& row) { return bag_of(row.texts[0]); };
  const Features second = [](const Row& row) { return bag_of(row.texts[1]); };
  // Chance is one half, and one third for inference. Over 600 examples it varies by 0.02 (one standard deviation). What
  // counts in sentiment is a word and what turns it around, so the words alone tell something.
  const Case cases[] = {
      {"sentiment", "words", bag_of_all, 0.75},          {"sentiment", "length", length_feature, 0.58},
      {"inference", "hypothesis", second, 0.41},         {"inference", "premise", first, 0.43},
      {"inference", "words", bag_of_all, 0.50},          {"acceptability", "words", bag_of_all, 0.58},
      {"acceptability", "length", length_feature, 0.58},
  };
  for (const Case& shortcut : cases) {
    const TableTask& task = ToySets::task(shortcut.folder);
    const double accuracy = naive_bayes(rows(task, "train"), rows(task, "test"), shortcut.features);
    EXPECT_LT(accuracy, shortcut.below) << shortcut.folder << " by " << shortcut.name;
    RecordProperty(std::string(shortcut.folder) + "_by_" + shortcut.name, std::to_string(accuracy));
  }
  const std::vector<Row>& test = rows(task("sentiment"), "test");
  EXPECT_EQ(naive_bayes(test, test, [](const Row& row) { return Strings{row.label}; }), 1) << "it can learn";
}

TEST_F(ToySets, OverlapAloneIsNotSimilarity) {
  const std::vector<Row>& test = rows(task("similarity"), "test");
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (const Row& row : test) {
    const double a = overlap(row.texts[0], row.texts[1]), b = std::stod(row.label);
    ++n, x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
  }
  const double r = (n * xy - x * y) / std::sqrt((n * xx - x * x) * (n * yy - y * y));
  RecordProperty("similarity_by_overlap", std::to_string(r));
  EXPECT_GT(r, 0.3);
  EXPECT_LT(r, 0.92);
}

TEST_F(ToySets, TheQuestionAloneDoesNotSayWhetherItHasAnAnswer) {
  const auto asked = [](const char* set) {
    std::vector<Row> rows;
    for (const Question& question :
         read_squad(directory_ / "questions" / (std::string(set) + ".json"), Labelled::yes).questions) {
      rows.push_back({{question.text}, question.answers.empty() ? "no" : "yes"});
    }
    return rows;
  };
  const double accuracy = naive_bayes(asked("train"), asked("test"), bag_of_all);
  RecordProperty("answerable_by_question", std::to_string(accuracy));
  EXPECT_LT(accuracy, 0.74) << "two thirds have one";
}

// --- documents

Strings names_in(const std::string& sentence) {
  Strings names;
  std::istringstream stream(sentence);
  for (std::string word; stream >> word;) {
    std::erase(word, '.');
    if (word == "Mr" || word == "Mrs") {
      stream >> word;
      std::erase(word, '.');
      names.push_back(word);
    }
  }
  return names;
}

TEST_F(ToySets, SentencesOfADocumentFollowFromEachOther) {
  const auto train = documents("train");
  std::size_t sentences = 0, pronouns = 0, named = 0, known = 0, known_elsewhere = 0;
  for (std::size_t d = 0; d < train.size(); ++d) {
    const Strings& document = train[d];
    EXPECT_GE(document.size(), 6U);
    const std::string& foreign = train[(d + 1) % train.size()].back();
    std::set<std::string> names;
    for (const std::string& sentence : document) {
      const std::string first = words_of(sentence).front();
      const bool is_pronoun = first == "he" || first == "she" || first == "it" || first == "they";
      EXPECT_FALSE(is_pronoun && sentence == document.front()) << sentence;
      ++sentences;
      pronouns += is_pronoun;
      for (const std::string& name : names_in(sentence)) names.insert(name);
    }
    for (const std::string& name : names_in(document.back())) {
      ++named;
      const auto says = [&](const std::string& s) { return s.find(name) != std::string::npos; };
      known += std::any_of(document.begin(), document.end() - 1, says);
    }
    for (const std::string& name : names_in(foreign)) known_elsewhere += names.contains(name);
  }
  EXPECT_GT(pronouns, sentences / 5);
  EXPECT_GT(named, train.size() / 5);
  EXPECT_EQ(known, named) << "who is named in the end was introduced";
  EXPECT_LE(known_elsewhere, 1U);
}

TEST_F(ToySets, ThingsKeepTheirColour) {
  std::size_t repeated = 0;
  for (const Strings& document : documents("train")) {
    std::map<std::string, std::string> colour_of;
    for (const std::string& sentence : document) {
      const Strings words = words_of(sentence);
      for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const bool coloured =
            std::ranges::any_of(colours(), [&](const Adjective* colour) { return colour->english == words[i]; });
        if (!coloured || !is_noun(words[i + 1])) continue;
        const auto [entry, is_new] = colour_of.emplace(words[i + 1], words[i]);
        EXPECT_EQ(entry->second, words[i]) << sentence;
        repeated += !is_new;
      }
    }
  }
  EXPECT_GT(repeated, 100U);
}

// --- summaries

// Every headline names somebody or something of its document and is a part of what it tells.
TEST_F(ToySets, AHeadlineSaysWhatItsDocumentTells) {
  std::set<std::string> earlier, verbs;
  for (const auto& [set, size] : {std::pair("test", 600U), std::pair("valid", 120U), std::pair("train", 400U)}) {
    const Strings texts = lines_of(directory_ / "summaries" / (std::string(set) + ".text"));
    const Strings headlines = lines_of(directory_ / "summaries" / (std::string(set) + ".headline"));
    ASSERT_EQ(texts.size(), size);
    ASSERT_EQ(headlines.size(), size);
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_TRUE(earlier.insert(texts[i]).second) << "of another set: " << texts[i];
      EXPECT_FALSE(headlines[i].ends_with('.')) << headlines[i];
      EXPECT_EQ(headlines[i].find(" the "), std::string::npos) << headlines[i];
      const Strings words = words_of(texts[i]), headline = words_of(headlines[i]);
      EXPECT_LT(headline.size() * 3, words.size()) << headlines[i];
      // All words but the verb, whose tense differs, stand in the document.
      Strings foreign;
      for (const std::string& word : headline) {
        if (std::ranges::find(words, word) == words.end()) foreign.push_back(word);
      }
      EXPECT_LE(foreign.size(), 1U) << headlines[i] << ": " << texts[i];
      verbs.insert(foreign.begin(), foreign.end());
    }
  }
  EXPECT_GE(verbs.size(), 7U) << "as many as there are plots, less those that share one";
}

TEST_F(ToySets, AnExistingFileIsNotReplacedUnasked) {
  const std::filesystem::path other = directory_ / "there";
  std::filesystem::create_directories(other / "questions");
  std::ofstream(other / "questions" / "dev.json") << "{}";
  ToyConfig config{.directory = other.string(), .train_sentences = 5, .valid_sentences = 5, .test_sentences = 5};
  EXPECT_THROW(write_toy_corpus(config), UserError);
  EXPECT_EQ(read_file(other / "questions" / "dev.json"), "{}");
  config.overwrite = true;
  write_toy_corpus(config);
  EXPECT_EQ(read_squad(other / "questions" / "dev.json", Labelled::yes).questions.size(), 12U);
}

}  // namespace
}  // namespace attend::toy
