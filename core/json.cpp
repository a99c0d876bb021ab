#include "core/json.hpp"

#include <set>
#include <vector>

#include "core/files.hpp"

namespace attend {

nlohmann::json parse_json(std::string_view text, const std::string& file, int max_depth) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> open_objects;  // the keys met in each
  const auto check = [&](int depth, Event event, nlohmann::json& parsed) {
    if (depth > max_depth) throw UserError(file + ": nests deeper than " + std::to_string(max_depth) + " levels");
    if (event == Event::object_start) open_objects.emplace_back();
    if (event == Event::object_end) open_objects.pop_back();
    if (event == Event::key && !open_objects.back().insert(parsed.get<std::string>()).second) {
      throw UserError(file + ": the key " + parsed.dump() + " stands twice in one object");
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text, check);
  } catch (const nlohmann::json::parse_error& error) {
    throw UserError(file + ": not valid JSON at byte " + std::to_string(error.byte),
                    "the file is damaged or was edited: take another copy");
  } catch (const nlohmann::json::exception&) {  // a number beyond what a double holds
    throw UserError(file + ": not valid JSON", "the file is damaged or was edited: take another copy");
  }
}

nlohmann::json read_json(const std::filesystem::path& file, std::size_t max_bytes) {
  return parse_json(read_file(file, max_bytes), file.string());
}

}  // namespace attend
