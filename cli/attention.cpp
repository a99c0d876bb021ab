// attend attention: the attention weights of a trained model over lines of text, as a picture or as numbers.
#include <unistd.h>

#include <cstdint>
#include <deque>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attention_arithmetic.hpp"
#include "analysis/attention_output.hpp"
#include "analysis/positions.hpp"
#include "analysis/report/heat_map.hpp"
#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/shell.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/options.hpp"
#include "core/text.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"
#include "data/text/parallel.hpp"
#include "eval/attention.hpp"
#include "eval/pair_attention.hpp"
#include "eval/translate.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

struct AttentionCommandConfig {
  std::string run;
  std::string input = "-";
  std::string target;
  std::string output;
  std::string alignment;
  bool overwrite = false;
  std::optional<AttentionPlace> place;
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> head;
  bool words = false;
  bool steps = false;
  std::optional<std::int64_t> query;
  bool positions = false;
  ModelOptions use;
  LineOptions lines;
  TranslatorConfig translator;

  static constexpr Fact kCalls{"calls that"};
  static constexpr std::string_view kWriteFiles = "write files", kWriteNone = "write to standard output";
  static constexpr Condition kOfText = without("positions"), kOfMaps = without("steps");
  static constexpr Condition kOfTranslation = {kRunsOfAttend, {"train"}};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Attention");
    visit("run", self.run,
          {.help = "run of attend train, pretrain or finetune",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("positions", self.positions,
          {.help = "show position encodings of a Transformer or BERT instead of attention, and their cosine similarity "
                   "by distance"});
    visit("steps", self.steps,
          {.help =
               "show the arithmetic of one query in one head instead of maps: energies, weights, norms of the weighted "
               "values and of their sum, each number computed from those before it; in a file, as JSON lines",
           .common = true,
           .only = kOfText});
    visit("query", self.query,
          {.help = "query, from 0: the piece that a decoder predicts, or that of an encoder; auto: the last of a line",
           .min = 0,
           .max = 1'000'000,
           .only = {"steps"}});
    visit("input", self.input,
          {.help = "one text per line, for a BERT also two separated by a tab; -: standard input",
           .file = FileUse::read,
           .common = true,
           .only = kOfText});
    visit.group("Attention", kOfTranslation);
    visit("target", self.target,
          {.help =
               "translations of the input lines, whose attention is shown; default: the model's own best translations",
           .file = FileUse::read,
           .common = true,
           .only = kOfText});
    visit.group("Attention");
    visit("output", self.output,
          {.help = "output file: a page (.html), a picture (.svg), or the weights of every layer and head as JSON "
                   "lines (.jsonl); default: heat maps on standard output",
           .file = FileUse::write,
           .common = true});
    visit.group("Attention", kOfTranslation);
    visit("alignment", self.alignment,
          {.help = "file for the word alignment of each line and its translation: SOURCE-TARGET for every target word, "
                   "counted from 0; from --layer (auto: the last) and --head (auto: the mean); without --output, only "
                   "this file is written",
           .file = FileUse::write,
           .common = true,
           .only = kOfMaps});
    visit.group("Attention");
    visit("overwrite", self.overwrite,
          {.help = "overwrite existing files of --output and --alignment", .only = {kCalls, {kWriteFiles}}});
    visit("place", self.place,
          {.help = "cross-attention, or self-attention of the encoder or decoder; auto: cross, for a BERT encoder; in "
                   "files without --steps, all",
           .only = kOfText});
    visit("layer", self.layer,
          {.help = "layer, from 0; auto: all in files, else the last; with --steps, the last",
           .min = 0,
           .max = 1000,
           .only = kOfText});
    visit("head", self.head,
          {.help = "head, from 0; auto: all in files, else the mean of all heads; with --steps, head 0",
           .min = 0,
           .max = 1000,
           .only = kOfText});
    visit("words", self.words,
          {.help = "show weights between words instead of pieces: summed over the pieces of the attended word, "
                   "averaged over those of the attending word",
           .only = kOfMaps});
    ModelOptions::visit(self.use, visit, kOfText);
    visit.group("Attention", kOfText);
    LineOptions::visit(self.lines, visit);
    OneTranslation<Visitor> one{visit, self.translator};
    TranslatorConfig::visit(self.translator, one);
  }

  // Visits the options of translation as they are for the single translation of a line that is shown. Given
  // translations are read with the threshold and threads alone.
  template <class Visitor>
  struct OneTranslation {
    Visitor& visit;
    const TranslatorConfig& translator;
    std::string_view title = {};

    void group(std::string_view next) {
      title = next;
      visit.group(title, without("target"));
    }
    template <class T>
    void operator()(std::string_view name, T& value, Option traits) {
      const auto is = [&](const auto& member) { return static_cast<const void*>(&member) == &value; };
      if (is(translator.search.nbest)) return;
      if (is(translator.search.sample)) {
        traits.help = "1: draw the translation at random, piece by piece, instead of searching with a beam; 0: search";
        traits.max = 1;
      }
      if (is(translator.mbr)) {
        traits.help = "choose, among N samples (at least 2), the one most like the others; 0: none";
      }
      const bool is_threshold = is(translator.search.attention_threshold);
      if (is_threshold) traits.only = kOfText;
      if (is_threshold || is(translator.threads)) visit.group(title, is_threshold ? kOfTranslation : kOfText);
      visit(name, value, traits);
      visit.group(title, without("target"));
    }
  };

  Facts facts() const {
    Facts all = translator.facts();
    all[kRunsOfAttend] = trained_by(run);
    all[kCalls] = {std::string(output.empty() && alignment.empty() ? kWriteNone : kWriteFiles)};
    return all;
  }

  void validate(const OptionOrigins& origins) const {
    translator.validate(origins);
    if (!alignment.empty() && place.value_or(AttentionPlace::cross) != AttentionPlace::cross) {
      throw UserError(origins("place") + " has no meaning with --alignment, which is made of cross attention",
                      "leave one of them out");
    }
    if (!shows_maps() && words) {
      throw UserError(origins("words") + " has no meaning with --alignment, which is always between words",
                      "leave it out, or add --output FILE");
    }
    if (!output.empty()) {
      const PictureKind kind = picture_kind(output, origins("output"));
      if (positions && kind == PictureKind::page) {
        throw UserError(origins("output") + ": " + output + ": a page shows sentences, but --positions reads none",
                        "name a file that ends in .svg or .jsonl");
      }
      if (steps && kind != PictureKind::json_lines) {
        throw UserError(origins("output") + ": " + output + ": a picture, but --steps shows numbers",
                        "name a file that ends in .jsonl");
      }
    }
  }

  bool shows_maps() const { return !output.empty() || alignment.empty(); }

  // The only place whose weights are needed; nullopt if all may be.
  std::optional<AttentionPlace> only_place() const {
    const bool others = place ? *place != AttentionPlace::cross : !output.empty() && !steps;
    return others ? std::nullopt : std::optional(AttentionPlace::cross);
  }

  TextStyle style() const { return {.width = output::columns(STDOUT_FILENO), .colours = output::colours()}; }

  std::unique_ptr<AttentionOutput> open(AttentionPlace usual_place, const std::string& beginning) const {
    if (steps) {
      const QueryChoice choice{.place = place.value_or(usual_place),
                               .layer = layer,
                               .head = head.value_or(0),
                               .query = query,
                               .beginning = beginning};
      return output.empty() ? arithmetic_on_terminal(choice) : arithmetic_in_file(output, choice);
    }
    const AttentionView view{.choice = {.place = place, .layer = layer, .head = head},
                             .usual_place = usual_place,
                             .beginning = words ? "" : beginning,
                             .style = style(),
                             .words = words,
                             .run = run,
                             .command = command_line("attention", *this)};
    if (output.empty()) return attention_on_terminal(view);
    return attention_in_file(output, picture_kind(output, "--output"), view);
  }
};

// Observes each line with its best translation.
void observe_own(const AttentionCommandConfig& config, const TranslationRun& trained, InputLines& input,
                 PairAttention& pairs) {
  Translator translator(*trained.model, trained.tokenizers, config.translator);
  std::deque<std::string> lines;  // read and not yet translated
  const auto next = [&](std::string& line) {
    const bool more = input.next(line);
    if (more) lines.push_back(line);
    return more;
  };
  const auto emit = [&](const std::vector<Translation>& translations) {
    pairs.add(pair_in_pieces(trained.tokenizers, lines.front(), translations.front()));
    lines.pop_front();
    if (input.at_once()) pairs.finish();
  };
  translator.translate_stream(next, emit, input.at_once());
  translator.warn_of_cut();
}

void observe_targets(const TranslationRun& trained, InputLines& input, AlignedLines& targets, PairAttention& pairs) {
  for (std::string line; input.next(line);) {
    const std::string& target = targets.next().front();
    pairs.add(pair_in_pieces(trained.tokenizers, line, target));
    if (input.at_once()) pairs.finish();
  }
  targets.finish();
}

void observe(const AttentionCommandConfig& config, const TranslationRun& trained, InputLines& input) {
  std::optional<AlignedLines> targets;
  if (!config.target.empty()) targets.emplace(std::vector{config.target}, "the input");
  if (num_cross_layers(trained) == 0) {
    throw UserError(
        config.run + ": a model of kind " + std::string(name_of(trained.options.model)) + " has no attention",
        "give a run with attention, such as one of --model luong or transformer");
  }
  const Tokenizer& tokenizer = trained.tokenizers.tgt;
  std::unique_ptr<AttentionOutput> output;
  if (config.shows_maps()) output = config.open(AttentionPlace::cross, tokenizer.piece(tokenizer.special().bos));
  std::optional<AlignmentFile> alignment;
  if (!config.alignment.empty()) alignment.emplace(config.alignment, trained, config.run, config.layer, "--layer");
  const auto show = [&](const PiecePair& pair, const SentenceAttention& attention) {
    output->add(1, [&](std::size_t) {
      return config.words ? in_words(attention, words_in_pieces(pair.source, source_words(pair)),
                                     words_in_pieces(pair.target, target_words(pair)))
                          : attention;
    });
  };
  const auto take = [&](const PiecePair& pair, const SentenceAttention& attention) {
    if (output) show(pair, attention);
    if (alignment)
      alignment->write(
          pair, config.head ? chosen(attention, {.place = AttentionPlace::cross, .head = config.head}) : attention);
  };
  PairAttention pairs(trained,
                      {.only = config.only_place(),
                       .threshold = config.translator.search.attention_threshold,
                       .operands = config.steps},
                      take);
  targets ? observe_targets(trained, input, *targets, pairs) : observe_own(config, trained, input, pairs);
  pairs.finish();
  if (output) output->finish();
  if (alignment) alignment->commit();
}

// The words of pieces, of which the first has the number `first`.
WordsInPieces words_of(const Tokenizer& tokenizer, std::span<const std::int32_t> ids, std::int64_t first = 0) {
  const std::string text = tokenizer.decode(ids);
  return words_in_pieces(text, pieces_of_words(text, decoded_bytes(tokenizer, ids)), first);
}

// The words of an encoder's input.
WordsInPieces words_of(const Tokenizer& tokenizer, const Sample& sample) {
  WordsInPieces all;
  const std::span<const std::int32_t> ids = sample.ids;
  const std::size_t begins[] = {1, sample.first};  // after [CLS] and the first [SEP]
  const std::size_t ends[] = {sample.first - 1, std::max<std::size_t>(ids.size() - 1, sample.first)};
  for (int part = 0; part < 2; ++part) {
    WordsInPieces words = words_of(tokenizer, ids.subspan(begins[part], ends[part] - begins[part]),
                                   static_cast<std::int64_t>(begins[part]));
    std::ranges::move(words.words, std::back_inserter(all.words));
    std::ranges::move(words.pieces, std::back_inserter(all.pieces));
  }
  return all;
}

// Receives the samples of each line, none for a blank one.
using TakeSamples = std::function<void(const std::vector<Sample>&)>;

std::int64_t read_samples(InputLines& input, const BertRun& run, const TakeSamples& take) {
  SampleMaker maker(run.tokenizer, {.length = run.model->bert->options().max_positions});
  for (std::string line; input.next(line);) {
    std::vector<Sample> samples;
    if (!is_blank(line)) {
      LabelledText text{.first = line};
      if (line.find('\t') != std::string::npos) {
        std::tie(text.first, text.second.emplace()) = two_texts(line, input.place(), "leave out the tab");
      }
      samples.push_back(maker.of_text(text, 0));
    }
    take(samples);
  }
  return maker.num_cut();
}

// A fine-tuned run reads lines as its task does.
std::int64_t read_samples(InputLines& input, const TextRun& run, const TakeSamples& take) {
  std::int64_t num_cut = 0;
  while (true) {
    LineRecords lines(run.task, run.tokenizer, run.samples);
    if (!input.next_together([&](const std::string& line) { lines.add(line, input.place()); })) break;
    lines.finish();
    std::vector<std::vector<Sample>> of_record(static_cast<std::size_t>(lines.split().size()));
    for (const Sample& sample : lines.split().samples) {
      of_record[static_cast<std::size_t>(sample.example)].push_back(sample);
    }
    for (const auto& record : lines.records()) {
      take(record ? of_record[static_cast<std::size_t>(*record)] : std::vector<Sample>());
    }
    num_cut += lines.num_cut();
  }
  return num_cut;
}

Bert encoder_of(const BertRun& run, const std::string& /*name*/) { return run.model->bert; }
Bert encoder_of(const TextRun& run, const std::string& name) {
  if (Bert bert = run.model->encoder().bert(); !bert.is_empty()) return bert;
  throw UserError(name + ": its encoder is not a BERT, whose attention this command writes",
                  "give a run of --model bert");
}

template <class EncoderRun>
void observe(const AttentionCommandConfig& config, const EncoderRun& run, InputLines& input) {
  const Bert bert = encoder_of(run, config.run);
  if (!recipe_of(bert->options().block.self_attention).has_weights()) {
    throw UserError(config.run + ": its encoder mixes tokens by a Fourier transform, which has no attention weights",
                    "give a run with another --self-attention");
  }
  const auto output = config.open(AttentionPlace::encoder, {});
  const auto take = [&](const std::vector<Sample>& samples) {
    output->add(std::max<std::size_t>(samples.size(), 1), [&](std::size_t i) {
      if (samples.empty()) return SentenceAttention{};
      const SentenceAttention attention = attention_of(*bert, run.tokenizer, samples[i], config.steps);
      return config.words ? in_words(attention, words_of(run.tokenizer, samples[i]), {}) : attention;
    });
  };
  const std::int64_t num_cut = read_samples(input, run, take);
  output->finish();
  if (num_cut > 0) log::warn("{} cut to the maximum length", counted(num_cut, "text"));
}

void observe(const AttentionCommandConfig& config, const LanguageRun& run, InputLines& input) {
  if (run.options.is_recurrent()) {
    throw UserError(config.run + ": a recurrent language model, which has no attention",
                    "give a run of --cell transformer");
  }
  const Tokenizer& tokenizer = run.tokenizer;
  const auto output = config.open(AttentionPlace::decoder, tokenizer.piece(tokenizer.special().eos));
  const auto most = static_cast<std::size_t>(run.model->longest().value_or(kMostPieces + 1) - 1);
  std::int64_t num_cut = 0;
  for (std::string line; input.next(line);) {
    std::vector<std::int32_t> ids = tokenizer.encode(line);
    if (ids.size() > most) ++num_cut;
    ids.resize(std::min(ids.size(), most));
    output->add(1, [&](std::size_t) {
      if (ids.empty()) return SentenceAttention{.source = {}, .target = std::vector<std::string>(), .layers = {}};
      const SentenceAttention attention = attention_of(*run.model, tokenizer, ids, config.steps);
      return config.words ? in_words(attention, {}, words_of(tokenizer, ids)) : attention;
    });
  }
  output->finish();
  if (num_cut > 0) log::warn("{} cut to the maximum length", counted(num_cut, "text"));
}

std::vector<PositionEncodings> positions_of(const TranslationRun& run, const std::string& name) {
  return position_encodings(run, name);
}
std::vector<PositionEncodings> positions_of(const LanguageRun& /*run*/, const std::string& name) {
  throw UserError(name + ": a language model, whose position encodings are not shown",
                  "give a run of attend train, of attend pretrain --objective masked or of attend finetune");
}
std::vector<PositionEncodings> positions_of(const auto& encoder, const std::string& name) {
  return position_encodings(*encoder_of(encoder, name), name);
}

void show_positions(const AttentionCommandConfig& config) {
  const std::vector<PositionEncodings> tables =
      std::visit([&](const auto& run) { return positions_of(run, config.run); },
                 load_run(config.run, config.use.checkpoint, device_named(config.use.device)));
  if (config.output.empty()) {
    constexpr std::int64_t kRows = 32;
    const TextStyle style = config.style();
    for (const PositionEncodings& positions : tables) {
      std::cout << to_text(heat_map(positions, kRows, static_cast<std::int64_t>(style.width) / 2 - 4), style) << '\n'
                << similarity_text(positions);
    }
    return;
  }
  AtomicFile file(config.output);
  if (picture_kind(config.output, "--output") == PictureKind::svg) {
    SvgPage page;
    for (const PositionEncodings& positions : tables) {
      page.add(heat_map(positions, 128, 256));
      page.add(similarity_chart(positions));
    }
    file.write(page.document());
  } else {
    for (const PositionEncodings& positions : tables) file.write(to_json(positions));
  }
  file.commit();
}

void run(const AttentionCommandConfig& config, const OptionOrigins& /*origins*/) {
  begin_work(config.translator.threads);
  if (!config.overwrite) {
    if (!config.output.empty()) refuse_existing(config.output, "--output, or pass --overwrite");
    if (!config.alignment.empty()) refuse_existing(config.alignment, "--alignment, or pass --overwrite");
  }
  if (config.positions) return show_positions(config);
  InputLines input(config.input, config.lines);  // opened first, to report an unreadable file at once
  std::visit([&](const auto& run) { observe(config, run, input); }, load_run(config.run, config.use));
  input.log_counts();
}

}  // namespace

Command attention_command() {
  return make_command<AttentionCommandConfig>("attention", "show the attention weights of a model over lines of text",
                                              run, "runs/rnn < corpus/test.en");
}

}  // namespace attend
