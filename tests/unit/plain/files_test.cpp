// Files are whole or absent, whatever fails; and each failure names the path.
#include "core/files.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/process.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

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

}  // namespace
}  // namespace attend
