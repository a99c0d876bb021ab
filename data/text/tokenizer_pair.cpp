#include "data/text/tokenizer_pair.hpp"

#include "core/error.hpp"
#include "core/files.hpp"

namespace attend {
namespace {

constexpr const char* kJoint = "joint.model";
constexpr const char* kSrc = "src.model";
constexpr const char* kTgt = "tgt.model";

}  // namespace

TokenizerPair TokenizerPair::from_files(const std::vector<std::string>& files) {
  if (files.empty() || files.size() > 2) {
    throw UserError("--tokenizer: " + std::to_string(files.size()) + " files",
                    "give one for both languages, or one for the source and one for the target");
  }
  const Tokenizer src = Tokenizer::load(files.front());
  return {.src = src, .tgt = files.size() == 1 ? src : Tokenizer::load(files.back())};
}

TokenizerPair TokenizerPair::load(const std::filesystem::path& directory) {
  if (std::filesystem::exists(directory / kJoint)) return from_files({(directory / kJoint).string()});
  return from_files({(directory / kSrc).string(), (directory / kTgt).string()});
}

void TokenizerPair::save(const std::filesystem::path& directory) const {
  make_directories(directory);
  if (joint()) {
    write_file_atomic(directory / kJoint, src.bytes());
  } else {
    write_file_atomic(directory / kSrc, src.bytes());
    write_file_atomic(directory / kTgt, tgt.bytes());
  }
}

}  // namespace attend
