#include "train/event_log.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/files.hpp"

namespace attend {

namespace {

// The lines of `text` up to the save event of the checkpoint of update `saved`. If a process was killed between writing
// a checkpoint and logging it, `logged` is false and the lines end before the first later update.
struct Kept {
  std::string lines;
  bool logged = false;
};
Kept lines_until(std::string_view text, std::int64_t saved) {
  std::size_t kept = 0;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    const auto line = nlohmann::json::parse(text.substr(at, end - at), nullptr, /*allow_exceptions=*/false);
    const auto step = line.is_object() ? line.value("step", nlohmann::json()) : nlohmann::json();
    if (!step.is_number_integer() || step > saved) break;
    kept = end + 1;
    if (step == saved && line.value("event", nlohmann::json()) == "save") {
      return {.lines = std::string(text.substr(0, kept)), .logged = true};
    }
  }
  return {.lines = std::string(text.substr(0, kept))};
}

}  // namespace

EventLog::EventLog(const std::filesystem::path& run, std::int64_t saved)
    : path_(run / "train.jsonl"), tensorboard_(run, saved + 1) {
  bool logged = saved < 0;
  if (std::filesystem::exists(path_)) {
    const std::string before = read_file(path_);
    const Kept kept = lines_until(before, saved);
    if (kept.lines.size() < before.size()) write_file_atomic(path_, kept.lines);
    logged = logged || kept.logged;
  }
  lines_.open(path_, std::ios::binary | std::ios::app);
  if (!lines_) throw UserError(path_.string() + ": cannot be written", "check the directory's permissions");
  if (!logged) write("save", saved, {});
}

void EventLog::write(std::string_view event, std::int64_t step,
                     const std::vector<std::pair<std::string_view, double>>& values) {
  nlohmann::ordered_json line = {{"event", event}, {"step", step}, {"time", now_utc()}};
  for (const auto& [name, value] : values) {
    line[std::string(name)] = value;
    tensorboard_.scalar(std::string(event) + "/" + std::string(name), step, value);
  }
  lines_ << line.dump() << '\n' << std::flush;
  tensorboard_.flush();
  if (!lines_) throw UserError(path_.string() + ": cannot be written", "check that the disk is not full");
}

}  // namespace attend
