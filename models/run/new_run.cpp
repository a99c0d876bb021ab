#include "models/run/new_run.hpp"

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/manifest.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/run.hpp"
#include "models/text/sentence.hpp"

namespace attend {

namespace fs = std::filesystem;

void write_only_checkpoint(const fs::path& run, const NamedTensors& weights, const TensorMetadata& identity,
                           std::int64_t step) {
  const fs::path checkpoint = checkpoint_path(run, step);
  make_directories(checkpoint);
  save_tensors(checkpoint / "model.safetensors", weights, identity);
  write_manifest(checkpoint);
}

void write_run_record(const fs::path& run, const nlohmann::ordered_json& record) {
  write_file_atomic(run / "run.json", record.dump(1) + "\n");
}

void write_derived_run(const fs::path& run, const fs::path& from, const char* relation) {
  nlohmann::ordered_json record = record_of_kind(kind_of_run(from));
  record[relation] = fs::weakly_canonical(from).string();
  write_run_record(run, record);
  for (const char* file : {"task.toml", kEmbedFile}) {
    if (fs::exists(from / file)) write_file_atomic(run / file, read_file(from / file, kMaxConfigBytes));
  }
  make_directories(run / "tokenizer");
  std::error_code error;
  for (fs::directory_iterator entry(from / "tokenizer", error), end; !error && entry != end; entry.increment(error)) {
    write_file_atomic(run / "tokenizer" / entry->path().filename(), read_file(entry->path()));
  }
  if (error) throw UserError((from / "tokenizer").string() + ": cannot be read", "restore the run's tokenizer");
}

}  // namespace attend
