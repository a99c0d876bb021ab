// Base64: bytes as text (RFC 4648, section 4).
#pragma once

#include <string>
#include <string_view>

namespace attend {

std::string base64(std::string_view bytes);

}  // namespace attend
