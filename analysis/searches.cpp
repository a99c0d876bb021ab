#include "analysis/searches.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <sstream>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

// Options by name, each followed by its values: "--beam 4", "--beam=4"; a flag may have none.
void apply_search(TranslatorConfig& config, const std::string& text, OptionOrigins& origins) {
  BoundOptions options = bind(config);
  std::istringstream words(text);
  std::string word;
  std::string name;
  std::vector<std::string> values;
  const auto apply = [&] {
    const BoundOption* option = find_option(options, name);
    if (option != nullptr && option->kind == OptionKind::flag && values.empty()) values.emplace_back("true");
    if (option != nullptr && option->kind != OptionKind::list && values.size() > 1) {
      throw UserError(fmt::format("--{}: unexpected \"{}\"", name, values[1]), "give it one value");
    }
    apply_words(options, name, values, origins);
  };
  while (words >> word) {
    if (!word.starts_with("--")) {
      if (name.empty()) throw UserError(fmt::format("found \"{}\", expected an option", word), "write --NAME VALUE");
      values.push_back(word);
      continue;
    }
    if (!name.empty()) apply();
    const std::size_t equals = word.find('=');
    name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    values.clear();
    if (equals != std::string::npos) values.push_back(word.substr(equals + 1));
  }
  if (!name.empty()) apply();
}

NamedSearch parse_search(const std::string& word, const TranslatorConfig& base) {
  const std::size_t equals = word.find('=');
  NamedSearch search{.name = trimmed(word.substr(0, equals)),
                     .options = equals == std::string::npos ? "" : trimmed(word.substr(equals + 1)),
                     .translator = base};
  if (search.name.empty() || search.options.empty() || search.name.starts_with("--")) {
    throw UserError(fmt::format("--search {}: expected NAME = OPTIONS", word),
                    "name the search and its options, in quotes: --search \"greedy = --beam 1\"");
  }
  try {
    OptionOrigins origins;
    origins.call_others("inherited");
    apply_search(search.translator, search.options, origins);
    refuse_inapplicable(search.translator, given_place(origins), search.translator.facts());
    search.translator.validate(origins);
    const bool chooses = search.translator.mbr > 0;
    if (!chooses && search.translator.search.num_results() > 1) {
      throw UserError("one translation of each sentence is compared", "give --nbest 1 or --sample 1");
    }
  } catch (const UserError& error) {
    throw UserError(fmt::format("--search {}: {}", search.name, error.what()), error.remedy());
  }
  return search;
}

}  // namespace

std::vector<NamedSearch> parse_searches(const std::vector<std::string>& words, const TranslatorConfig& base) {
  std::vector<NamedSearch> searches;
  for (const std::string& word : words) {
    NamedSearch search = parse_search(word, base);
    if (std::ranges::find(searches, search.name, &NamedSearch::name) != searches.end()) {
      throw UserError(fmt::format("--search {}: the name is given twice", search.name),
                      "give each search a name of its own");
    }
    searches.push_back(std::move(search));
  }
  return searches;
}

std::vector<Translation> best_translations(const NamedSearch& search, const TranslationRun& run,
                                           const std::vector<std::string>& sources) {
  WorkProgress progress({.unit = "sentences", .total = std::ssize(sources)});
  std::vector<Translation> best;
  for (auto& found : Translator(*run.model, run.tokenizers, search.translator, &progress).translate(sources)) {
    best.push_back(std::move(found.front()));
  }
  return best;
}

std::vector<BeamPoint> beam_points(const TranslationRun& run, const std::vector<std::string>& source,
                                   const std::vector<std::string>& reference, const metrics::Metric& metric,
                                   TranslatorConfig config, WorkProgress* progress) {
  ensure(source.size() == reference.size() && !source.empty(), "a reference for every line");
  std::vector<BeamPoint> points;
  config.search.nbest = 1;
  config.search.sample = 0;
  config.mbr = 0;
  for (const std::int64_t beam : kComparedBeams) {
    config.search.beam = beam;
    const auto translations = Translator(*run.model, run.tokenizers, config, progress).translate(source);
    metrics::Tally tally(metric);
    double log_prob = 0, searched = 0;
    for (std::size_t i = 0; i < source.size(); ++i) {
      const Translation& best = translations[i].front();
      tally.add(best.text, {reference[i]});
      log_prob += best.hypothesis.log_prob;
      searched += is_blank(source[i]) ? 0 : 1;
    }
    points.push_back({.beam = beam, .score = tally.value(), .log_prob = log_prob / std::max(searched, 1.0)});
  }
  return points;
}

}  // namespace attend
