#include "data/tokenizer/tokenizer_pair.hpp"

#include "core/error.hpp"
#include "core/files.hpp"

namespace attend {
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
  return joint ? from_files({(directory / kJointTokenizer).string()})
               : from_files({(directory / kSrc).string(), (directory / kTgt).string()});
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
}

}  // namespace attend
