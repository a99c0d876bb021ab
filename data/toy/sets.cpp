#include "data/toy/sets.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/random.hpp"
#include "data/text/lines.hpp"
#include "data/toy/story.hpp"
#include "data/toy/tasks.hpp"
#include "data/toy/world.hpp"

namespace attend::toy {
namespace {

// Business between people and companies.
class Business {
 public:
  explicit Business(Draw& draw) : draw_(draw) {}

  Event event() {
    Event event;
    const std::uint64_t kind = draw_.below(4);
    if (kind == 0) {
      // The only place where a company may have a bare name: the verb distinguishes it from a person.
      event = {.agent = person(), .verb = &kWorkFor, .object = invent_named(draw_, NounPhraseKind::company_name)};
    } else if (kind == 1) {
      const bool company_first = draw_.chance(0.5);
      event = {.agent = company_first ? company() : person(), .verb = &one_of({"thank", "invite", "call", "help"})};
      event.object = company_first ? person() : company();
    } else {
      const bool company_first = draw_.chance(0.5);
      event = {.agent = company_first ? company() : person(), .verb = &one_of({"sell", "give", "bring", "show"})};
      event.object = of(draw_.noun_of(kGoods));
      event.recipient = company_first == draw_.chance(0.7) ? person() : company();
    }
    if (draw_.chance(0.4)) event.place = invent_named(draw_, NounPhraseKind::town_name);
    if (draw_.chance(0.4)) event.time = draw_.time(true, false);
    return event;
  }

 private:
  const Verb& one_of(std::initializer_list<std::string_view> words) { return verb(draw_.pick(words)); }
  Entity person() {
    Entity person = invent_person(draw_);
    if (!person.titled) person.name = draw_.name() + " " + person.name;
    return person;
  }
  // Unambiguous: Tarvel Bank.
  Entity company() {
    while (true) {
      Entity company = invent_named(draw_, NounPhraseKind::company_name);
      if (company.name.find(' ') != std::string::npos) return company;
    }
  }

  Draw& draw_;
};

Sentence invent(Draw& draw) {
  if (draw.chance(0.5)) {
    const std::size_t words = std::min<std::size_t>(invent_length(draw.stream()), 20);
    return invent_sentence(draw.stream(), words);
  }
  Clause clause = to_clause(Business(draw).event());
  clause.time_first = clause.time && draw.chance(0.5);
  return of_clause(std::move(clause));
}

}  // namespace

std::vector<Token> to_tokens(const Sentence& sentence) {
  std::map<const void*, std::string_view> names;  // phrase to type
  for (const Clause& clause : sentence.clauses) {
    for_each_phrase(clause, [&](const NounPhrase& phrase) {
      if (phrase.kind == NounPhraseKind::person_name) names[&phrase] = "PER";
      if (phrase.kind == NounPhraseKind::town_name) names[&phrase] = "LOC";
      if (phrase.kind == NounPhraseKind::company_name) names[&phrase] = "ORG";
    });
  }
  std::vector<Token> tokens;
  for (const Word& word : to_english(sentence)) {
    std::string_view type;
    for (const Concept& concept_ : word.concepts) {
      const auto found = names.find(concept_.node);
      if (found != names.end() && concept_.part == Part::noun) type = found->second;
    }
    std::string_view text = word.text;
    std::string_view mark;
    if (text != "Mr." && text != "Mrs." && std::string_view(".,?").find(text.back()) != std::string_view::npos) {
      mark = text.substr(text.size() - 1);
      text.remove_suffix(1);
    }
    // A name of two words is one word of the sentence, and so is "piece of furniture".
    const char* place = "B-";
    for (const std::string_view part : spaced_words(text)) {
      const std::string tag = std::exchange(place, "I-");
      tokens.push_back({std::string(part), type.empty() ? "O" : tag + std::string(type)});
    }
    if (!mark.empty()) tokens.push_back({std::string(mark), "O"});
  }
  return tokens;
}

}  // namespace attend::toy

namespace attend {
namespace {

enum class Set { test, dev, train };  // in the order of generation
constexpr Set kSets[] = {Set::test, Set::dev, Set::train};
constexpr const char* kNames[] = {"test", "dev", "train"};

std::string name_of(Set set) { return kNames[static_cast<std::size_t>(set)]; }

std::string summary_file(Set set, const char* side) {
  return "summaries/" + (set == Set::dev ? "valid" : name_of(set)) + side;
}

// Second component of the random streams' keys, after the seed; the translation sets use 0, 1 and 2.
enum class Stream : std::uint64_t { documents = 100, questions, entities, tables, summaries };

constexpr std::size_t kQuestionsOfPassage = 3;  // one of them is unanswerable

// A sentence of about 4 to 25 words; most have a name.
std::vector<toy::Token> draw_entities(toy::Draw& draw) {
  while (true) {
    std::vector<toy::Token> tokens = toy::to_tokens(toy::invent(draw));
    const bool has_name = std::ranges::any_of(tokens, [](const toy::Token& token) { return token.tag != "O"; });
    if (has_name || draw.chance(0.15)) return tokens;
  }
}

class Writing {
 public:
  Writing(const std::filesystem::path& directory, const ToySetSizes& sizes) : directory_(directory), sizes_(sizes) {}

  ToyPart write_documents() const {
    const auto write = [&](const char* name, Set set, std::int64_t documents) {
      AtomicFile file(directory_ / name);
      for (std::int64_t i = 0; i < documents; ++i) {
        RandomStream random = stream(Stream::documents, set, i);
        toy::Draw draw(random);
        if (i > 0) file.write("\n");
        for (const std::string& line : toy::to_lines(toy::invent_story(draw))) file.write(line + '\n');
      }
      file.commit();
    };
    write("documents.valid.txt", Set::dev, sizes_.valid_documents);
    write("documents.train.txt", Set::train, sizes_.train_documents);
    return {.name = "documents", .unit = "documents", .train = sizes_.train_documents, .dev = sizes_.valid_documents};
  }

  ToyPart write_summaries() const {
    std::unordered_set<std::string> seen;
    for (const Set set : kSets) {
      AtomicFile texts(directory_ / summary_file(set, ".text")), headlines(directory_ / summary_file(set, ".headline"));
      const std::int64_t size = set == Set::train ? sizes_.train_summaries : size_of(set);
      for (std::int64_t i = 0; i < size; ++i) {
        RandomStream random = stream(Stream::summaries, set, i);
        toy::Draw draw(random);
        toy::Story story;
        std::string text;
        do {
          story = toy::invent_story(draw);
          text = fmt::format("{}", fmt::join(toy::to_lines(story), " "));
        } while (!seen.insert(text).second);
        texts.write(text + '\n');
        headlines.write(toy::headline_of(story) + '\n');
      }
      texts.commit();
      headlines.commit();
    }
    ToyPart summaries = part("summaries", "documents");
    summaries.train = sizes_.train_summaries;
    return summaries;
  }

  ToyPart write_table(std::size_t number, const toy::TableTask& task) const {
    const auto joined = [](const auto& values, std::size_t count) {
      return fmt::format("{}", fmt::join(values.begin(), values.begin() + count, "\t"));
    };
    const std::size_t columns = task.columns.size();
    std::unordered_set<std::string> seen;
    for (const Set set : kSets) {
      AtomicFile file(directory_ / task.folder / (name_of(set) + ".tsv"));
      file.write(joined(task.columns, columns) + '\n');
      for (std::int64_t i = 0; i < size_of(set); ++i) {
        RandomStream random = stream(Stream::tables, set, i, number);
        toy::Draw draw(random);
        const std::size_t label = task.labels.empty() ? 0 : static_cast<std::size_t>(i) % task.labels.size();
        std::vector<std::string> row = task.draw(draw, label);
        while (!seen.insert(joined(row, columns - 1)).second) row = task.draw(draw, label);
        if (!task.labels.empty()) row.emplace_back(task.labels[label]);
        file.write(joined(row, columns) + '\n');
      }
      file.commit();
    }
    return part(std::string(task.folder), task.columns.size() == 2 ? "sentences" : "pairs");
  }

  ToyPart write_questions() const {
    std::unordered_set<std::string> seen;
    for (const Set set : kSets) {
      nlohmann::json paragraphs = nlohmann::json::array();
      for (std::int64_t written = 0; written < size_of(set);) {
        RandomStream random = stream(Stream::questions, set, written);
        toy::Draw draw(random);
        const std::size_t without_answer = draw.below(kQuestionsOfPassage);
        std::vector<bool> answerable;
        for (std::size_t i = 0; i < kQuestionsOfPassage && written < size_of(set); ++i, ++written) {
          answerable.push_back(i != without_answer);
        }
        toy::Passage passage = toy::draw_passage(draw, answerable);
        while (!seen.insert(passage.context).second) passage = toy::draw_passage(draw, answerable);
        paragraphs.push_back(to_json(passage, name_of(set) + '-' + std::to_string(paragraphs.size())));
      }
      nlohmann::json article = {{"title", name_of(set)}, {"paragraphs", std::move(paragraphs)}};
      const nlohmann::json root = {{"version", "v2.0"}, {"data", nlohmann::json::array({std::move(article)})}};
      write_file_atomic(directory_ / "questions" / (name_of(set) + ".json"), root.dump(1) + '\n');
    }
    return part("questions", "questions");
  }

  ToyPart write_entities() const {
    std::unordered_set<std::string> seen;
    for (const Set set : kSets) {
      AtomicFile file(directory_ / "entities" / (name_of(set) + ".txt"));
      for (std::int64_t i = 0; i < size_of(set); ++i) {
        RandomStream random = stream(Stream::entities, set, i);
        toy::Draw draw(random);
        std::string lines;
        do {
          lines.clear();
          for (const toy::Token& token : draw_entities(draw)) lines += token.text + ' ' + token.tag + '\n';
        } while (!seen.insert(lines).second);
        if (i > 0) file.write("\n");
        file.write(lines);
      }
      file.commit();
    }
    return part("entities", "sentences");
  }

 private:
  std::int64_t size_of(Set set) const {
    return set == Set::test ? sizes_.test : set == Set::dev ? sizes_.dev : sizes_.train;
  }

  RandomStream stream(Stream kind, Set set, std::int64_t position, std::size_t number = 0) const {
    return RandomStream(combine_keys(sizes_.seed, kind, number, set, position));
  }

  ToyPart part(std::string name, std::string unit) const {
    return {std::move(name), std::move(unit), sizes_.train, sizes_.dev, sizes_.test};
  }

  static nlohmann::json to_json(const toy::Passage& passage, const std::string& id) {
    nlohmann::json questions = nlohmann::json::array();
    for (const toy::Asked& asked : passage.asked) {
      nlohmann::json answers = nlohmann::json::array();
      if (!asked.answer.empty()) answers.push_back({{"text", asked.answer}, {"answer_start", asked.begin}});
      questions.push_back({{"id", id + '-' + std::to_string(questions.size())},
                           {"question", asked.question},
                           {"is_impossible", asked.answer.empty()},
                           {"answers", std::move(answers)}});
    }
    return {{"context", passage.context}, {"qas", std::move(questions)}};
  }

  std::filesystem::path directory_;
  ToySetSizes sizes_;
};

}  // namespace

std::vector<std::string> toy_set_files() {
  std::vector<std::string> files = {"documents.train.txt", "documents.valid.txt"};
  for (const Set set : kSets) {
    for (const toy::TableTask& task : toy::table_tasks()) {
      files.push_back(std::string(task.folder) + '/' + name_of(set) + ".tsv");
    }
    for (const char* side : {".text", ".headline"}) files.push_back(summary_file(set, side));
    files.push_back("questions/" + name_of(set) + ".json");
    files.push_back("entities/" + name_of(set) + ".txt");
  }
  return files;
}

std::vector<ToyPart> write_toy_sets(const std::filesystem::path& directory, const ToySetSizes& sizes) {
  for (const std::string& file : toy_set_files()) make_directories((directory / file).parent_path());
  const Writing writing(directory, sizes);
  std::vector<ToyPart> parts = {writing.write_documents(), writing.write_summaries()};
  for (std::size_t i = 0; i < toy::table_tasks().size(); ++i) {
    parts.push_back(writing.write_table(i, toy::table_tasks()[i]));
  }
  parts.push_back(writing.write_questions());
  parts.push_back(writing.write_entities());
  return parts;
}

}  // namespace attend
