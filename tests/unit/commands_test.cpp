// The commands as a whole: what they declare, the runs that they read, and the libraries in one process.
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "models/run/kind.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/tokenizer.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// What the commands declare.

// A condition on an option that its own command lacks holds always, so a misspelt one would go unnoticed.
TEST(Commands, ConditionsNameOptionsOfSomeCommand) {
  const std::vector<Command> commands = all_commands();
  std::set<std::string_view> known;
  for (const Command& command : commands) {
    for (const BoundOption& option : command.prepare().options) known.insert(option.name);
  }
  int conditions = 0;
  for (const Command& command : commands) {
    for (const BoundOption& option : command.prepare().options) {
      for (const Condition& condition : option.conditions) {
        if (condition.is_on_fact) continue;
        ++conditions;
        EXPECT_TRUE(known.contains(condition.name)) << command.name << " --" << option.name << ": " << condition.name;
      }
    }
  }
  EXPECT_GT(conditions, 50);
}

// A value other than the option's default.
OptionValue another_value(const BoundOption& option) {
  const OptionValue value = option.get();
  switch (option.kind) {
    case OptionKind::flag: return value != OptionValue(true);
    case OptionKind::integer: return std::int64_t{987'654};
    case OptionKind::number: return 0.987654;
    case OptionKind::text: return std::string("another");
    case OptionKind::list: return std::vector<std::string>{"another"};
    case OptionKind::duration: return Duration{987'654};
    case OptionKind::choice: break;
  }
  const std::string first(option.choices.front());
  return value == OptionValue(first) ? std::string(option.choices.back()) : first;
}

// A value of an option with which a condition on it fails.
OptionValue failing_value(const BoundOption& option, const Condition& condition) {
  if (condition.above) return *condition.above;
  const bool needs_any = condition.values[0].empty() && !condition.is_without;
  if (!needs_any && option.kind == OptionKind::choice) {
    const auto is_allowed = [&](std::string_view choice) {
      return std::ranges::find(condition.values, choice) != condition.values.end();
    };
    return std::string(*std::ranges::find_if_not(option.choices, is_allowed));
  }
  if (!needs_any) return another_value(option);
  if (option.may_be_auto) return Auto();
  switch (option.kind) {
    case OptionKind::flag: return false;
    case OptionKind::integer: return std::int64_t{0};
    case OptionKind::number: return 0.0;
    case OptionKind::list: return std::vector<std::string>();
    default: return std::string();
  }
}

TEST(Commands, RefuseAnOptionWhoseConditionFails) {
  int conditions = 0;
  for (const Command& command : all_commands()) {
    const Invocation usual = command.prepare();
    const BoundOptions& declared = usual.options;
    const OptionTexts defaults = texts_of(declared);
    for (const BoundOption& option : declared) {
      for (const Condition& condition : option.conditions) {
        Invocation call = command.prepare();
        Facts facts;
        if (condition.is_on_fact) {
          facts[{condition.name}] = {"another value"};
        } else if (const BoundOption* other = find_option(call.options, condition.name)) {
          other->set(failing_value(*other, condition));
        } else {
          continue;  // of a struct that other commands bind with that option
        }
        ++conditions;
        find_option(call.options, option.name)->set(another_value(option));
        const auto place = [&](std::string_view name) { return name == option.name ? "--" + std::string(name) : ""; };
        const std::string said = user_error_of([&] { refuse_inapplicable(call.options, defaults, place, facts); });
        EXPECT_TRUE(said.starts_with("--" + std::string(option.name) + " has no meaning "))
            << command.name << " --" << option.name << ": " << said;
        EXPECT_NE(conditions_text(declared, option), "");
      }
    }
  }
  EXPECT_GT(conditions, 200);
}

// What third_party/torch.cmake sees to: LibTorch and SentencePiece in one process do not stand on each other's
// variables, and loops of LibTorch's headers run in parallel.

TEST(Libraries, SentencePieceLeavesTheFlagsOfLibTorchAlone) {
  letters_of("a line of text\nand another line\n");
  EXPECT_FALSE(FLAGS_caffe2_use_fatal_for_enforce);
  // Were the flag overwritten, this would abort the process instead.
  EXPECT_THROW(c10::GetCPUAllocator()->allocate(std::numeric_limits<std::size_t>::max() / 4), c10::Error);
}

TEST(Libraries, LoopsAreShared) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::atomic<int> parts = 0;
  at::parallel_for(0, 2, 1, [&](std::int64_t, std::int64_t) { ++parts; });
  at::set_num_threads(before);
  EXPECT_EQ(parts, 2);
}

// The kind of a run is the one that its run.json records; runs of another format are refused.

class RunKindTest : public ::testing::Test {
 protected:
  void write(const char* file, const std::string& text) { write_file_atomic(run_ / file, text); }
  std::string message() {
    return user_error_of([&] { kind_of_run(run_.path()); });
  }
  TemporaryDirectory run_;
};

TEST_F(RunKindTest, IsRecorded) {
  for (const RunKind kind : {RunKind::train, RunKind::pretrain, RunKind::language, RunKind::finetune}) {
    write("config.toml", "shape = \"tiny\"\n");  // an option of any kind may be named so
    write("run.json", record_of_kind(kind).dump());
    EXPECT_EQ(kind_of_run(run_.path()), kind);
    EXPECT_NO_THROW(check_is_run(run_.path(), kind));
    EXPECT_THROW(check_is_run(run_.path(), kind == RunKind::train ? RunKind::pretrain : RunKind::train), UserError);
  }
}

TEST_F(RunKindTest, OfALanguageModelIsNamedByItsCommand) {
  write("config.toml", "width = 64\n");
  write("run.json", record_of_kind(RunKind::language).dump());
  EXPECT_EQ(user_error_of([&] { check_is_run(run_.path(), RunKind::pretrain); }),
            run_.path().string() +
                ": a run of attend pretrain --objective causal or hybrid, expected one of attend pretrain --objective "
                "masked or "
                "permuted");
}

TEST_F(RunKindTest, AnEmptyConfigIsRefusedByName) {
  write("config.toml", "");
  write("run.json", record_of_kind(RunKind::train).dump());
  EXPECT_EQ(message(), (run_ / "config.toml").string() + ": an empty file");
}

TEST_F(RunKindTest, AnotherFormatIsRefused) {
  const std::string run = run_.path().string();
  write("config.toml", "model = \"luong\"\n");
  EXPECT_EQ(message(), run + ": a run without a format number, expected format 2");  // an average of 0.1.0
  write("run.json", R"({"attend": "0.1.0"})");
  EXPECT_EQ(message(), run + ": a run without a format number, written by attend \"0.1.0\", expected format 2");
  write("run.json", R"x({"format": 3, "kind": "train", "attend": "0.9.0 (abc)"})x");
  EXPECT_EQ(message(), run + ": a run of format 3, written by attend \"0.9.0 (abc)\", expected format 2");
  write("run.json", R"({"format": "1", "kind": "train"})");
  EXPECT_EQ(message(), run + ": a run of format \"1\", expected format 2");
}

TEST_F(RunKindTest, TranslationsOfTheFirstFormatAreRead) {
  write("config.toml", "width = 64\n");
  write("run.json", R"({"format": 1, "kind": "train"})");
  EXPECT_EQ(kind_of_run(run_.path()), RunKind::train);
  for (const std::string kind : {"pretrain", "finetune"}) {
    write("run.json", R"({"format": 1, "kind": ")" + kind + "\"}");
    EXPECT_NE(message().find(": a run of format 1, expected format 2"), std::string::npos) << message();
  }
}

TEST_F(RunKindTest, IsRefusedUnlessItIsKnown) {
  EXPECT_NE(message().find("config.toml is missing"), std::string::npos) << message();
  write("config.toml", "width = 64\n");
  for (const char* record :
       {R"({"format": 2, "kind": "distil"})", R"({"format": 2, "kind": 1})", R"({"format": 2})", "{"}) {
    write("run.json", record);
    EXPECT_NE(message().find("run.json"), std::string::npos) << record;
  }
  write("run.json", "[]");
  EXPECT_NE(message().find("without a format number"), std::string::npos);
  EXPECT_THROW(kind_of_run(run_.path() / "run.json"), UserError);
  EXPECT_THROW(kind_of_run(run_.path() / "nowhere"), UserError);
}

}  // namespace
}  // namespace attend
