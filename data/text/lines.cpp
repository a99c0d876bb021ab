// Reads in blocks and finds line ends with memchr; only lines that are not plain ASCII are decoded.
#include "data/text/lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"

namespace attend {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;  // bytes; anything longer is not text, or an attack

// True if some program treats this character, given as bytes, as a line break.
bool ends_line(std::string_view character) {
  const char first = character.front();
  return (first >= '\n' && first <= '\r') || (first >= '\x1C' && first <= '\x1E') || character == "\xC2\x85" ||
         character == "\xE2\x80\xA8" || character == "\xE2\x80\xA9";
}

}  // namespace

// Blocks of bytes from a file, decompressed, or from standard input as soon as they arrive.
class LineReader::Source {
 public:
  explicit Source(const fs::path& path) : name_(name_of_input(path)), standard_input_(path == "-") {
    if (standard_input_) return;
    Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!file || fstat(file.number(), &status) != 0) fail(errno);
    if (S_ISDIR(status.st_mode)) throw UserError(name_ + ": is a directory, expected a text file");
    gz_ = gzdopen(dup(file.number()), "rb");
    ensure(gz_ != nullptr, "zlib opens a descriptor");
    gzbuffer(gz_, 1 << 17);
  }
  ~Source() {
    if (gz_ != nullptr) gzclose_r(gz_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Appends bytes up to and including the next \n, or up to the end. False at the end of input.
  bool append_line(std::string& line) {
    bool any = false;
    while (begin_ < end_ || fill()) {
      any = true;
      const char* start = block_.data() + begin_;
      const auto* newline = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_));
      const std::size_t count = newline != nullptr ? static_cast<std::size_t>(newline - start) + 1 : end_ - begin_;
      line.append(start, count);
      begin_ += count;
      if (line.size() > kLongestLine) {
        throw UserError(name_ + ": a line of more than " + std::to_string(kLongestLine >> 20) + " MB",
                        "check that it is the right file; a line is one sentence or paragraph");
      }
      if (newline != nullptr) break;
    }
    lines_ += any;
    return any;
  }

  const std::string& name() const { return name_; }

  // The unread rest of the current block; reads the next one if it is empty.
  std::string_view peek() {
    if (begin_ == end_) fill();
    return {block_.data() + begin_, end_ - begin_};
  }

 private:
  bool fill() {
    begin_ = 0;
    end_ = 0;
    if (signals::stop_requested()) throw Interrupted("stopped while reading " + name_);
    if (standard_input_) {
      ssize_t count = 0;
      do {
        wait_for_input();
        count = read(STDIN_FILENO, block_.data(), block_.size());
      } while (count < 0 && errno == EINTR);
      if (count < 0) fail(errno);
      end_ = static_cast<std::size_t>(count);
      if (std::exchange(at_start_, false) && std::string_view(block_.data(), end_).starts_with("\x1F\x8B")) {
        throw UserError(name_ + ": a gzip file, expected text",
                        "pass the file's name instead, or decompress it first: gunzip -c");
      }
    } else {
      const int count = gzread(gz_, block_.data(), static_cast<unsigned>(block_.size()));
      if (count <= 0) refuse_damage();  // the complete lines before the damage come first
      end_ = static_cast<std::size_t>(std::max(count, 0));
    }
    return end_ > 0;
  }

  void refuse_damage() const {
    int code = Z_OK;
    const char* message = gzerror(gz_, &code);
    if (code == Z_ERRNO) fail(errno);
    if (code == Z_OK || code == Z_STREAM_END) return;
    const std::string_view text = message;  // "<fd:4>: unexpected end of file"
    throw UserError(fmt::format("{}: a damaged or truncated gzip file, readable as far as line {} ({})", name_, lines_,
                                text.substr(text.starts_with('<') ? text.find(": ") + 2 : 0)),
                    "create or download it again");
  }

  // Input may never come: check for a stop request every fifth of a second.
  static void wait_for_input() {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    while (poll(&input, 1, 200) <= 0) {
      signals::throw_if_stopped("stopped while waiting for standard input");
    }
  }

  [[noreturn]] void fail(int code) const {
    throw UserError(name_ + ": cannot be read: " + std::generic_category().message(code),
                    "check the path and the permissions");
  }

  std::string name_;
  bool standard_input_;
  bool at_start_ = true;
  std::uint64_t lines_ = 0;
  gzFile gz_ = nullptr;
  std::array<char, 1 << 17> block_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

LineCounts& LineCounts::operator+=(const LineCounts& other) {
  lines += other.lines;
  carriage_returns += other.carriage_returns;
  byte_order_marks += other.byte_order_marks;
  nul += other.nul;
  line_ends += other.line_ends;
  invalid_utf8 += other.invalid_utf8;
  return *this;
}

bool LineCounts::clean() const { return carriage_returns + byte_order_marks + nul + line_ends + invalid_utf8 == 0; }

void LineCounts::log(const std::string& name) const {
  if (!clean()) attend::log::info("{}: {}", name_of_input(name), report());
}

std::string LineCounts::report() const {
  return counted(lines, "line") + (clean() ? "" : ": ") +
         nonzero_counts({{invalid_utf8, "with invalid UTF-8"},
                         {carriage_returns, "with CRLF (CR removed)"},
                         {byte_order_marks, "with a byte-order mark (removed)"},
                         {nul, "with NUL (removed)"},
                         {line_ends, "with a line break inside (replaced by a space)"}});
}

std::string nonzero_counts(std::initializer_list<std::pair<std::uint64_t, std::string_view>> counts) {
  std::string text;
  for (const auto& [count, what] : counts) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  }
  return text;
}

LineReader::LineReader(const fs::path& path) : source_(std::make_unique<Source>(path)) {}
LineReader::~LineReader() = default;

bool LineReader::next(std::string& line) {
  raw_.clear();
  if (!source_->append_line(raw_)) return false;
  if (raw_.back() == '\n') {
    raw_.pop_back();
    if (!raw_.empty() && raw_.back() == '\r') {
      raw_.pop_back();
      ++counts_.carriage_returns;
    }
  }
  clean(line);
  ++counts_.lines;
  return true;
}

std::string LineReader::place() const { return source_->name() + ":" + std::to_string(counts_.lines); }

void LineReader::refuse(const std::string& what, const std::string& remedy) const {
  throw UserError(place() + ": " + what, remedy);
}

void LineReader::warn_of_invalid_utf8() const {
  if (counts_.invalid_utf8 == 0) return;
  log::warn("{}: {} with invalid UTF-8, whose bytes become U+FFFD; the first is {}:{}", source_->name(),
            counted(counts_.invalid_utf8, "line"), source_->name(), first_invalid_);
}

void LineReader::clean(std::string& line) {
  invalid_ = false;
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; };
  if (std::all_of(raw_.begin(), raw_.end(), is_plain)) {
    line.assign(raw_);
    return;
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::size_t at = 0;
  if (counts_.lines == 0 && raw_.starts_with(kByteOrderMark)) {
    at = kByteOrderMark.size();
    ++counts_.byte_order_marks;
  }
  bool nul = false;
  bool line_end = false;
  cleaned_.clear();
  while (at < raw_.size()) {
    const std::size_t length = utf8_length_at(raw_, at);
    const std::string_view character = std::string_view(raw_).substr(at, std::max<std::size_t>(length, 1));
    const char first = character.front();
    if (length == 0) {
      cleaned_ += kReplacementCharacter;
      invalid_ = true;
    } else if (first == '\0') {
      nul = true;
    } else if (ends_line(character)) {
      cleaned_ += ' ';
      line_end = true;
    } else {
      cleaned_ += character;
    }
    at += character.size();
  }
  counts_.nul += nul;
  counts_.line_ends += line_end;
  if (invalid_ && counts_.invalid_utf8++ == 0) first_invalid_ = counts_.lines + 1;
  line.assign(cleaned_);
}

std::optional<std::int64_t> count_lines(const fs::path& path) {
  const bool is_standard_input = path == "-";
  const Descriptor file(is_standard_input ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  off_t offset = is_standard_input ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
  std::int64_t lines = 0;
  bool in_line = false;
  std::array<char, 1 << 17> block;
  for (bool at_start = true;; at_start = false) {
    const ssize_t count = pread(file.number(), block.data(), block.size(), offset);
    if (count < 0) return std::nullopt;
    if (count == 0) return lines + (in_line ? 1 : 0);
    const std::string_view bytes(block.data(), static_cast<std::size_t>(count));
    if (at_start && bytes.starts_with("\x1F\x8B")) return std::nullopt;
    lines += std::ranges::count(bytes, '\n');
    in_line = bytes.back() != '\n';
    offset += count;
  }
}

std::string name_of_input(const fs::path& path) { return path == "-" ? "standard input" : path.string(); }

std::pair<std::string, std::string> two_texts(const std::string& line, const std::string& place,
                                              const std::string& remedy) {
  const auto tab = line.find('\t');
  const bool one = tab == std::string::npos;
  if (one || line.find('\t', tab + 1) != std::string::npos) {
    throw UserError(place + ": " + (one ? "one text" : "more than one tab") + ", expected two with a tab between",
                    remedy);
  }
  return {line.substr(0, tab), line.substr(tab + 1)};
}

void refuse_tab(const std::string& line, const std::string& place) {
  if (line.find('\t') == std::string::npos) return;
  throw UserError(place + ": a tab, expected one text", "the task reads one text");
}

std::vector<std::string_view> spaced_words(std::string_view text) {
  constexpr std::string_view kSpaces = " \t";
  std::vector<std::string_view> words;
  for (std::size_t end = 0;;) {
    const std::size_t begin = text.find_first_not_of(kSpaces, end);
    if (begin == text.npos) return words;
    end = std::min(text.find_first_of(kSpaces, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
  }
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r";
  const auto first = text.find_first_not_of(kSpace);
  return std::string(first == text.npos ? "" : text.substr(first, text.find_last_not_of(kSpace) + 1 - first));
}

std::string as_one_line(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = character_at(text, at);
    if (character.front() == '\0' || ends_line(character)) {
      line += ' ';
    } else {
      line += character;
    }
    at += character.size();
  }
  return line;
}

const fs::path& check_text_file(const fs::path& path) {
  if (path == "-") throw UserError(name_of_input(path) + ": not a regular file", "save it to a file first");
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    throw UserError(path.string() + ": not a regular file", "save its content to a regular file first");
  }
  LineReader::Source source(path);
  const std::string_view start = source.peek();
  if (start.empty()) throw UserError(path.string() + ": an empty file", "check that it is the right file");
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) {
    throw UserError(path.string() + ": UTF-16 text, expected UTF-8", "convert it: iconv -f UTF-16 -t UTF-8");
  }
  // Text in another encoding has a few invalid bytes; binary data has many.
  std::size_t strange = 0;
  for (std::size_t at = 0; at < start.size();) {
    const std::size_t length = utf8_length_at(start, at);
    const char c = start[at];
    if (length == 0 || (length == 1 && c >= 0 && c < ' ' && (c < '\t' || c > '\r'))) ++strange;
    at += std::max<std::size_t>(length, 1);
  }
  if (strange * 10 > start.size()) {
    throw UserError(path.string() + ": not a text file (" + std::to_string(strange) + " of its first " +
                        std::to_string(start.size()) + " bytes are not UTF-8 text)",
                    "check that it is the right file");
  }
  return path;
}

void check_readable(const fs::path& path) {
  if (path == "-") return;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || access(path.c_str(), R_OK) != 0) {
    throw UserError(path.string() + ": cannot be read: " + std::generic_category().message(errno), "check the path");
  }
  if (S_ISDIR(status.st_mode)) throw UserError(path.string() + ": is a directory, expected a text file", "name a file");
}

}  // namespace attend
