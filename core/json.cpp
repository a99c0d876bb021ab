#include "core/json.hpp"

#include <set>
#include <vector>

#include "core/files.hpp"

namespace attend {
namespace {

using nlohmann::json;

// Validates a text before anything is built from it. (With a callback of json::parse, this would take time quadratic in
// the members of an object.)
class Guard final : public nlohmann::json_sax<json> {
 public:
  Guard(const std::string& file, int max_depth) : file_(file), max_depth_(max_depth) {}

  bool start_object(std::size_t /*size*/) override {
    open_objects_.emplace_back();
    return deeper();
  }
  bool key(std::string& name) override {
    if (open_objects_.back().insert(name).second) return true;
    throw UserError(file_ + ": duplicate key " + json(name).dump() + " in one object", "remove one of them");
  }
  bool end_object() override {
    open_objects_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(std::size_t /*size*/) override { return deeper(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(std::int64_t /*value*/) override { return true; }
  bool number_unsigned(std::uint64_t /*value*/) override { return true; }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& /*value*/) override { return true; }
  bool binary(json::binary_t& /*value*/) override { return true; }
  bool parse_error(std::size_t position, const std::string& /*token*/, const json::exception& error) override {
    const bool is_number =
        dynamic_cast<const json::parse_error*>(&error) == nullptr;  // a number beyond the range of double
    throw UserError(file_ + ": not valid JSON" + (is_number ? "" : " at byte " + std::to_string(position)),
                    "fix the file or use another copy");
  }

 private:
  bool deeper() {
    if (++depth_ <= max_depth_) return true;
    throw UserError(file_ + ": nested deeper than " + std::to_string(max_depth_) + " levels",
                    "check that it is the right file");
  }

  const std::string& file_;
  int max_depth_;
  int depth_ = 0;
  std::vector<std::set<std::string>> open_objects_;  // the keys seen so far in each
};

}  // namespace

json parse_json(std::string_view text, const std::string& file, int max_depth) {
  Guard guard(file, max_depth);
  json::sax_parse(text, &guard);
  return json::parse(text);
}

json read_json(const std::filesystem::path& file, std::size_t max_bytes) {
  return parse_json(read_file(file, max_bytes), file.string());
}

}  // namespace attend
