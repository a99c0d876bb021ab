// The options of attend attention.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "analysis/attention_arithmetic.hpp"
#include "analysis/attention_output.hpp"
#include "cli/input.hpp"
#include "cli/shell.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/options.hpp"
#include "eval/attention.hpp"
#include "eval/translate.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"

namespace attend {

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
    if (!alignment.empty()) validate_alignment(origins);
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

  void validate_alignment(const OptionOrigins& origins) const {
    if (place.value_or(AttentionPlace::cross) != AttentionPlace::cross) {
      throw UserError(origins("place") + " has no meaning with --alignment, which is made of cross attention",
                      "leave one of them out");
    }
    if (output.empty() && words) {
      throw UserError(origins("words") + " has no meaning with --alignment, which is always between words",
                      "leave it out, or add --output FILE");
    }
  }

  // Throws UserError if an output file exists and --overwrite is not given.
  void check_files() const {
    if (overwrite) return;
    if (!output.empty()) refuse_existing(output, "--output, or pass --overwrite");
    if (!alignment.empty()) refuse_existing(alignment, "--alignment, or pass --overwrite");
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

}  // namespace attend
