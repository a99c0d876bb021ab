// report.md: the sentences and tables of the page, without its charts and its attention.
#pragma once

#include <string>

#include "analysis/report/sections.hpp"

namespace attend {

std::string report_markdown(const SectionReport& report);

}  // namespace attend
