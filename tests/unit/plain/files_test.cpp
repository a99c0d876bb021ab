// Files on disk: atomic writing, JSON, and tensors in the format of safetensors.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/process.hpp"
#include "core/safetensors.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// Files are whole or absent, whatever fails; and each failure names the path.

namespace fs = std::filesystem;

template <class Work>
std::string mistake(Work work) {
  try {
    work();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no mistake";
}

// How many entries `directory` has: nothing temporary may be left behind.
std::ptrdiff_t entries(const fs::path& directory) {
  return std::distance(fs::directory_iterator(directory), fs::directory_iterator());
}

TEST(Files, WhatIsWrittenReadsBack) {
  const TemporaryDirectory directory;
  const std::string content("a\0\xff\n", 4);
  write_file_atomic(directory / "a", "old");
  write_file_atomic(directory / "a", content);
  EXPECT_EQ(read_file(directory / "a"), content);
  const MappedFile mapped(directory / "a");
  EXPECT_EQ(hash_hex(mapped.bytes()), hash_hex_of_file(directory / "a"));
  EXPECT_EQ(mapped.bytes().size(), content.size());
  EXPECT_EQ(entries(directory.path()), 1);
  const fs::perms all = fs::perms::owner_read | fs::perms::owner_write;
  EXPECT_EQ(fs::status(directory / "a").permissions() & all, all);
}

TEST(Files, EmptyFilesAreFiles) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "a", "");
  EXPECT_EQ(read_file(directory / "a"), "");
  EXPECT_EQ(MappedFile(directory / "a").bytes().size(), 0);
}

TEST(Files, AFileHasSeveralNames) {
  EXPECT_TRUE(same_file("a", "./b/../a"));
  EXPECT_TRUE(same_file("a", fs::current_path() / "a"));
  EXPECT_FALSE(same_file("a", "b/a"));
  EXPECT_FALSE(same_file("a", ""));
}

TEST(Files, HashIsXxh3) {
  // XXH3_128bits of no bytes, from the specification's reference implementation.
  EXPECT_EQ(hash_hex({}), "99aa06d3014798d86001c324468d497f");
}

TEST(Files, ReadingNamesWhatIsWrong) {
  const TemporaryDirectory directory;
  const std::string path = directory / "a";
  EXPECT_EQ(mistake([&] { read_file(path); }), path + ": cannot be read: No such file or directory");
  EXPECT_EQ(mistake([&] { MappedFile mapped(path); }), path + ": cannot be read: No such file or directory");
  EXPECT_EQ(mistake([&] { read_file(directory.path()); }),
            directory.path().string() + ": is a directory, expected a file");
  write_file_atomic(path, "12345");
  EXPECT_EQ(read_file(path, 5), "12345");
  EXPECT_EQ(mistake([&] { read_file(path, 4); }), path + ": longer than the allowed 4 bytes");
  EXPECT_EQ(mistake([&] { write_file_atomic(directory / "b/c", "x"); }),
            (directory / "b/c").string() + ": cannot be written: No such file or directory");
  EXPECT_EQ(mistake([&] { write_file_atomic(directory.path(), "x"); }),
            directory.path().string() + ": cannot be put in place: Is a directory");
  EXPECT_EQ(mistake([&] { make_directories(fs::path(path) / "x"); }), path + "/x: cannot be created: Not a directory");
}

TEST(Files, WithoutCommitNothingHappened) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "a", "old");
  { AtomicFile(directory / "a").write("new"); }
  EXPECT_EQ(read_file(directory / "a"), "old");
  EXPECT_EQ(entries(directory.path()), 1);
}

// Runs `work` in a child whose exit code is what it returns.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

TEST(Files, AWriteThatFailsHalfwayLeavesTheOldFile) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a";
  write_file_atomic(path, "old");
  // The limit on file sizes stands for a full disk: the write stops short in the same way.
  const int code = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1 << 16, 1 << 16};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message = mistake([&] { write_file_atomic(path, std::string(1 << 20, 'x')); });
    return message == path.string() + ": cannot be written: File too large" ? 7 : 8;
  });
  EXPECT_EQ(code, 7);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(directory.path()), 1);
}

TEST(Files, AFullDiskLeavesTheOldFile) {
  const TemporaryDirectory directory;
  if (mount("none", directory.path().c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "may not mount";
  const fs::path path = directory / "a";
  write_file_atomic(path, "old");
  EXPECT_EQ(mistake([&] { write_file_atomic(path, std::string(1 << 20, 'x')); }),
            path.string() + ": cannot be written: No space left on device");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(directory.path()), 1);
  EXPECT_EQ(mount("none", directory.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=64k"), 0);
  EXPECT_EQ(mistake([&] { write_file_atomic(path, "new"); }),
            path.string() + ": cannot be written: Read-only file system");
  EXPECT_EQ(umount(directory.path().c_str()), 0);
}

TEST(Files, AReadOnlyDirectoryIsNamed) {
  const TemporaryDirectory directory;
  fs::permissions(directory.path(), fs::perms(0555));
  const int code = in_child([&] {
    if (geteuid() == 0 && setuid(65534) != 0) return 8;  // root writes everywhere
    const std::string message = mistake([&] { write_file_atomic(directory / "a", "x"); });
    const std::string staged = mistake([&] { const StagedDirectory b(directory / "b"); });
    if (staged != (directory / "b").string() + ": cannot be created: Permission denied") return 10;
    return message == (directory / "a").string() + ": cannot be written: Permission denied" ? 7 : 9;
  });
  EXPECT_EQ(code, 7);
  fs::permissions(directory.path(), fs::perms::owner_all);
}

TEST(Files, AStagedDirectoryIsWholeOrAbsent) {
  const TemporaryDirectory directory;
  const fs::path place = directory / "runs/step-1";
  {
    const StagedDirectory staged(place);
    write_file_atomic(staged.path() / "a", "1");
  }
  EXPECT_FALSE(fs::exists(place));
  StagedDirectory staged(place);
  fs::create_directory(staged.path() / "sub");
  write_file_atomic(staged.path() / "sub/a", "1");
  EXPECT_FALSE(fs::exists(place));
  staged.commit();
  EXPECT_EQ(read_file(place / "sub/a"), "1");
  EXPECT_EQ(entries(place.parent_path()), 1);

  {
    StagedDirectory again(place);
    EXPECT_EQ(mistake([&] { again.commit(); }), place.string() + ": cannot be put in place: Directory not empty");
    EXPECT_EQ(read_file(place / "sub/a"), "1");
    write_file_atomic(again.path() / "b", "2");
    again.replace();
    EXPECT_EQ(read_file(place / "b"), "2");
    EXPECT_FALSE(fs::exists(place / "sub"));
  }
  EXPECT_EQ(entries(place.parent_path()), 1);
}

TEST(Files, WhatAKilledProcessLeftIsRemoved) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "tmp-is-a-file", "kept");
  in_child([&] {
    const StagedDirectory staged(directory / "step-1");
    write_file_atomic(staged.path() / "a", "1");
    return kill(getpid(), SIGKILL);
  });
  EXPECT_EQ(entries(directory.path()), 2);
  StagedDirectory::remove_leftovers(directory.path());
  EXPECT_EQ(entries(directory.path()), 1);

  in_child([&] {
    AtomicFile file(directory / "a");
    file.write("1");
    return kill(getpid(), SIGKILL);
  });
  AtomicFile here(directory / "b");
  write_file_atomic(directory / ".hidden-31999-05", "kept");
  EXPECT_EQ(entries(directory.path()), 4);
  AtomicFile::remove_leftovers(directory.path());  // a writer whose lock cannot be seen may be about to write on
  EXPECT_EQ(entries(directory.path()), 4);
  for (const fs::directory_entry& entry : fs::directory_iterator(directory.path())) {
    fs::last_write_time(entry.path(), entry.last_write_time() - std::chrono::hours(2));
  }
  AtomicFile::remove_leftovers(directory.path());
  EXPECT_EQ(entries(directory.path()), 3);
}

// As seen from another host or container, whose process numbers are other ones: the name says nothing of the writer.
TEST(Files, AFileThatIsBeingWrittenIsNoLeftover) {
  const TemporaryDirectory directory;
  AtomicFile file(directory / "a");
  file.write("1");
  const fs::path ours = fs::directory_iterator(directory.path())->path();
  const std::string name = ours.filename().string(), pid = std::to_string(getpid());
  const fs::path theirs =
      directory / std::string(name).replace(name.find(pid), pid.size(), "4194400");  // never a process
  fs::create_hard_link(ours, theirs);
  fs::last_write_time(ours, fs::file_time_type::clock::now() - std::chrono::hours(48));
  AtomicFile::remove_leftovers(directory.path());
  EXPECT_TRUE(fs::exists(ours) && fs::exists(theirs));
  AtomicFile::remove_all_leftovers(directory.path());
  EXPECT_EQ(entries(directory.path()), 0);
}

TEST(Files, ADirectoryHasOneHolder) {
  const TemporaryDirectory directory;
  const auto complaint = [&] { return mistake([&] { DirectoryLock lock(directory.path()); }); };
  {
    const DirectoryLock lock(directory.path());
    EXPECT_TRUE(
        complaint().starts_with(directory.path().string() + ": in use by process " + std::to_string(getpid()) + " on "))
        << complaint();
    EXPECT_EQ(in_child([&] { return complaint() == "no mistake" ? 1 : 7; }), 7);
  }
  EXPECT_EQ(entries(directory.path()), 0);
  in_child([&] {
    const DirectoryLock lock(directory.path());
    return kill(getpid(), SIGKILL);
  });
  EXPECT_EQ(entries(directory.path()), 1) << "the lock of the killed process is still there";
  EXPECT_EQ(complaint(), "no mistake");
}

TEST(Files, NothingIsWrittenToTheOldPathOfALockedDirectory) {
  const TemporaryDirectory place;
  const fs::path run = place / "run", moved = place / "moved";
  const std::string lost = run.string() + ": the directory was moved, deleted or replaced while it was in use";
  make_directories(run);
  {
    const DirectoryLock lock(run / "");  // "run/"
    write_file_atomic(run / "a", "before");
    AtomicFile begun(run / "b");
    StagedDirectory staged(run / "c");
    fs::rename(run, moved);
    for (const bool replaced : {false, true}) {
      if (replaced) make_directories(place / "other"), fs::rename(place / "other", run);
      EXPECT_EQ(mistake([&] { begun.commit(); }), lost);
      EXPECT_EQ(mistake([&] { staged.commit(); }), lost);
      EXPECT_EQ(mistake([&] { write_file_atomic(run / "a", "after"); }), lost);
      EXPECT_EQ(mistake([&] { make_directories(run / "d"); }), lost);
      EXPECT_EQ(fs::exists(run), replaced);
    }
    EXPECT_THROW(write_file_atomic(run / "a", "after"), LostDirectory);
    write_file_atomic(place / "run-2", "beside it");
    EXPECT_EQ(entries(run), 0);
  }
  EXPECT_EQ(read_file(moved / "a"), "before");
  EXPECT_FALSE(fs::exists(moved / "lock"));
  write_file_atomic(run / "a", "unlocked");
}

TEST(Json, MistakesNameTheFile) {
  EXPECT_EQ(mistake([] { parse_json("{\"a\": }", "m.json"); }), "m.json: not valid JSON at byte 7");
  EXPECT_EQ(mistake([] { parse_json("{} x", "m.json"); }), "m.json: not valid JSON at byte 4");
  EXPECT_EQ(mistake([] { parse_json(R"({"a": 1, "a": 1})", "m.json"); }), "m.json: duplicate key \"a\" in one object");
  EXPECT_EQ(mistake([] { parse_json(std::string(100000, '['), "m.json"); }), "m.json: nested deeper than 32 levels");
  const nlohmann::json object = parse_json(R"({"a": 1})", "m.json");
  EXPECT_EQ(json_member<int>(object, "a", "m.json"), 1);
  EXPECT_EQ(mistake([&] { json_member<int>(object, "b", "m.json"); }), "m.json: \"b\" is missing");
  EXPECT_EQ(mistake([&] { json_member<std::string>(object, "a", "m.json"); }),
            "m.json: \"a\" has the wrong type, number");
  EXPECT_EQ(mistake([] { parse_json(R"({"a": 1e999})", "m.json"); }), "m.json: not valid JSON");
  for (const char* number : {"1.5", "-1", "1e30", "4294967296", "\"1\"", "true"}) {
    const nlohmann::json other = parse_json("{\"a\": " + std::string(number) + "}", "m.json");
    EXPECT_THROW(json_member<std::uint32_t>(other, "a", "m.json"), UserError) << number;
  }
}

TEST(Signals, AreFlagsUntilTheSecondInterrupt) {
  EXPECT_EQ(in_child([] {
              signals::install();
              if (signals::stop_requested() || signals::take_save_request()) return 1;
              raise(SIGUSR1);
              if (signals::stop_requested() || !signals::take_save_request() || signals::take_save_request()) return 2;
              raise(SIGTERM);
              return signals::stop_requested() ? 7 : 3;
            }),
            7);
  const auto after_hangup = [] {
    signals::install();
    raise(SIGHUP);
    return signals::stop_requested() ? 7 : 8;
  };
  EXPECT_EQ(in_child(after_hangup), 7);
  EXPECT_EQ(in_child([&] {
              std::signal(SIGHUP, SIG_IGN);  // as nohup does
              return after_hangup();
            }),
            8);
  EXPECT_EQ(in_child([] {
              signals::install();
              raise(SIGINT);
              if (!signals::stop_requested()) return 1;
              raise(SIGTERM);
              raise(SIGINT);
              return 2;
            }),
            130);
}

// safetensors: what is written reads back, and every way in which a file can lie is refused.

std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string with_length(std::string_view header, std::string_view data) {
  const std::uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file.append(header).append(data);
}

TEST(Safetensors, ReadsBackWhatWasWrittenAlignedToItsType) {
  const TemporaryDirectory directory;
  const std::vector<double> wide = {1.5, -2};
  const std::vector<TensorView> tensors = {
      {"flags", DType::boolean, {3}, bytes_of_text(std::string_view("\1\0\1", 3))},
      {"wide", DType::f64, {2, 1}, std::as_bytes(std::span(wide))},
      {"scalar \"quoted\"", DType::bf16, {}, bytes_of_text("ab")},
      {"empty", DType::f32, {0, 7}, {}},
  };
  write_safetensors(directory / "a", tensors, {{"format", "pt"}});
  const SafetensorsFile file(directory / "a");
  EXPECT_EQ(file.metadata(), (TensorMetadata{{"format", "pt"}}));
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (const TensorView& tensor : tensors) {
    const TensorView* read = file.find(tensor.name);
    ASSERT_NE(read, nullptr) << tensor.name;
    EXPECT_EQ(read->dtype, tensor.dtype);
    EXPECT_EQ(read->shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(read->bytes, tensor.bytes)) << tensor.name;
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(read->bytes.data()) % bytes_of(tensor.dtype), 0) << tensor.name;
  }
  EXPECT_EQ(file.find("other"), nullptr);
}

TEST(Safetensors, EveryLieIsRefusedByName) {
  const TemporaryDirectory directory;
  const auto complaint = [&](const std::string& content) {
    const std::string file = directory.write("a", content);
    return without_place(user_error_of([&] { SafetensorsFile{file}; }), file + ": ");
  };
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return R"({"x":{"dtype":")" + std::string(dtype) + R"(","shape":)" + std::string(shape) + R"(,"data_offsets":)" +
           std::string(offsets) + "}}";
  };
  EXPECT_EQ(complaint(with_length(one("F32", "[1]", "[0,4]") + "   ", "abcd")), "");
  EXPECT_EQ(complaint(with_length("{}", "")), "");

  EXPECT_EQ(complaint(""), "the file has only 0 bytes");
  EXPECT_EQ(complaint(std::string(8, '\xff')), "a header of 18446744073709551615 bytes in a file of 8");
  EXPECT_EQ(complaint(std::string("\3\0\0\0\0\0\0\0{}", 10)), "a header of 3 bytes in a file of 10");
  EXPECT_EQ(complaint(with_length(" {}", "")), "the header is not a JSON object");
  EXPECT_EQ(complaint(with_length("{\"a\":}", "")), "not valid JSON at byte 6");
  EXPECT_EQ(complaint(with_length("{\"\xff\":{}}", "")), "not valid JSON at byte 3");
  EXPECT_EQ(complaint(with_length(R"({"x":[[[[1]]]]})", "")), "nested deeper than 3 levels");
  const std::string braced = one("U8", "[1]", "[0,1]");
  const std::string x = braced.substr(1, braced.size() - 2);
  EXPECT_EQ(complaint(with_length("{" + x + "," + x + "}", "a")), "duplicate key \"x\" in one object");
  EXPECT_EQ(complaint(with_length(R"({"x":{"dtype":"U8"}})", "")),
            "tensor \"x\": expected exactly dtype, shape and data_offsets");
  EXPECT_EQ(complaint(with_length(one("F99", "[1]", "[0,4]"), "abcd")), "tensor \"x\": unknown dtype \"F99\"");
  for (const std::string_view shape : {"[-1]", "[1.0]", "1", "[18446744073709551615]", "[\"1\"]", "[null]"}) {
    EXPECT_EQ(complaint(with_length(one("F32", shape, "[0,4]"), "abcd")),
              "tensor \"x\": the shape must be at most 64 non-negative integers");
  }
  for (const std::string_view offsets : {"[0]", "[0,4,4]", "[-1,4]", "{}", "[0,4.0]"}) {
    EXPECT_EQ(complaint(with_length(one("F32", "[1]", offsets), "abcd")),
              "tensor \"x\": data_offsets must be two non-negative integers");
  }
  EXPECT_EQ(complaint(with_length(one("F32", "[1]", "[0,8]"), "abcd")), "tensor \"x\": bytes 0 to 8 of 4");
  EXPECT_EQ(complaint(with_length(one("F32", "[1]", "[4,0]"), "abcd")), "tensor \"x\": bytes 4 to 0 of 4");
  EXPECT_EQ(complaint(with_length(one("F32", "[2]", "[0,4]"), "abcd")),
            "tensor \"x\": shape [2] of F32 does not match its 4 bytes");
  EXPECT_EQ(complaint(with_length(one("F32", "[4611686018427387904,4]", "[0,0]"), "")),
            "tensor \"x\": shape [4611686018427387904,4] of F32 does not match its 0 bytes");
  EXPECT_EQ(complaint(with_length(one("F32", "[1]", "[1,5]"), "abcde")), "a hole or an overlap before tensor \"x\"");
  EXPECT_EQ(complaint(with_length(one("F32", "[1]", "[0,4]"), "abcde")), "bytes after the last tensor");
  EXPECT_EQ(complaint(with_length("{" + x + R"(,"y":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "ab")),
            "a hole or an overlap before tensor \"y\"");
  EXPECT_EQ(complaint(with_length(R"({"__metadata__":{"a":1}})", "")), "__metadata__ holds something other than text");
  EXPECT_EQ(complaint(with_length(R"({"__metadata__":1})", "")), "__metadata__ is not an object");
}

RC_GTEST_PROP(SafetensorsProperty, AnyTensorsReadBack, ()) {
  const TemporaryDirectory directory;
  const auto names =
      *rc::gen::unique<std::vector<std::string>>(rc::gen::container<std::string>(rc::gen::inRange('!', '~')));
  std::vector<std::string> contents(names.size());
  std::vector<TensorView> tensors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto dtype = static_cast<DType>(*rc::gen::inRange(0, 15));
    const auto shape =
        *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange(0, 4), rc::gen::inRange<std::int64_t>(0, 5));
    std::size_t size = bytes_of(dtype);
    for (const std::int64_t length : shape) size *= static_cast<std::size_t>(length);
    contents[i].assign(size, static_cast<char>(i));
    tensors.push_back({names[i], dtype, shape, bytes_of_text(contents[i])});
  }
  write_safetensors(directory / "a", tensors);
  const SafetensorsFile file(directory / "a");
  RC_ASSERT(file.tensors().size() == tensors.size());
  for (const TensorView& tensor : tensors) {
    const TensorView* read = file.find(tensor.name);
    RC_ASSERT(read != nullptr);
    RC_ASSERT(read->dtype == tensor.dtype);
    RC_ASSERT(read->shape == tensor.shape);
    RC_ASSERT(std::ranges::equal(read->bytes, tensor.bytes));
  }
}

}  // namespace
}  // namespace attend
