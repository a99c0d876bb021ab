// Options: what goes in by words and TOML, what comes out, and every message of a mistake.
#include "core/options.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "cli/shell.hpp"
#include "core/conditions.hpp"
#include "tests/support/user_error.hpp"

namespace attend {

enum class Colour { dark_red, blue };
template <>
inline constexpr auto kEnumNames<Colour> = std::to_array<EnumName<Colour>>({{Colour::dark_red, "dark-red"},
                                                                            {Colour::blue, "blue"}});

namespace {

struct Inner {
  double rate = 5e-4;
  std::optional<std::int64_t> warmup_steps;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Learning rate");
    visit("rate", self.rate, {.help = "peak", .min = 0, .max = 10});
    visit("warmup-steps", self.warmup_steps, {.help = "updates of warm-up", .min = 0});
  }
};

struct Outer {
  std::string run;
  bool dry_run = false;
  std::int64_t max_tokens = 4096;
  Colour colour = Colour::blue;
  std::optional<Colour> shade;
  std::vector<std::string> train;
  Duration max_time{3600};
  Inner inner;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run, {.help = "directory", .placeholder = "DIR", .required = true, .positional = true});
    visit("dry-run", self.dry_run, {.help = "build and stop"});
    visit("max-tokens", self.max_tokens, {.help = "tokens of a batch", .min = 1, .max = 1e6});
    visit("colour", self.colour, {.help = "of the line"});
    visit("shade", self.shade, {.help = "of the area"});
    visit("train", self.train, {.help = "two files"});
    visit("max-time", self.max_time, {.help = "stops after", .min = 1});
    Inner::visit(self.inner, visit);
  }
};

constexpr Fact kTools{"tools of kind"};

struct Painting {
  Colour colour = Colour::blue;
  std::optional<Colour> edge = {};
  double gloss = 1;
  bool frame = false;
  std::string wood = "oak";
  std::string nail = {};
  std::int64_t stride = 128;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Paint");
    visit("colour", self.colour, {.help = "of the area"});
    visit("edge", self.edge, {.help = "of the line", .only = {"colour", {"blue"}}});
    visit("frame", self.frame, {.help = "around it"});
    visit("gloss", self.gloss, {.help = "of the edge", .only = {"edge", {"blue", "dark-red"}}});
    visit("wood", self.wood, {.help = "of the frame", .only = {"frame"}});
    visit("nail", self.nail, {.help = "in the wall", .only = without("frame")});
    visit("stride", self.stride, {.help = "of the brush", .only = {kTools, {"brush", "roller"}}});
  }
};

// One option of a painting, bound without the option that its condition names.
struct Edge {
  std::optional<Colour> edge = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("edge", self.edge, {.help = "of the line", .only = {"colour", {"blue"}}});
  }
};

Outer from_toml(std::string_view text, UnknownKeys unknown = UnknownKeys::refuse) {
  Outer config;
  BoundOptions options = bind(config);
  OptionOrigins origins;
  apply_toml(options, text, "r.toml", origins, unknown);
  return config;
}

Outer from_words(std::string_view name, const std::vector<std::string>& words) {
  Outer config;
  BoundOptions options = bind(config);
  OptionOrigins origins;
  apply_words(options, name, words, origins);
  return config;
}

TEST(Options, ReadsEveryKindFromToml) {
  const Outer config = from_toml(R"(
run = "runs/a"
dry-run = true
max_tokens = 100_000
colour = "dark-red"
shade = "blue"
train = ["a b.en", "a.de"]
max-time = "1.5h"
rate = 1
warmup-steps = 7
)");
  EXPECT_EQ(config.run, "runs/a");
  EXPECT_TRUE(config.dry_run);
  EXPECT_EQ(config.max_tokens, 100000);
  EXPECT_EQ(config.colour, Colour::dark_red);
  EXPECT_EQ(config.shade, Colour::blue);
  EXPECT_EQ(config.train, (std::vector<std::string>{"a b.en", "a.de"}));
  EXPECT_EQ(config.max_time.seconds, 5400);
  EXPECT_EQ(config.inner.rate, 1.0);
  EXPECT_EQ(config.inner.warmup_steps, 7);
}

TEST(Options, ReadsEveryKindFromWords) {
  EXPECT_EQ(from_words("run", {"-"}).run, "-");
  EXPECT_TRUE(from_words("dry-run", {"true"}).dry_run);
  EXPECT_EQ(from_words("max_tokens", {"12"}).max_tokens, 12);
  EXPECT_EQ(from_words("max_tokens", {"1e6"}).max_tokens, 1'000'000);
  EXPECT_EQ(from_words("max_tokens", {"2.5e3"}).max_tokens, 2500);
  EXPECT_EQ(from_words("colour", {"dark-red"}).colour, Colour::dark_red);
  EXPECT_EQ(from_words("train", {"a", "b"}).train, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(from_words("max-time", {"2d"}).max_time.seconds, 172800);
  EXPECT_EQ(from_words("rate", {"+5e-4"}).inner.rate, 5e-4);
  EXPECT_EQ(from_words("warmup-steps", {"3"}).inner.warmup_steps, 3);
  EXPECT_EQ(from_words("warmup-steps", {"auto"}).inner.warmup_steps, std::nullopt);
}

TEST(Options, EveryMistakeInAFileNamesItsPlaceWhatWasFoundAndWhatIsExpected) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\nmax-tokens = 0",
       "r.toml:2: max-tokens: found 0, expected an integer from 1 to 1e6 | max-tokens: tokens of a batch"},
      {"max-tokens = 1000001",
       "r.toml:1: max-tokens: found 1000001, expected an integer from 1 to 1e6 | max-tokens: tokens of a batch"},
      {"max-tokens = 1.5",
       "r.toml:1: max-tokens: found 1.5, expected an integer from 1 to 1e6 | max-tokens: tokens of a batch"},
      {"max-tokens = \"5\"",
       "r.toml:1: max-tokens: found \"5\", expected an integer from 1 to 1e6 | max-tokens: tokens of a batch"},
      {"rate = nan", "r.toml:1: rate: found nan, expected a number from 0 to 10 | rate: peak"},
      {"rate = true", "r.toml:1: rate: found true, expected a number from 0 to 10 | rate: peak"},
      {"warmup-steps = -1",
       "r.toml:1: warmup-steps: found -1, expected an integer of at least 0, or auto | warmup-steps: updates of "
       "warm-up"},
      {"colour = \"green\"", "r.toml:1: colour: found \"green\", expected one of dark-red, blue | colour: of the line"},
      {"colour = \"auto\"", "r.toml:1: colour: found \"auto\", expected one of dark-red, blue | colour: of the line"},
      {"dry-run = 1", "r.toml:1: dry-run: found 1, expected true or false | dry-run: build and stop"},
      {"run = 7", "r.toml:1: run: found 7, expected a UTF-8 text | run: directory"},
      {"run = \"a\\u0000b\"", "r.toml:1: run: found \"a\\u0000b\", expected a UTF-8 text | run: directory"},
      {"max-time = 90",
       "r.toml:1: max-time: found 90, expected a time such as 90s, 45m, 1.5h or 2d of at least 1s | max-time: stops "
       "after"},
      {"max-time = \"90\"",
       "r.toml:1: max-time: found \"90\", expected a time such as 90s, 45m, 1.5h or 2d of at least 1s | max-time: "
       "stops after"},
      {"train = [1]", "r.toml:1: train: found [ 1 ], expected a list of UTF-8 texts | train: two files"},
      {"train = [[\"a\"]]", "r.toml:1: train: found [ [ \"a\" ] ], expected a list of UTF-8 texts | train: two files"},
      {"run = 2020-01-01", "r.toml:1: run: found 2020-01-01, expected a UTF-8 text | run: directory"},
      {"max-tokns = 1", "r.toml:1: max-tokns: no such option | did you mean max-tokens?"},
      {"made = 1", "r.toml:1: made: no such option | `attend config COMMAND` prints the options of a command"},
      {"zzzzzzzz = 1", "r.toml:1: zzzzzzzz: no such option | `attend config COMMAND` prints the options of a command"},
      {"[train]\na = 1", "r.toml:1: found the table [train], expected options | write options without a [section]"},
      {"[model]\na = 1", "r.toml:1: found the table [model], expected options | write options without a [section]"},
      {"max-tokens = 1\nmax_tokens = 2",
       "r.toml:2: duplicate option max-tokens, as max-tokens and as max_tokens | leave one of them out"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(error_and_remedy_of([&] { from_toml(text); }), message) << text;
  const std::string syntax = error_and_remedy_of([] { from_toml("run = \"a\"\nrate = = 1"); });
  EXPECT_TRUE(syntax.starts_with("r.toml:2: ")) << syntax;
  EXPECT_TRUE(error_and_remedy_of([] { from_toml("train = [}"); }).starts_with("r.toml:1: "));
  std::string deep = "rate = 1\na";
  for (int i = 0; i < 400'000; ++i) deep += ".a";
  EXPECT_EQ(error_and_remedy_of([&] { from_toml(deep + " = 1"); }),
            "r.toml:2: found more than 200 dots, expected `name = value` | write option names without dots");
}

TEST(Options, EveryMistakeInWordsNamesTheFlag) {
  const std::vector<std::tuple<std::string, std::vector<std::string>, std::string>> cases = {
      {"max-tokens",
       {"4k"},
       "--max-tokens: found \"4k\", expected an integer from 1 to 1e6 | max-tokens: tokens of a batch"},
      {"max-tokens",
       {"99999999999999999999"},
       "--max-tokens: found \"99999999999999999999\", expected an integer from 1 to 1e6 | max-tokens: tokens of a "
       "batch"},
      {"max-tokens",
       {},
       "--max-tokens: found nothing, expected an integer from 1 to 1e6 | max-tokens: tokens of a batch"},
      {"rate", {"inf"}, "--rate: found \"inf\", expected a number from 0 to 10 | rate: peak"},
      {"rate", {"1", "2"}, "--rate: found \"1\" \"2\", expected a number from 0 to 10 | rate: peak"},
      {"dry-run", {"yes"}, "--dry-run: found \"yes\", expected true or false | dry-run: build and stop"},
      {"max-time",
       {"-1h"},
       "--max-time: found \"-1h\", expected a time such as 90s, 45m, 1.5h or 2d of at least 1s | max-time: stops "
       "after"},
      {"max-time",
       {""},
       "--max-time: found \"\", expected a time such as 90s, 45m, 1.5h or 2d of at least 1s | max-time: stops after"},
      {"run", {"\xff"}, "--run: found \"\xff\", expected a UTF-8 text | run: directory"},
      {"colr", {"blue"}, "--colr: no such option | did you mean --colour?"},
      {"elephant", {"blue"}, "--elephant: no such option | --help lists the options"},
  };
  for (const auto& [name, words, message] : cases)
    EXPECT_EQ(error_and_remedy_of([&] { from_words(name, words); }), message);
}

TEST(Options, ARequiredOptionMustBeGiven) {
  Outer config;
  EXPECT_EQ(error_and_remedy_of([&] { check_required(bind(config), "attend train"); }),
            "attend train: DIR (or --run) is missing: directory | `attend train --help` lists the options");
  config.run = "runs/a";
  EXPECT_EQ(error_and_remedy_of([&] { check_required(bind(config), "attend train"); }), "");
}

TEST(Options, AReaderOfAPartIgnoresOtherKeysOnlyWhenAsked) {
  EXPECT_EQ(from_toml("other = 1\nmax-tokens = 5\n[table]\nx = 1", UnknownKeys::ignore).max_tokens, 5);
  EXPECT_NE(error_and_remedy_of([] { from_toml("other = 1"); }), "");
}

TEST(Options, LaterSourcesWinAndTheOriginIsRemembered) {
  Outer config;
  BoundOptions options = bind(config);
  OptionOrigins origins;
  apply_toml(options, "rate = 1\nmax-tokens = 2", "a.toml", origins);
  apply_toml(options, "\nrate = 3", "b.toml", origins);
  apply_words(options, "max-tokens", {"4"}, origins);
  EXPECT_EQ(config.inner.rate, 3);
  EXPECT_EQ(config.max_tokens, 4);
  EXPECT_EQ(origins("rate"), "b.toml:2: rate");
  EXPECT_EQ(origins("max-tokens"), "--max-tokens");
  EXPECT_EQ(origins("run"), "run (default)");
  EXPECT_FALSE(origins.given("run"));
}

TEST(Options, AFileIsPrintedWithCommentsUnderItsGroups) {
  const std::string text = to_toml(Outer{});
  EXPECT_NE(text.find("# directory; a UTF-8 text\n# run = \"\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n# Learning rate\n\n# peak; a number from 0 to 10\nrate = 5e-4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("warmup-steps = \"auto\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("max-time = \"1h\"\n"), std::string::npos) << text;
}

TEST(Options, TheTextsAreThoseOfTheValuesThatCount) {
  const Outer outer;
  const OptionTexts all = texts_of(bind(outer));
  EXPECT_EQ(all.at("warmup-steps"), "auto");
  EXPECT_EQ(all.at("max-time"), "1h");
  OptionTexts others = texts_of(bind(outer), [](const BoundOption& option) { return option.name != "warmup-steps"; });
  EXPECT_FALSE(others.contains("warmup-steps"));
  others.emplace("warmup-steps", "auto");
  EXPECT_EQ(others, all);
}

TEST(Options, DeclarationsAreChecked) {
  bool value = false;
  OptionBinder binder;
  binder("a", value, {.help = "x"});
  EXPECT_THROW(binder("a", value, {.help = "x"}), std::logic_error);
  EXPECT_THROW(binder("b_c", value, {.help = "x"}), std::logic_error);
  EXPECT_THROW(binder("b", value, {}), std::logic_error);
  Colour colour = Colour::blue;
  binder("colour", colour, {.help = "x"});
  EXPECT_THROW(binder("b", value, {.help = "x", .only = {"colour", {"blue", "bleu"}}}), std::logic_error);
  EXPECT_THROW(binder("b", value, {.help = "x", .only = {"a", {"true"}}}), std::logic_error);
  binder("b", value, {.help = "x", .only = {"d"}});
  EXPECT_THROW(binder("d", value, {.help = "x"}), std::logic_error) << "declared after a condition on it";
  binder("e", value, {.help = "x", .only = without("a")});
  EXPECT_EQ(binder.options.size(), 4U);
}

// The names of the options that apply.
std::vector<std::string_view> applicable(const Painting& painting, const Facts& facts = {}) {
  std::vector<std::string_view> names;
  const BoundOptions options = bind(painting);
  for (const BoundOption& option : options) {
    if (applies(options, option, facts)) names.push_back(option.name);
  }
  return names;
}

TEST(Conditions, AnOptionAppliesIfItsConditionAndThoseAboveItHold) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(applicable({}), (Names{"colour", "edge", "frame", "nail", "stride"})) << "an automatic edge has no gloss";
  EXPECT_EQ(applicable({.edge = Colour::blue}), (Names{"colour", "edge", "frame", "gloss", "nail", "stride"}));
  EXPECT_EQ(applicable({.colour = Colour::dark_red, .edge = Colour::blue}),
            (Names{"colour", "frame", "nail", "stride"}))
      << "without an edge no gloss";
  EXPECT_EQ(applicable({.frame = true}), (Names{"colour", "edge", "frame", "wood", "stride"}));
  EXPECT_EQ(applicable({}, {{kTools, {"roller"}}}), applicable({}));
  EXPECT_EQ(applicable({}, {{kTools, {"knife"}}}), (Names{"colour", "edge", "frame", "nail"}));
  const Edge alone;
  EXPECT_TRUE(applies(bind(alone), bind(alone)[0]));
}

TEST(Conditions, AnOptionThatDoesNotApplyIsRefusedUnlessItIsAtItsDefault) {
  const auto refused = [](const Painting& painting, const Facts& facts = {}) {
    return error_and_remedy_of([&] { refuse_inapplicable(painting, option_place, facts); });
  };
  EXPECT_EQ(refused({.colour = Colour::dark_red}, {{kTools, {"knife"}}}), "");
  EXPECT_EQ(refused({.edge = Colour::blue, .gloss = 2}), "");
  EXPECT_EQ(refused({.gloss = 2}),
            "option gloss has no meaning with --edge auto | leave it out; it is only for --edge blue, dark-red");
  EXPECT_EQ(refused({.colour = Colour::dark_red, .gloss = 2}),
            "option gloss has no meaning with --colour dark-red | leave it out; it is only for --colour blue")
      << "the outermost condition is the reason";
  EXPECT_EQ(refused({.wood = "ash"}),
            "option wood has no meaning without --frame | leave it out; it is only for --frame");
  EXPECT_EQ(refused({.frame = true, .nail = "long"}),
            "option nail has no meaning with --frame | leave it out; it is only for calls without --frame");
  EXPECT_EQ(
      refused({.stride = 1}, {{kTools, {"knife"}}}),
      "option stride has no meaning for tools of kind knife | leave it out; it is only for tools of kind brush or "
      "roller");
}

TEST(Conditions, OnlyGivenOptionsAreRefusedWhereTheirOriginIsKnown) {
  Painting painting{.wood = "ash"};
  BoundOptions options = bind(painting);
  OptionOrigins origins;
  const auto refused = [&] {
    return error_and_remedy_of([&] { refuse_inapplicable(painting, given_place(origins)); });
  };
  EXPECT_EQ(refused(), "");
  apply_toml(options, "\nwood = \"elm\"", "r.toml", origins);
  EXPECT_EQ(refused(), "r.toml:2: wood has no meaning without --frame | leave it out; it is only for --frame");
}

TEST(Conditions, AFileGroupsOptionsByTheirOutermostCondition) {
  EXPECT_EQ(to_toml(Painting{}),
            "# Paint\n\n"
            "# of the area; one of dark-red, blue\ncolour = \"blue\"\n"
            "# around it; true or false\nframe = false\n"
            "\n# Paint, only --colour blue\n\n"
            "# of the line; one of dark-red, blue, or auto\nedge = \"auto\"\n"
            "# only --edge blue, dark-red: of the edge; a number\ngloss = 1\n"
            "\n# Paint, only --frame\n\n"
            "# of the frame; a UTF-8 text\nwood = \"oak\"\n"
            "\n# Paint, only calls without --frame\n\n"
            "# in the wall; a UTF-8 text\nnail = \"\"\n"
            "\n# Paint, only tools of kind brush or roller\n\n"
            "# of the brush; an integer\nstride = 128\n");
  EXPECT_EQ(to_toml(Edge{}), "# of the line; one of dark-red, blue, or auto\nedge = \"auto\"\n");
}

RC_GTEST_PROP(OptionsProperty, WhatIsPrintedReadsBackEqual, ()) {
  // Any Unicode but NUL, so that quoting, escapes and several bytes a character are met.
  const auto text = [] {
    std::string made;
    for (const char32_t point : *rc::gen::container<std::u32string>(rc::gen::inRange<char32_t>(1, 0x800))) {
      if (point < 0x80) {
        made += static_cast<char>(point);
      } else {
        made += {static_cast<char>(0xc0 | (point >> 6)), static_cast<char>(0x80 | (point & 0x3f))};
      }
    }
    return made;
  };
  const auto number = [](double least, double most) {
    const double value =
        std::ldexp(static_cast<double>(*rc::gen::arbitrary<std::int32_t>()), *rc::gen::inRange<int>(-60, 20));
    return std::clamp(value, least, most);
  };
  Outer config;
  config.run = text();
  config.dry_run = *rc::gen::arbitrary<bool>();
  config.max_tokens = *rc::gen::inRange<std::int64_t>(1, 1000001);
  if (*rc::gen::arbitrary<bool>()) config.shade = *rc::gen::element(Colour::dark_red, Colour::blue);
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) config.train.push_back(text());
  config.max_time.seconds = number(1, 1e18);
  config.inner.rate = number(0, 10);
  if (*rc::gen::arbitrary<bool>()) config.inner.warmup_steps = std::abs(*rc::gen::arbitrary<std::int64_t>() / 2);

  RC_ASSERT(to_toml(from_toml(to_toml(config))) == to_toml(config));

  Outer by_words;
  BoundOptions options = bind(by_words);
  OptionOrigins origins;
  for (const BoundOption& option : bind(config)) {
    const OptionValue value = option.get();
    const auto* list = std::get_if<std::vector<std::string>>(&value);
    if (list && list->empty()) continue;
    apply_words(options, option.name, list ? *list : std::vector<std::string>{text_of(value)}, origins);
  }
  RC_ASSERT(to_toml(by_words) == to_toml(config));
}

TEST(CommandLine, RepeatsEveryChangedOptionAsAShellReadsIt) {
  Outer config;
  EXPECT_EQ(command_line("paint", config), "attend paint");
  config.run = "it's $HOME";
  config.train = {"a b", "", "c.txt"};
  config.dry_run = true;
  config.shade = Colour::dark_red;
  config.inner.warmup_steps = 7;
  EXPECT_EQ(command_line("paint", config),
            R"(attend paint 'it'\''s $HOME' --dry-run --shade dark-red --train 'a b' '' c.txt --warmup-steps 7)");
}

}  // namespace
}  // namespace attend
