// POSIX calls with readable errors.
#include "core/files.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>

#include "core/process.hpp"

namespace attend {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kStagePrefix = "tmp-";
constexpr std::string_view kHiddenPrefix = ".attend-tmp-";
constexpr std::string_view kHolder = "process ";

std::string remedy_of(int code, const fs::path& path) {
  std::error_code ignored;
  const char* intact = fs::exists(path, ignored) ? "; the file that was there before is intact" : "";
  switch (code) {
    case ENOENT: return "check the path";
    case ENOTDIR: return "a part of the path is a file, not a directory: choose another path";
    case EACCES:
    case EPERM: return "check the permissions of the file and of the directories above it";
    case EROFS: return "the file system is read-only: choose another directory";
    case ENOSPC:
    case EDQUOT: return std::string("free some space or choose another directory") + intact;
    case EFBIG: return std::string("raise the limit on file sizes (ulimit -f)") + intact;
    default: return {};
  }
}

[[noreturn]] void fail(const fs::path& path, std::string_view what, int code = errno) {
  throw UserError(path.string() + ": " + std::string(what) + ": " + std::generic_category().message(code),
                  remedy_of(code, path));
}

// The directories that this process has locked, open, by path.
struct LockedDirectories {
  std::mutex mutex;
  std::map<fs::path, int> open;
};
LockedDirectories& locked_directories() {
  static LockedDirectories directories;
  return directories;
}

// Called before each write. Throws LostDirectory if `path` is in a locked directory that is no longer where it was.
void check_in_place(const fs::path& path) {
  LockedDirectories& locked = locked_directories();
  const std::lock_guard guard(locked.mutex);
  for (const auto& [directory, number] : locked.open) {
    if (std::ranges::mismatch(directory, path).in1 != directory.end()) continue;
    struct stat ours {};
    struct stat named {};
    if (fstat(number, &ours) == 0 && stat(directory.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
        ours.st_ino == named.st_ino) {
      continue;
    }
    throw LostDirectory(directory.string() + ": the directory was moved, deleted or replaced while it was in use",
                        "put it back; --resume auto then resumes a training from the last checkpoint");
  }
}

Descriptor open_for_reading(const fs::path& path, struct stat& status) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || fstat(file.number(), &status) != 0) fail(path, "cannot be read");
  if (S_ISDIR(status.st_mode)) throw UserError(path.string() + ": is a directory, expected a file", "name a file");
  return file;
}

// A name in the directory of `path` that is unique among the threads and processes of this machine.
fs::path name_beside(const fs::path& path, std::string_view prefix) {
  static std::atomic<unsigned> counter = 0;
  const fs::path parent = path.parent_path();
  return parent / (std::string(prefix) + path.filename().string() + "-" + std::to_string(getpid()) + "-" +
                   std::to_string(counter++));
}

void sync(const fs::path& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || fsync(file.number()) != 0) fail(path, "cannot be synced to disk");
}

void sync_parent(const fs::path& path) { sync(path.has_parent_path() ? path.parent_path() : fs::path(".")); }

void write_all(int file, const fs::path& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "cannot be written");
    bytes = bytes.subspan(written);
  }
}

std::string digits_of(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

// The missing directories of `path`, the deepest first.
std::vector<fs::path> missing_of(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path part = fs::absolute(path); !fs::exists(part, error) && !error; part = part.parent_path()) {
    if (part.has_filename()) missing.push_back(part);
  }
  return missing;
}

// Passes the content of a file to `take`, block by block.
void read_blocks(const fs::path& path, const auto& take) {
  struct stat status {};
  const Descriptor file = open_for_reading(path, status);
  std::array<std::byte, 1 << 16> buffer;
  while (true) {
    const ssize_t count = read(file.number(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "cannot be read");
    if (count == 0) return;
    take(std::span<const std::byte>(buffer).first(count));
  }
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

std::string read_file(const fs::path& path, std::size_t max_bytes) {
  std::string content;
  read_blocks(path, [&](std::span<const std::byte> block) {
    content.append(reinterpret_cast<const char*>(block.data()), block.size());
    if (content.size() > max_bytes) {
      throw UserError(path.string() + ": longer than the allowed " + std::to_string(max_bytes) + " bytes",
                      "check that it is the right file");
    }
  });
  return content;
}

std::string hash_hex(std::span<const std::byte> bytes) { return digits_of(XXH3_128bits(bytes.data(), bytes.size())); }

std::string hash_hex_of_file(const fs::path& path) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  read_blocks(path,
              [&](std::span<const std::byte> block) { XXH3_128bits_update(state.get(), block.data(), block.size()); });
  return digits_of(XXH3_128bits_digest(state.get()));
}

std::string hash_hex_of_files(std::span<const std::string> paths) {
  std::string hashes;
  for (const std::string& path : paths) hashes += hash_hex_of_file(path) + "\n";
  return hash_hex(std::as_bytes(std::span(hashes)));
}

void write_file_atomic(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

bool same_file(const fs::path& a, const fs::path& b) {
  const auto full = [](const fs::path& path) { return (fs::current_path() / path).lexically_normal(); };
  return full(a) == full(b);
}

void refuse_existing(const fs::path& path, std::string_view option) {
  if (fs::exists(fs::symlink_status(path))) {
    throw UserError(path.string() + ": already exists", "choose another " + std::string(option));
  }
}

void make_directories(const fs::path& path) {
  check_in_place(path);
  const std::vector<fs::path> missing = missing_of(path);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(path, "cannot be created", error.value());
  for (const fs::path& made : missing) sync_parent(made);
}

NewDirectories::NewDirectories(const fs::path& path) : missing_(missing_of(path)) { make_directories(path); }

NewDirectories::~NewDirectories() {
  std::error_code not_empty;
  for (const fs::path& path : missing_) fs::remove(path, not_empty);
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  check_in_place(path_);
  do {
    temporary_ = name_beside(path_, kHiddenPrefix);
    file_ = Descriptor(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  } while (!file_ && errno == EEXIST);
  if (!file_) fail(path_, "cannot be written");
  flock(file_.number(), LOCK_EX | LOCK_NB);  // without locks, only the file's age protects it
}

bool AtomicFile::is_leftover(const fs::path& path) { return path.filename().string().starts_with(kHiddenPrefix); }

// A process number proves nothing: the process may be on another host that shares the directory, or in a container with
// its own numbers. A lock does: the kernel releases it with its holder, containers of one host share it, and Linux
// forwards it to an NFS server (if the file is open for writing). For mounts that keep locks local (nolock), a file
// younger than an hour counts as being written.
void AtomicFile::remove_leftovers(const fs::path& directory) {
  constexpr std::time_t kLongestPause = 3600;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (!is_leftover(entry->path())) continue;
    const Descriptor file(open(entry->path().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (!file || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (std::time(nullptr) - status.st_mtime < kLongestPause) continue;
    if (flock(file.number(), LOCK_EX | LOCK_NB) == 0) unlink(entry->path().c_str());
  }
}

void AtomicFile::remove_all_leftovers(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (is_leftover(entry->path())) unlink(entry->path().c_str());
  }
}

AtomicFile::~AtomicFile() {
  if (file_) unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) { write_all(file_.number(), path_, bytes); }

void AtomicFile::commit() {
  if (fsync(file_.number()) != 0) fail(path_, "cannot be synced to disk");
  check_in_place(path_);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be put in place");
  file_ = Descriptor();
  sync_parent(path_);
}

StagedDirectory::StagedDirectory(fs::path final_path) : final_path_(std::move(final_path)) {
  if (!final_path_.has_filename()) final_path_ = final_path_.parent_path();  // "runs/a/" is "runs/a"
  if (final_path_.has_parent_path()) make_directories(final_path_.parent_path());
  do {
    path_ = name_beside(final_path_, kStagePrefix);
    if (mkdir(path_.c_str(), 0777) == 0) return;
  } while (errno == EEXIST);
  fail(final_path_, "cannot be created");
}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void StagedDirectory::commit() { put_in_place(0); }

void StagedDirectory::replace() {
  std::error_code error;
  put_in_place(fs::exists(final_path_, error) ? RENAME_EXCHANGE : 0);
}

void StagedDirectory::put_in_place(unsigned flags) {
  check_in_place(final_path_);
  std::error_code error;
  for (fs::recursive_directory_iterator entry(path_, error), end; entry != end && !error; entry.increment(error)) {
    sync(entry->path());
  }
  if (error) fail(path_, "cannot be read", error.value());
  sync(path_);
  if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, final_path_.c_str(), flags) != 0) {
    fail(final_path_, "cannot be put in place");
  }
  if (flags != RENAME_EXCHANGE) path_.clear();  // or the destructor deletes what gave way
  sync_parent(final_path_);
}

void StagedDirectory::remove_leftovers(const fs::path& parent) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    if (entry->is_directory(gone) && entry->path().filename().string().starts_with(kStagePrefix)) {
      leftovers.push_back(entry->path());
    }
  }
  for (const fs::path& leftover : leftovers) fs::remove_all(leftover, error);
}

DirectoryLock::DirectoryLock(const fs::path& directory)
    : path_(directory / "lock"), directory_(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (!directory_) fail(directory, "cannot be opened");
  while (true) {
    file_ = Descriptor(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file_) fail(path_, "cannot be written");
    if (flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) fail(path_, "cannot be locked");
      throw UserError(directory.string() + ": in use by " + read_file(path_, 1 << 10),
                      "wait for it to end, stop it, or choose another directory");
    }
    // The last holder may have deleted the file between our open and our lock.
    struct stat ours {};
    struct stat named {};
    if (fstat(file_.number(), &ours) == 0 && stat(path_.c_str(), &named) == 0 && ours.st_ino == named.st_ino) break;
  }
  const std::string holder = std::string(kHolder) + std::to_string(getpid()) + " on " + host_name();
  try {
    if (ftruncate(file_.number(), 0) != 0) fail(path_, "cannot be written");
    write_all(file_.number(), path_, std::as_bytes(std::span(holder)));
  } catch (...) {
    unlink(path_.c_str());
    throw;
  }
  LockedDirectories& locked = locked_directories();
  const std::lock_guard guard(locked.mutex);
  locked.open.emplace(path_.parent_path(), directory_.number());
}

bool DirectoryLock::was_held(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_regular_file(directory / "lock", error) || fs::file_size(directory / "lock", error) > 1024) return false;
  const std::string holder = read_file(directory / "lock", 1024);
  return holder.empty() || holder.starts_with(kHolder);  // empty: killed between creating and filling it
}

DirectoryLock::~DirectoryLock() {
  unlinkat(directory_.number(), "lock", 0);  // by its path, it might be that of a directory that took its place
  LockedDirectories& locked = locked_directories();
  const std::lock_guard guard(locked.mutex);
  locked.open.erase(path_.parent_path());
}

MappedFile::MappedFile(const fs::path& path) {
  struct stat status {};
  const Descriptor file = open_for_reading(path, status);
  if (!S_ISREG(status.st_mode)) throw UserError(path.string() + ": not a regular file");
  const std::size_t size = status.st_size;
  if (size == 0) return;
  void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (start == MAP_FAILED) fail(path, "cannot be mapped into memory");
  bytes_ = {static_cast<const std::byte*>(start), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace attend
