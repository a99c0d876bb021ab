#include "data/text/minimal_pairs.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/text/table.hpp"

namespace attend {
namespace {

// The forms of a line: the sentences alone, after their kind, and after their kind and distance.
struct PairForms {
  std::size_t sentences;
  const char* counts;  // of the fields
  const char* remedy;
};

constexpr PairForms kTextForms = {
    2, "2, 3 or 4",
    "write lines \"better TAB worse\", \"kind TAB better TAB worse\" or \"kind TAB distance TAB better TAB worse\""};
constexpr PairForms kTranslationForms = {
    3, "3, 4 or 5",
    "for a translation model write lines \"source TAB better TAB worse\", \"kind TAB source TAB better TAB worse\" or "
    "\"kind TAB distance TAB source TAB better TAB worse\""};

MinimalPair pair_of(std::vector<std::string>& fields, const PairForms& forms, const std::string& place) {
  const std::size_t count = fields.size();
  if (const auto blank = std::ranges::find_if(fields, is_blank); blank != fields.end()) {
    throw UserError(fmt::format("{}: field {} is blank", place, blank - fields.begin() + 1), forms.remedy);
  }
  MinimalPair pair{.better = std::move(fields[count - 2]), .worse = std::move(fields[count - 1])};
  if (pair.better == pair.worse) {
    throw UserError(place + ": both sentences are \"" + pair.better + "\"", "give two that differ");
  }
  if (forms.sentences == 3) {
    pair.source = std::move(fields[count - 3]);
    // A distance, in a file of pairs without sources.
    if (parse_number<std::int64_t>(pair.source)) {
      throw UserError(fmt::format("{}: field {} is \"{}\", expected a source sentence", place, count - 2, pair.source),
                      forms.remedy);
    }
  }
  if (count > forms.sentences) pair.kind = std::move(fields[0]);
  if (count < forms.sentences + 2) return pair;
  pair.distance = parse_number<std::int64_t>(fields[1]);
  if (!pair.distance || *pair.distance < 0) {
    throw UserError(place + ": the distance is \"" + fields[1] + "\", expected a whole number from 0", forms.remedy);
  }
  return pair;
}

// A line of BLiMP; `file_kind`: the kind without a UID.
MinimalPair pair_of_json(const std::string& line, const std::string& file_kind, const std::string& place) {
  const nlohmann::json object = parse_json(line, place);
  if (!object.is_object()) {
    throw UserError(place + ": not an object", "write lines {\"sentence_good\": \"…\", \"sentence_bad\": \"…\"}");
  }
  const auto sentence = [&](const char* key) {
    std::string text = as_one_line(json_member<std::string>(object, key, place));
    if (is_blank(text)) throw UserError(fmt::format("{}: \"{}\" is blank", place, key), "give a sentence");
    return text;
  };
  const auto name = [&](const char* key, std::string otherwise) {
    return object.contains(key) ? as_one_line(json_member<std::string>(object, key, place)) : std::move(otherwise);
  };
  return {.kind = name("UID", file_kind),
          .term = name("linguistics_term", ""),
          .better = sentence("sentence_good"),
          .worse = sentence("sentence_bad")};
}

// The name of a *.jsonl or *.jsonl.gz without these endings; nullopt for other files.
std::optional<std::string> name_of_jsonl(const std::filesystem::path& path) {
  const std::filesystem::path plain = path.extension() == ".gz" ? path.stem() : path.filename();
  return plain.extension() == ".jsonl" ? std::optional(plain.stem().string()) : std::nullopt;
}

bool ends_as_sentence(std::string_view text) {
  constexpr std::string_view kEnds[] = {".", "!", "?", "\u3002", "\uff01", "\uff1f"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return text.ends_with(end); });
}

// The first of three fields is a kind or, for a translation model, a source. Most sources end as a sentence where their
// translations do, and most kinds do not.
void refuse_pairs_of_the_other_kind(std::span<const MinimalPair> pairs, PairsOf what, const std::string& name) {
  const bool translate = what == PairsOf::translations;
  const auto is_odd = [&](const MinimalPair& pair) {
    return translate ? ends_as_sentence(pair.better) && !ends_as_sentence(pair.source) : ends_as_sentence(pair.kind);
  };
  if (2 * std::ranges::count_if(pairs, is_odd) <= std::ssize(pairs)) return;
  const MinimalPair& odd = *std::ranges::find_if(pairs, is_odd);
  if (translate) {
    throw UserError(
        fmt::format("{}: \"{}\" before \"{}\" looks like a kind of error, not a source sentence", name, odd.source,
                    odd.better),
        "give pairs without sources to a language model; if they are sources, write a kind before each of them");
  }
  throw UserError(
      fmt::format("{}: \"{}\" before \"{}\" looks like a sentence, not a kind of error", name, odd.kind, odd.better),
      "give pairs of translations to a translation model; if it is a kind, write it without the mark at its end");
}

}  // namespace

std::vector<MinimalPair> read_minimal_pairs(const std::filesystem::path& path, PairsOf what) {
  const PairForms& forms = what == PairsOf::texts ? kTextForms : kTranslationForms;
  const std::optional<std::string> blimp = name_of_jsonl(path);
  if (blimp && what == PairsOf::translations) {
    throw UserError(path.string() + ": pairs of sentences without the sources that they translate",
                    "give them to a language model or a BERT; " + std::string(forms.remedy));
  }
  LineReader reader(path);
  std::vector<MinimalPair> pairs;
  std::size_t count = 0;  // of fields
  for (std::string line; reader.next(line);) {
    if (blimp) {
      pairs.push_back(pair_of_json(line, *blimp, reader.place()));
      continue;
    }
    std::vector<std::string> fields = split_at(line, '\t');
    if (pairs.empty() && fields.size() >= forms.sentences && fields.size() <= forms.sentences + 2) {
      count = fields.size();
    }
    if (fields.size() != count) {
      reader.refuse(fmt::format("{}, expected {}", counted(std::ssize(fields), "tab-separated field"),
                                count == 0 ? forms.counts : fmt::format("{} as in the first line", count)),
                    forms.remedy);
    }
    pairs.push_back(pair_of(fields, forms, reader.place()));
  }
  if (pairs.empty()) throw UserError(name_of_input(path) + ": empty", forms.remedy);
  if (count == 3) refuse_pairs_of_the_other_kind(pairs, what, name_of_input(path));
  reader.counts().log(path.string());
  return pairs;
}

std::vector<std::string> sentences_of(std::span<const MinimalPair> pairs) {
  std::vector<std::string> sentences;
  for (const MinimalPair& pair : pairs) sentences.insert(sentences.end(), {pair.better, pair.worse});
  return sentences;
}

std::vector<std::string> sources_of(std::span<const MinimalPair> pairs) {
  std::vector<std::string> sources;
  for (const MinimalPair& pair : pairs) sources.insert(sources.end(), 2, pair.source);
  return sources;
}

}  // namespace attend
