#include "train/event_log.hpp"

#include <spdlog/fmt/chrono.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

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
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  nlohmann::ordered_json line = {{"event", event}, {"step", step}, {"time", fmt::format("{:%FT%TZ}", now)}};
  for (const auto& [name, value] : values) {
    line[std::string(name)] = value;
    tensorboard_.scalar(std::string(event) + "/" + std::string(name), step, value);
  }
  lines_ << line.dump() << '\n' << std::flush;
  tensorboard_.flush();
  if (!lines_) throw UserError(path_.string() + ": cannot be written", "is the disk full?");
}

}  // namespace attend
