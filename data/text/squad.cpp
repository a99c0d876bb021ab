#include "data/text/squad.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/utf8.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

// The byte offset of each code point of a text; the last entry is the text's size.
std::vector<std::size_t> code_points(std::string_view text) {
  std::vector<std::size_t> begins;
  for (std::size_t at = 0; at < text.size(); at += character_at(text, at).size()) {
    begins.push_back(at);
  }
  begins.push_back(text.size());
  return begins;
}

// The occurrence of `text` in the context that is nearest to byte `at`.
std::optional<std::size_t> nearest(std::string_view context, std::string_view text, std::size_t at) {
  std::optional<std::size_t> best;
  const auto distance = [&](std::size_t place) { return place > at ? place - at : at - place; };
  for (std::size_t place = context.find(text); place != std::string_view::npos; place = context.find(text, place + 1)) {
    if (!best || distance(place) < distance(*best)) best = place;
  }
  return best;
}

}  // namespace

QuestionSet read_squad(const std::string& file, Labelled labelled) {
  check_text_file(file);
  const std::string bytes = read_file(file, std::size_t{1} << 30);
  if (bytes.starts_with("\x1f\x8b"))
    throw UserError(file + ": compressed with gzip, expected JSON", "decompress it: gunzip " + file);
  const nlohmann::json root = parse_json(bytes, file);
  QuestionSet set;
  std::set<std::string> ids;
  using List = std::vector<nlohmann::json>;
  // The elements of a list of the object at `place`, each with its own place: FILE: data[0].paragraphs[2].
  const auto elements = [&](const nlohmann::json& object, const std::string& list, const std::string& place) {
    std::vector<std::pair<nlohmann::json, std::string>> found;
    for (nlohmann::json& element : json_member<List>(object, list, place)) {
      const std::string index = "[" + std::to_string(found.size()) + "]";
      found.emplace_back(std::move(element), place + (place == file ? ": " : ".") + list + index);
    }
    return found;
  };
  for (const auto& [article, article_place] : elements(root, "data", file)) {
    for (const auto& [paragraph, paragraph_place] : elements(article, "paragraphs", article_place)) {
      const std::size_t number = set.contexts.size();
      const auto context = json_member<std::string>(paragraph, "context", paragraph_place);
      const std::vector<std::size_t> begins = code_points(context);
      for (const auto& [entry, entry_place] : elements(paragraph, "qas", paragraph_place)) {
        Question question{
            .id = json_member<std::string>(entry, "id", entry_place), .text = {}, .context = number, .answers = {}};
        const std::string where = file + ": question " + question.id;
        if (!ids.insert(question.id).second)
          throw UserError(where + " is a duplicate", "give every question a unique id");
        question.text = json_member<std::string>(entry, "question", where);
        const bool impossible = entry.contains("is_impossible") && json_member<bool>(entry, "is_impossible", where);
        set.may_lack_answers = set.may_lack_answers || entry.contains("is_impossible");
        const bool none = !entry.contains("answers") && (impossible || labelled == Labelled::no);
        for (const nlohmann::json& answer : none ? List() : json_member<List>(entry, "answers", where)) {
          const auto text = json_member<std::string>(answer, "text", where);
          const auto offset = json_member<std::uint64_t>(answer, "answer_start", where);
          const std::size_t at = begins[std::min<std::uint64_t>(offset, begins.size() - 1)];
          if (text.empty()) throw UserError(where + " has an empty answer", "remove it, or set is_impossible");
          const auto place = nearest(context, text, at);
          set.lost += !place;
          set.moved += place && *place != at;
          question.answers.push_back({.text = text, .begin = place});
        }
        if (impossible && !question.answers.empty()) {
          throw UserError(where + " is_impossible but has answers", "remove one of the two");
        }
        if (labelled == Labelled::yes && !impossible && question.answers.empty()) {
          throw UserError(where + " has no answer", "add one or set is_impossible; a file to predict needs none");
        }
        set.questions.push_back(std::move(question));
      }
      set.contexts.push_back(context);
    }
  }
  if (set.questions.empty()) throw UserError(file + ": no questions", "check that it is the right file");
  return set;
}

}  // namespace attend
