#include "models/run/new_run.hpp"

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/manifest.hpp"
#include "models/run/checkpoint_reader.hpp"

namespace attend {

namespace fs = std::filesystem;

void write_only_checkpoint(const fs::path& run, const NamedTensors& weights, const TensorMetadata& identity) {
  const fs::path checkpoint = checkpoint_path(run, 0);
  make_directories(checkpoint);
  save_tensors(checkpoint / "model.safetensors", weights, identity);
  write_manifest(checkpoint);
}

void write_run_record(const fs::path& run, const nlohmann::ordered_json& record) {
  write_file_atomic(run / "run.json", record.dump(1) + "\n");
}

void copy_tokenizers(const fs::path& from, const fs::path& to) {
  make_directories(to / "tokenizer");
  std::error_code error;
  for (fs::directory_iterator entry(from / "tokenizer", error), end; !error && entry != end; entry.increment(error)) {
    write_file_atomic(to / "tokenizer" / entry->path().filename(), read_file(entry->path()));
  }
  if (error) throw UserError((from / "tokenizer").string() + ": cannot be read", "restore the run's tokenizer");
}

}  // namespace attend
