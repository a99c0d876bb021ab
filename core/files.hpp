// Files that are complete or absent. Data are written under a temporary name in the same directory, synced, and renamed
// into place; after any failure (a full disk, a read-only directory, kill -9) the earlier file or directory is intact.
//
// Every file-system error is a UserError naming the path.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace attend {

// Thrown instead of writing to a locked directory that is no longer at its path; exit code 1.
class LostDirectory : public UserError {
 public:
  using UserError::UserError;
};

// The content of a file or pipe. Throws UserError if it is missing, a directory, unreadable or longer than `max_bytes`.
std::string read_file(const std::filesystem::path& path,
                      std::size_t max_bytes = std::numeric_limits<std::size_t>::max());

// XXH3 with 128 bits, as 32 hexadecimal digits, to recognise equal bytes. Not cryptographic.
std::string hash_hex(std::span<const std::byte> bytes);
std::string hash_hex_of_file(const std::filesystem::path& path);
// The hash of the contents of several files, in this order.
std::string hash_hex_of_files(std::span<const std::string> paths);

void write_file_atomic(const std::filesystem::path& path, std::string_view bytes);

// True if both name the same file, such as "a" and "./a", whether or not it exists.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

// Throws UserError if `path`, the value of `option`, exists.
void refuse_existing(const std::filesystem::path& path, std::string_view option);

// Creates a directory and its parents unless they exist, and syncs the new ones.
void make_directories(const std::filesystem::path& path);

// Creates a directory and its parents; the destructor deletes those that are still empty.
class NewDirectories {
 public:
  explicit NewDirectories(const std::filesystem::path& path);
  NewDirectories(const NewDirectories&) = delete;
  NewDirectories& operator=(const NewDirectories&) = delete;
  ~NewDirectories();

 private:
  std::vector<std::filesystem::path> missing_;  // the deepest first
};

// An open file descriptor, closed by the destructor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

// A file that is written in pieces and appears at `path` on commit(), or not at all. Its temporary file is
// .attend-tmp-NAME-PROCESS-COUNT, locked (flock) while it is written.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

  // Deletes temporary files that killed processes left in a directory where other processes may be writing.
  static void remove_leftovers(const std::filesystem::path& directory);
  // Deletes all temporary files of a directory. Requires its lock.
  static void remove_all_leftovers(const std::filesystem::path& directory);
  static bool is_leftover(const std::filesystem::path& path);

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  Descriptor file_;
};

// A directory that is filled at path() and appears, synced, at its final path on commit() or replace(), or not at all.
class StagedDirectory {
 public:
  explicit StagedDirectory(std::filesystem::path final_path);
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;
  ~StagedDirectory();

  const std::filesystem::path& path() const { return path_; }
  // The final path must not exist.
  void commit();
  // A directory at the final path gives way at once, and is deleted by the destructor.
  void replace();

  // Deletes directories that killed processes left in `parent`. Requires the lock of the run.
  static void remove_leftovers(const std::filesystem::path& parent);

 private:
  void put_in_place(unsigned flags);

  std::filesystem::path final_path_;
  std::filesystem::path path_;
};

// An exclusive write lock on `directory`, held through its file `lock`, which names the holder's process and host. The
// kernel releases it when the holder dies, for any reason. If the directory is moved, deleted or replaced meanwhile,
// everything above throws LostDirectory instead of writing a part of it to the old path.
class DirectoryLock {
 public:
  // Throws UserError naming the holder if another process, or another object of this one, holds the lock.
  explicit DirectoryLock(const std::filesystem::path& directory);
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock();

  // True if a process holds the lock of `directory` or was killed while holding it.
  static bool was_held(const std::filesystem::path& directory);

 private:
  std::filesystem::path path_;
  Descriptor directory_;
  Descriptor file_;
};

// The bytes of a file, mapped read-only. Never overwrite a file that may be mapped: rename a new one over it.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace attend
