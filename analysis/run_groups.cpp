#include "analysis/run_groups.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <ranges>
#include <set>
#include <string_view>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// The options of a configuration; those of `model` are of the architecture.
template <class Config>
std::vector<RecordedOption> options_in(const Config& config, const OptionTexts& model, const Facts& facts = {}) {
  const Config usual{};
  const BoundOptions options = bind(config), defaults = bind(usual);
  std::vector<RecordedOption> all;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const BoundOption& option = options[i];
    std::string name(option.name), value = text_of(option.get());
    if (option.traits.is_input && !value.empty()) value = "given";
    const OptionPart part = model.contains(name) ? OptionPart::architecture : OptionPart::conditions;
    all.push_back({.name = std::move(name),
                   .part = part,
                   .value = std::move(value),
                   .usual = text_of(defaults[i].get()),
                   .matters = option.traits.identifies && applies(options, option, facts)});
  }
  return all;
}

// The options that matter to the run.
OptionTexts options_of(const RunConditions& run) {
  OptionTexts texts;
  for (const RecordedOption& option : run.options) {
    if (option.matters) texts.emplace(option.name, option.value);
  }
  return texts;
}

// The options of a Transformer's blocks that differ from their defaults, for a description: ", norm pre".
std::string changes_of_blocks(const ModelConfig& model) {
  ModelConfig usual;
  usual.block.heads = model.block.heads;  // which the description names
  const BoundOptions options = bind(model);
  const OptionTexts texts = texts_of(options), usual_texts = texts_of(bind(usual));
  std::string changes;
  for (const OptionBlock& block : blocks_of(options)) {
    if (block.shared == nullptr || *block.shared != ModelConfig::kTransformer) continue;
    for (const OptionBlock::Entry& entry : block.entries) {
      const std::string name(entry.option->name);
      if (texts.at(name) != usual_texts.at(name)) changes += fmt::format(", {} {}", name, texts.at(name));
    }
  }
  return changes;
}

std::string describe(const LanguageOptions& options) {
  const StackOptions stack = sized(options.stack);
  const std::string size = fmt::format("{} of {}", counted(*stack.layers, "layer"), *stack.width);
  if (options.is_recurrent()) return fmt::format("{}: {}", name_of(options.cell), size);
  return fmt::format("transformer: {}, {} heads, positions {}", size, *stack.block.heads,
                     name_of(stack.block.positions));
}

std::string describe(const StackOptions& options) {
  const StackOptions stack = sized(options);
  return fmt::format("{} of {}, {} heads", counted(*stack.layers, "layer"), *stack.width, *stack.block.heads);
}

std::string describe(const TextModelOptions& options, TaskKind kind) {
  std::string encoder;
  switch (options.model) {
    case TextEncoderKind::bert: encoder = "bert: " + describe(options.encoder); break;
    case TextEncoderKind::language:
    case TextEncoderKind::hybrid: encoder = describe(options.language()); break;
    case TextEncoderKind::lstm:
      encoder = fmt::format("lstm: {} of {}, both directions", counted(options.encoder.layers.value_or(1), "layer"),
                            width_of(options.encoder));
  }
  return is_of_sequences(kind) ? fmt::format("{}, pooling {}", encoder, name_of(options.pooling_of_run())) : encoder;
}

std::string describe(const ModelConfig& model) {
  const std::string size = fmt::format("{} + {} layers of {}", model.encoder_layers.value_or(0),
                                       model.decoder_layers.value_or(0), model.width.value_or(0));
  switch (model.model) {
    case ModelKind::transformer:
      return fmt::format("transformer: {}, {} heads, score {}{}", size,
                         *sized(model.block, model.width.value_or(0)).heads, name_of(score_of(model)),
                         changes_of_blocks(model));
    case ModelKind::fixed:
      return fmt::format("fixed: {}, context {}; {}", name_of(cell_of(model)), name_of(model.context), size);
    case ModelKind::luong:
    case ModelKind::bahdanau:
      return fmt::format("{}: {}, score {}, scope {}, {}; {}", name_of(model.model), name_of(cell_of(model)),
                         name_of(score_of(model)), name_of(model.scope), name_of(model.attention), size);
  }
  return {};
}

// The directory that gives a run its name; for an average or a seed, the one above.
fs::path known_as(const std::string& path) {
  fs::path run = fs::absolute(path).lexically_normal();
  if (!run.has_filename()) run = run.parent_path();
  const auto is_part = [](const std::string& name) { return name == "average" || name.starts_with("seed-"); };
  while (is_part(run.filename()) && run.has_parent_path() && run.parent_path() != run) run = run.parent_path();
  return run;
}

// The names of the texts in run.json.
constexpr const char* kTrainingText = "the text to learn from";
constexpr const char* kValidationText = "the text to validate on";

// The hash in run.json; empty if there is none.
std::string input_hash(const RunConditions& run, const std::string& input) {
  const auto found = run.inputs.find(input);
  return found == run.inputs.end() ? std::string() : found->second;
}

// A value as shown, and as compared: its hash, or itself; empty if it is not recorded.
struct Known {
  std::string shown;
  std::string hash;
};
Known itself(const std::string& value) { return {.shown = value, .hash = value}; }

// Each value with its system or seed.
using NamedValues = std::vector<std::pair<std::string, Known>>;

// A sentence if the values differ: "train batches: 4096 (luong), 2048 (transformer)". Values that differ but look alike
// (one file that was changed between two trainings) are shown with their hashes.
void note_unless_equal(std::vector<std::string>& notes, const std::string& what, const NamedValues& values) {
  std::set<std::string> hashes, different;
  std::vector<std::string> shown;
  for (const auto& [name, known] : values) {
    const auto is_alike = [&value = known](const auto& other) {
      return other.second.shown == value.shown && other.second.hash != value.hash;
    };
    std::string text = known.hash.empty() ? "not recorded" : known.shown;
    if (!known.hash.empty() && std::ranges::any_of(values, is_alike)) text += ", XXH3 " + known.hash.substr(0, 8);
    shown.push_back(fmt::format("{} ({})", text, name));
    hashes.insert(known.hash);
    different.insert(std::move(text));
  }
  if (hashes.size() > 1 && different.size() > 1) {
    notes.push_back(fmt::format("{}: {}.", what, fmt::join(shown, ", ")));
  }
}

std::string in_words(const std::vector<std::string>& files) {
  return files.empty() ? "none" : fmt::format("{}", fmt::join(files, " and "));
}

std::string origin_of(const std::vector<std::string>& tokenizer, const std::vector<std::string>& train) {
  return tokenizer.empty() ? "learnt from " + in_words(train) : in_words(tokenizer);
}

// "de" of "data/train.de" and "train.de.gz"; empty for other names.
std::string language_of(const std::string& file) {
  fs::path path = file;
  if (path.extension() == ".gz") path = path.stem();
  const std::string extension = path.extension().string();
  const bool is_code = extension.size() == 3 || extension.size() == 4;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (!is_code || !std::ranges::all_of(extension.substr(1), is_letter) || extension == ".txt") return {};
  return extension.substr(1);
}

// "en to de"; empty if file names do not show it.
std::string direction_of(const std::vector<std::string>& files) {
  if (files.size() != 2) return {};
  const std::string source = language_of(files[0]), target = language_of(files[1]);
  return source.empty() || target.empty() ? std::string() : source + " to " + target;
}

// Notes runs of one system that were trained for different lengths: their mean is not that of a configuration.
void note_unequal_runs(std::vector<std::string>& notes, const std::vector<RunConditions>& runs,
                       const SystemRuns& system) {
  constexpr double kTolerance = 0.02;
  std::vector<double> updates;
  NamedValues values;
  for (const std::size_t run : system.runs) {
    updates.push_back(static_cast<double>(runs[run].cost.updates.value_or(0)));
    values.emplace_back(fmt::format("seed {}", runs[run].facts.seed.value_or(0)),
                        itself(runs[run].cost.updates ? fixed(*runs[run].cost.updates) : ""));
  }
  const auto [least, most] = std::ranges::minmax(updates);
  if (most - least <= kTolerance * most) return;
  note_unless_equal(notes, "The runs of " + system.name + " were trained for different numbers of updates", values);
}

// Of `attend pretrain`.
template <class SomeRun>
RunConditions of_pretraining(const SomeRun& run) {
  const OptionTexts model = texts_of(bind(run.run.options));
  RunConditions conditions{run};
  conditions.description = describe(run.run.options);
  conditions.options = options_in(run.config, model);
  for (const RecordedOption& option : options_in(run.run.options, model)) {
    const auto found = std::ranges::find(conditions.options, option.name, &RecordedOption::name);
    if (found == conditions.options.end()) conditions.options.push_back(option);
  }
  conditions.train = run.config.train;
  conditions.valid = run.config.valid;
  // Pretraining records no hash of its validation text, so its name stands for it.
  if (!conditions.inputs.empty()) conditions.inputs.emplace(kValidationText, in_words(conditions.valid));
  conditions.vocabulary =
      fmt::format("{} pieces, {}", run.run.tokenizer.size(), origin_of(run.config.tokenizer, run.config.train));
  conditions.vocabulary_hash = run.run.tokenizer.hash();
  conditions.validation = "Validation reads segments of --length";
  conditions.validation_value = fmt::format("{}", run.config.instances.length);
  return conditions;
}

}  // namespace

RunConditions conditions_of(const TrainedRun& run) {
  const TokenizerPair& tokenizers = run.run.tokenizers;
  const std::string pieces = tokenizers.joint()
                                 ? fmt::format("{} pieces", tokenizers.src.size())
                                 : fmt::format("{} and {} pieces", tokenizers.src.size(), tokenizers.tgt.size());
  RunConditions conditions{run};
  conditions.family = name_of(run.config.model.model);
  conditions.description = describe(run.config.model);
  conditions.options = options_in(run.config, texts_of(bind(run.config.model)));
  conditions.train = run.config.train;
  conditions.valid = run.config.valid;
  conditions.vocabulary = pieces + ", " + origin_of(run.config.tokenizer, run.config.train);
  conditions.vocabulary_hash = tokenizers.src.hash() + tokenizers.tgt.hash();
  conditions.validation = "Validation skips pairs above --max-length";
  conditions.validation_value = fmt::format("{}", run.config.corpus.max_length);
  return conditions;
}

RunConditions conditions_of(const TrainedLanguageRun& run) {
  RunConditions conditions = of_pretraining(run);
  conditions.family = name_of(run.run.options.cell);
  return conditions;
}

RunConditions conditions_of(const TrainedBertRun& run) {
  RunConditions conditions = of_pretraining(run);
  conditions.family = "bert";
  conditions.description = "bert: " + conditions.description;
  conditions.predicts_pieces = false;  // of equal vocabularies
  return conditions;
}

RunConditions conditions_of(const TrainedTextRun& run) {
  const FinetuningConfig& config = run.config;
  const std::string weights = config.run.init_from.empty() ? ", random weights" : "";
  Facts facts = config.facts();
  facts.merge(facts_of(run.run.task.kind));
  RunConditions conditions{run};
  conditions.family = std::string(name_of(run.run.options.model)) + weights;
  conditions.description = describe(run.run.options, run.run.task.kind) + weights;
  conditions.options = options_in(config, texts_of(bind(config.model)), facts);
  const auto files = [&](const std::vector<std::string>& given, const std::string& of_task) {
    const auto found = given.empty() ? find_file(config.data, of_task + "|") : std::nullopt;
    return found ? std::vector{found->string()} : given;
  };
  conditions.train = files(config.train, run.run.task.train);
  conditions.valid = files(config.valid, run.run.task.valid.empty() ? "" : run.run.task.valid[0]);
  if (const auto first = run.inputs.find("validation text 1"); first != run.inputs.end()) {
    conditions.inputs.emplace(kValidationText, first->second);
  }
  conditions.vocabulary = fmt::format("{} pieces", run.run.tokenizer.size());
  conditions.vocabulary_hash = run.run.tokenizer.hash();
  conditions.predicts_pieces = false;
  return conditions;
}

std::vector<SystemRuns> group_by_configuration(const std::vector<RunConditions>& runs) {
  std::vector<SystemRuns> systems;
  std::map<std::pair<OptionTexts, std::map<std::string, std::string>>, std::size_t> numbers;
  std::set<fs::path> seen;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!seen.insert(fs::weakly_canonical(runs[i].facts.path)).second) {
      throw UserError(runs[i].facts.path + " is given twice", "name each run once");
    }
    // An imported run has no record of its training, so it cannot be recognised as a seed of another.
    OptionTexts options = options_of(runs[i]);
    if (runs[i].inputs.empty()) options.emplace("path", runs[i].facts.path);
    const auto [entry, is_new] = numbers.try_emplace({std::move(options), runs[i].inputs}, systems.size());
    if (is_new) systems.push_back({.name = {}, .description = runs[i].description, .runs = {}});
    SystemRuns& system = systems[entry->second];
    const auto same_seed = [&](std::size_t other) { return runs[other].facts.seed == runs[i].facts.seed; };
    if (std::ranges::any_of(system.runs, same_seed)) {  // the same configuration, trained again
      systems.push_back({.name = {}, .description = runs[i].description, .runs = {i}});
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
    const auto known = systems | std::views::transform(&SystemRuns::name);
    throw UserError(
        fmt::format("--names: {} for {} systems ({})", names.size(), systems.size(), fmt::join(known, ", ")),
        "give one name for each system, in this order");
  }
  for (std::size_t i = 0; i < systems.size(); ++i) systems[i].name = names[i];
}

std::vector<OptionDifference> option_differences(const std::vector<RunConditions>& runs,
                                                 const std::vector<SystemRuns>& systems) {
  std::vector<OptionTexts> options(systems.size());
  std::ranges::transform(systems, options.begin(),
                         [&](const auto& system) { return options_of(runs[system.runs[0]]); });
  if (runs.empty()) return {};
  std::vector<OptionDifference> differences;
  for (const RecordedOption& option : runs[0].options) {  // in the order of declaration
    OptionDifference difference{.option = option.name, .part = option.part};
    for (const OptionTexts& of_system : options) {
      const auto found = of_system.find(difference.option);
      difference.values.push_back(found == of_system.end() ? "-" : found->second);
    }
    // An option at its default that another family lacks follows from the family.
    const auto is_default = [&](const std::string& value) { return value == "-" || value == option.usual; };
    const std::vector<std::string>& values = difference.values;
    const bool equal = std::ranges::adjacent_find(values, std::ranges::not_equal_to{}) == values.end();
    const bool lacking = std::ranges::find(values, "-") != values.end();
    if (!equal && !(lacking && std::ranges::all_of(values, is_default))) differences.push_back(std::move(difference));
  }
  return differences;
}

std::vector<LearningRate> learning_rates_of(const std::vector<RunConditions>& runs,
                                            const std::vector<SystemRuns>& systems) {
  std::vector<LearningRate> rates;
  for (const SystemRuns& system : systems) {
    const RunConditions& run = runs[system.runs[0]];
    const auto rate = std::ranges::find(run.options, "learning-rate", &RecordedOption::name);
    if (run.inputs.empty() || rate == run.options.end()) continue;  // imported
    rates.push_back({.system = system.name, .family = run.family, .rate = rate->value});
  }
  return rates;
}

bool have_comparable_losses(const RunConditions& a, const RunConditions& b) {
  return (!a.predicts_pieces || a.vocabulary_hash == b.vocabulary_hash) &&
         input_hash(a, kValidationText) == input_hash(b, kValidationText) && a.validation_value == b.validation_value;
}

std::vector<LevelReached> levels_reached(const std::vector<RunConditions>& runs, const std::vector<System>& systems) {
  const auto comparable = [&](const RunConditions& run) { return have_comparable_losses(run, runs[0]); };
  if (!std::ranges::all_of(runs, comparable)) return {};
  std::vector<LevelReached> levels;
  for (const System& system : systems) {
    double best = std::numeric_limits<double>::infinity();
    for (const CurvePoint& point : system.runs[0].curve) best = std::min(best, point.loss.value_or(best));
    if (best == std::numeric_limits<double>::infinity()) continue;
    LevelReached& level = levels.emplace_back(LevelReached{.loss = best});
    for (const System& other : systems) {
      const auto& curve = other.runs[0].curve;
      const auto first =
          std::ranges::find_if(curve, [&](const CurvePoint& point) { return point.loss && *point.loss <= best; });
      level.first.push_back(first == curve.end() ? std::nullopt : std::optional(*first));
    }
  }
  std::ranges::sort(levels, std::ranges::greater{}, &LevelReached::loss);
  return levels;
}

std::vector<std::string> notes_on_conditions(const std::vector<RunConditions>& runs,
                                             const std::vector<SystemRuns>& systems,
                                             const std::vector<std::string>& test, const Units& units) {
  std::vector<std::string> notes;
  if (systems.empty()) return notes;
  const auto first = [&](const SystemRuns& system) -> const RunConditions& { return runs[system.runs[0]]; };
  const auto values_of = [&](const auto& value_of) {
    NamedValues values;
    for (const SystemRuns& system : systems) values.emplace_back(system.name, value_of(system));
    return values;
  };
  const auto texts_of = [&](const char* input, const std::vector<std::string> RunConditions::*files) {
    return values_of([&](const SystemRuns& system) {
      return Known{.shown = in_words(first(system).*files), .hash = input_hash(first(system), input)};
    });
  };

  for (const SystemRuns& system : systems) {
    const std::string direction = direction_of(first(system).train), tested = direction_of(test);
    if (direction.empty() || tested.empty() || direction == tested) continue;
    notes.push_back(fmt::format("{} was trained to translate {} ({}), but the test set is {} ({}).", system.name,
                                direction, in_words(first(system).train), tested, in_words(test)));
  }
  note_unless_equal(notes,
                    fmt::format("The vocabularies differ, so {}numbers of pieces cannot be compared",
                                first(systems[0]).predicts_pieces ? "losses, perplexities by piece and " : ""),
                    values_of([&](const SystemRuns& system) {
                      return Known{.shown = first(system).vocabulary, .hash = first(system).vocabulary_hash};
                    }));
  note_unless_equal(notes, "The training texts differ", texts_of(kTrainingText, &RunConditions::train));
  note_unless_equal(notes, "The validation texts differ, so the curves cannot be compared",
                    texts_of(kValidationText, &RunConditions::valid));
  note_unless_equal(
      notes, fmt::format("{}, which differs, so validation losses cannot be compared", first(systems[0]).validation),
      values_of([&](const SystemRuns& system) { return itself(first(system).validation_value); }));
  for (const SystemRuns& system : systems) note_unequal_runs(notes, runs, system);
  // Batches are cut by pieces, so equal configurations see within a few per cent of the same tokens.
  const auto unequal = [&](const std::string& what, double tolerance, const auto& count_of) {
    std::vector<double> counts(systems.size());
    std::ranges::transform(systems, counts.begin(), [&](const auto& it) { return count_of(first(it)).value_or(0); });
    const auto [least, most] = std::ranges::minmax(counts);
    if (most - least <= tolerance * most) return;
    note_unless_equal(notes, what, values_of([&](const SystemRuns& system) {
                        const auto count = count_of(first(system));
                        return itself(count ? fixed(static_cast<std::int64_t>(*count)) : "");
                      }));
  };
  if (have_equal_vocabularies(runs)) {
    unequal(fmt::format("The {}s seen in training differ", units.token), 0.02,
            [](const RunConditions& run) { return run.cost.tokens; });
  } else {
    unequal(
        fmt::format("The {}s seen in training differ (tokens over the pieces per word of the {})", units.word,
                    units.text),
        0.05, [](const RunConditions& run) {
          const Cost& cost = run.cost;
          return cost.tokens
                     ? std::optional(std::llround(static_cast<double>(*cost.tokens) / cost.pieces_per_word.value_or(1)))
                     : std::nullopt;
        });
  }
  unequal("The numbers of updates differ", 0.02, [](const RunConditions& run) { return run.cost.updates; });
  const auto seeds_of = [&](const SystemRuns& system) {
    std::vector<std::int64_t> seeds(system.runs.size());
    std::ranges::transform(system.runs, seeds.begin(), [&](auto run) { return runs[run].facts.seed.value_or(0); });
    std::ranges::sort(seeds);
    return itself(fmt::format("{}", fmt::join(seeds, ", ")));
  };
  note_unless_equal(notes, "The seeds differ", values_of(seeds_of));
  if (std::ranges::any_of(systems, [](const SystemRuns& system) { return system.runs.size() == 1; })) {
    notes.emplace_back(
        "A system with one seed: intervals and tests say how far another test set could change its score, not how far "
        "another seed could.");
  }
  for (const SystemRuns& system : systems) {
    if (!first(system).cost.updates) notes.push_back(system.name + ": its training was not recorded (train.jsonl).");
  }
  return notes;
}

bool have_equal_vocabularies(const std::vector<RunConditions>& runs) {
  const auto same = [&](const RunConditions& run) { return run.vocabulary_hash == runs[0].vocabulary_hash; };
  return std::ranges::all_of(runs, same);
}

std::string fault_of_training_text(const RunConditions& run) {
  const std::vector<std::string>& files = run.train;
  const std::string hash = input_hash(run, kTrainingText);
  if (hash.empty() || files.empty()) return fmt::format("{} does not record its training text", run.facts.path);
  std::error_code missing;
  for (const std::string& file : files) {
    if (!fs::is_regular_file(file, missing)) {
      return fmt::format("{}, which {} learnt from, is not there", file, run.facts.path);
    }
  }
  if (hash.ends_with(hash_hex_of_files(files))) return {};                 // pretraining also records how it is split
  if (files.size() == 1 && hash == hash_hex_of_file(files[0])) return {};  // as fine-tuning records it
  return fmt::format("{} no longer hold what {} learnt from", in_words(files), run.facts.path);
}

}  // namespace attend
