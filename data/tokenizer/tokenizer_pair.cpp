#include "data/tokenizer/tokenizer_pair.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "data/text/parallel.hpp"

namespace attend {
namespace {

constexpr const char* kFactorsFile = "source-factors.json";
constexpr std::int32_t kFirstLabel = 2;

std::vector<std::string> labels_of_file(const std::string& file) {
  std::map<std::string, std::uint64_t> counts;
  LineReader reader(file);
  for (std::string line; reader.next(line);) {
    for (const std::string_view label : spaced_words(line)) ++counts[std::string(label)];
  }
  std::vector<std::string> labels;
  for (const auto& [label, count] : counts) labels.push_back(label);
  std::ranges::stable_sort(labels, std::greater(), [&](const std::string& label) { return counts.at(label); });
  return labels;
}

}  // namespace

struct SourceFactors::Content {
  std::vector<std::map<std::string, std::int32_t, std::less<>>> ids;
  std::string json;
};

SourceFactors::SourceFactors(std::vector<std::vector<std::string>> labels) {
  if (labels.empty()) return;
  Content content{.ids = {}, .json = nlohmann::json(labels).dump() + "\n"};
  for (const auto& factor : labels) {
    auto& ids = content.ids.emplace_back();
    for (const std::string& label : factor) ids.emplace(label, kFirstLabel + static_cast<std::int32_t>(ids.size()));
    ensure(ids.size() == factor.size(), "the labels of a factor are distinct");
  }
  content_ = std::make_shared<const Content>(std::move(content));
}

SourceFactors SourceFactors::from_files(const std::vector<std::string>& files) {
  std::vector<std::vector<std::string>> labels;
  for (const std::string& file : files) labels.push_back(labels_of_file(file));
  return SourceFactors(std::move(labels));
}

SourceFactors SourceFactors::load(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / kFactorsFile;
  std::error_code unreadable;
  if (!std::filesystem::exists(file, unreadable)) return {};
  const nlohmann::json json = read_json(file);
  const auto has_repeated = [](std::vector<std::string> factor) {
    std::ranges::sort(factor);
    return std::ranges::adjacent_find(factor) != factor.end();
  };
  try {
    auto labels = json.get<std::vector<std::vector<std::string>>>();
    if (!labels.empty() && std::ranges::none_of(labels, has_repeated)) return SourceFactors(std::move(labels));
  } catch (const nlohmann::json::exception&) {  // of another type
  }
  throw UserError(file.string() + ": expected a list of distinct labels for each source factor",
                  "it was truncated or edited; restore the original");
}

void SourceFactors::save(const std::filesystem::path& directory) const {
  std::error_code missing;
  if (content_ == nullptr) {
    std::filesystem::remove(directory / kFactorsFile, missing);  // load() would read it
  } else {
    write_file_atomic(directory / kFactorsFile, content_->json);
  }
}

std::size_t SourceFactors::count() const { return content_ == nullptr ? 0 : content_->ids.size(); }

std::vector<std::int64_t> SourceFactors::sizes() const {
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < count(); ++i) sizes.push_back(kFirstLabel + std::ssize(content_->ids[i]));
  return sizes;
}

std::string SourceFactors::hash() const {
  return content_ == nullptr ? std::string() : hash_hex(std::as_bytes(std::span(content_->json)));
}

std::vector<std::int32_t> SourceFactors::ids_of(const SourceLine& line, std::span<const Piece> pieces) const {
  const std::vector<std::string_view> words = spaced_words(line.text);
  ensure(line.labels.size() == count(), "the line has labels of each factor");
  std::vector<std::vector<std::string_view>> labels;
  for (const std::string& factor : line.labels) {
    ensure(labels.emplace_back(spaced_words(factor)).size() == words.size(), "a label for each word");
  }
  const auto end_of = [&](std::size_t word) {
    return static_cast<std::size_t>(words[word].data() - line.text.data()) + words[word].size();
  };
  std::vector<std::int32_t> ids;
  std::size_t word = 0;
  for (const Piece& piece : pieces) {
    while (word + 1 < words.size() && end_of(word) <= piece.begin) ++word;
    for (std::size_t factor = 0; factor < count(); ++factor) {
      const auto& known = content_->ids[factor];
      const auto found = words.empty() ? known.end() : known.find(labels[factor][word]);
      ids.push_back(found == known.end() ? kUnknown : found->second);
    }
  }
  return ids;
}

SourcePieces encode_source(const Tokenizer& tokenizer, const SourceFactors& factors, const SourceLine& line,
                           std::optional<std::size_t> most) {
  if (factors.count() == 0) {
    if (!most) return {.ids = tokenizer.encode(line.text)};
    Beginning beginning = tokenizer.encode_beginning(line.text, *most);
    return {.ids = std::move(beginning.ids), .cut = beginning.cut};
  }
  const std::string_view text = line.text, read = most ? beginning_of(text, *most) : text;
  std::vector<Piece> pieces = tokenizer.encode_pieces(read);
  SourcePieces result{.cut = read.size() < text.size()};
  if (most && pieces.size() > *most) {
    pieces.resize(*most);
    result.cut = true;
  }
  for (const Piece& piece : pieces) result.ids.push_back(piece.id);
  result.labels = factors.ids_of(line, pieces);
  return result;
}

namespace {

constexpr const char* kSrc = "src.model";
constexpr const char* kTgt = "tgt.model";

}  // namespace

TokenizerPair TokenizerPair::from_files(const std::vector<std::string>& files) {
  if (files.empty() || files.size() > 2) {
    throw UserError("--tokenizer: " + std::to_string(files.size()) + " files",
                    "give one for both languages, or one each for source and target");
  }
  const Tokenizer src = Tokenizer::load(files.front());
  const Tokenizer tgt = files.size() == 1 ? src : Tokenizer::load(files.back());
  // Decoding starts from the target's bos; both sides end with eos.
  const bool tgt_complete = tgt.special().bos >= 0 && tgt.special().eos >= 0;
  if (src.special().eos < 0 || !tgt_complete) {
    throw UserError(
        (tgt_complete ? files.front() : files.back()) + ": a tokenizer without pieces for begin and end of sentence",
        "train one with attend vocab");
  }
  return {.src = src, .tgt = tgt};
}

TokenizerPair TokenizerPair::load(const std::filesystem::path& directory) {
  std::error_code unreadable;
  const bool joint = std::filesystem::exists(directory / kJointTokenizer, unreadable);
  TokenizerPair pair = joint ? from_files({(directory / kJointTokenizer).string()})
                             : from_files({(directory / kSrc).string(), (directory / kTgt).string()});
  pair.factors = SourceFactors::load(directory);
  return pair;
}

void TokenizerPair::save(const std::filesystem::path& directory) const {
  make_directories(directory);
  std::error_code missing;
  if (joint()) {
    write_file_atomic(directory / kJointTokenizer, src.bytes());
  } else {
    std::filesystem::remove(directory / kJointTokenizer, missing);  // load() would take it first
    write_file_atomic(directory / kSrc, src.bytes());
    write_file_atomic(directory / kTgt, tgt.bytes());
  }
  factors.save(directory);
}

}  // namespace attend
