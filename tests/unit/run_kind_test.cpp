// The kind of a run is the one that its run.json records; runs of another format are refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/files.hpp"
#include "models/run/kind.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

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
                ": a run of attend pretrain --objective causal, expected one of attend pretrain --objective masked or "
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
