// Notices on stderr that explain a wait. Unlike the messages of core/log.hpp, every process prints them, and they are
// never silenced.
//
//   log::notice("waiting for rank {}", rank);
#pragma once

#include <spdlog/fmt/fmt.h>

#include <string>
#include <utility>

namespace attend::log {

void say_notice(const std::string& message);

template <class... Args>
void notice(fmt::format_string<Args...> format, Args&&... args) {
  say_notice(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace attend::log
