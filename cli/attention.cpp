// attend attention: the attention weights of a trained model over lines of text, as a picture or as numbers.
#include <ATen/Parallel.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attention_maps.hpp"
#include "analysis/attention_output.hpp"
#include "analysis/positions.hpp"
#include "analysis/report/heat_map.hpp"
#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/model_options.hpp"
#include "core/command_line.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/number.hpp"
#include "core/output.hpp"
#include "core/signals.hpp"
#include "data/task/line_records.hpp"
#include "data/text/factors.hpp"
#include "data/text/lines.hpp"
#include "eval/attention.hpp"
#include "eval/pair_attention.hpp"
#include "eval/translate.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"
#include "models/run/text_run.hpp"

namespace attend {
namespace {

struct AttentionConfig {
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
  bool positions = false;
  FactorFiles factors;
  ModelOptions use;
  LineOptions lines;
  TranslatorConfig translator;

  static constexpr Condition kOfText = {"positions", {"false"}};

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
    visit("input", self.input,
          {.help = "one text per line, for a BERT also two separated by a tab; -: standard input",
           .placeholder = "FILE",
           .only = kOfText});
    visit("target", self.target,
          {.help =
               "translations of the input lines, whose attention is shown; default: the model's own best translations",
           .placeholder = "FILE",
           .only = kOfText});
    visit("output", self.output,
          {.help = "output file: a page (.html), a picture (.svg), or the weights of every layer and head as JSON "
                   "lines (.jsonl); default: heat maps on standard output",
           .placeholder = "FILE"});
    visit("alignment", self.alignment,
          {.help = "file for the word alignment of each line and its translation: SOURCE-TARGET for every target word, "
                   "counted from 0; from --layer (auto: the last) and --head (auto: the mean); without --output, only "
                   "this file is written",
           .placeholder = "FILE",
           .only = kOfText});
    visit("overwrite", self.overwrite, {.help = "overwrite existing files of --output and --alignment"});
    visit("place", self.place,
          {.help = "cross-attention, or self-attention of the encoder or decoder; auto: cross, for a BERT encoder; in "
                   "files, all",
           .only = kOfText});
    visit("layer", self.layer,
          {.help = "layer, from 0; auto: all in files, else the last", .min = 0, .max = 1000, .only = kOfText});
    visit("head", self.head,
          {.help = "head, from 0; auto: all in files, else the mean of all heads",
           .min = 0,
           .max = 1000,
           .only = kOfText});
    visit("words", self.words,
          {.help = "show weights between words instead of pieces: summed over the pieces of the attended word, "
                   "averaged over those of the attending word",
           .only = kOfText});
    FactorFiles::visit(self.factors, visit, kOfText);
    ModelOptions::visit(self.use, visit);
    LineOptions::visit(self.lines, visit);
    TranslatorConfig::visit(self.translator, visit);
  }

  void validate(const OptionOrigins& origins) const {
    translator.validate(origins);
    refuse_given("nbest", origins, "here: only the best translation is shown");
    if (translator.search.sample > 1) {
      throw UserError(origins("sample") + ": one translation of each line is shown", "give --sample 1");
    }
    if (!alignment.empty()) validate_alignment(origins);
    if (output.empty()) {
      if (overwrite && alignment.empty()) refuse_given("overwrite", origins, "without --output or --alignment");
    } else {
      const PictureKind kind = picture_kind(output, origins("output"));
      if (positions && kind == PictureKind::page) {
        throw UserError(origins("output") + ": " + output + ": a page shows sentences, but --positions reads none",
                        "name a file that ends in .svg or .jsonl");
      }
    }
    AttentionConfig resolved = *this;
    resolved.translator.search = translator.candidates();
    refuse_inapplicable(resolved, given_place(origins));
    const std::string no_text = "with --positions: no text is read", no_search = "with --target: nothing is translated";
    if (positions) refuse_given("line-buffered", origins, no_text);
    for (const BoundOption& option : bind(translator)) {
      if (positions) refuse_given(option.name, origins, no_text);
      const bool searches = option.name != "attention-threshold" && option.name != "threads";
      if (!target.empty() && searches) refuse_given(option.name, origins, no_search);
    }
    if (target.empty()) return;
    if (target == "-" && input == "-") {
      throw UserError(origins("target") + " is -, but standard input carries the lines", "name a file");
    }
  }

  void validate_alignment(const OptionOrigins& origins) const {
    if (alignment == "-") throw UserError(origins("alignment") + " is -, which is not a file", "name a file");
    if (alignment == output) {
      throw UserError(origins("alignment") + " is the file of " + origins("output"), "name two files");
    }
    if (place.value_or(AttentionPlace::cross) != AttentionPlace::cross) {
      throw UserError(origins("place") + " has no meaning with --alignment, which is made of cross attention",
                      "leave one of them out");
    }
    if (output.empty() && words) {
      throw UserError(origins("words") + " has no meaning with --alignment, which is always between words",
                      "leave it out, or add --output FILE");
    }
  }

  // UserError if a file exists that may not be overwritten.
  void check_files() const {
    if (overwrite) return;
    if (!output.empty()) refuse_existing(output, "--output, or pass --overwrite");
    if (!alignment.empty()) refuse_existing(alignment, "--alignment, or pass --overwrite");
  }

  bool shows_maps() const { return !output.empty() || alignment.empty(); }

  // The only place whose weights are needed, if they are not all needed.
  std::optional<AttentionPlace> only_place() const {
    const bool others = place ? *place != AttentionPlace::cross : !output.empty();
    return others ? std::nullopt : std::optional(AttentionPlace::cross);
  }

  TextStyle style() const { return {.width = output::columns(STDOUT_FILENO), .colours = output::colours()}; }

  std::unique_ptr<AttentionOutput> open(AttentionPlace usual_place, const std::string& beginning) const {
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
void observe_own(const AttentionConfig& config, const Run& trained, LineReader& reader, FactorReader& factors,
                 PairAttention& pairs) {
  Translator translator(*trained.model, trained.tokenizers, config.translator);
  const bool at_once = config.lines.at_once(config.input);
  std::deque<std::string> lines;  // read and not yet translated
  const auto next = [&](std::string& line) {
    const bool more = reader.next(line);
    if (more) line += factors.next(line);
    if (more) lines.push_back(line);
    return more;
  };
  const auto emit = [&](const std::vector<Translation>& translations) {
    pairs.add(pair_in_pieces(trained.tokenizers, lines.front(), translations.front()));
    lines.pop_front();
    if (!at_once) return;
    pairs.finish();
    std::cout.flush();
  };
  translator.translate_stream(next, emit, at_once);
  translator.warn_of_cut();
}

void observe_targets(const AttentionConfig& config, const Run& trained, LineReader& reader, FactorReader& factors,
                     LineReader& targets, PairAttention& pairs) {
  std::string line, target;
  std::int64_t number = 0;
  const std::string remedy = "give a translation for each line";
  for (; reader.next(line); ++number) {
    if (signals::stop_requested()) throw Interrupted("stopped before the end of the input");
    if (!targets.next(target)) {
      throw UserError(fmt::format("{}: {}, but {} is another", name_of_input(config.target), counted(number, "line"),
                                  reader.place()),
                      remedy);
    }
    line += factors.next(line);
    pairs.add(pair_in_pieces(trained.tokenizers, line, target));
  }
  if (targets.next(target)) {
    throw UserError(fmt::format("{}: the input has only {}", targets.place(), counted(number, "line")), remedy);
  }
  targets.counts().log(config.target);
}

void observe_translations(const AttentionConfig& config, LineReader& reader) {
  std::optional<LineReader> targets;
  if (!config.target.empty()) targets.emplace(config.target);
  FactorReader factors(config.factors.source_factors);
  const Run trained = Run::load(config.run, config.use.checkpoint, device_named(config.use.device));
  check_factor_files(trained.tokenizers, config.run, config.factors.source_factors.size());
  if (num_cross_layers(trained) == 0) {
    throw UserError(
        config.run + ": a model of kind " + std::string(name_of(trained.config.model)) + " has no attention",
        "give a run with attention, such as one of --model luong or transformer");
  }
  freeze(*trained.model, config.use.precision);
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
  PairAttention pairs(trained, {.only = config.only_place(), .threshold = config.translator.search.attention_threshold},
                      take);
  targets ? observe_targets(config, trained, reader, factors, *targets, pairs)
          : observe_own(config, trained, reader, factors, pairs);
  factors.finish();
  pairs.finish();
  if (output) output->finish();
  if (alignment) alignment->commit();
}

// The words of an encoder's input.
WordsInPieces words_of(const Tokenizer& tokenizer, const EncoderSequence& sequence) {
  WordsInPieces all;
  const std::span<const std::int32_t> ids = sequence.ids;
  const std::size_t begins[] = {1, sequence.first};  // behind [CLS] and the first [SEP]
  const std::size_t ends[] = {sequence.first - 1, std::max(ids.size() - 1, sequence.first)};
  for (int part = 0; part < 2; ++part) {
    const auto own = ids.subspan(begins[part], ends[part] - begins[part]);
    const std::string text = tokenizer.decode(own);
    WordsInPieces words = words_in_pieces(text, pieces_of_words(text, decoded_bytes(tokenizer, own)),
                                          static_cast<std::int64_t>(begins[part]));
    std::ranges::move(words.words, std::back_inserter(all.words));
    std::ranges::move(words.pieces, std::back_inserter(all.pieces));
  }
  return all;
}

// Calls `take` with the sequences of each line, none of a blank one.
using TakeSequences = std::function<void(const std::vector<EncoderSequence>&)>;

std::int64_t read_texts(LineReader& reader, const Bert& bert, const Tokenizer& tokenizer, bool at_once,
                        const TakeSequences& take) {
  SampleMaker maker(tokenizer, {.length = bert->config().max_length});
  for (std::string line; reader.next(line);) {
    if (signals::stop_requested()) throw Interrupted("stopped before the end of the input");
    std::vector<EncoderSequence> sequences;
    if (!is_blank(line)) {
      LabelledText text{.first = line};
      if (line.find('\t') != std::string::npos) {
        std::tie(text.first, text.second.emplace()) = two_texts(line, reader.place(), "leave out the tab");
      }
      const Sample sample = maker.of_text(text, 0);
      sequences.push_back({.ids = sample.ids, .first = sample.first});
    }
    take(sequences);
    if (at_once) std::cout.flush();
  }
  return maker.num_cut();
}

std::int64_t read_records(LineReader& reader, const TextRun& run, bool at_once, const TakeSequences& take) {
  std::int64_t num_cut = 0;
  while (true) {
    LineRecords lines(run.task, run.tokenizer, run.samples);
    if (!read_together(reader, at_once, [&](const std::string& line) { lines.add(line, reader.place()); })) break;
    if (signals::stop_requested()) throw Interrupted("stopped before the end of the input");
    lines.finish();
    const auto sequences = sequences_of(lines.split());
    for (const auto& record : lines.records()) {
      take(record ? sequences[static_cast<std::size_t>(*record)] : std::vector<EncoderSequence>());
    }
    num_cut += lines.num_cut();
    if (at_once) std::cout.flush();
  }
  return num_cut;
}

// The encoder of a run of attend pretrain or finetune; the latter also knows how it reads a line.
struct EncoderRun {
  Bert bert;
  Tokenizer tokenizer;
  std::optional<TextRun> tuned;
};

EncoderRun load_encoder(const AttentionConfig& config, const std::filesystem::path& path) {
  const torch::Device device = device_named(config.use.device);
  const RunKind kind = kind_of_run(path);
  if (kind == RunKind::language) {
    throw UserError(config.run + ": a language model, whose attention is not shown",
                    "give a run of attend train, of attend pretrain --objective masked or of attend finetune");
  }
  if (kind == RunKind::pretrain) {
    const BertRun run = BertRun::load(path, config.use.checkpoint, device);
    return {.bert = run.model->bert, .tokenizer = run.tokenizer, .tuned = {}};
  }
  const TextRun run = TextRun::load(path, config.use.checkpoint, device);
  const Bert bert = run.model->encoder().bert();
  if (bert.is_empty()) {
    throw UserError(config.run + ": its encoder is not a BERT, whose attention this command writes",
                    "give a run of --model bert");
  }
  return {.bert = bert, .tokenizer = run.tokenizer, .tuned = run};
}

void observe_encoder(const AttentionConfig& config, const std::filesystem::path& path, LineReader& reader) {
  const auto [bert, tokenizer, tuned] = load_encoder(config, path);
  if (!recipe_of(bert->config().block.self_attention).has_weights()) {
    throw UserError(config.run + ": its encoder mixes tokens by a Fourier transform, which has no attention weights",
                    "give a run with another --self-attention");
  }
  freeze(*bert, config.use.precision);
  const auto output = config.open(AttentionPlace::encoder, {});
  const auto take = [&, &bert = bert, &tokenizer = tokenizer](const std::vector<EncoderSequence>& sequences) {
    output->add(std::max<std::size_t>(sequences.size(), 1), [&](std::size_t i) {
      if (sequences.empty()) return SentenceAttention{};
      const SentenceAttention attention = attention_of(*bert, tokenizer, sequences[i]);
      return config.words ? in_words(attention, words_of(tokenizer, sequences[i]), {}) : attention;
    });
  };
  const bool at_once = config.lines.at_once(config.input);
  const std::int64_t num_cut =
      tuned ? read_records(reader, *tuned, at_once, take) : read_texts(reader, bert, tokenizer, at_once, take);
  output->finish();
  if (num_cut > 0) log::warn("{} cut to the maximum length", counted(num_cut, "text"));
}

void show_positions(const AttentionConfig& config, const std::filesystem::path& path) {
  const std::vector<PositionEncodings> tables =
      kind_of_run(path) == RunKind::train
          ? position_encodings(Run::load(config.run, config.use.checkpoint, device_named(config.use.device)),
                               config.run)
          : position_encodings(*load_encoder(config, path).bert, config.run);
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
      page.add_curve("cosine similarity of position encodings by distance", "distance", positions.similarity);
    }
    file.write(page.document());
  } else {
    for (const PositionEncodings& positions : tables) file.write(to_json(positions));
  }
  file.commit();
}

void run(const AttentionConfig& config, const OptionOrigins& origins) {
  signals::install();
  at::set_num_threads(static_cast<int>(config.translator.threads));
  const std::filesystem::path path = run_of_best_seed(config.run);
  config.check_files();
  if (config.positions) return show_positions(config, path);
  LineReader reader(config.input);  // opened first: a file that cannot be read is said at once
  if (kind_of_run(path) == RunKind::train) {
    observe_translations(config, reader);
  } else {
    const std::string why = "for " + config.run + ", which does not translate";
    for (const char* option : {"target", "alignment", "source-factors"}) refuse_given(option, origins, why);
    for (const BoundOption& option : bind(config.translator)) refuse_given(option.name, origins, why);
    observe_encoder(config, path, reader);
  }
  reader.counts().log(config.input);
}

}  // namespace

Command attention_command() {
  return make_command<AttentionConfig>("attention", "show the attention weights of a model over lines of text", run);
}

}  // namespace attend
