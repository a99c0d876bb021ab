// A vocabulary in JSON: an object of pieces and their ids.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attend {

// The pieces of the object `vocabulary` in the order of their ids. Throws UserError naming the file `name` unless the
// object has each id, from 0, exactly once.
std::vector<std::string> pieces_by_id(const nlohmann::json& vocabulary, const std::string& name);

}  // namespace attend
