#include "data/tokenizer/tokenizer_trainer.hpp"

#include <sentencepiece_trainer.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <memory>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

constexpr std::size_t kMaxLineBytes = 4000;  // longer lines, rarely prose, are skipped
constexpr std::uint64_t kUsualBytes = 20'000'000;
// Fixed, so that the threads' sums are added in the same order on every machine.
constexpr const char* kNumThreads = "4";
constexpr std::int64_t kSpecialPieces = 7, kBytes = 256;

// True if the line is non-empty after the library's normalisation: the library aborts if no line is. It also skips
// lines with ▅, which it uses internally.
bool has_text(const std::string& line) {
  if (line.find("▅") != std::string::npos) return false;
  const auto text = icu::UnicodeString::fromUTF8(line);
  for (std::int32_t at = 0; at < text.length(); at = text.moveIndex32(at, 1)) {
    const UChar32 character = text.char32At(at);
    const bool vanishes = character == U'▁' || character == 0xFFFD || !u_isgraph(character) ||
                          u_hasBinaryProperty(character, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
    if (!vanishes) return true;
  }
  return false;
}

// The lines to train on.
struct TextSample {
  std::vector<std::string> lines;
  std::uint64_t bytes = 0;
  std::uint64_t num_lines = 0;  // of all files
};

// A uniform sample of a text of unknown length: every line gets a random number, and as many lines as there is room
// for, those with the smallest numbers, are kept in the order of the text.
class Sampler {
 public:
  Sampler(std::uint64_t most_lines, std::uint64_t most_bytes)
      : most_lines_(most_lines), most_bytes_(most_bytes), random_(most_lines) {}

  void add(std::string_view line) {
    const std::uint64_t number = random_();
    ++num_added_;
    if (full_ && number >= kept_.front().number) return;
    kept_.push_back({.number = number, .place = num_added_, .line = std::string(line)});
    std::ranges::push_heap(kept_, {}, &Entry::number);
    bytes_ += line.size();
    for (; kept_.size() > 1 && (kept_.size() > most_lines_ || bytes_ > most_bytes_); full_ = true) {
      std::ranges::pop_heap(kept_, {}, &Entry::number);
      bytes_ -= kept_.back().line.size();
      kept_.pop_back();
    }
  }

  // The sample, of a text of so many lines; the sampler is empty afterwards.
  TextSample take(std::uint64_t num_lines) {
    std::ranges::sort(kept_, {}, &Entry::place);
    TextSample sample{.lines = {}, .bytes = bytes_, .num_lines = num_lines};
    for (Entry& entry : std::exchange(kept_, {})) sample.lines.push_back(std::move(entry.line));
    return sample;
  }

  std::uint64_t num_added() const { return num_added_; }

 private:
  struct Entry {
    std::uint64_t number = 0;
    std::uint64_t place = 0;
    std::string line;
  };

  std::uint64_t most_lines_, most_bytes_;
  RandomStream random_;
  std::vector<Entry> kept_;  // a heap, the largest number first
  bool full_ = false;
  std::uint64_t num_added_ = 0;
  std::uint64_t bytes_ = 0;
};

TextSample draw_sample(const std::vector<std::string>& files, const std::optional<std::int64_t>& size) {
  constexpr auto kAny = std::numeric_limits<std::uint64_t>::max();
  Sampler sampler(size ? static_cast<std::uint64_t>(*size) : kAny, size ? kAny : kUsualBytes);
  LineCounts counts;
  std::uint64_t empty = 0;
  std::string line;
  for (const auto& file : files) check_text_file(file);
  for (const auto& file : files) {
    LineReader reader(file);
    while (reader.next(line)) {
      empty += line.empty() ? 1 : 0;
      if (!reader.invalid() && line.size() <= kMaxLineBytes && has_text(line)) sampler.add(line);
    }
    counts += reader.counts();
  }
  counts.log("tokenizer");
  const std::uint64_t usable = sampler.num_added();
  if (const std::uint64_t text = counts.lines - empty; usable < text) {
    log::info("tokenizer: skipped {} of {} lines: without words, not UTF-8, or longer than {} bytes", text - usable,
              text, kMaxLineBytes);
  }
  return sampler.take(counts.lines);
}

class SampleIterator : public sentencepiece::SentenceIterator {
 public:
  explicit SampleIterator(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  std::size_t at_ = 0;
};

std::int64_t default_size(std::uint64_t num_lines) {
  if (num_lines < 1'000'000) return 8000;
  return num_lines < 5'000'000 ? 16000 : 32000;
}

// All characters, unless there are many: rare ones would leave little room for longer pieces.
double default_coverage(const std::vector<std::string>& lines) {
  constexpr std::size_t kSmallAlphabet = 1000;
  std::unordered_set<UChar32> alphabet;
  for (const auto& line : lines) {
    const auto text = icu::UnicodeString::fromUTF8(line);
    for (std::int32_t at = 0; at < text.length(); at = text.moveIndex32(at, 1)) alphabet.insert(text.char32At(at));
  }
  if (alphabet.size() <= kSmallAlphabet) return 1;
  log::info("tokenizer: {} distinct characters; the rarest, 0.05 % of the text, become unknown", alphabet.size());
  return 0.9995;
}

std::string normalisation_rule(const TokenizerConfig& config) {
  const std::string name(name_of(config.normalisation));
  if (!config.lower_case) return name;
  if (config.normalisation == Normalisation::identity) {
    throw UserError("normalisation identity cannot be combined with lower-casing",
                    "use --normalisation nfkc or nmt_nfkc with --lower-case");
  }
  return name + "_cf";
}

// The number after the last occurrence of `words` in a message, or nullopt.
std::optional<std::string> number_after(const std::string& message, const std::string& words) {
  const std::size_t found = message.rfind(words);
  if (found == std::string::npos) return std::nullopt;
  const std::size_t begin = found + words.size();
  const std::size_t end = message.find_first_not_of("0123456789", begin);
  return message.substr(begin, end == std::string::npos ? end : end - begin);
}

constexpr const char* kOfTrain = " (in attend train and pretrain: --vocab-type, --vocab-size)";

// `fixed`: pieces that every text has, which are special or bytes.
[[noreturn]] void explain(const std::string& message, std::int64_t size, std::int64_t fixed) {
  const std::string asked = "a vocabulary of " + counted(size, "piece") + " ";
  if (const auto most = number_after(message, "Please set it to a value <= ")) {
    throw UserError(asked + "is too large for this text",
                    "leave --size out or set it to at most " + *most + kOfTrain + ", or use more text");
  }
  if (message.find("required_chars") != std::string::npos) {
    const auto least = number_after(message, "vs ");
    throw UserError(asked + "is too small for the characters of this text",
                    (least ? "use --size " + *least + " or more" : std::string("use a larger --size")) + kOfTrain +
                        ", or attend vocab with a lower --character-coverage");
  }
  if (size < fixed) {
    throw UserError(asked + "is too small: " + std::to_string(fixed) + " pieces are special" +
                        (fixed > kSpecialPieces ? " or bytes" : ""),
                    "leave --size out or set it to at least " + std::to_string(fixed) + kOfTrain);
  }
  throw UserError("cannot train a tokenizer on this text: " + message,
                  "use more text, or another --type or --size" + std::string(kOfTrain));
}

// Costs measured on English Wikipedia with two cores.
void log_costs(const TextSample& sample, TokenizerType type) {
  struct Cost {
    double seconds_per_mb, bytes_per_byte;
  };
  const Cost cost = type == TokenizerType::unigram ? Cost{2.2, 30}
                    : type == TokenizerType::bpe   ? Cost{1.0, 20}
                                                   : Cost{0.1, 5};
  const double megabytes = static_cast<double>(sample.bytes) / 1e6;
  log::info("tokenizer: training on {} of {} lines, {:.1f} MB; about {:.0f} s and {:.0f} MB of memory",
            sample.lines.size(), sample.num_lines, megabytes, std::ceil(cost.seconds_per_mb * megabytes),
            std::ceil(cost.bytes_per_byte * megabytes));
}

using Options = std::unordered_map<std::string, std::string>;

// SentencePiece cannot be interrupted: it runs in its own thread, which survives a stop request until the process ends,
// so the thread owns all its data.
std::string run_sentencepiece(Options options, std::vector<std::string> lines, std::int64_t size, std::int64_t fixed) {
  struct Work {
    Options options;
    std::vector<std::string> lines;
    std::string bytes = {};
    std::string error = {};
  };
  const auto work = std::make_shared<Work>(Work{.options = std::move(options), .lines = std::move(lines)});
  std::packaged_task<void()> task([work] {
    SampleIterator iterator(work->lines);
    const auto status = sentencepiece::SentencePieceTrainer::Train(work->options, &iterator, &work->bytes);
    if (!status.ok()) work->error = status.error_message();
  });
  std::future<void> trained = task.get_future();
  std::thread(std::move(task)).detach();
  constexpr auto kPoll = std::chrono::milliseconds(100);
  constexpr std::int64_t kPollsPerLine = 300;
  for (std::int64_t polls = 1; trained.wait_for(kPoll) != std::future_status::ready; ++polls) {
    signals::throw_if_stopped("interrupted while training a tokenizer; nothing was written");
    if (polls % kPollsPerLine == 0) log::info("tokenizer: still training, {} s", polls / 10);
  }
  trained.get();
  if (!work->error.empty()) explain(work->error, size, fixed);
  return std::move(work->bytes);
}

}  // namespace

Tokenizer train_tokenizer(const std::vector<std::string>& files, const TokenizerConfig& config) {
  TextSample sample = draw_sample(files, config.sample);
  if (sample.lines.empty()) throw UserError("no text to train a tokenizer on", "give files that contain text");
  const std::int64_t size = config.size.value_or(default_size(sample.num_lines));
  const double coverage = config.character_coverage ? *config.character_coverage : default_coverage(sample.lines);
  const bool limit_is_hard = config.size && config.type != TokenizerType::word;
  const auto flag = [](bool on) { return std::string(on ? "true" : "false"); };
  Options options = {{"model_type", std::string(name_of(config.type))},
                     {"vocab_size", std::to_string(size)},
                     {"hard_vocab_limit", flag(limit_is_hard)},
                     {"character_coverage", std::to_string(coverage)},
                     {"byte_fallback", flag(config.byte_fallback)},
                     {"normalization_rule_name", normalisation_rule(config)},
                     {"max_sentence_length", std::to_string(kMaxLineBytes)},
                     {"num_threads", kNumThreads},
                     {"pad_id", "0"},
                     {"unk_id", "1"},
                     {"bos_id", "2"},
                     {"eos_id", "3"},
                     {"control_symbols", "<cls>,<sep>,<mask>"},
                     {"minloglevel", "2"}};
  log_costs(sample, config.type);
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t fixed = kSpecialPieces + (config.byte_fallback ? kBytes : 0);
  std::string bytes = run_sentencepiece(std::move(options), std::move(sample.lines), size, fixed);
  Tokenizer tokenizer = Tokenizer::from_bytes(std::move(bytes), "the new tokenizer");
  log::info("tokenizer: {} pieces, trained in {:.0f} s", tokenizer.size(),
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return tokenizer;
}

void warn_of_other(const TokenizerConfig& wanted, const Tokenizer& given) {
  const TokenizerConfig usual;
  std::string unmet;
  if (wanted.size && *wanted.size != given.size()) unmet += " --vocab-size " + std::to_string(*wanted.size);
  if (wanted.type != usual.type) unmet += " --vocab-type " + std::string(name_of(wanted.type));
  if (wanted.lower_case) unmet += " --lower-case";
  if (unmet.empty()) return;
  log::warn("a tokenizer of {} pieces was given, so none is trained:{} has no effect", given.size(), unmet);
}

}  // namespace attend
