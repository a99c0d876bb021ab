#include "train/event_log.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace attend {

EventLog::EventLog(const std::filesystem::path& run, std::int64_t step)
    : path_(run / "train.jsonl"), tensorboard_(run, step) {
  bool torn = false;  // a process killed while it wrote leaves half a line
  if (std::ifstream before(path_, std::ios::binary); before.seekg(-1, std::ios::end)) torn = before.get() != '\n';
  lines_.open(path_, std::ios::binary | std::ios::app);
  if (!lines_) throw UserError(path_.string() + ": cannot be written", "check the directory's permissions");
  if (torn) lines_ << '\n';
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
  if (!lines_) throw UserError(path_.string() + ": cannot be written", "is the disk full?");
}

}  // namespace attend
