// The sections of a report on attention heads.
#pragma once

#include <vector>

#include "analysis/report/head_report.hpp"
#include "analysis/report/sections.hpp"

namespace attend {

// The run and the data, then sections 1 to 3: roles, relations, silencing.
std::vector<Section> sections_of(const HeadReport& report);

}  // namespace attend
