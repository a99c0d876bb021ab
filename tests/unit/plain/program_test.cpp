// The frame around commands: what a command line becomes, exit codes, and every message.
#include <gtest/gtest.h>

#include <fstream>
#include <new>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

struct DrawConfig {
  std::string run;
  std::vector<std::string> inputs;
  std::int64_t max_tokens = 10;
  double slope = 1;
  bool tied = true;
  bool dry_run = false;
  std::optional<std::string> fail;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run, {.help = "the run", .placeholder = "RUN", .required = true, .positional = true});
    visit("input", self.inputs, {.help = "files", .file = FileUse::read, .positional = true});
    visit.group("Numbers");
    visit("max-tokens", self.max_tokens, {.help = "tokens of a batch", .min = 1});
    visit("slope", self.slope, {.help = "of the line", .min = -5});
    visit("tied", self.tied, {.help = "one table"});
    visit("dry-run", self.dry_run, {.help = "build and stop"});
    visit("fail", self.fail, {.help = "how"});
  }
  void validate(const OptionOrigins& origins) const {
    if (slope == 0) throw UserError(origins("slope") + ": must not be 0");
  }
};

DrawConfig drawn;  // what the command last ran with

void draw(const DrawConfig& config, const OptionOrigins&) {
  drawn = config;
  std::cout << "drawn\n";
  if (config.fail == "memory") throw std::bad_alloc();
  if (config.fail == "torch")
    throw std::runtime_error("[enforce] DefaultCPUAllocator: can't allocate memory: x\ntrace");
  if (config.fail == "fault") throw std::logic_error("first line\nbacktrace");
  if (config.fail == "signal") throw Interrupted("saved at step 7");
  if (config.fail == "user") throw UserError("a.en: 3 lines", "give it 4");
}

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome attend(const std::vector<std::string>& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run_program(
      {make_command<DrawConfig>("draw", "draws a line", draw), make_command<DrawConfig>("drop", "drops it", draw)},
      words);
  std::string out = testing::internal::GetCapturedStdout();
  return {code, std::move(out), testing::internal::GetCapturedStderr()};
}

std::string error(const std::vector<std::string>& words) {
  const Outcome outcome = attend(words);
  EXPECT_EQ(outcome.code, kExitUserMistake);
  EXPECT_EQ(outcome.out, "");
  return outcome.err;
}

using Words = std::vector<std::string>;

TEST(Program, WordsBecomeOptions) {
  ASSERT_EQ(attend({"draw", "r", "a", "b", "--max_tokens", "5", "--slope=-1.5", "--dry-run", "--no-tied"}).err, "");
  EXPECT_EQ(drawn.run, "r");
  EXPECT_EQ(drawn.inputs, (Words{"a", "b"}));
  EXPECT_EQ(drawn.max_tokens, 5);
  EXPECT_EQ(drawn.slope, -1.5);
  EXPECT_TRUE(drawn.dry_run);
  EXPECT_FALSE(drawn.tied);

  ASSERT_EQ(
      attend({"draw", "--input", "[a]", "--slope", "-1", "--input", "b c", "drop", "--run", "-", "--dry-run=false"})
          .code,
      0);
  EXPECT_EQ(drawn.run, "-");
  EXPECT_EQ(drawn.inputs, (Words{"[a]", "b c", "drop"}));
  EXPECT_EQ(drawn.slope, -1);
  EXPECT_FALSE(drawn.dry_run);

  ASSERT_EQ(attend({"draw", "--max-tokens", "1", "--max-tokens", "2", "--input", "a", "--", "r"}).code, 0);
  EXPECT_EQ(drawn.max_tokens, 2) << "the last one counts";
  EXPECT_EQ(drawn.run, "r");
  EXPECT_EQ(drawn.inputs, Words{"a"});

  ASSERT_EQ(attend({"draw", "r", "--fail", ""}).code, 0);
  EXPECT_EQ(drawn.fail, "");

  ASSERT_EQ(attend({"draw", "--run=--odd=1", "--slope", "-.5", "--", "-x"}).code, 0);
  EXPECT_EQ(drawn.run, "--odd=1");
  EXPECT_EQ(drawn.slope, -.5);
  EXPECT_EQ(drawn.inputs, Words{"-x"});
}

TEST(Program, AFlagMayHaveAValueOfItsOwn) {
  ASSERT_EQ(attend({"draw", "r", "--dry-run", "true", "--tied", "false", "a"}).err, "");
  EXPECT_TRUE(drawn.dry_run);
  EXPECT_FALSE(drawn.tied);
  EXPECT_EQ(drawn.inputs, Words{"a"});
  ASSERT_EQ(attend({"draw", "--dry-run", "false", "--tied", "r", "true"}).err, "");
  EXPECT_FALSE(drawn.dry_run);
  EXPECT_TRUE(drawn.tied);
  EXPECT_EQ(drawn.run, "r");
  EXPECT_EQ(drawn.inputs, Words{"true"}) << "only the word after the flag is its value";
  EXPECT_EQ(error({"draw", "--run", "r", "--input", "a", "--no-tied", "false"}),
            "attend: error: attend draw: unexpected \"false\"\n  `attend draw --help` shows its usage\n");
  EXPECT_EQ(error({"draw", "r", "--input", "a", "--dry-run", "maybe"}),
            "attend: error: --dry-run: found \"maybe\", expected true or false\n");
}

TEST(Program, FlagsWinOverFilesAndLaterFilesOverEarlier) {
  const TemporaryDirectory directory;
  const std::string first = directory / "first.toml";
  const std::string second = directory / "second.toml";
  std::ofstream(first) << "slope = 2\nmax-tokens = 3\ninput = ['x']\ndry-run = true";
  std::ofstream(second) << "max-tokens = 4\nslope = 5";
  ASSERT_EQ(attend({"draw", "r", "--slope", "6", "--config", first, "--config", second, "--no-dry-run"}).code, 0);
  EXPECT_EQ(drawn.slope, 6);
  EXPECT_EQ(drawn.max_tokens, 4);
  EXPECT_EQ(drawn.inputs, Words{"x"});
  EXPECT_FALSE(drawn.dry_run);
  EXPECT_FALSE(log::is_quiet());
  ASSERT_EQ(attend({"draw", "r", "--config", second, "--config", directory.write("quiet.toml", "quiet = true")}).code,
            0);
  EXPECT_TRUE(log::is_quiet());
  ASSERT_EQ(attend({"draw", "r", "--config", directory / "quiet.toml", "--no-quiet"}).code, 0);
  EXPECT_FALSE(log::is_quiet());
  std::ofstream(second) << "\nslope = 0";
  EXPECT_EQ(error({"draw", "r", "--config", second}), "attend: error: " + second + ":2: slope: must not be 0\n");
}

TEST(Program, MistakesAreNamed) {
  EXPECT_EQ(error({}),
            "attend: error: no command given\n  `attend --help` lists the commands; `attend toy corpus` writes data to "
            "try them "
            "with\n");
  EXPECT_EQ(error({"drwa"}), "attend: error: attend drwa: no such command\n  did you mean attend draw?\n");
  EXPECT_EQ(error({"elephant"}),
            "attend: error: attend elephant: no such command\n  `attend --help` lists the commands\n");
  EXPECT_EQ(
      error({"draw"}),
      "attend: error: attend draw: RUN (or --run) is missing: the run\n  `attend draw --help` lists the options\n");
  EXPECT_EQ(error({"draw", "r", "--max-tokn=5"}),
            "attend: error: --max-tokn: no such option of attend draw\n  did you mean --max-tokens?\n");
  EXPECT_EQ(error({"draw", "r", "-x"}),
            "attend: error: -x: no such option of attend draw\n  `attend draw --help` lists the options\n");
  EXPECT_EQ(error({"draw", "r", "--quite"}),
            "attend: error: --quite: no such option of attend draw\n  did you mean --quiet?\n");
  EXPECT_EQ(
      error({"draw", "r", "--max-tokens", "x"}),
      "attend: error: --max-tokens: found \"x\", expected an integer of at least 1\n  max-tokens: tokens of a batch\n");
  EXPECT_EQ(error({"draw", "--run", "--quiet"}),
            "attend: error: --run: found nothing, expected a UTF-8 text\n  run: the run\n");
  EXPECT_EQ(error({"draw", "r", "--dry-run=maybe"}),
            "attend: error: --dry-run: found \"maybe\", expected true or false\n  dry-run: build and stop\n");
  EXPECT_EQ(error({"draw", "r", "--slope", "0"}), "attend: error: --slope: must not be 0\n");
  EXPECT_EQ(error({"draw", "r", "--config", "/nowhere.toml"}),
            "attend: error: /nowhere.toml: cannot be read: No such file or directory\n  check the path\n");
  EXPECT_EQ(error({"draw", "r", "--max-tokens"}),
            "attend: error: --max-tokens: found nothing, expected an integer of at least 1\n  max-tokens: tokens of a "
            "batch\n");
  EXPECT_EQ(error({"draw", "r", "--input", "--quiet"}),
            "attend: error: --input: found nothing, expected a list of UTF-8 texts\n  input: files\n");
  EXPECT_EQ(error({"draw", "r", "--config"}), "attend: error: --config: found nothing, expected a TOML file\n");
  EXPECT_EQ(error({"draw", "r", "--no-slope"}),
            "attend: error: --no-slope: no such option of attend draw\n  `attend draw --help` lists the options\n");
  EXPECT_EQ(error({"draw", "r", "--input", "a", "--", "b"}),
            "attend: error: attend draw: unexpected \"b\"\n  `attend draw --help` shows its usage\n");
  EXPECT_EQ(error({"config"}),
            "attend: error: attend config: no command given\n  name one, such as `attend config train`\n");
  EXPECT_EQ(error({"config", "config"}),
            "attend: error: attend config: no such command\n  `attend --help` lists the commands\n");
  EXPECT_EQ(error({"config", "daw"}), "attend: error: attend daw: no such command\n  did you mean attend draw?\n");
}

struct TakingConfig {
  std::vector<std::string> runs, names, test;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("runs", self.runs, {.help = "runs", .placeholder = "RUN", .positional = true});
    visit("names", self.names, {.help = "of them", .placeholder = "NAME"});
    visit("test", self.test, {.help = "text", .file = FileUse::read});
  }
};

TEST(Program, ARunThatAListHasTakenIsNamed) {
  const TemporaryDirectory directory;
  const std::string a = directory / "a", b = directory / "b";
  std::filesystem::create_directory(a);
  std::filesystem::create_directory(b);
  const auto said = [](Words words) {
    testing::internal::CaptureStderr();
    words.insert(words.begin(), "take");
    run_program({make_command<TakingConfig>("take", "takes", [](const TakingConfig&, const OptionOrigins&) {})}, words);
    return testing::internal::GetCapturedStderr();
  };
  const auto taken = [](const std::string& option, const std::string& run) {
    return "attend: error: " + option + " has taken " + run + "\n  write runs before options\n";
  };
  EXPECT_EQ(said({"--test", "s", "t", a, b}), taken("--test", a));
  EXPECT_EQ(said({"--names", "x", a}), taken("--names", a));
  EXPECT_EQ(said({a, "--test", "s", "t", b}), taken("--test", b));
  EXPECT_EQ(said({a, "--test", "s", "t", "--names", b}), "") << "a run may be named like a directory";
  EXPECT_EQ(said({"--test", "s", "t", "--", a, b}), "");
  EXPECT_EQ(said({"--test", "s", "t", directory / "c"}), "");
}

TEST(Program, EachFailureHasItsExitCode) {
  Outcome outcome = attend({"draw", "r", "--fail", "user"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "attend: error: a.en: 3 lines\n  give it 4\n");
  outcome = attend({"draw", "r", "--fail", "signal"});
  EXPECT_EQ(outcome.code, 75);
  EXPECT_EQ(outcome.err, "saved at step 7\n");
  outcome = attend({"draw", "r", "--fail", "fault"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(
      outcome.err,
      "attend: error: attend draw: first line\n  this is a bug in attend: please report it with the command line\n");
  for (const std::string how : {"memory", "torch"}) {
    outcome = attend({"draw", "r", "--fail", how});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err, "attend: error: attend draw: not enough memory\n  lower --max-tokens\n");
  }
}

TEST(Program, ConfigPrintsWhatReadsBack) {
  const TemporaryDirectory directory;
  const std::string file = directory / "c.toml";
  const Outcome outcome = attend({"config", "draw", "--slope", "2.5", "--input", "a b", "--no-tied"});
  ASSERT_EQ(outcome.code, 0);
  std::ofstream(file) << outcome.out;
  EXPECT_EQ(attend({"config", "draw", "--config", file}).out, outcome.out);
  ASSERT_EQ(attend({"draw", "r", "--config", file}).code, 0);
  EXPECT_EQ(drawn.slope, 2.5);
  EXPECT_EQ(drawn.inputs, Words{"a b"});
  EXPECT_FALSE(drawn.tied);
}

struct TrainingConfig {
  std::string resume = "never";
  std::int64_t layers = 2;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("resume", self.resume, {.help = "or not"});
    visit("layers", self.layers, {.help = "of the model"});
  }
};

struct DeepTrainingConfig {
  std::string resume = "never";
  std::int64_t layers = 12;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    TrainingConfig::visit(self, visit);
  }
};

std::vector<Command> trainings_and_draw() {
  return {
      make_command<TrainingConfig>("shallow", "trains", [](const TrainingConfig&, const OptionOrigins&) {}),
      make_command<DeepTrainingConfig>("deep", "trains too", [](const DeepTrainingConfig&, const OptionOrigins&) {}),
      make_command<DrawConfig>("draw", "draws a line", draw)};
}

TEST(Program, ThePageListsWhatTrainingsShareOnce) {
  testing::internal::CaptureStdout();
  run_program(trainings_and_draw(), {"config", "--markdown"});
  const std::string page = testing::internal::GetCapturedStdout();
  const auto count = [&](std::string_view text) {
    std::size_t times = 0;
    for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++times;
    return times;
  };
  EXPECT_EQ(count("| `--resume` |"), 1U) << page;
  EXPECT_EQ(count("## attend shallow"), 1U) << page;
  EXPECT_LT(page.find("| `--resume` |"), page.find("## attend shallow")) << page;
  EXPECT_EQ(count("| `--layers` |"), 2U) << "defaults differ: " << page;
  EXPECT_EQ(count("| `--slope` |"), 1U) << page;
}

TEST(Program, AnOptionOfAnotherCommandIsNamedWithIt) {
  testing::internal::CaptureStderr();
  run_program(trainings_and_draw(), {"draw", "r", "--layers", "2"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "attend: error: --layers: no such option of attend draw\n  it is an option of attend shallow, deep\n");
}

TEST(Program, HelpListsCommandsAndOptions) {
  EXPECT_NE(attend({"--help"}).out.find("draws a line"), std::string::npos);
  EXPECT_EQ(attend({"--version"}).out.substr(0, 7), "attend ");
  const Outcome help = attend({"draw", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(attend({"help", "draw"}).out, help.out);
  EXPECT_EQ(attend({"help"}).out, attend({"--help"}).out);
  EXPECT_EQ(help.out,
            "attend draw: draws a line\n\n"
            "Usage: attend draw RUN [FILE...] [options]\n\n"
            "Options\n"
            "  --run RUN                   the run [required]\n"
            "  --input FILE...             files [none]\n\n"
            "Numbers\n"
            "  --max-tokens N              tokens of a batch; an integer of at least 1 [10]\n"
            "  --slope X                   of the line; a number of at least -5 [1]\n"
            "  --[no-]tied                 one table [true]\n"
            "  --dry-run                   build and stop\n"
            "  --fail TEXT                 how [auto]\n\n"
            "For every command\n"
            "  --config FILE               options from a TOML file; repeatable, later files win, flags win over\n"
            "                              files\n"
            "  -q, --quiet                 print only warnings and errors\n"
            "  -h, --help [all|WORD]       print the options that most people set, all, or those about a word;\n"
            "                              beside other options, such as --model luong, those that go with them\n");
  EXPECT_EQ(attend({"draw", "--slope", "2", "--help"}).out.find("[1]"), std::string::npos)
      << "values are those of the call";
  EXPECT_EQ(attend({"-V"}).out, attend({"--version"}).out);
  ASSERT_EQ(attend({"-q", "draw", "r"}).code, 0);
  EXPECT_TRUE(log::is_quiet());
  ASSERT_EQ(attend({"draw", "r", "--input", "a", "-q"}).code, 0);
  EXPECT_TRUE(log::is_quiet());
  EXPECT_EQ(drawn.inputs, Words{"a"});
  ASSERT_EQ(attend({"draw", "r"}).code, 0);
  EXPECT_FALSE(log::is_quiet());
  EXPECT_NE(attend({"config", "--markdown"}).out.find("| `--slope` | a number of at least -5 | 1 | of the line |"),
            std::string::npos);
}

TEST(Program, HelpFindsOptionsByWords) {
  const std::string slope = "\n  --slope X                   of the line; a number of at least -5 [1]\n";
  for (const Words& words : {Words{"help", "LINE"}, {"help", "--slope"}, {"help", "the", "line"}}) {
    EXPECT_EQ(attend(words).out, "attend draw, drop" + slope) << words.back();
  }
  EXPECT_EQ(attend({"help", "draw", "the", "line"}).out, "attend draw" + slope);
  EXPECT_EQ(attend({"draw", "--help", "slope"}).out, "attend draw" + slope);
  EXPECT_EQ(
      error({"help", "draw", "colour"}),
      "attend: error: no option of attend draw is about \"colour\"\n  `attend --help` lists the commands, `attend "
      "help COMMAND all` all options of one\n");
  EXPECT_EQ(error({"help", "drwa"}),
            "attend: error: no option of any command is about \"drwa\"\n  did you mean `attend help draw`?\n");
}

struct PaintConfig {
  bool frame = false;
  std::string wood = "oak";
  std::int64_t coats = 1;
  std::string varnish = "matt";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Paint");
    visit("frame", self.frame, {.help = "around it"});
    visit("wood", self.wood, {.help = "of the frame", .only = {"frame"}});
    visit("coats", self.coats, {.help = "of colour"});
    visit("varnish", self.varnish, {.help = "of the wood", .only = {"wood"}});
  }
};

TEST(Program, HelpAndThePageSayWhichOptionsAnOptionNeeds) {
  const auto printed = [](const Words& words) {
    testing::internal::CaptureStdout();
    run_program({make_command<PaintConfig>("paint", "paints", [](const PaintConfig&, const OptionOrigins&) {})}, words);
    return testing::internal::GetCapturedStdout();
  };
  const std::string help = printed({"help", "paint"});
  EXPECT_NE(help.find("\nPaint\n"
                      "  --frame                     around it\n"
                      "  --coats N                   of colour; an integer [1]\n\n"
                      "Paint, only --frame\n"
                      "  --wood TEXT                 of the frame [oak]\n"
                      "  --varnish TEXT              only --wood: of the wood [matt]\n\n"),
            std::string::npos)
      << help;
  const std::string page = printed({"config", "--markdown"});
  EXPECT_NE(page.find("| oak | *only --frame*: of the frame |"), std::string::npos) << page;
  EXPECT_NE(page.find("| matt | *only --wood*: of the wood |"), std::string::npos) << page;
}

}  // namespace
}  // namespace attend
