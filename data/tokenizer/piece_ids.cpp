#include "data/tokenizer/piece_ids.hpp"

#include <cstdint>

#include "core/error.hpp"

namespace attend {

std::vector<std::string> pieces_by_id(const nlohmann::json& vocabulary, const std::string& name) {
  std::vector<std::string> pieces(vocabulary.size());
  std::vector<bool> seen(pieces.size());
  for (const auto& [piece, id] : vocabulary.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= pieces.size()) {
      throw UserError(name + ": \"" + piece + "\" has the id " + id.dump() + ", expected one from 0 to " +
                          std::to_string(pieces.size() - 1),
                      "use another copy");
    }
    const auto k = id.get<std::size_t>();
    if (seen[k]) {
      throw UserError(name + ": \"" + piece + "\" and \"" + pieces[k] + "\" both have the id " + std::to_string(k),
                      "use another copy");
    }
    seen[k] = true;
    pieces[k] = piece;
  }
  return pieces;
}

}  // namespace attend
