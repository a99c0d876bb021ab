// The kind of a run is what its run.json records; runs of version 0.1.0, which recorded none, are told by their files.
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/files.hpp"
#include "models/run/run.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

class RunKindTest : public ::testing::Test {
 protected:
  void write(const char* file, const std::string& text) { write_file_atomic(run_ / file, text); }
  std::string message() {
    try {
      kind_of_run(run_.path());
    } catch (const UserError& error) {
      return error.what();
    }
    return {};
  }
  TemporaryDirectory run_;
};

TEST_F(RunKindTest, IsRecorded) {
  for (const RunKind kind : {RunKind::train, RunKind::pretrain, RunKind::finetune}) {
    write("config.toml", "shape = \"tiny\"\n");  // an option of any kind may be named so
    write("run.json", record_of_kind(kind));
    EXPECT_EQ(kind_of_run(run_.path()), kind);
    EXPECT_NO_THROW(check_is_run(run_.path(), kind));
    EXPECT_THROW(check_is_run(run_.path(), kind == RunKind::train ? RunKind::pretrain : RunKind::train), UserError);
  }
}

TEST_F(RunKindTest, OfVersion010IsToldByItsFiles) {
  write("config.toml", "model = \"luong\"\n");
  EXPECT_EQ(kind_of_run(run_.path()), RunKind::train);  // an average had no run.json
  write("run.json", R"({"attend": "0.1.0"})");
  EXPECT_EQ(kind_of_run(run_.path()), RunKind::train);
  write("config.toml", "shape = \"tiny\"\n");
  EXPECT_EQ(kind_of_run(run_.path()), RunKind::pretrain);
  write("task.toml", "");
  EXPECT_EQ(kind_of_run(run_.path()), RunKind::finetune);
}

TEST_F(RunKindTest, IsRefusedUnlessItIsKnown) {
  EXPECT_NE(message().find("config.toml is missing"), std::string::npos) << message();
  write("config.toml", "");
  for (const char* record : {R"({"kind": "distil"})", R"({"kind": 1})", R"([])", "{"}) {
    write("run.json", record);
    EXPECT_NE(message().find("run.json"), std::string::npos) << record;
  }
  EXPECT_THROW(kind_of_run(run_.path() / "run.json"), UserError);
  EXPECT_THROW(kind_of_run(run_.path() / "nowhere"), UserError);
}

}  // namespace
}  // namespace attend
