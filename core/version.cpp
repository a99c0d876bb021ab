#include "core/version.hpp"

namespace attend {

std::string_view version() { return ATTEND_VERSION; }

}  // namespace attend
