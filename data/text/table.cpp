#include "data/text/table.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

TableFormat format_of(std::string file) {
  std::ranges::transform(file, file.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (file.ends_with(".gz")) file.resize(file.size() - 3);
  if (file.ends_with(".csv")) return TableFormat::csv;
  if (file.ends_with(".jsonl") || file.ends_with(".json")) return TableFormat::jsonl;
  return TableFormat::tsv;
}

// A JSON value as a table would hold it; the elements of a list are joined by the separator, if there is one. Throws
// UserError naming `where` if an element contains the separator.
std::optional<std::string> text_of(const nlohmann::json& value, const std::string& separator,
                                   const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  if (!value.is_array() || separator.empty()) return std::nullopt;
  std::string text;
  for (const nlohmann::json& element : value) {
    const std::optional<std::string> part = text_of(element, "", where);
    if (!part) return std::nullopt;
    if (part->find(separator) != std::string::npos) {
      throw UserError(where + ": \"" + *part + "\" contains \"" + separator + "\", the separator of labels",
                      "choose another separator in the task");
    }
    text += (text.empty() ? "" : separator) + *part;
  }
  return text;
}

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

std::vector<std::string> split_at(const std::string& line, char separator) {
  std::vector<std::string> values;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(separator, begin);
    values.push_back(line.substr(begin, end - begin));
    if (end == std::string::npos) return values;
    begin = end + 1;
  }
}

TableReader::TableReader(const std::string& file, const TableShape& shape)
    : file_(file), shape_(shape), lines_(check_text_file(file)) {
  if (shape_.format == TableFormat::automatic) shape_.format = format_of(file);
  if (shape_.format == TableFormat::jsonl) return;
  if (!shape_.header) {
    for (const std::string& column : shape_.columns) {
      const auto number = parse_number<std::size_t>(column);
      if (!number || *number == 0) {
        throw UserError(file_ + " has no header, and \"" + column + "\" is not a column number",
                        "number the columns from 1");
      }
      places_.push_back(*number - 1);
    }
    return;
  }
  std::uint64_t line = 0;
  std::vector<std::string> header;
  if (!next_row(header, line)) refuse(1, "no header", "name the columns in the first line");
  num_columns_ = header.size();
  for (const std::string& column : shape_.columns) {
    auto found = header.end();
    for (const std::string& name : split_at(column, '|')) {
      if (found == header.end()) found = std::ranges::find(header, name);
    }
    if (found == header.end()) {
      refuse(line, "no column \"" + column + "\"", fmt::format("the columns are: {}", fmt::join(header, ", ")));
    }
    if (std::find(found + 1, header.end(), *found) != header.end()) {
      refuse(line, "two columns \"" + *found + "\"", "rename one of them");
    }
    places_.push_back(static_cast<std::size_t>(found - header.begin()));
  }
}

void TableReader::refuse(std::uint64_t line, const std::string& what, const std::string& remedy) const {
  throw UserError(file_ + ":" + std::to_string(line) + ": " + what, remedy);
}

bool TableReader::next_row(std::vector<std::string>& values, std::uint64_t& line) {
  std::string text;
  empty_line_ = 0;
  do {
    if (!lines_.next(text)) return false;
    if (text.empty() && empty_line_ == 0) empty_line_ = lines_.counts().lines;
  } while (text.empty());
  line = lines_.counts().lines;
  if (shape_.format == TableFormat::tsv) {
    values = split_at(text, '\t');
    return true;
  }
  values.assign(1, "");
  bool quoted = false;  // inside quotes
  bool closed = false;  // after the closing quote of a value
  for (std::size_t at = 0;; ++at) {
    if (at == text.size()) {
      if (!quoted) return true;
      values.back() += '\n';
      if (!lines_.next(text)) refuse(line, "an unclosed quote", "close it, or double a quote inside quotes");
      at = static_cast<std::size_t>(-1);
    } else if (quoted && text[at] == '"') {
      if (at + 1 < text.size() && text[at + 1] == '"') {
        values.back() += text[at++];
      } else {
        quoted = false;
        closed = true;
      }
    } else if (text[at] == ',' && !quoted) {
      values.emplace_back();
      closed = false;
    } else if (closed) {
      refuse(line, "text after a closing quote", "double a quote inside quotes");
    } else if (text[at] == '"' && !quoted && values.back().empty()) {
      quoted = true;
    } else {
      values.back() += text[at];
    }
  }
}

bool TableReader::next(Record& record) {
  while (next_record(record)) {
    if (!shape_.skip_incomplete) return true;
    if (record.values.size() == shape_.columns.size() && std::ranges::none_of(record.values, is_blank)) return true;
    ++num_incomplete_;
  }
  return false;
}

bool TableReader::next_record(Record& record) {
  record.values.clear();
  if (shape_.format == TableFormat::jsonl) {
    std::string text;
    do {
      if (!lines_.next(text)) return false;
    } while (is_blank(text));
    record.line = lines_.counts().lines;
    const std::string where = file_ + ":" + std::to_string(record.line);
    const nlohmann::json object = parse_json(text, where);
    for (const std::string& column : shape_.columns) {
      std::optional<std::string> value;
      for (const std::string& name : split_at(column, '|')) {
        if (!value && object.is_object() && object.contains(name))
          value = text_of(object.at(name), shape_.separator, where);
      }
      if (!value && shape_.skip_incomplete) break;
      if (!value) {
        refuse(record.line, "no string, number or boolean \"" + column + "\"",
               "make each line a JSON object with that member");
      }
      record.values.push_back(*value);
    }
    return true;
  }
  std::vector<std::string> row;
  if (!next_row(row, record.line)) return false;
  if (num_columns_ == 0) num_columns_ = std::max(row.size(), *std::ranges::max_element(places_) + 1);
  if (empty_line_ > 0 && num_columns_ == 1) refuse(empty_line_, "an empty line", "fill it in, or remove it");
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (row.size() != num_columns_) {
      if (shape_.skip_incomplete) break;
      refuse(record.line, std::to_string(row.size()) + " values, expected " + std::to_string(num_columns_),
             shape_.format == TableFormat::tsv ? "separate values by single tabs" : "separate values by commas");
    }
    record.values.push_back(row[places_[i]]);
  }
  return true;
}

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
