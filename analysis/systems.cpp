#include "analysis/systems.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "core/error.hpp"
#include "models/translation/factory.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// Options that neither change a trained model nor its score: where files are, what is logged and kept.
constexpr std::array<std::string_view, 17> kOfNoInfluence = {
    "run",       "resume",     "dry-run",   "skip-batch", "train",   "valid",    "tokenizer", "cache-dir",     "device",
    "log-every", "save-every", "keep-last", "keep-best",  "threads", "max-time", "seed",      "bleu-sentences"};

bool has_influence(std::string_view option) {
  return std::ranges::find(kOfNoInfluence, option) == kOfNoInfluence.end();
}

// The options that matter to the run, as text.
OptionTexts options_of(const TrainedRun& run) {
  std::vector<std::string_view> foreign = foreign_options(run.config.model);
  if (run.config.model.attention == ChoiceKind::soft) {
    foreign.insert(foreign.end(), {"soft-share", "reinforce-weight", "entropy-weight"});
  }
  return texts_of(bind(run.config), [&](const BoundOption& option) {
    return has_influence(option.name) && std::ranges::find(foreign, option.name) == foreign.end();
  });
}

OptionTexts architecture_of(const TrainedRun& run) {
  return texts_of(bind(run.config.model), [](const BoundOption&) { return true; });
}

std::string describe(const ModelConfig& model) {
  const std::string size = fmt::format("{} + {} layers of {}", model.encoder_layers.value_or(0),
                                       model.decoder_layers.value_or(0), model.width.value_or(0));
  switch (model.model) {
    case ModelKind::transformer:
      return fmt::format("transformer: {}, {} heads", size, model.heads.value_or(0));
    case ModelKind::fixed:
      return fmt::format("fixed: {}, context {}; {}", name_of(cell_of(model)), name_of(model.context), size);
    case ModelKind::luong:
    case ModelKind::bahdanau:
      return fmt::format("{}: {}, score {}, scope {}, {}; {}", name_of(model.model), name_of(cell_of(model)),
                         name_of(score_of(model)), name_of(model.scope), name_of(model.attention), size);
  }
  return {};
}

// The directory that people name a run after; for an average or a seed, the one above.
fs::path known_as(const std::string& path) {
  fs::path run = fs::absolute(path).lexically_normal();
  if (!run.has_filename()) run = run.parent_path();
  const auto is_part = [](const std::string& name) { return name == "average" || name.starts_with("seed-"); };
  while (is_part(run.filename()) && run.has_parent_path() && run.parent_path() != run) run = run.parent_path();
  return run;
}

// A sentence where the systems' values differ: "train batches: 4096 (luong), 2048 (transformer)".
void note_unless_equal(std::vector<std::string>& notes, const std::vector<SystemRuns>& systems, const std::string& what,
                       const std::function<std::string(const SystemRuns&)>& value_of) {
  std::set<std::string> values;
  std::vector<std::string> shown;
  for (const SystemRuns& system : systems) {
    const std::string value = value_of(system);
    values.insert(value);
    shown.push_back(fmt::format("{} ({})", value.empty() ? "not recorded" : value, system.name));
  }
  if (values.size() > 1) notes.push_back(fmt::format("{}: {}.", what, fmt::join(shown, ", ")));
}

// The names of the texts in run.json.
constexpr const char* kTrainingText = "the text to learn from";
constexpr const char* kValidationText = "the text to validate on";

// The beginning of a hash of run.json; empty where there is none.
std::string input_hash(const TrainedRun& run, const std::string& input) {
  const auto found = run.inputs.find(input);
  return found == run.inputs.end() ? std::string() : found->second.substr(0, 8);
}

}  // namespace

std::vector<SystemRuns> group_by_configuration(const std::vector<TrainedRun>& runs) {
  std::vector<SystemRuns> systems;
  std::map<std::pair<OptionTexts, std::map<std::string, std::string>>, std::size_t> numbers;
  std::set<fs::path> seen;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!seen.insert(fs::weakly_canonical(runs[i].facts.path)).second) {
      throw UserError(runs[i].facts.path + " is given twice", "name each run once");
    }
    // An imported run has no record of its training, so nothing shows that it is a seed of another.
    OptionTexts options = options_of(runs[i]);
    if (runs[i].inputs.empty()) options.emplace("path", runs[i].facts.path);
    const auto [entry, is_new] = numbers.try_emplace({std::move(options), runs[i].inputs}, systems.size());
    if (is_new) systems.push_back({.name = {}, .description = describe(runs[i].config.model), .runs = {}});
    SystemRuns& system = systems[entry->second];
    const auto same_seed = [&](std::size_t other) { return runs[other].facts.seed == runs[i].facts.seed; };
    if (std::ranges::any_of(system.runs, same_seed)) {  // the same configuration, trained again
      systems.push_back({.name = {}, .description = describe(runs[i].config.model), .runs = {i}});
    } else {
      system.runs.push_back(i);
    }
  }
  std::map<std::string, int> named;
  for (const SystemRuns& system : systems) ++named[known_as(runs[system.runs[0]].facts.path).filename()];
  for (SystemRuns& system : systems) {
    const std::string& path = runs[system.runs[0]].facts.path;
    const std::string name = known_as(path).filename();
    system.name = named[name] == 1 ? name : path;
  }
  return systems;
}

void rename_systems(std::vector<SystemRuns>& systems, const std::vector<std::string>& names) {
  if (names.empty()) return;
  if (names.size() != systems.size()) {
    std::vector<std::string> known;
    for (const SystemRuns& system : systems) known.push_back(system.name);
    throw UserError(
        fmt::format("--names: {} for {} systems ({})", names.size(), systems.size(), fmt::join(known, ", ")),
        "give one name for each system, in this order");
  }
  for (std::size_t i = 0; i < systems.size(); ++i) systems[i].name = names[i];
}

std::vector<OptionDifference> option_differences(const std::vector<TrainedRun>& runs,
                                                 const std::vector<SystemRuns>& systems) {
  std::vector<OptionTexts> options;
  for (const SystemRuns& system : systems) options.push_back(options_of(runs[system.runs[0]]));
  const OptionTexts architecture = architecture_of(runs[0]);
  std::vector<OptionDifference> differences;
  const TranslationConfig default_config;
  const BoundOptions all = bind(runs[0].config), defaults = bind(default_config);
  for (std::size_t i = 0; i < all.size(); ++i) {  // in the order of --help
    const BoundOption& option = all[i];
    OptionDifference difference{
        .option = std::string(option.name),
        .part = architecture.contains(std::string(option.name)) ? OptionPart::architecture : OptionPart::conditions,
        .values = {}};
    for (const OptionTexts& of_system : options) {
      const auto found = of_system.find(difference.option);
      difference.values.push_back(found == of_system.end() ? "-" : found->second);
    }
    // An option at its default that another family lacks follows from the family.
    const std::string default_value = text_of(defaults[i].get());
    const auto is_default = [&](const std::string& value) { return value == "-" || value == default_value; };
    const std::vector<std::string>& values = difference.values;
    const bool equal = std::ranges::adjacent_find(values, std::ranges::not_equal_to{}) == values.end();
    const bool lacking = std::ranges::find(values, "-") != values.end();
    if (!equal && !(lacking && std::ranges::all_of(values, is_default))) differences.push_back(std::move(difference));
  }
  return differences;
}

bool have_comparable_losses(const TrainedRun& a, const TrainedRun& b) {
  return a.run.tokenizers == b.run.tokenizers && input_hash(a, kValidationText) == input_hash(b, kValidationText);
}

std::vector<std::string> notes_on_conditions(const std::vector<TrainedRun>& runs,
                                             const std::vector<SystemRuns>& systems) {
  std::vector<std::string> notes;
  if (systems.size() == 1) notes.emplace_back("There is only one system: nothing is compared.");
  const auto first = [&](const SystemRuns& system) -> const TrainedRun& { return runs[system.runs[0]]; };
  note_unless_equal(notes, systems, "The vocabularies differ, so losses and perplexities by piece cannot be compared",
                    [&](const SystemRuns& system) {
                      const TokenizerPair& tokenizers = first(system).run.tokenizers;
                      return tokenizers.src.hash().substr(0, 8) + "/" + tokenizers.tgt.hash().substr(0, 8);
                    });
  note_unless_equal(notes, systems, "The training texts differ",
                    [&](const SystemRuns& system) { return input_hash(first(system), kTrainingText); });
  note_unless_equal(notes, systems, "The validation texts differ, so the curves cannot be compared",
                    [&](const SystemRuns& system) { return input_hash(first(system), kValidationText); });
  // Batches are cut by pieces, so equal configurations see within a few per cent of the same tokens.
  const auto unequal = [&](const std::string& what, double tolerance, const auto& count_of) {
    std::vector<double> counts;
    for (const SystemRuns& system : systems) counts.push_back(static_cast<double>(count_of(first(system)).value_or(0)));
    const auto [least, most] = std::ranges::minmax(counts);
    if (most - least <= tolerance * most) return;
    note_unless_equal(notes, systems, what, [&](const SystemRuns& system) {
      const auto count = count_of(first(system));
      return count ? fmt::format("{}", *count) : std::string();
    });
  };
  unequal("The target tokens seen in training differ", 0.02, [](const TrainedRun& run) { return run.tokens; });
  unequal("The numbers of updates differ", 0.02, [](const TrainedRun& run) { return run.updates; });
  note_unless_equal(notes, systems, "The seeds differ", [&](const SystemRuns& system) {
    std::vector<std::int64_t> seeds;
    for (const std::size_t run : system.runs) seeds.push_back(runs[run].facts.seed);
    std::ranges::sort(seeds);
    return fmt::format("{}", fmt::join(seeds, ", "));
  });
  if (std::ranges::any_of(systems, [](const SystemRuns& system) { return system.runs.size() == 1; })) {
    notes.emplace_back(
        "A system with one seed: intervals and tests say how far another test set could change its score, not how far "
        "another seed could.");
  }
  for (const SystemRuns& system : systems) {
    if (!first(system).updates) notes.push_back(system.name + ": its training was not recorded (train.jsonl).");
  }
  return notes;
}

}  // namespace attend
