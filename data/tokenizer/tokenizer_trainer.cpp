#include "data/tokenizer/tokenizer_trainer.hpp"

#include <sentencepiece_trainer.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/random.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

constexpr std::size_t kMaxLineBytes = 4000;  // longer lines, rarely prose, are skipped
// Fixed, so that the threads' sums are added in the same order on every machine.
constexpr const char* kNumThreads = "4";

// Whether the line is non-empty after the library's normalisation: it aborts if no line is. It also skips every line
// with ▅, which it uses internally.
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
  std::uint64_t num_lines = 0;  // of all files
};

// Samples uniformly (Vitter 1985, algorithm R), in an order that depends only on the number of lines.
TextSample draw_sample(const std::vector<std::string>& files, std::size_t size) {
  TextSample sample;
  LineCounts counts;
  std::uint64_t usable = 0, empty = 0;
  RandomStream random(size);
  std::string line;
  for (const auto& file : files) check_text_file(file);
  for (const auto& file : files) {
    LineReader reader(file);
    while (reader.next(line)) {
      empty += line.empty() ? 1 : 0;
      if (reader.invalid() || line.size() > kMaxLineBytes || !has_text(line)) continue;
      ++usable;
      if (sample.lines.size() < size) {
        sample.lines.push_back(line);
      } else if (const std::uint64_t place = random.below(usable); place < size) {
        sample.lines[place] = line;
      }
    }
    counts += reader.counts();
  }
  sample.num_lines = counts.lines;
  counts.log("tokenizer");
  if (const std::uint64_t text = counts.lines - empty; usable < text) {
    log::info("tokenizer: skipped {} of {} lines: without words, not UTF-8, or longer than {} bytes", text - usable,
              text, kMaxLineBytes);
  }
  return sample;
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

// All characters, unless the text has many scripts: rare characters would leave little room for longer pieces.
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

// The number after the last `words` of a message, or nothing.
std::optional<std::string> number_after(const std::string& message, const std::string& words) {
  const std::size_t found = message.rfind(words);
  if (found == std::string::npos) return std::nullopt;
  const std::size_t begin = found + words.size();
  const std::size_t end = message.find_first_not_of("0123456789", begin);
  return message.substr(begin, end == std::string::npos ? end : end - begin);
}

constexpr const char* kOfTrain = " (in attend train and pretrain: --vocab-type, --vocab-size)";

[[noreturn]] void explain(const std::string& message, std::int64_t size) {
  const std::string asked = "a vocabulary of " + std::to_string(size) + " pieces ";
  if (const auto most = number_after(message, "Please set it to a value <= ")) {
    throw UserError(asked + "is too large for this text",
                    "use --size " + *most + " or less" + kOfTrain + ", or more text");
  }
  if (message.find("Vocabulary size is smaller than required_chars") != std::string::npos ||
      message.find("required_chars") != std::string::npos) {
    const auto least = number_after(message, "vs ");
    throw UserError(asked + "is too small for the characters of this text",
                    (least ? "use --size " + *least + " or more" : std::string("use a larger --size")) + kOfTrain +
                        ", or attend vocab with a lower --character-coverage");
  }
  throw UserError("cannot train a tokenizer on this text: " + message,
                  "use more text, or another --type or --size" + std::string(kOfTrain));
}

}  // namespace

Tokenizer train_tokenizer(const std::vector<std::string>& files, const TokenizerConfig& config) {
  const TextSample sample = draw_sample(files, static_cast<std::size_t>(config.sample));
  if (sample.lines.empty()) throw UserError("no text to train a tokenizer on", "give files that contain text");
  const std::int64_t size = config.size.value_or(default_size(sample.num_lines));
  const double coverage = config.character_coverage ? *config.character_coverage : default_coverage(sample.lines);
  const bool limit_is_hard = config.size && config.type != TokenizerType::word;
  const auto flag = [](bool on) { return std::string(on ? "true" : "false"); };
  const std::unordered_map<std::string, std::string> options = {{"model_type", std::string(name_of(config.type))},
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
  SampleIterator lines(sample.lines);
  std::string bytes;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &lines, &bytes);
  if (!status.ok()) explain(status.error_message(), size);
  return Tokenizer::from_bytes(std::move(bytes), "the new tokenizer");
}

void warn_of_other(const TokenizerConfig& wanted, const Tokenizer& given) {
  const TokenizerConfig usual;
  std::string unmet;
  if (wanted.size && *wanted.size != given.size()) unmet += " --vocab-size " + std::to_string(*wanted.size);
  if (wanted.type != usual.type) unmet += " --vocab-type " + std::string(name_of(wanted.type));
  if (wanted.lower_case) unmet += " --lower-case";
  if (unmet.empty()) return;
  log::warn("a tokenizer of {} pieces is given, so none is trained:{} has no effect", given.size(), unmet);
}

}  // namespace attend
